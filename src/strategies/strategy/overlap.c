#include "strategy/overlap.h"

#include "base/parse.h"

enum hr_status hr_overlap_least(const struct hr_train_options *options, size_t *least)
{
    uint64_t bytes;
    if (!hr_parse_size(options->bucket_size, &bytes) || bytes < sizeof(float))
        return hr_fail(HR_E_USAGE, "--bucket-size %s: expected bytes, as 256K or 1M",
                       options->bucket_size);
    *least = hr_overlaps(options) ? bytes / sizeof(float) : SIZE_MAX;
    return HR_OK;
}

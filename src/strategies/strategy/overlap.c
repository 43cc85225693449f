#include "strategy/overlap.h"

#include "base/parse.h"

enum hr_status hr_overlap_least(const struct hr_shared_state *shared, size_t *least)
{
    const char *given = shared->options->bucket_size;
    uint64_t bytes;
    if (!hr_parse_size(given, &bytes) || bytes < sizeof(float))
        return hr_fail(HR_E_USAGE, "--bucket-size %s: expected bytes, as 256K or 1M", given);
    *least = shared->overlaps ? bytes / sizeof(float) : SIZE_MAX;
    return HR_OK;
}

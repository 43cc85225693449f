#include "train/compress_setup.h"

#include <stdio.h>

#include "base/memory.h"
#include "strategies/compressed_sum.h"
#include "strategies/public_copies.h"

static void add_tensor(struct hr_factors *factors, const struct hr_tensor_info *info,
                       enum hr_segment_role role)
{
    const bool matrix = info->ndim > 1 && role == HR_SEGMENT_TRAINED;
    if (role == HR_SEGMENT_FROZEN || !info->count)
        return;
    if (matrix)
        hr_factors_add(factors, info->offset, info->shape[0], info->count / info->shape[0]);
    else
        hr_factors_add(factors, info->offset, info->count, 0);
}

bool hr_run_compresses(const struct hr_run *run)
{
    return run->options.compress[0] && run->shared.workers > 1 &&
           hr_strategy_obeys(run->shared.strategy, "compress");
}

enum hr_status hr_compress_setup(struct hr_run *run)
{
    struct hr_compression *compression = &run->compression;
    if (!hr_run_compresses(run))
        return HR_OK;
    HR_TRY(hr_compression_begin(&run->shared, compression));
    if (!hr_compress_is_factors(&compression->how))
        return HR_OK;
    for (size_t i = 0; i < hr_model_tensor_count(run->job.model); i++)
        add_tensor(&compression->factors, hr_model_tensor(run->job.model, i),
                   run->shared.optimizer.segments[i].role);
    return HR_OK;
}

static void say_public(const struct hr_run *run, char *text, size_t size)
{
    const struct hr_shared_state *shared = &run->shared;
    const size_t bytes = hr_public_copies_packet_bytes(shared);
    snprintf(text, size,
             "%s, of weights less their public copies: %s sent to each neighbour in a step, %s "
             "without",
             run->options.compress, hr_bytes_text(bytes).text,
             hr_bytes_text(shared->params * sizeof(float)).text);
}

void hr_compress_text(const struct hr_run *run, char *text, size_t size)
{
    uint64_t bytes, plain;
    text[0] = '\0';
    if (!hr_compression_of(&run->shared))
        return;
    if (hr_compression_is_public(&run->shared)) {
        say_public(run, text, size);
        return;
    }
    if (hr_compressed_step_bytes(&run->shared, &bytes, &plain) != HR_OK)
        return;
    snprintf(text, size, "%s with error feedback: %s sent a worker and step, %s without",
             run->options.compress, hr_bytes_text(bytes).text, hr_bytes_text(plain).text);
}

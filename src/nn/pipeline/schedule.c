#include "pipeline/schedule.h"

static enum hr_status check_size(const char *option, size_t size, size_t most)
{
    if (size >= 1 && size <= most)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "%s %zu: expected 1 to %zu", option, size, most);
}

enum hr_status hr_pipeline_check_sizes(const struct hr_pipeline_shape *shape)
{
    HR_TRY(check_size("--pipeline", shape->stages, HR_PIPELINE_STAGES));
    HR_TRY(check_size("--micro-batches", shape->micro_batches, HR_PIPELINE_MICRO_BATCHES));
    return check_size("--chunks", shape->chunks, HR_PIPELINE_CHUNKS);
}

enum hr_status hr_pipeline_check_one_chunk(const struct hr_pipeline_shape *shape)
{
    HR_TRY(hr_pipeline_check_sizes(shape));
    if (shape->chunks == 1)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--chunks %zu: only --pipeline-schedule interleaved has more than one a stage",
                   shape->chunks);
}

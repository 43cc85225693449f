#include "train/overlap_setup.h"

#include <stdio.h>
#include <stdlib.h>

#include "nn/part.h"
#include "stages/pipeline.h"
#include "worker/gradient.h"

/* Where gradients become final, in the order of backward. */
static bool next_final(const struct hr_train_job *job, size_t number, size_t *offset)
{
    const struct hr_pipeline *pipeline = job->pipeline;
    struct hr_model_final at;
    if (pipeline && number < pipeline->parts)
        *offset = hr_part_param_begin(pipeline->part[pipeline->parts - 1 - number]);
    else if (!pipeline && hr_model_final(job->model, number, &at))
        *offset = at.offset;
    else
        return false;
    return true;
}

/* Of an all-reduce (strategies/buckets.h). */
static enum hr_status buckets_text(const struct hr_train_job *job, char *text, size_t size)
{
    size_t least, offset, end = job->shared->params, buckets = 1;
    HR_TRY(hr_overlap_least(job->shared, &least));
    for (size_t i = 0; next_final(job, i, &offset); i++)
        if (hr_overlap_goes_ahead(least, offset, end)) {
            buckets++;
            end = offset;
        }
    if (job->shared->workers == 1)
        snprintf(text, size, "none: one worker has nobody to add its gradient with");
    else if (buckets == 1)
        snprintf(text, size,
                 "none: no layers behind the first fill a bucket of %s (--bucket-size), and a "
                 "gradient is added whole",
                 job->options->bucket_size);
    else
        snprintf(text, size,
                 "gradients are added in %zu buckets, all but one while backward computes the rest",
                 buckets);
    return HR_OK;
}

enum hr_status hr_overlap_text(const struct hr_run *run, char *text, size_t size)
{
    const struct hr_train_job *job = &run->job;
    struct hr_model_final *part;
    size_t n;
    text[0] = '\0';
    if (!job->shared->overlaps)
        return HR_OK;
    if (!hr_strategy_is_served(job->shared->strategy))
        return buckets_text(job, text, size);
    HR_TRY(hr_ahead_list(job, &part, &n));
    free(part);
    if (!job->simulated && !hr_shared_is_apart(job->shared))
        snprintf(text, size, "none: servers read a gradient where it lies, and no push travels");
    else if (n == 0)
        snprintf(text, size,
                 "none: no layers behind the first fill a part of %s (--bucket-size), and a push "
                 "leaves whole",
                 job->options->bucket_size);
    else
        snprintf(text, size,
                 "a push leaves in %s%zu parts, all but one while backward computes the rest",
                 job->simulated ? "" : "up to ", n + 1);
    return HR_OK;
}

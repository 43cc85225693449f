#include "train/overlap_setup.h"

#include <stdio.h>
#include <stdlib.h>

#include "worker/ahead.h"

/* What servers need whole. */
static enum hr_status check_pushes(const struct hr_run *run)
{
    if (run->job.pipeline)
        return hr_fail(HR_E_USAGE,
                       "--overlap on: with --strategy %s a worker pushes when all of its stages "
                       "are through; expected it without --pipeline, or allreduce",
                       run->options.strategy);
    if (run->shared.copies > 1)
        return hr_fail(HR_E_USAGE, "--overlap on: a server passes a push on to its replica whole; "
                                   "expected it without --server-replicas 2");
    return HR_OK;
}

enum hr_status hr_overlap_setup(const struct hr_run *run)
{
    if (!hr_overlaps(&run->options))
        return HR_OK;
    if (!run->shared.strategy->final)
        return hr_fail(HR_E_USAGE,
                       "--overlap on: means nothing with --strategy %s, whose workers hand in no "
                       "gradient (it belongs to allreduce, ps-sync, ps-async, ssp and "
                       "backup-workers)",
                       run->options.strategy);
    if (run->job.micro_shards)
        return hr_fail(HR_E_USAGE, "--overlap on: with --reduce repro no gradient is final before "
                                   "the last micro-shard");
    return run->shared.strategy->served ? check_pushes(run) : HR_OK;
}

enum hr_status hr_overlap_text(const struct hr_run *run, char *text, size_t size)
{
    const struct hr_train_job *job = &run->job;
    struct hr_model_final *part;
    size_t n;
    text[0] = '\0';
    if (!hr_overlaps(job->options) || !job->shared->strategy->served)
        return HR_OK;
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

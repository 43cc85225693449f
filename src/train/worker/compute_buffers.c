#include "worker/compute_buffers.h"

#include "worker/job.h"

/* That the whole model computes at once. */
static size_t largest_batch(const struct hr_train_job *job)
{
    const size_t batch = job->pipeline ? 0 : job->piece, rows = hr_input_eval_rows(job->dataset);
    return batch > rows ? batch : rows;
}

static size_t largest_input(const struct hr_train_job *job)
{
    const size_t rows = hr_input_eval_rows(job->dataset);
    return job->piece > rows ? job->piece : rows;
}

static struct hr_workspace_options workspace_options(const struct hr_train_job *job)
{
    return (struct hr_workspace_options){.seed = job->options->seed,
                                         .threads = job->options->threads_per_worker};
}

/* Of what computes gradients; 0: more than can be counted. */
static size_t training_bytes(const struct hr_train_job *job)
{
    const struct hr_workspace_options options = workspace_options(job);
    if (!job->pipeline)
        return hr_workspace_bytes(job->model, job->piece, &options);
    return job->played ? hr_crew_bytes(job->pipeline) : hr_stage_bytes(job->pipeline, 0);
}

size_t hr_compute_buffers_bytes(const struct hr_train_job *job, size_t *for_evaluation)
{
    const struct hr_workspace_options options = workspace_options(job);
    const size_t whole = hr_workspace_bytes(job->model, largest_batch(job), &options);
    const size_t training = training_bytes(job);
    const size_t parts = job->pipeline ? 0 : job->most_parts;
    const size_t sums = hr_tree_sums_bytes(parts, job->shared->params);
    *for_evaluation = whole - (job->pipeline ? 0 : training);
    if (whole == 0 || training == 0)
        return SIZE_MAX;
    return training + *for_evaluation + hr_input_bytes(job, largest_input(job)) + sums;
}

/* Backward has finished grads [offset, params): with --overlap they are summed meanwhile. */
static void gradients_done(void *arg, size_t offset, size_t count)
{
    const struct hr_compute_buffers *buffers = arg;
    (void)count;
    buffers->final(buffers->borrower, offset);
}

enum hr_status hr_compute_buffers_start(struct hr_compute_buffers *buffers,
                                        const struct hr_train_job *job)
{
    const bool overlaps = hr_train_job_overlaps(job);
    struct hr_workspace_options options = workspace_options(job);
    options.done = overlaps ? gradients_done : NULL;
    options.arg = buffers;
    enum hr_status status;
    *buffers = (struct hr_compute_buffers){0};
    HR_TRY(hr_input_init(&buffers->input, job, largest_input(job)));
    HR_TRY_GOTO(hr_workspace_create(job->model, largest_batch(job), &options, &buffers->workspace),
                status, out);
    if (!job->pipeline)
        status = hr_tree_sums_init(&buffers->sums, job->most_parts, job->shared->params);
    else if (job->played)
        status = hr_crew_start(&buffers->crew, job->pipeline);
    else
        status = hr_stage_start(&buffers->lead, job->pipeline, 0);
    HR_TRY_GOTO(status, status, out);
    return HR_OK;
out:
    hr_compute_buffers_stop(buffers);
    return status;
}

void hr_compute_buffers_stop(struct hr_compute_buffers *buffers)
{
    hr_tree_sums_fini(&buffers->sums);
    hr_stage_stop(&buffers->lead);
    hr_crew_stop(&buffers->crew);
    hr_workspace_destroy(buffers->workspace);
    hr_input_fini(&buffers->input);
    *buffers = (struct hr_compute_buffers){0};
}

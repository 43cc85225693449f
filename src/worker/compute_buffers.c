#include "worker/compute_buffers.h"

#include "worker/job.h"

static size_t largest_batch(const struct hr_train_job *job)
{
    const size_t batch = job->batch_size, rows = hr_input_eval_rows(job->dataset);
    return batch > rows ? batch : rows;
}

static struct hr_workspace_options workspace_options(const struct hr_train_job *job)
{
    return (struct hr_workspace_options){.seed = job->options->seed,
                                         .threads = job->options->threads_per_worker};
}

size_t hr_compute_buffers_bytes(const struct hr_train_job *job, size_t *for_evaluation)
{
    const struct hr_workspace_options options = workspace_options(job);
    const size_t all = hr_workspace_bytes(job->model, largest_batch(job), &options);
    const size_t training = hr_workspace_bytes(job->model, job->batch_size, &options);
    const size_t sums = hr_tree_sums_bytes(job->most_parts, job->shared->params);
    *for_evaluation = all - training;
    /* 0: more than can be counted */
    return all ? all + hr_input_bytes(job, largest_batch(job)) + sums : SIZE_MAX;
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
    HR_TRY(hr_input_init(&buffers->input, job, largest_batch(job)));
    HR_TRY_GOTO(hr_workspace_create(job->model, largest_batch(job), &options, &buffers->workspace),
                status, out);
    HR_TRY_GOTO(hr_tree_sums_init(&buffers->sums, job->most_parts, job->shared->params), status,
                out);
    return HR_OK;
out:
    hr_compute_buffers_stop(buffers);
    return status;
}

void hr_compute_buffers_stop(struct hr_compute_buffers *buffers)
{
    hr_tree_sums_fini(&buffers->sums);
    hr_workspace_destroy(buffers->workspace);
    hr_input_fini(&buffers->input);
    *buffers = (struct hr_compute_buffers){0};
}

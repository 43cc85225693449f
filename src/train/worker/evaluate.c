#include "worker/evaluate.h"

#include <string.h>

#include "base/size.h"
#include "strategy/shared.h"

/* What the workspace's batch was predicted to be, and what it is. */
static void add_errors(struct hr_train_worker *self, size_t n, double *errors)
{
    const struct hr_train_job *job = self->job;
    struct hr_workspace *workspace = self->buffers->workspace;
    if (job->values.count)
        hr_fit_add(&job->values, &job->dataset->targets, n, hr_workspace_outputs(workspace),
                   hr_workspace_labels(workspace), errors);
}

/* Test samples [first, first + count), in pieces that fit the workspace. */
static struct hr_batch_result evaluate_block(struct hr_train_worker *self, size_t first,
                                             size_t count, double *errors)
{
    const struct hr_train_job *job = self->job;
    struct hr_compute_buffers *buffers = self->buffers;
    struct hr_batch_result sum = {0};
    const size_t rows = hr_input_eval_rows(job->dataset);
    for (size_t done = 0; done < count; done += rows) {
        const size_t n = hr_min_size(rows, count - done);
        hr_input_decode_test(&buffers->input, first + done, n,
                             hr_workspace_input(buffers->workspace),
                             hr_workspace_labels(buffers->workspace));
        hr_model_evaluate_more(job->model, buffers->workspace, job->shared->snapshot.weights, n,
                               &sum);
        if (job->answers)
            hr_workspace_answers(buffers->workspace, n, job->answers + first + done);
        add_errors(self, n, errors);
    }
    return sum;
}

static void evaluate_blocks(struct hr_train_worker *self)
{
    const struct hr_train_job *job = self->job;
    const size_t tests = job->dataset->test.count;
    hr_workspace_lend(self->buffers->workspace, NULL, NULL);
    for (size_t block = self->worker.seat; block < job->neval; block += self->worker.seats) {
        const size_t first = block * HR_EVAL_BLOCK;
        const size_t count = hr_min_size(HR_EVAL_BLOCK, tests - first);
        const size_t sums = 2 * job->values.count;
        double *errors = job->errors + block * sums;
        if (sums)
            memset(errors, 0, sums * sizeof *errors);
        const struct hr_batch_result result = evaluate_block(self, first, count, errors);
        job->cells[block] = (struct hr_eval_cell){result.loss_sum, result.correct};
    }
}

enum hr_status hr_train_worker_evaluate(struct hr_train_worker *self)
{
    if (self->worker.seat >= self->job->neval) /* nothing is left for it */
        return HR_OK;
    HR_TRY(hr_train_worker_sit(self));
    evaluate_blocks(self);
    hr_train_worker_rise(self);
    return HR_OK;
}

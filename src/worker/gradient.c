#include "worker/gradient.h"

#include "base/clock.h"
#include "worker/prefetch.h"

/* Put the piece's samples where the workspace reads them. */
static void load(struct hr_train_worker *self, const struct hr_batch *piece, uint64_t index)
{
    struct hr_worker_stats *stats = self->worker.stats;
    struct hr_workspace *workspace = self->buffers->workspace;
    struct hr_input *input = &self->buffers->input;
    const enum hr_activity was = hr_account_turn(&stats->account, HR_LOAD);
    const struct hr_prefetched *ahead =
        self->prefetch ? hr_prefetch_take(self->prefetch, index) : NULL;
    hr_workspace_lend(workspace, ahead ? ahead->x : NULL, ahead ? ahead->y : NULL);
    if (!ahead)
        hr_input_decode(input, piece, hr_workspace_input(workspace),
                        hr_workspace_labels(workspace));
    hr_workspace_draw(workspace, ahead ? ahead->pass : input->pass,
                      ahead ? ahead->samples : input->samples);
    stats->prefetch_hits += ahead != NULL;
    stats->prefetch_misses += self->prefetch && !ahead;
    hr_account_turn(&stats->account, was);
}

struct hr_batch_result hr_gradient_of(struct hr_train_worker *self, const struct hr_batch *piece,
                                      uint64_t ahead, float *grads)
{
    struct hr_worker_stats *stats = self->worker.stats;
    load(self, piece, ahead);
    const int64_t began = hr_clock_ns(), between = self->final_ns;
    const struct hr_batch_result result = hr_model_gradient(
        self->job->model, self->buffers->workspace, self->worker.weights, piece->count, grads);
    if (!self->job->played) {
        stats->forward_ns += result.forward_ns;
        stats->backward_ns +=
            hr_clock_ns() - began - result.forward_ns - (self->final_ns - between);
    }
    return result;
}

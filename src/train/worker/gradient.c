#include "worker/gradient.h"

#include "base/clock.h"
#include "observe/spans.h"

/* Put the piece's samples where the workspace reads them. */
static void load(struct hr_train_worker *self, const struct hr_batch *piece,
                 const struct hr_prefetch_key *key)
{
    struct hr_worker_stats *stats = self->worker.stats;
    struct hr_workspace *workspace = self->buffers->workspace;
    struct hr_input *input = &self->buffers->input;
    const enum hr_activity was = hr_account_turn(&stats->account, HR_LOAD);
    const bool may_be = self->prefetch && key;
    const struct hr_prefetched *ahead = may_be ? hr_prefetch_take(self->prefetch, key) : NULL;
    hr_workspace_lend(workspace, ahead ? ahead->x : NULL, ahead ? ahead->y : NULL);
    if (!ahead)
        hr_input_decode(input, piece, hr_workspace_input(workspace),
                        hr_workspace_labels(workspace));
    hr_workspace_draw(workspace, ahead ? ahead->pass : input->pass,
                      ahead ? ahead->samples : input->samples);
    stats->prefetch_hits += ahead != NULL;
    stats->prefetch_misses += may_be && !ahead;
    hr_account_turn(&stats->account, was);
}

/* What it computes now is not over: it is put down up to here. */
static void name_parts(struct hr_train_worker *self, int64_t began, int64_t turned, int64_t ended)
{
    struct hr_spans *spans = self->worker.spans;
    if (!spans)
        return;
    hr_account_look(&self->worker.stats->account, ended);
    hr_spans_name(spans, HR_SPAN_COMPUTE, HR_SPAN_FORWARD, began, turned);
    hr_spans_name(spans, HR_SPAN_COMPUTE, HR_SPAN_BACKWARD, turned, ended);
}

/* Does it give away its gradient during backward, a piece at a time, to a strategy that updates
 * from it at once? Where nobody else reads it: not parts or stages that are added first, nor who is
 * told its norm, nor who would compute it once more. */
static bool gives_away(const struct hr_train_worker *self)
{
    const struct hr_train_job *job = self->job;
    return self->worker.hooks->piece && !job->played && !job->pipeline &&
           !hr_train_job_has_parts(job) && !job->shared->feed.steps;
}

static void hand_over(void *arg, const struct hr_final_piece *piece)
{
    struct hr_train_worker *self = arg;
    const int64_t began = hr_clock_ns();
    if (hr_gradient_check_piece(&self->check, piece))
        self->worker.hooks->piece(&self->worker, piece);
    self->final_ns += hr_clock_ns() - began;
}

static struct hr_taker taker_of(struct hr_train_worker *self)
{
    const struct hr_worker *worker = &self->worker;
    const size_t params = worker->shared->params;
    struct hr_taker taker = {hand_over, self, {worker->weights}};
    const size_t nstates = worker->state ? worker->shared->optimizer.rule->nstates : 0;
    for (size_t s = 0; s < nstates && s + 1 < HR_TAKER_BESIDE; s++)
        taker.beside[s + 1] = worker->state + s * params;
    return taker;
}

struct hr_batch_result hr_gradient_of(struct hr_train_worker *self, const struct hr_batch *piece,
                                      const struct hr_prefetch_key *key, float *grads)
{
    struct hr_worker_stats *stats = self->worker.stats;
    load(self, piece, key);
    const struct hr_taker taker = taker_of(self);
    hr_workspace_give(self->buffers->workspace, gives_away(self) ? &taker : NULL);
    const int64_t began = hr_clock_ns(), between = self->final_ns;
    const struct hr_batch_result result = hr_model_gradient(
        self->job->model, self->buffers->workspace, self->worker.weights, piece->count, grads);
    hr_workspace_give(self->buffers->workspace, NULL);
    if (!self->job->played) {
        const int64_t ended = hr_clock_ns(), turned = began + result.forward_ns;
        stats->forward_ns += result.forward_ns;
        name_parts(self, began, turned, ended);
        stats->backward_ns += ended - began - result.forward_ns - (self->final_ns - between);
    }
    return result;
}

#include "drive/real_worker.h"

#include "base/clock.h"
#include "drive/driver.h"

void hr_real_worker_tell_spans(struct hr_real_worker *seat)
{
    const struct hr_drive *drive = seat->drive;
    struct hr_worker *worker = seat->worker;
    if (!seat->shared->spans)
        return;
    hr_spans_open(&seat->spans, &seat->shared->feed, worker->rank, &seat->trainer.waiter,
                  drive->driver->now_ns, drive);
    worker->spans = seat->shared->spans[worker->rank] = &seat->spans;
    hr_account_watch = &seat->spans.watch;
}

void hr_real_worker_stop_spans(struct hr_real_worker *seat)
{
    if (!seat->shared->spans || !seat->worker)
        return;
    hr_account_watch = NULL;
    hr_spans_close(&seat->spans);
    seat->shared->spans[seat->worker->rank] = NULL;
}

/* Where a machine's workers push as one, its first worker has the gradients of the others, and what
 * servers reply. */
const char *hr_real_worker_awaited(const struct hr_real_worker *seat)
{
    const size_t node = seat->shared->node_workers;
    if (!hr_strategy_is_served(seat->strategy))
        return "the other workers' gradients";
    if (!node)
        return "a server's reply";
    return seat->worker->rank % node ? "the worker that pushes for its machine"
                                     : "its machine's gradients, or a server's reply";
}

enum hr_status hr_real_worker_meet(struct hr_real_worker *seat, enum hr_rest_stage stage)
{
    if (seat->drive->job->meet && !seat->shared->outlives)
        return seat->drive->job->meet(seat->drive->job->machines_arg, seat->worker->rank,
                                      &seat->trainer.waiter, stage);
    return seat->shared->outlives ? hr_rest_at(&seat->rest, stage)
                                  : hr_member_barrier(&seat->worker->member);
}

/* Of all workers' times; *at: where the launcher has put it, or the leader does. */
static int64_t latest_of(const struct hr_real_worker *seat, const int64_t *of_first, int64_t *at)
{
    const struct hr_shared_state *shared = seat->shared;
    if (shared->outlives)
        return *at;
    const int64_t latest = hr_account_latest(of_first, shared->workers, sizeof *shared->stats);
    if (seat->worker->seat == 0)
        *at = latest;
    return latest;
}

enum hr_status hr_real_worker_begin_span(struct hr_real_worker *seat)
{
    struct hr_cut *cut = seat->drive->leader->cuts.cut;
    struct hr_worker_stats *stats = seat->worker->stats;
    stats->began_ns = hr_clock_ns();
    HR_TRY(hr_real_worker_meet(seat, HR_STAGE_BEGINS));
    const int64_t began = latest_of(seat, &seat->shared->stats->began_ns, &cut->span_began_ns);
    hr_spans_cut_ends(seat->worker->spans, began);
    hr_account_open(&stats->account, began);
    hr_arrivals_begin(seat->worker, began);
    seat->trained_ns = cut->before_ns - began;
    hr_train_worker_leave_cut(&seat->trainer);
    seat->begun = true;
    seat->over = cut->halt;
    if (seat->over) /* what it still says to servers is in no span */
        hr_spans_cut_begins(seat->worker->spans, began);
    return HR_OK;
}

void hr_real_worker_join_span(struct hr_real_worker *seat)
{
    const struct hr_cut *cut = seat->drive->leader->cuts.cut;
    seat->trained_ns = cut->before_ns - cut->span_began_ns;
}

enum hr_status hr_real_worker_end_span(struct hr_real_worker *seat)
{
    struct hr_cut *cut = seat->drive->leader->cuts.cut;
    HR_TRY(hr_real_worker_meet(seat, HR_STAGE_ENDED));
    const int64_t ended = latest_of(seat, &seat->shared->stats->came_ns, &cut->span_ended_ns);
    hr_account_close(&seat->worker->stats->account, ended);
    hr_arrivals_leave(seat->worker, ended);
    hr_spans_cut_begins(seat->worker->spans, ended);
    return hr_tell_steps(&seat->trainer, seat->trained_ns + ended);
}

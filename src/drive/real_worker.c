#include "drive/real_worker.h"

#include "base/clock.h"
#include "drive/driver.h"

enum hr_status hr_real_worker_meet(struct hr_real_worker *seat, enum hr_rest_stage stage)
{
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
    hr_account_open(&stats->account, began);
    hr_train_worker_leave_cut(&seat->trainer);
    seat->begun = true;
    seat->over = cut->halt;
    return HR_OK;
}

enum hr_status hr_real_worker_end_span(struct hr_real_worker *seat)
{
    struct hr_cut *cut = seat->drive->leader->cuts.cut;
    HR_TRY(hr_real_worker_meet(seat, HR_STAGE_ENDED));
    const int64_t ended = latest_of(seat, &seat->shared->stats->came_ns, &cut->span_ended_ns);
    hr_account_close(&seat->worker->stats->account, ended);
    return HR_OK;
}

/* A rank: epochs of steps on its own rows, and between them cuts at which all are quiescent. */
#include <math.h>

#include "base/clock.h"
#include "base/size.h"
#include "data/order.h"
#include "sparse/hot.h"
#include "sparse/run.h"

/* A worker tells who looks on (observe/feed.h) of each block of rows that it has trained.
 *
 * Blocks are numbered as they are done, by the rows that all workers have trained then: so at a
 * cut, in the middle of an epoch too, those up to its index are the ones that it has. A block is
 * told when its worker begins the next, or its account stands at a cut: its time is that since the
 * one before was told. Nobody knows how stale an update is, and a row's gradient has no norm of
 * use.
 */
static void sparse_done_block(struct hr_sparse_worker *worker, size_t rows)
{
    if (!worker->reports)
        return;
    const uint64_t before = hr_atom64_fetch_add_relaxed(worker->run->trained, rows);
    worker->unreported = (struct hr_step_record){.kind = HR_RECORD_STEP,
                                                 .index = before + rows - 1,
                                                 .samples = (uint32_t)rows,
                                                 .loss_sum = worker->loss_sum,
                                                 .norm = NAN,
                                                 .staleness = HR_NOT_STALE};
    worker->loss_sum = 0;
}

/* A block is done; and it is known how this worker spent its time until the next, or the
 * cut: the launcher is told. Each is nothing where nobody looks on. */
static enum hr_status sparse_report(struct hr_sparse_worker *worker)
{
    const struct hr_sparse_run *run = worker->run;
    struct hr_account *account = &worker->tally->account;
    struct hr_step_record *record = &worker->unreported;
    if (!record->samples)
        return HR_OK;
    hr_account_look(account, hr_clock_ns());
    record->at_ns = run->cuts.cut->before_ns + account->since_ns - worker->span_began_ns;
    for (int a = 0; a < HR_ACTIVITIES; a++) {
        hr_record_spend(record, (enum hr_activity)a, account->spent_ns[a] - worker->reported_ns[a]);
        worker->reported_ns[a] = account->spent_ns[a];
    }
    HR_TRY(hr_feed_put(&run->feed, worker->rank, &worker->waiter, record));
    record->samples = 0;
    return HR_OK;
}

/* --- an epoch --- */

/* For hogring top. */
static void report(const struct hr_sparse_worker *worker)
{
    struct hr_gauge *gauge = &worker->run->control->rank[worker->rank].gauge;
    hr_gauge_work(gauge, worker->tally->rows, worker->tally->updates);
    hr_gauge_time(gauge, &worker->tally->account);
}

/* Steps on what is left of a shard, block by block; a block is claimed by one worker. */
static enum hr_status train_shard(struct hr_sparse_worker *worker, size_t owner,
                                  const struct hr_sampler *sampler)
{
    struct hr_sparse_run *run = worker->run;
    const struct hr_sparse_shard shard = hr_sparse_shard_of(run, owner);
    uint32_t order[HR_SPARSE_BLOCK];
    for (;;) {
        HR_TRY(hr_wait_check(&worker->waiter));
        if (hr_atom32_load_acquire(run->stop) != HR_STOP_NOT) /* partner: the launcher */
            return HR_OK; /* before a block is claimed: a claimed block must be trained */
        /* Relaxed: it orders no data. */
        const size_t block = hr_atom64_fetch_add_relaxed(&run->tally[owner].claim, 1);
        const size_t at = shard.first + block * HR_SPARSE_BLOCK;
        if (at >= shard.end)
            return HR_OK;
        const size_t n = hr_min_size(HR_SPARSE_BLOCK, shard.end - at);
        HR_TRY(sparse_report(worker));
        hr_sampler_fill(sampler, at, n, order);
        HR_TRY(run->steps(worker, order, n));
        worker->tally->rows += n;
        sparse_done_block(worker, n);
        hr_atom64_store_relaxed(&worker->tally->seen, worker->tally->rows); /* an estimate */
        report(worker);
    }
}

/* A worker's own shard, then blocks that others have not begun: all wait at most for the current
 * block of a worker that has lost its processor. */
static enum hr_status train_epoch(struct hr_sparse_worker *worker)
{
    struct hr_sparse_run *run = worker->run;
    const size_t rows = run->problem.train.count;
    const uint64_t epoch = run->cuts.cut->index / rows;
    const struct hr_sampler sampler = hr_sampler_of(run->options.seed, epoch, rows);
    worker->rate = hr_lr_at(&run->schedule.lr, (double)epoch, 1.0);
    worker->inner_eps = *run->inner_eps;
    for (size_t i = 0; i < run->options.workers; i++)
        HR_TRY(train_shard(worker, (worker->rank + i) % run->options.workers, &sampler));
    return HR_OK;
}

/* --- the clock runs from the moment when the first may begin to when the last has ended --- */

static enum hr_status begin_span(struct hr_sparse_worker *worker)
{
    struct hr_sparse_run *run = worker->run;
    struct hr_sparse_tally *tally = worker->tally;
    tally->began_ns = hr_clock_ns();
    HR_TRY(hr_member_barrier(&worker->member));
    hr_account_open(&tally->account,
                    hr_account_latest(&run->tally->began_ns, run->options.workers, sizeof *tally));
    worker->span_began_ns = tally->account.since_ns;
    if (worker->rank == 0)
        run->cuts.cut->span_began_ns = tally->account.since_ns;
    return HR_OK;
}

static enum hr_status end_span(struct hr_sparse_worker *worker)
{
    struct hr_sparse_run *run = worker->run;
    struct hr_sparse_tally *tally = worker->tally;
    hr_account_turn(&tally->account, HR_WAIT); /* for the last to come */
    tally->came_ns = hr_clock_ns();
    tally->account.open = false;
    HR_TRY(hr_member_barrier(&worker->member));
    hr_account_close(&tally->account,
                     hr_account_latest(&run->tally->came_ns, run->options.workers, sizeof *tally));
    if (worker->rank == 0)
        run->cuts.cut->span_ended_ns = tally->account.since_ns;
    return sparse_report(worker);
}

/* --- a cut: the leader decides, between barriers --- */

/* An epoch is over: set inner_eps for the next one, and make all blocks free again. */
static void end_epoch(struct hr_sparse_run *run)
{
    static const double LEAST = 1e-6; /* below, a float margin has no more digits */
    uint64_t newton = 0;
    for (size_t w = 0; w < run->options.workers; w++) {
        newton += run->tally[w].newton;
        run->tally[w].newton = 0;
        hr_atom64_store_relaxed(&run->tally[w].claim, 0); /* all are quiescent */
    }
    if (newton > run->problem.train.count / 10)
        return;
    *run->inner_eps = *run->inner_eps > 10 * LEAST ? *run->inner_eps / 10 : LEAST;
}

/* Returns whether any row was trained since the cut before: a request to stop may come first. */
static bool decide(struct hr_sparse_run *run)
{
    struct hr_cut *cut = run->cuts.cut;
    const uint32_t stop = hr_atom32_load_acquire(run->stop); /* partner: the launcher */
    const uint64_t before = cut->index;
    cut->trained = (struct hr_trained){0};
    for (size_t w = 0; w < run->options.workers; w++) {
        cut->trained.samples += run->tally[w].rows;
        cut->trained.updates += run->tally[w].updates;
    }
    hr_cut_decide(&run->cuts, run->schedule.first + cut->trained.samples, (enum hr_stop)stop);
    const bool moved = cut->index != before;
    /* A run that saves nothing cannot be resumed, so it is also evaluated where it is stopped. */
    cut->evaluate =
        run->cuts.saves ? cut->evaluate && moved : moved || !hr_atom64_load_relaxed(&cut->ncurve);
    return moved;
}

static void conclude(struct hr_sparse_run *run, bool moved)
{
    const uint64_t index = run->cuts.cut->index;
    struct hr_curve_point point = {.epoch = (double)index / (double)run->schedule.samples};
    if (run->cuts.cut->evaluate) {
        hr_sparse_fold(run, &point);
        point = hr_cut_measured(&run->cuts, point);
        if (hr_cut_improves(&run->cuts, &point)) {
            hr_sparse_copy_weights(run, hr_best_weights_next(&run->best));
            hr_best_weights_done(&run->best);
        }
        hr_cut_add_point(&run->cuts, point);
    }
    if (moved && hr_batch_schedule_ends_epoch(&run->schedule, index))
        end_epoch(run);
    hr_cut_conclude(&run->cuts);
}

/* No worker changes a weight while the launcher saves them. */
static enum hr_status wait_for_save(struct hr_sparse_worker *worker)
{
    struct hr_cut *cut = worker->run->cuts.cut;
    if (!cut->save || cut->halt)
        return HR_OK;
    return hr_wait_until(&worker->waiter, &worker->run->control->rank[worker->rank].bell,
                         hr_cut_may_arrive, cut, "the checkpoint");
}

static enum hr_status at_cut(struct hr_sparse_worker *worker)
{
    struct hr_sparse_run *run = worker->run;
    const bool leader = worker->rank == 0;
    bool moved = false;
    hr_control_phase(run->control, worker->rank, HR_PHASE_CUT);
    HR_TRY(end_span(worker));
    if (leader)
        moved = decide(run);
    HR_TRY(hr_member_barrier(&worker->member));
    if (run->cuts.cut->evaluate)
        hr_sparse_evaluate(worker);
    HR_TRY(hr_member_barrier(&worker->member));
    if (leader)
        conclude(run, moved);
    HR_TRY(hr_member_barrier(&worker->member)); /* concluding may end the run */
    HR_TRY(wait_for_save(worker));
    return begin_span(worker);
}

static enum hr_status work(struct hr_sparse_worker *worker)
{
    struct hr_sparse_run *run = worker->run;
    hr_control_phase(run->control, worker->rank, HR_PHASE_COMMUNICATE); /* it has started */
    HR_TRY(begin_span(worker));
    do {
        hr_account_turn(&worker->tally->account, HR_COMPUTE);
        hr_control_phase(run->control, worker->rank, HR_PHASE_COMPUTE);
        hr_control_step(run->control, worker->rank, run->cuts.cut->index);
        HR_TRY(train_epoch(worker));
        HR_TRY(at_cut(worker));
    } while (!run->cuts.cut->halt);
    hr_control_phase(run->control, worker->rank, HR_PHASE_FINISHED);
    return HR_OK;
}

/* Weights that exceed the second-level cache are prefetched even if only one worker has them. */
static bool is_worth_reaching(const struct hr_sparse_run *run)
{
    enum { PRIVATE_CACHE_BYTES = 512 << 10 };
    return run->options.workers > 1 || run->problem.params * sizeof(float) > PRIVATE_CACHE_BYTES;
}

enum hr_status hr_sparse_worker_main(void *arg, size_t rank)
{
    struct hr_sparse_run *run = arg;
    struct hr_sparse_worker worker = {
        .run = run,
        .rank = rank,
        .waiter = run->waits,
        .tally = &run->tally[rank],
        .hot = hr_min_size(run->hot_copies, run->problem.params),
        .reaches = is_worth_reaching(run),
        .reports = hr_feed_is_on(&run->feed),
    };
    worker.waiter.account = &run->tally[rank].account;
    const struct hr_place place = {.group = run->group,
                                   .segment = run->segment.base,
                                   .control = run->control,
                                   .waiter = &worker.waiter};
    HR_TRY(hr_member_init(&worker.member, &run->group_options, &place, rank));
    const enum hr_status status = work(&worker);
    hr_member_fini(&worker.member);
    return status;
}

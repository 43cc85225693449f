/* A rank: epochs of steps on rows of its own, and between them cuts at which all come to rest. */
#include "base/clock.h"
#include "base/size.h"
#include "data/sampler.h"
#include "sparse/hot.h"

static bool lock_is_mine(void *arg)
{
    struct hr_sparse_lock *lock = arg;
    return hr_atom64_replace_acq_rel(&lock->taken, 0, 1); /* partner: hr_sparse_lock_leave */
}

enum hr_status hr_sparse_lock_take(struct hr_sparse_worker *worker)
{
    struct hr_sparse_lock *lock = worker->run->lock;
    return lock_is_mine(lock) ? HR_OK
                              : hr_wait_until(&worker->waiter, &lock->bell, lock_is_mine, lock,
                                              "the lock on the weights");
}

void hr_sparse_lock_leave(struct hr_sparse_worker *worker)
{
    struct hr_sparse_lock *lock = worker->run->lock;
    hr_atom64_store_release(&lock->taken, 0); /* partner: lock_is_mine */
    hr_bell_ring(&lock->bell);
}

/* --- an epoch --- */

/* Positions of the order that belong to worker `owner`. */
struct shard {
    size_t first, end;
};

static struct shard shard_of(const struct hr_sparse_run *run, size_t owner)
{
    const size_t count = run->problem.train.count, workers = run->options.workers;
    return (struct shard){count * owner / workers, count * (owner + 1) / workers};
}

/* Steps on what is left of a shard, block by block; a block is claimed by one worker. */
static enum hr_status train_shard(struct hr_sparse_worker *worker, size_t owner,
                                  const struct hr_sampler *sampler)
{
    struct hr_sparse_run *run = worker->run;
    const struct shard shard = shard_of(run, owner);
    uint32_t order[HR_SPARSE_BLOCK];
    for (;;) {
        /* A number, no data: relaxed. */
        const size_t block = hr_atom64_fetch_add_relaxed(&run->tally[owner].claim, 1);
        const size_t at = shard.first + block * HR_SPARSE_BLOCK;
        HR_TRY(hr_wait_check(&worker->waiter));
        if (at >= shard.end || hr_atom32_load_acquire(&run->board->stop)) /* partner: launcher */
            return HR_OK;
        const size_t n = hr_min_size(HR_SPARSE_BLOCK, shard.end - at);
        hr_sampler_fill(sampler, at, n, order);
        HR_TRY(run->steps(worker, order, n));
        worker->tally->rows += n;
        hr_atom64_store_relaxed(&worker->tally->seen, worker->tally->rows); /* an estimate */
    }
}

/* One's own shard, then what the others have not come to: nobody waits for a worker that has lost
 * its processor, but for the block it has in hand. */
static enum hr_status train_epoch(struct hr_sparse_worker *worker)
{
    struct hr_sparse_run *run = worker->run;
    const struct hr_sampler sampler =
        hr_sampler_of(run->options.seed, run->board->epoch, run->problem.train.count);
    worker->rate = hr_lr_at(&run->rate, (double)run->board->epoch, 1.0);
    worker->inner_eps = run->board->inner_eps;
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
    if (worker->rank == 0)
        run->board->span_began_ns = tally->account.since_ns;
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
    const int64_t ended_ns =
        hr_account_latest(&run->tally->came_ns, run->options.workers, sizeof *tally);
    hr_account_close(&tally->account, ended_ns);
    if (worker->rank == 0)
        run->board->train_ns += ended_ns - run->board->span_began_ns;
    return HR_OK;
}

/* --- a cut: the leader decides, between two barriers --- */

static void settle_inner_eps(struct hr_sparse_run *run)
{
    static const double LEAST = 1e-6; /* below, a float margin has no more digits */
    struct hr_sparse_board *board = run->board;
    uint64_t newton = 0;
    for (size_t w = 0; w < run->options.workers; w++) {
        newton += run->tally[w].newton;
        run->tally[w].newton = 0;
        hr_atom64_store_relaxed(&run->tally[w].claim, 0); /* all are at rest */
    }
    if (newton > run->problem.train.count / 10)
        return;
    board->inner_eps = board->inner_eps > 10 * LEAST ? board->inner_eps / 10 : LEAST;
}

static void conclude(struct hr_sparse_run *run)
{
    struct hr_sparse_board *board = run->board;
    const uint64_t ncurve = hr_atom64_load_relaxed(&board->ncurve);
    struct hr_curve_point *point = &run->curve[ncurve];
    const uint32_t stop = hr_atom32_load_acquire(&board->stop); /* partner: the launcher */
    *point = (struct hr_curve_point){.seconds = hr_seconds(board->train_ns)};
    for (size_t w = 0; w < run->options.workers; w++)
        point->samples += run->tally[w].rows;
    point->epoch = (double)point->samples / (double)run->problem.train.count;
    hr_sparse_fold(run, point);
    hr_atom64_store_release(&board->ncurve, ncurve + 1); /* partner: the launcher */
    settle_inner_eps(run);
    board->epoch++;
    board->interrupted = stop == HR_SPARSE_STOP_INTERRUPTED;
    board->halt = stop || board->epoch == run->options.epochs;
}

static enum hr_status at_cut(struct hr_sparse_worker *worker)
{
    struct hr_sparse_run *run = worker->run;
    const bool leader = worker->rank == 0;
    hr_control_phase(run->control, worker->rank, HR_PHASE_CUT);
    HR_TRY(end_span(worker));
    hr_sparse_evaluate(worker);
    HR_TRY(hr_member_barrier(&worker->member));
    if (leader)
        conclude(run);
    return begin_span(worker);
}

static enum hr_status work(struct hr_sparse_worker *worker)
{
    struct hr_sparse_run *run = worker->run;
    HR_TRY(begin_span(worker));
    do {
        hr_account_turn(&worker->tally->account, HR_COMPUTE);
        hr_control_phase(run->control, worker->rank, HR_PHASE_COMPUTE);
        hr_control_step(run->control, worker->rank, run->board->epoch);
        HR_TRY(train_epoch(worker));
        HR_TRY(at_cut(worker));
    } while (!run->board->halt);
    hr_control_phase(run->control, worker->rank, HR_PHASE_FINISHED);
    return HR_OK;
}

/* More weights than the second-level cache holds are fetched ahead even if nobody shares them. */
static bool is_worth_reaching(const struct hr_sparse_run *run)
{
    enum { PRIVATE_CACHE_BYTES = 512 << 10 };
    return run->options.workers > 1 || run->problem.params * sizeof(float) > PRIVATE_CACHE_BYTES;
}

/* How many weights a worker keeps copies of: nobody else touches those of one alone. */
static size_t hot_weights(const struct hr_sparse_run *run)
{
    const bool shared = run->options.workers > 1 && !run->locked;
    return shared && run->steps == hr_sparse_sgd
               ? hr_min_size(run->options.hot_copies, run->problem.params)
               : 0;
}

enum hr_status hr_sparse_worker_main(void *arg, size_t rank)
{
    struct hr_sparse_run *run = arg;
    struct hr_sparse_worker worker = {
        .run = run,
        .rank = rank,
        .waiter = {.abort = &run->control->abort,
                   .spin_ns = run->spin_ns,
                   .yield_ns = run->yield_ns,
                   .timeout_ns = run->timeout_ns,
                   .account = &run->tally[rank].account},
        .tally = &run->tally[rank],
        .hot = hot_weights(run),
        .reaches = is_worth_reaching(run),
    };
    const struct hr_place place = {.group = run->group,
                                   .segment = run->segment.base,
                                   .control = run->control,
                                   .waiter = &worker.waiter};
    HR_TRY(hr_member_init(&worker.member, &run->group_options, &place, rank));
    const enum hr_status status = work(&worker);
    hr_member_fini(&worker.member);
    return status;
}

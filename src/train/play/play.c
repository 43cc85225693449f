#include "play/play.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/fpenv.h"
#include "products/ready.h"
#include "server/server.h"
#include "server/server_requests.h"
#include "drive/record.h"

bool hr_play_may_act(struct hr_play *play, size_t rank)
{
    const struct hr_worker *worker = &play->worker[rank].worker;
    switch (play->state[rank]) {
    case HR_WANTS:
    case HR_ASKED:
        return !hr_requests_unanswered(worker) || hr_requests_are_taken(worker);
    case HR_HAS:
        return true;
    case HR_AT_CUT:
    case HR_ARRIVING:
        return play->life[rank].rank.ready(play->life[rank].rank.arg);
    default:
        return false;
    }
}

/* A job of the pool: the gradient of a worker's batch. */
static enum hr_status gradient(void *arg, size_t rank, struct hr_compute_buffers *buffers)
{
    struct hr_play *play = arg;
    struct hr_train_worker *worker = &play->worker[rank];
    hr_train_worker_borrow(worker, buffers);
    const enum hr_status status = hr_train_worker_gradient(worker, &play->task[rank]);
    if (status == HR_OK)
        return HR_OK;
    return hr_fail_within(status, "rank %zu, step %llu", rank,
                          (unsigned long long)play->task[rank].index);
}

enum hr_status hr_play_compute(struct hr_play *play, size_t rank, int64_t due)
{
    const struct hr_worker_stats *stats = &play->shared->stats[rank];
    hr_control_step(play->shared->control, rank, play->task[rank].index);
    hr_train_worker_begin(&play->worker[rank], &play->task[rank]);
    play->played[rank].last = stats->last;
    play->played[rank].before = hr_stats_gradients(stats);
    play->played[rank].step = play->worker[rank].worker.steps;
    return hr_pool_submit(play->pool, gradient, play, rank, due);
}

enum hr_status hr_play_finish_gradient(struct hr_play *play, size_t rank)
{
    if (!hr_pool_has(play->pool, rank))
        HR_TRY(hr_play_compute(play, rank, 0));
    return hr_pool_join(play->pool, rank);
}

void hr_play_drop_gradient(struct hr_play *play, size_t rank)
{
    struct hr_worker_stats *stats = &play->shared->stats[rank];
    if (!hr_pool_has(play->pool, rank))
        return;
    if (hr_pool_join(play->pool, rank) == HR_OK)
        hr_stats_take_back(stats);
    stats->last = play->played[rank].last;
}

/* Does an update stand in its weights that was offered after a loss? */
static void look_for_resumption(struct hr_play *play, size_t rank)
{
    struct hr_played *played = &play->played[rank];
    if (play->shared->outlives)
        hr_losses_resumed(&play->drive->losses, &played->losses_seen, played->offered_ns);
}

/* --- a worker's life: it runs from one turn to the next --- */

static struct hr_played_life *played_of(struct hr_rank *rank)
{
    return (struct hr_played_life *)rank;
}

static void await_turn(struct hr_rank *rank)
{
    struct hr_played_life *played = played_of(rank);
    if (!played->begins)
        hr_fibre_wait();
    played->begins = false;
}

static enum hr_status has_accepted(const struct hr_rank *rank)
{
    struct hr_play *play = rank->of;
    look_for_resumption(play, rank->worker->rank);
    if (rank->task->kind == HR_TASK_CUT || play->drive->driver->simulated)
        return HR_OK; /* it is told when its time is known */
    return hr_tell_steps(&play->worker[rank->worker->rank], hr_drive_trained_ns(play->drive));
}

static enum hr_status stand(struct hr_rank *rank)
{
    struct hr_play *play = rank->of;
    play->state[rank->worker->rank] = rank->where;
    if (rank->where == HR_HAS || rank->where == HR_AT_CUT)
        HR_TRY(has_accepted(rank));
    if (rank->where != HR_ARRIVED)
        await_turn(rank);
    return HR_OK;
}

/* It has a turn: hr_play_may_act. */
static enum hr_status wait_in_life(struct hr_rank *rank, struct hr_bell *bell)
{
    (void)bell;
    while (!rank->ready(rank->arg)) {
        played_of(rank)->idle = true;
        await_turn(rank);
    }
    return HR_OK;
}

static enum hr_status repeat(struct hr_rank *rank)
{
    hr_requests_repeat(rank->worker);
    await_turn(rank);
    return HR_OK;
}

/* It is computed on no fibre's stack: kernels are others', too. */
static enum hr_status has_gradient(struct hr_rank *rank)
{
    struct hr_play *play = rank->of;
    play->played[rank->worker->rank].offered_ns = play->drive->driver->now_ns(play->drive);
    return HR_OK;
}

static const struct hr_rank_ways ways = {stand, wait_in_life, repeat, has_gradient};

static enum hr_status live(void *rank)
{
    return hr_rank_span(rank);
}

static void begin_life(struct hr_play *play, size_t rank)
{
    struct hr_played_life *played = &play->life[rank];
    HR_ASSERT(play->state[rank] == HR_WANTS);
    *played = (struct hr_played_life){.rank = {.ways = &ways,
                                               .of = play,
                                               .worker = &play->worker[rank].worker,
                                               .task = &play->task[rank],
                                               .may_arrive = hr_cut_may_arrive,
                                               .cut = play->drive->leader->cuts.cut},
                                      .begins = true};
    hr_fibre_start(play->fibres, rank, live, &played->rank);
}

enum hr_status hr_play_act(struct hr_play *play, size_t rank, bool *idle)
{
    struct hr_played_life *played = &play->life[rank];
    enum hr_status status = HR_OK;
    if (play->state[rank] == HR_HAS)
        HR_TRY(hr_play_finish_gradient(play, rank));
    if (played->rank.where != play->state[rank])
        begin_life(play, rank);
    (void)hr_fibre_run(play->fibres, rank, &status);
    *idle = played->idle;
    played->idle = false;
    return status;
}

bool hr_play_may_take(const struct hr_play *play, size_t shard)
{
    const struct hr_shared_state *shared = play->shared;
    const enum hr_stand state = play->state[hr_shard_rank(shared, shard)];
    if (!shared->colocated)
        return state == HR_WANTS;
    return hr_requests_unanswered(&play->worker[shard].worker) ||
           (state != HR_WANTS && state != HR_HAS);
}

void hr_play_take(struct hr_play *play, size_t shard, size_t worker)
{
    play->played[play->shared->workers + shard].taken++;
    hr_shard_take_and_note(&play->shard[shard], worker);
}

enum hr_status hr_play_tick(struct hr_play *play)
{
    const int64_t now = hr_clock_ns();
    if (now - play->ticked_ns < HR_NS_PER_SECOND / 10)
        return HR_OK;
    play->ticked_ns = now;
    return hr_launcher_tick(play->drive->launcher);
}

enum hr_status hr_play_start_worker(struct hr_play *play, size_t rank, bool joins)
{
    struct hr_train_worker *worker = &play->worker[rank];
    HR_TRY(hr_train_worker_start(worker, play->drive->job, rank, joins));
    play->played[rank].up = true;
    if (hr_workers_log(play->shared->strategy))
        worker->worker.replay.log = hr_record_log(play->drive, rank);
    return HR_OK;
}

enum hr_status hr_play_start_shard(struct hr_play *play, size_t shard)
{
    struct hr_shared_state *shared = play->shared;
    HR_TRY(shared->strategy->shard_start(&play->shard[shard], shared, shard));
    play->played[shared->workers + shard].up = true;
    return HR_OK;
}

static enum hr_status start_ranks(struct hr_play *play)
{
    const struct hr_shared_state *shared = play->shared;
    for (size_t s = 0; s < play->shared->servers; s++)
        HR_TRY(hr_play_start_shard(play, s));
    for (size_t r = 0; r < shared->workers; r++)
        HR_TRY(hr_play_start_worker(play, r, false));
    return HR_OK;
}

size_t hr_play_bytes(const struct hr_shared_state *shared)
{
    const struct hr_play *play = NULL;
    const size_t owners = shared->servers, ranks = shared->workers + owners;
    return shared->workers * (sizeof *play->worker + sizeof *play->task) +
           (owners + 1) * sizeof *play->shard + shared->workers * sizeof *play->life +
           hr_fibres_bytes(shared->workers) + ranks * (sizeof *play->state + sizeof *play->played);
}

enum hr_status hr_play_start(struct hr_play *play, struct hr_drive *drive)
{
    const size_t threads = drive->driver->threads(drive->job->options);
    const size_t workers = drive->job->shared->workers, servers = drive->job->shared->servers;
    *play =
        (struct hr_play){.drive = drive, .shared = drive->job->shared, .ticked_ns = hr_clock_ns()};
    HR_TRY(hr_kernels_init_process(threads));
    hr_fp_flush_denormals();
    play->worker = calloc(workers, sizeof *play->worker);
    play->shard = calloc(servers + 1, sizeof *play->shard);
    play->state = calloc(workers + servers, sizeof *play->state);
    play->played = calloc(workers + servers, sizeof *play->played);
    play->task = calloc(workers, sizeof *play->task);
    play->life = calloc(workers, sizeof *play->life);
    if (!play->worker || !play->shard || !play->life || !play->state || !play->played ||
        !play->task)
        return hr_fail(HR_E_NOMEM, "no memory for %zu ranks", drive->job->nranks);
    for (size_t r = 0; r < workers; r++)
        play->life[r].rank.where = HR_ARRIVED; /* as before any span */
    HR_TRY(hr_fibres_open(workers, 0, &play->fibres));
    HR_TRY(hr_pool_start(drive->job, threads, &play->pool));
    HR_TRY(start_ranks(play));
    drive->leader->cuts.cut->span_began_ns = drive->driver->now_ns(drive);
    return HR_OK;
}

void hr_play_stop(struct hr_play *play)
{
    hr_pool_stop(play->pool);
    const size_t workers = play->shared->workers;
    for (size_t r = 0; play->played && r < workers; r++)
        if (play->played[r].up)
            hr_train_worker_drop(&play->worker[r]); /* nobody listens any more */
    for (size_t s = 0; play->played && s < play->shared->servers; s++)
        if (play->played[workers + s].up)
            play->shared->strategy->shard_stop(&play->shard[s]);
    hr_fibres_close(play->fibres);
    free(play->life);
    free(play->worker);
    free(play->shard);
    free(play->state);
    free(play->played);
    free(play->task);
}

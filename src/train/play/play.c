#include "play/play.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/fpenv.h"
#include "drive/record.h"
#include "products/ready.h"
#include "server/server.h"
#include "server/server_worker.h"
#include "strategy/pause.h"
#include "strategy/shared.h"
#include "worker/worker.h"

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

static void drop_gradient(struct hr_play *play, size_t rank)
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
    return hr_report_steps(&play->worker[rank->worker->rank], hr_drive_trained_ns(play->drive));
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
    if (play->state[shared->workers + shard] != HR_WANTS)
        return false;
    if (!shared->colocated)
        return true;
    return hr_play_lives(play, shard) && (hr_requests_unanswered(&play->worker[shard].worker) ||
                                          (state != HR_WANTS && state != HR_HAS));
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

static enum hr_status start_worker(struct hr_play *play, size_t rank, bool joins)
{
    struct hr_train_worker *worker = &play->worker[rank];
    HR_TRY(hr_train_worker_start(worker, play->drive->job, rank, joins));
    play->played[rank].up = true;
    if (hr_workers_log(play->shared->strategy))
        worker->worker.replay.log = hr_record_log(play->drive, rank);
    return HR_OK;
}

static enum hr_status start_shard(struct hr_play *play, size_t shard)
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
        HR_TRY(start_shard(play, s));
    for (size_t r = 0; r < shared->workers; r++)
        HR_TRY(start_worker(play, r, false));
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

/* --- losses: who is killed --- */

static const char how[] = "killed by --inject";

static struct hr_losses *losses_of(const struct hr_play *play)
{
    return &play->drive->losses;
}

static size_t ranks(const struct hr_play *play)
{
    return play->shared->workers + play->shared->servers;
}

bool hr_play_is_killed(const struct hr_play *play, size_t rank)
{
    const struct hr_train_job *job = play->drive->job;
    const int64_t now_ps = hr_launcher_ps(play->drive->launcher);
    const size_t workers = play->shared->workers;
    if (rank >= workers)
        return hr_conditions_kill_server(job, rank - workers, play->played[rank].taken, now_ps);
    const bool computes = hr_pool_has(play->pool, rank); /* perhaps now: its counters change */
    return hr_conditions_kill(
        job, rank, computes ? play->played[rank].step : play->worker[rank].worker.steps, now_ps);
}

/* --- death, and its notice --- */

static void die_as_worker(struct hr_play *play, size_t rank)
{
    drop_gradient(play, rank);
    if (play->played[rank].up)
        hr_train_worker_drop(&play->worker[rank]);
    play->life[rank].rank = (struct hr_rank){.where = HR_DEAD}; /* another life begins anew */
}

/* Nobody may read what a dead server had: let it be no number. */
static void die_as_server(struct hr_play *play, size_t shard)
{
    const struct hr_shared_state *shared = play->shared;
    struct hr_shard *it = &play->shard[shard];
    const size_t states = shared->strategy->rows.state == HR_KEPT_OWN ? 0 : hr_state_floats(shared);
    memset(it->weights, 0xff, it->count * sizeof *it->weights);
    if (it->sum)
        memset(it->sum, 0xff, it->count * sizeof *it->sum);
    for (size_t at = it->first; at < states; at += shared->params)
        memset(it->state + at, 0xff, it->count * sizeof *it->state);
    if (play->played[play->shared->workers + shard].up)
        play->shared->strategy->shard_stop(it);
    play->played[play->shared->workers + shard].up = false;
}

static enum hr_status say_lost(size_t rank)
{
    return hr_fail(HR_E_LOST, "rank %zu: %s", rank, how);
}

enum hr_status hr_play_die(struct hr_play *play, size_t rank)
{
    HR_ASSERT(hr_play_lives(play, rank));
    if (rank < play->shared->workers)
        die_as_worker(play, rank);
    else
        die_as_server(play, rank - play->shared->workers);
    if (hr_owns_shard(play->shared, rank))
        die_as_server(play, rank);
    play->played[rank].up = false;
    play->state[rank] = HR_DEAD;
    return play->shared->outlives ? HR_OK : say_lost(rank);
}

enum hr_status hr_play_notice(struct hr_play *play, size_t rank)
{
    HR_ASSERT(play->state[rank] == HR_DEAD);
    if (!hr_losses_lost(losses_of(play), rank, how))
        return hr_fail(HR_E_LOST, "rank %zu: %s%s", rank, how, losses_of(play)->why_not);
    play->state[rank] = HR_LOST;
    for (size_t r = 0; hr_losses_are_revoked(losses_of(play)) && r < ranks(play); r++)
        if (hr_play_lives(play, r)) {
            if (r < play->shared->workers)
                drop_gradient(play, r);
            play->state[r] = HR_QUIESCENT;
        }
    return HR_OK;
}

/* --- return --- */

/* Explored schedules have no time. */
static bool may_start_again(const struct hr_play *play, size_t rank)
{
    const struct hr_drive *drive = play->drive;
    const int64_t *again_ns = drive->losses.again_ns;
    if (play->state[rank] != HR_LOST || !again_ns[rank])
        return false;
    return !drive->driver->simulated || again_ns[rank] <= drive->driver->now_ns(drive);
}

bool hr_play_may_come_back(struct hr_play *play, size_t rank)
{
    if (!may_start_again(play, rank))
        return false;
    if (rank >= play->shared->workers)
        return true;
    return hr_losses_are_revoked(losses_of(play)) || hr_losses_is_taken(losses_of(play), rank);
}

enum hr_status hr_play_come_back(struct hr_play *play, size_t rank)
{
    hr_losses_start(losses_of(play), rank);
    hr_losses_welcome(losses_of(play), rank);
    play->state[rank] = HR_QUIESCENT;
    play->played[rank].taken = 0; /* messages, of its next life */
    if (rank >= play->shared->workers || hr_losses_are_revoked(losses_of(play)))
        return HR_OK;
    play->state[rank] = HR_WANTS;
    return start_worker(play, rank, true);
}

/* --- terms --- */

bool hr_play_term_is_over(const struct hr_play *play)
{
    if (!play->shared->outlives || !hr_losses_are_revoked(losses_of(play)))
        return false;
    for (size_t r = 0; r < ranks(play); r++)
        if (play->state[r] == HR_DEAD)
            return false;
    return !hr_losses_await(losses_of(play));
}

/* A worker that lives: it begins from the snapshot, if it is active. */
static enum hr_status begin_again(struct hr_play *play, size_t rank)
{
    struct hr_train_worker *worker = &play->worker[rank];
    struct hr_played *played = &play->played[rank];
    worker->job = play->drive->job;
    worker->worker.rank = rank;
    play->life[rank].rank = (struct hr_rank){.where = HR_QUIESCENT}; /* it begins anew */
    play->state[rank] = hr_train_worker_enter_group(worker) ? HR_WANTS : HR_QUIESCENT;
    if (play->state[rank] == HR_QUIESCENT) {
        hr_worker_sit_out(&worker->worker);
        return HR_OK;
    }
    if (!played->up)
        return start_worker(play, rank, false);
    const enum hr_status status = hr_train_worker_restart(worker);
    played->up = status == HR_OK;
    return status;
}

static enum hr_status begin_all_again(struct hr_play *play)
{
    const struct hr_shared_state *shared = play->shared;
    for (size_t s = 0; s < shared->servers; s++) {
        const bool lives = hr_play_lives(play, shared->workers + s);
        if (lives)
            play->state[shared->workers + s] = HR_WANTS;
        if (!lives)
            continue;
        if (play->played[shared->workers + s].up)
            shared->strategy->shard_stop(&play->shard[s]);
        play->played[shared->workers + s].up = false;
        HR_TRY(start_shard(play, s));
    }
    for (size_t r = 0; r < shared->workers; r++)
        if (hr_play_lives(play, r))
            HR_TRY(begin_again(play, r));
    return HR_OK;
}

enum hr_status hr_play_begin_term(struct hr_play *play)
{
    const bool revoked = hr_losses_are_revoked(losses_of(play));
    HR_TRY(hr_losses_begin_term(losses_of(play), false));
    if (revoked)
        return begin_all_again(play);
    for (size_t r = 0; r < play->shared->workers; r++)
        if (hr_play_lives(play, r) && !hr_train_worker_enter_group(&play->worker[r]))
            play->state[r] = HR_QUIESCENT;
    return HR_OK;
}

/* --- cuts --- */

bool hr_play_at_cut(const struct hr_play *play)
{
    const struct hr_losses *losses = &play->drive->losses;
    size_t arrived = 0;
    for (size_t r = 0; r < play->shared->workers; r++) {
        const enum hr_stand state = play->state[r];
        if (state != HR_ARRIVED && state != HR_QUIESCENT && state != HR_LOST)
            return false;
        arrived += state == HR_ARRIVED;
    }
    return arrived > 0 && (!play->shared->outlives ||
                           (!hr_losses_are_revoked(losses) && hr_losses_are_taken(losses)));
}

/* A job of the pool: a worker's part of an evaluation. */
static enum hr_status evaluate(void *arg, size_t rank, struct hr_compute_buffers *buffers)
{
    struct hr_play *play = arg;
    hr_train_worker_borrow(&play->worker[rank], buffers);
    return hr_train_worker_evaluate(&play->worker[rank]);
}

static enum hr_status evaluate_all(struct hr_play *play)
{
    const struct hr_active *active = play->shared->active;
    const size_t blocks = play->drive->job->neval, parts = active->n < blocks ? active->n : blocks;
    for (size_t s = 0; s < parts; s++)
        HR_TRY(hr_pool_submit(play->pool, evaluate, play, active->rank[s], 0));
    for (size_t s = 0; s < parts; s++)
        HR_TRY(hr_pool_join(play->pool, active->rank[s]));
    return HR_OK;
}

/* Somebody was lost on the way, or is back: who is here is active in what follows. */
static enum hr_status take_active(struct hr_play *play)
{
    struct hr_losses *losses = &play->drive->losses;
    if (play->shared->outlives && hr_losses_changed(losses))
        HR_TRY(hr_play_begin_term(play));
    if (play->shared->outlives)
        hr_losses_account(losses);
    return HR_OK;
}

static void go_on(struct hr_play *play)
{
    for (size_t r = 0; r < play->shared->workers; r++)
        if (play->state[r] == HR_ARRIVED) {
            hr_train_worker_leave_cut(&play->worker[r]);
            play->state[r] = HR_WANTS;
        }
}

/* All that they have done since the cut before is done. */
static enum hr_status report_steps(struct hr_play *play)
{
    const struct hr_cut *cut = play->drive->leader->cuts.cut;
    const int64_t trained = cut->before_ns + cut->span_ended_ns - cut->span_began_ns;
    for (size_t r = 0; r < play->shared->workers; r++)
        if (play->state[r] == HR_ARRIVED)
            HR_TRY(hr_report_steps(&play->worker[r], trained));
    hr_launcher_release(play->drive->launcher);
    return HR_OK;
}

enum hr_status hr_play_cut(struct hr_play *play)
{
    struct hr_drive *drive = play->drive;
    const size_t workers = play->shared->workers;
    HR_TRY(take_active(play));
    drive->leader->cuts.cut->span_ended_ns = drive->driver->now_ns(drive);
    HR_TRY(report_steps(play));
    hr_leader_decide(drive->leader);
    hr_record_cut(drive, drive->leader->cuts.cut->halt);
    for (size_t r = 0; r < workers; r++)
        if (play->state[r] == HR_ARRIVED)
            hr_worker_export(&play->worker[r].worker);
    for (size_t r = 0; r < workers; r++)
        if (play->state[r] == HR_ARRIVED)
            HR_TRY(hr_rows_verify(&play->worker[r].worker));
    if (drive->leader->cuts.cut->evaluate)
        HR_TRY(evaluate_all(play));
    hr_leader_conclude(drive->leader);
    if (play->shared->outlives)
        hr_losses_keep_cut(&drive->losses);
    go_on(play);
    const enum hr_status status = hr_launcher_tick(drive->launcher);
    drive->leader->cuts.cut->span_began_ns = drive->driver->now_ns(drive);
    return status;
}

/* --- when --- */

/* NULL: it is not there. */
static struct hr_shard *shard_of(const struct hr_play *play, size_t shard)
{
    const struct hr_shared_state *shared = play->shared;
    const bool there = shard < shared->servers && play->state[shared->workers + shard] == HR_WANTS;
    return there ? &play->shard[shard] : NULL;
}

/* The first batch of which nothing is in the state. Where all share one (backup-workers) a step is
 * in it as a whole or not at all. Relaxed here and below: one thread. */
static uint64_t index_of(const struct hr_play *play)
{
    const uint64_t next = hr_atom64_load_relaxed(&play->shared->dispenser->next);
    const struct hr_shard *first = shard_of(play, 0);
    return next - (first && first->open);
}

/* A cut at a multiple has saved. */
static bool is_due(const struct hr_play *play)
{
    const struct hr_dispenser *dispenser = play->shared->dispenser;
    const struct hr_batch_schedule *schedule = &play->shared->schedule;
    const uint64_t index = index_of(play), begins = play->drive->leader->cuts.cut->begins;
    const bool asked = hr_save_is_asked(&dispenser->save) && index > begins;
    const bool comes =
        index >= play->next_save && index >= hr_batch_schedule_next_save(schedule, begins);
    return (asked || comes) && index < hr_atom64_load_relaxed(&dispenser->cut) &&
           hr_atom32_load_relaxed(&dispenser->stop) == HR_STOP_NOT;
}

static bool all_know_of_losses(const struct hr_play *play)
{
    const struct hr_losses *losses = &play->drive->losses;
    if (!play->shared->outlives)
        return true;
    for (size_t r = 0; r < play->shared->workers + play->shared->servers; r++)
        if (play->state[r] == HR_DEAD)
            return false;
    return !hr_losses_are_revoked(losses) && hr_losses_are_taken(losses);
}

/* --- where all stand --- */

/* (workers) and (servers), owned. */
struct standing {
    enum hr_stands *stands;
    struct hr_worker **worker;
    const struct hr_gradient_counters **before;
    struct hr_shard **shard;
};

static enum hr_status open_standing(const struct hr_play *play, struct standing *standing)
{
    const size_t workers = play->shared->workers;
    *standing = (struct standing){
        .stands = calloc(workers, sizeof *standing->stands),
        .worker = calloc(workers, sizeof *standing->worker),
        .before = calloc(workers, sizeof *standing->before),
        .shard = calloc(play->shared->servers + 1, sizeof *standing->shard),
    };
    return standing->stands && standing->worker && standing->before && standing->shard
               ? HR_OK
               : hr_fail(HR_E_NOMEM, "no memory to save the state of %zu workers", workers);
}

static void close_standing(struct standing *standing)
{
    free(standing->stands);
    free(standing->worker);
    free(standing->before);
    free(standing->shard);
}

static void look_at_worker(struct hr_play *play, size_t rank, struct standing *standing)
{
    const bool computes = play->state[rank] == HR_HAS && hr_pool_has(play->pool, rank);
    standing->worker[rank] = play->played[rank].up ? &play->worker[rank].worker : NULL;
    standing->before[rank] = computes ? &play->played[rank].before : NULL;
    standing->stands[rank] = play->state[rank] == HR_HAS     ? HR_STANDS_HAS
                             : play->state[rank] == HR_ASKED ? HR_STANDS_ASKED
                                                             : HR_STANDS_BETWEEN;
}

/* False: somebody is on the way from one life to the next. */
static bool look(struct hr_play *play, struct standing *standing)
{
    for (size_t r = 0; r < play->shared->workers; r++)
        look_at_worker(play, r, standing);
    for (size_t s = 0; s < play->shared->servers; s++) {
        standing->shard[s] = shard_of(play, s);
        if (!standing->shard[s])
            return false;
    }
    return true;
}

/* --- what is told --- */

/* It has handed its gradient in, and not heard what became of it. */
static bool may_be_unreported(enum hr_stand state)
{
    return state == HR_WANTS || state == HR_ASKED || state == HR_AT_CUT || state == HR_ARRIVING;
}

static bool mark_unreported(const struct hr_play *play)
{
    bool any = false;
    for (size_t r = 0; r < play->shared->workers; r++) {
        struct hr_played *played = &play->played[r];
        played->unreported = may_be_unreported(play->state[r]) && play->worker[r].reports.n > 0;
        any = any || played->unreported;
    }
    return any;
}

/* Who has a batch again has told, and who was lost never will. */
static bool all_have_reported(const struct hr_play *play)
{
    bool all = true;
    for (size_t r = 0; r < play->shared->workers; r++) {
        play->played[r].unreported =
            play->played[r].unreported && may_be_unreported(play->state[r]);
        all = all && !play->played[r].unreported;
    }
    return all;
}

/* --- the save --- */

static struct hr_trained sum_of(const struct hr_pause *pause, size_t workers)
{
    struct hr_trained sum = {0};
    for (size_t w = 0; w < workers; w++) {
        sum.samples += pause->worker[w].samples;
        sum.updates += pause->worker[w].updates;
        sum.epoch_samples += pause->worker[w].epoch_samples;
        sum.epoch_loss += pause->worker[w].epoch_loss;
    }
    return sum;
}

static void save(struct hr_play *play)
{
    struct hr_drive *drive = play->drive;
    struct hr_pause *pause = play->shared->pause;
    const struct hr_trained trained = sum_of(pause, play->shared->workers);
    const uint64_t index = index_of(play);
    pause->is_saved = true;
    const struct hr_cut_words had =
        hr_cut_pause(&drive->leader->cuts, index, &trained, drive->driver->now_ns(drive));
    drive->launcher->holds = mark_unreported(play);
    hr_launcher_take(drive->launcher);
    drive->launcher->holds = false;
    hr_cut_end_pause(&drive->leader->cuts, &had);
    pause->is_saved = false;
    play->next_save = hr_batch_schedule_next_save(&play->shared->schedule, index);
}

static void save_if_possible(struct hr_play *play, struct standing *standing)
{
    if (!look(play, standing))
        return;
    const struct hr_standing at = {.shared = play->shared,
                                   .stands = standing->stands,
                                   .worker = standing->worker,
                                   .before = standing->before,
                                   .shard = standing->shard};
    if (hr_pause_copy(&at, play->shared->pause))
        save(play);
}

enum hr_status hr_play_pause(struct hr_play *play)
{
    struct standing standing;
    if (play->drive->launcher->held && all_have_reported(play))
        hr_launcher_release(play->drive->launcher);
    if (!play->shared->pause || !is_due(play) || !all_know_of_losses(play))
        return HR_OK;
    const enum hr_status status = open_standing(play, &standing);
    if (status == HR_OK)
        save_if_possible(play, &standing);
    close_standing(&standing);
    return status;
}

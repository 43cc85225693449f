#include "serial/serial.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/fpenv.h"
#include "drive/record.h"
#include "products/ready.h"
#include "server/server_worker.h"
#include "strategy/pause.h"
#include "strategy/shared.h"
#include "worker/worker.h"

bool hr_serial_may_act(struct hr_serial *serial, size_t rank)
{
    const struct hr_worker *worker = &serial->worker[rank].worker;
    switch (serial->state[rank]) {
    case HR_WANTS:
    case HR_ASKED:
        return !hr_requests_unanswered(worker) || hr_requests_are_taken(worker);
    case HR_HAS:
        return true;
    case HR_AT_CUT:
    case HR_ARRIVING:
        return serial->life[rank].rank.ready(serial->life[rank].rank.arg);
    default:
        return false;
    }
}

/* A job of the pool: the gradient of a worker's batch. */
static enum hr_status gradient(void *arg, size_t rank, struct hr_compute_buffers *buffers)
{
    struct hr_serial *serial = arg;
    struct hr_train_worker *worker = &serial->worker[rank];
    hr_train_worker_borrow(worker, buffers);
    const enum hr_status status = hr_train_worker_gradient(worker, serial->task[rank].index);
    if (status == HR_OK)
        return HR_OK;
    return hr_fail_within(status, "rank %zu, step %llu", rank,
                          (unsigned long long)serial->task[rank].index);
}

enum hr_status hr_serial_compute(struct hr_serial *serial, size_t rank, int64_t due)
{
    const struct hr_worker_stats *stats = &serial->shared->stats[rank];
    hr_control_step(serial->shared->control, rank, serial->task[rank].index);
    hr_train_worker_begin(&serial->worker[rank], serial->task[rank].index);
    serial->ranks[rank].last = stats->last;
    serial->ranks[rank].before = hr_stats_gradients(stats);
    serial->ranks[rank].step = serial->worker[rank].worker.steps;
    return hr_pool_submit(serial->pool, gradient, serial, rank, due);
}

enum hr_status hr_serial_finish_gradient(struct hr_serial *serial, size_t rank)
{
    if (!hr_pool_has(serial->pool, rank))
        HR_TRY(hr_serial_compute(serial, rank, 0));
    return hr_pool_join(serial->pool, rank);
}

static void drop_gradient(struct hr_serial *serial, size_t rank)
{
    struct hr_worker_stats *stats = &serial->shared->stats[rank];
    if (!hr_pool_has(serial->pool, rank))
        return;
    if (hr_pool_join(serial->pool, rank) == HR_OK)
        hr_stats_take_back(stats);
    stats->last = serial->ranks[rank].last;
}

/* Does an update stand in its weights that was offered after a loss? */
static void look_for_resumption(struct hr_serial *serial, size_t rank)
{
    struct hr_serial_rank *own = &serial->ranks[rank];
    hr_losses_resumed(&serial->drive->losses, &own->losses_seen, own->offered_ns);
}

/* --- a worker's life: it runs from one turn to the next --- */

static struct hr_serial_life *played_of(struct hr_rank *rank)
{
    return (struct hr_serial_life *)rank;
}

static void await_turn(struct hr_rank *rank)
{
    struct hr_serial_life *own = played_of(rank);
    if (!own->begins)
        hr_fibre_wait();
    own->begins = false;
}

static enum hr_status has_accepted(const struct hr_rank *rank)
{
    struct hr_serial *serial = rank->of;
    look_for_resumption(serial, rank->worker->rank);
    if (rank->task->kind == HR_TASK_CUT || serial->drive->driver->simulated)
        return HR_OK; /* it is told when its time is known */
    return hr_report_steps(&serial->worker[rank->worker->rank], hr_drive_trained_ns(serial->drive));
}

static enum hr_status stand(struct hr_rank *rank)
{
    struct hr_serial *serial = rank->of;
    serial->state[rank->worker->rank] = rank->where;
    if (rank->where == HR_HAS || rank->where == HR_AT_CUT)
        HR_TRY(has_accepted(rank));
    if (rank->where != HR_ARRIVED)
        await_turn(rank);
    return HR_OK;
}

/* It has a turn: hr_serial_may_act. */
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
    struct hr_serial *serial = rank->of;
    serial->ranks[rank->worker->rank].offered_ns = serial->drive->driver->now_ns(serial->drive);
    return HR_OK;
}

static const struct hr_rank_ways ways = {stand, wait_in_life, repeat, has_gradient};

static enum hr_status live(void *rank)
{
    return hr_rank_span(rank);
}

static void begin_life(struct hr_serial *serial, size_t rank)
{
    struct hr_serial_life *own = &serial->life[rank];
    HR_ASSERT(serial->state[rank] == HR_WANTS);
    *own = (struct hr_serial_life){.rank = {.ways = &ways,
                                            .of = serial,
                                            .worker = &serial->worker[rank].worker,
                                            .task = &serial->task[rank],
                                            .may_arrive = hr_cut_may_arrive,
                                            .cut = serial->drive->leader->cuts.cut},
                                   .begins = true};
    hr_fibre_start(serial->fibres, rank, live, &own->rank);
}

enum hr_status hr_serial_act(struct hr_serial *serial, size_t rank, bool *idle)
{
    struct hr_serial_life *own = &serial->life[rank];
    enum hr_status status = HR_OK;
    if (serial->state[rank] == HR_HAS)
        HR_TRY(hr_serial_finish_gradient(serial, rank));
    if (own->rank.where != serial->state[rank])
        begin_life(serial, rank);
    (void)hr_fibre_run(serial->fibres, rank, &status);
    *idle = own->idle;
    own->idle = false;
    return status;
}

bool hr_serial_may_take(const struct hr_serial *serial, size_t shard)
{
    const struct hr_shared_state *shared = serial->shared;
    const enum hr_stand state = serial->state[hr_shard_rank(shared, shard)];
    if (serial->state[shared->workers + shard] != HR_WANTS)
        return false;
    if (!shared->colocated)
        return true;
    return hr_serial_lives(serial, shard) &&
           (hr_requests_unanswered(&serial->worker[shard].worker) ||
            (state != HR_WANTS && state != HR_HAS));
}

void hr_serial_take(struct hr_serial *serial, size_t shard, size_t worker)
{
    serial->ranks[serial->shared->workers + shard].taken++;
    hr_shard_take_and_note(&serial->shard[shard], worker);
}

enum hr_status hr_serial_tick(struct hr_serial *serial)
{
    const int64_t now = hr_clock_ns();
    if (now - serial->ticked_ns < HR_NS_PER_SECOND / 10)
        return HR_OK;
    serial->ticked_ns = now;
    return hr_launcher_tick(serial->drive->launcher);
}

static enum hr_status start_worker(struct hr_serial *serial, size_t rank, bool joins)
{
    struct hr_train_worker *worker = &serial->worker[rank];
    HR_TRY(hr_train_worker_start(worker, serial->drive->job, rank, joins));
    serial->ranks[rank].up = true;
    if (hr_workers_log(serial->shared->strategy))
        worker->worker.replay.log = hr_record_log(serial->drive, rank);
    return HR_OK;
}

static enum hr_status start_shard(struct hr_serial *serial, size_t shard)
{
    struct hr_shared_state *shared = serial->shared;
    HR_TRY(hr_shard_start(&serial->shard[shard], shared, shard));
    serial->ranks[shared->workers + shard].up = true;
    return HR_OK;
}

static enum hr_status start_ranks(struct hr_serial *serial)
{
    const struct hr_shared_state *shared = serial->shared;
    for (size_t s = 0; s < serial->shared->servers; s++)
        HR_TRY(start_shard(serial, s));
    for (size_t r = 0; r < shared->workers; r++)
        HR_TRY(start_worker(serial, r, false));
    return HR_OK;
}

size_t hr_serial_bytes(const struct hr_shared_state *shared)
{
    const struct hr_serial *serial = NULL;
    const size_t owners = shared->servers, ranks = shared->workers + owners;
    return shared->workers * (sizeof *serial->worker + sizeof *serial->task) +
           (owners + 1) * sizeof *serial->shard + shared->workers * sizeof *serial->life +
           hr_fibres_bytes(shared->workers) +
           ranks * (sizeof *serial->state + sizeof *serial->ranks);
}

enum hr_status hr_serial_start(struct hr_serial *serial, struct hr_drive *drive)
{
    const size_t threads = drive->driver->threads(drive->job->options);
    const size_t workers = drive->job->shared->workers, servers = drive->job->shared->servers;
    *serial = (struct hr_serial){
        .drive = drive, .shared = drive->job->shared, .ticked_ns = hr_clock_ns()};
    hr_losses_begin(drive);
    HR_TRY(hr_kernels_init_process(threads));
    hr_fp_flush_denormals();
    serial->worker = calloc(workers, sizeof *serial->worker);
    serial->shard = calloc(servers + 1, sizeof *serial->shard);
    serial->state = calloc(workers + servers, sizeof *serial->state);
    serial->ranks = calloc(workers + servers, sizeof *serial->ranks);
    serial->task = calloc(workers, sizeof *serial->task);
    serial->life = calloc(workers, sizeof *serial->life);
    if (!serial->worker || !serial->shard || !serial->life || !serial->state || !serial->ranks ||
        !serial->task)
        return hr_fail(HR_E_NOMEM, "no memory for %zu ranks", drive->job->nranks);
    for (size_t r = 0; r < workers; r++)
        serial->life[r].rank.where = HR_ARRIVED; /* as before any span */
    HR_TRY(hr_fibres_open(workers, 0, &serial->fibres));
    HR_TRY(hr_pool_start(drive->job, threads, &serial->pool));
    HR_TRY(start_ranks(serial));
    drive->leader->cuts.cut->span_began_ns = drive->driver->now_ns(drive);
    return HR_OK;
}

void hr_serial_stop(struct hr_serial *serial)
{
    hr_pool_stop(serial->pool);
    const size_t workers = serial->shared->workers;
    for (size_t r = 0; serial->ranks && r < workers; r++)
        if (serial->ranks[r].up)
            hr_train_worker_drop(&serial->worker[r]); /* nobody listens any more */
    for (size_t s = 0; serial->ranks && s < serial->shared->servers; s++)
        if (serial->ranks[workers + s].up)
            hr_shard_stop(&serial->shard[s]);
    hr_fibres_close(serial->fibres);
    free(serial->life);
    free(serial->worker);
    free(serial->shard);
    free(serial->state);
    free(serial->ranks);
    free(serial->task);
}

/* --- losses: who is killed --- */

static const char how[] = "killed by --inject";

static struct hr_losses *losses_of(const struct hr_serial *serial)
{
    return &serial->drive->losses;
}

bool hr_serial_is_killed(const struct hr_serial *serial, size_t rank)
{
    const struct hr_train_job *job = serial->drive->job;
    const int64_t now_ps = hr_launcher_ps(serial->drive->launcher);
    const size_t workers = serial->shared->workers;
    if (rank >= workers)
        return hr_conditions_kill_server(job, rank - workers, serial->ranks[rank].taken, now_ps);
    const bool computes = hr_pool_has(serial->pool, rank); /* perhaps now: its counters change */
    return hr_conditions_kill(
        job, rank, computes ? serial->ranks[rank].step : serial->worker[rank].worker.steps, now_ps);
}

/* --- death, and its notice --- */

static void die_as_worker(struct hr_serial *serial, size_t rank)
{
    drop_gradient(serial, rank);
    if (serial->ranks[rank].up)
        hr_train_worker_drop(&serial->worker[rank]);
    serial->life[rank].rank = (struct hr_rank){.where = HR_DEAD}; /* another life begins anew */
}

/* Nobody may read what a dead server had: let it be no number. */
static void die_as_server(struct hr_serial *serial, size_t shard)
{
    const struct hr_shared_state *shared = serial->shared;
    struct hr_shard *it = &serial->shard[shard];
    const size_t states = shared->strategy->rows.state == HR_KEPT_OWN ? 0 : hr_state_floats(shared);
    memset(it->weights, 0xff, it->count * sizeof *it->weights);
    if (it->sum)
        memset(it->sum, 0xff, it->count * sizeof *it->sum);
    for (size_t at = it->first; at < states; at += shared->params)
        memset(it->state + at, 0xff, it->count * sizeof *it->state);
    if (serial->ranks[serial->shared->workers + shard].up)
        hr_shard_stop(it);
    serial->ranks[serial->shared->workers + shard].up = false;
}

enum hr_status hr_serial_die(struct hr_serial *serial, size_t rank)
{
    HR_ASSERT(hr_serial_lives(serial, rank));
    if (rank < serial->shared->workers)
        die_as_worker(serial, rank);
    else
        die_as_server(serial, rank - serial->shared->workers);
    if (hr_owns_shard(serial->shared, rank))
        die_as_server(serial, rank);
    serial->ranks[rank].up = false;
    serial->state[rank] = HR_DEAD;
    return serial->shared->outlives ? HR_OK : hr_fail(HR_E_LOST, "rank %zu: %s", rank, how);
}

enum hr_status hr_serial_notice(struct hr_serial *serial, size_t rank)
{
    HR_ASSERT(serial->state[rank] == HR_DEAD);
    if (!hr_losses_lost(losses_of(serial), rank, how))
        return hr_fail(HR_E_LOST, "rank %zu: %s%s", rank, how, losses_of(serial)->why_not);
    serial->state[rank] = HR_LOST;
    for (size_t r = 0; hr_losses_are_revoked(losses_of(serial)) && r < hr_serial_ranks(serial); r++)
        if (hr_serial_lives(serial, r)) {
            if (r < serial->shared->workers)
                drop_gradient(serial, r);
            serial->state[r] = HR_QUIESCENT;
        }
    return HR_OK;
}

/* --- return --- */

/* Explored schedules have no time. */
static bool may_start_again(const struct hr_serial *serial, size_t rank)
{
    const struct hr_drive *drive = serial->drive;
    const int64_t *again_ns = drive->losses.again_ns;
    if (serial->state[rank] != HR_LOST || !again_ns[rank])
        return false;
    return !drive->driver->simulated || again_ns[rank] <= drive->driver->now_ns(drive);
}

bool hr_serial_may_come_back(struct hr_serial *serial, size_t rank)
{
    if (!may_start_again(serial, rank))
        return false;
    if (rank >= serial->shared->workers)
        return true;
    return hr_losses_are_revoked(losses_of(serial)) || hr_server_may_join(serial->shared, rank);
}

enum hr_status hr_serial_come_back(struct hr_serial *serial, size_t rank)
{
    hr_losses_start(losses_of(serial), rank);
    hr_losses_welcome(losses_of(serial), rank);
    serial->state[rank] = HR_QUIESCENT;
    serial->ranks[rank].taken = 0; /* messages, of its next life */
    if (rank >= serial->shared->workers || hr_losses_are_revoked(losses_of(serial)))
        return HR_OK;
    serial->state[rank] = HR_WANTS;
    return start_worker(serial, rank, true);
}

/* --- terms --- */

bool hr_serial_term_is_over(const struct hr_serial *serial)
{
    if (!hr_losses_are_revoked(losses_of(serial)))
        return false;
    for (size_t r = 0; r < hr_serial_ranks(serial); r++)
        if (serial->state[r] == HR_DEAD)
            return false;
    return !hr_losses_await(losses_of(serial));
}

/* A worker that lives: it begins from the snapshot, if it is active. */
static enum hr_status begin_again(struct hr_serial *serial, size_t rank)
{
    struct hr_train_worker *worker = &serial->worker[rank];
    struct hr_serial_rank *own = &serial->ranks[rank];
    worker->job = serial->drive->job;
    worker->worker.rank = rank;
    serial->life[rank].rank = (struct hr_rank){.where = HR_QUIESCENT}; /* it begins anew */
    serial->state[rank] = hr_train_worker_enter_group(worker) ? HR_WANTS : HR_QUIESCENT;
    if (serial->state[rank] == HR_QUIESCENT) {
        hr_worker_sit_out(&worker->worker);
        return HR_OK;
    }
    if (!own->up)
        return start_worker(serial, rank, false);
    const enum hr_status status = hr_train_worker_restart(worker);
    own->up = status == HR_OK;
    return status;
}

static enum hr_status begin_all_again(struct hr_serial *serial)
{
    const struct hr_shared_state *shared = serial->shared;
    for (size_t s = 0; s < shared->servers; s++) {
        const bool lives = hr_serial_lives(serial, shared->workers + s);
        if (lives)
            serial->state[shared->workers + s] = HR_WANTS;
        if (!lives)
            continue;
        if (serial->ranks[shared->workers + s].up)
            hr_shard_stop(&serial->shard[s]);
        serial->ranks[shared->workers + s].up = false;
        HR_TRY(start_shard(serial, s));
    }
    for (size_t r = 0; r < shared->workers; r++)
        if (hr_serial_lives(serial, r))
            HR_TRY(begin_again(serial, r));
    return HR_OK;
}

enum hr_status hr_serial_begin_term(struct hr_serial *serial)
{
    const bool revoked = hr_losses_are_revoked(losses_of(serial));
    HR_TRY(hr_losses_begin_term(losses_of(serial), false));
    if (revoked)
        return begin_all_again(serial);
    for (size_t r = 0; r < serial->shared->workers; r++)
        if (hr_serial_lives(serial, r) && !hr_train_worker_enter_group(&serial->worker[r]))
            serial->state[r] = HR_QUIESCENT;
    return HR_OK;
}

/* --- cuts --- */

bool hr_serial_at_cut(const struct hr_serial *serial)
{
    size_t arrived = 0;
    for (size_t r = 0; r < serial->shared->workers; r++) {
        const enum hr_stand state = serial->state[r];
        if (state != HR_ARRIVED && state != HR_QUIESCENT && state != HR_LOST)
            return false;
        arrived += state == HR_ARRIVED;
    }
    return arrived > 0 && hr_losses_are_taken(losses_of(serial));
}

/* A job of the pool: a worker's part of an evaluation. */
static enum hr_status evaluate(void *arg, size_t rank, struct hr_compute_buffers *buffers)
{
    struct hr_serial *serial = arg;
    hr_train_worker_borrow(&serial->worker[rank], buffers);
    return hr_train_worker_evaluate(&serial->worker[rank]);
}

static enum hr_status evaluate_all(struct hr_serial *serial)
{
    const struct hr_active *active = serial->shared->active;
    const size_t blocks = serial->drive->job->tested.nblocks,
                 parts = active->n < blocks ? active->n : blocks;
    for (size_t s = 0; s < parts; s++)
        HR_TRY(hr_pool_submit(serial->pool, evaluate, serial, active->rank[s], 0));
    for (size_t s = 0; s < parts; s++)
        HR_TRY(hr_pool_join(serial->pool, active->rank[s]));
    return HR_OK;
}

/* Somebody was lost on the way, or is back: who is here is active in what follows. */
static enum hr_status take_active(struct hr_serial *serial)
{
    if (hr_losses_changed(losses_of(serial)))
        HR_TRY(hr_serial_begin_term(serial));
    hr_losses_account(losses_of(serial));
    return HR_OK;
}

static void go_on(struct hr_serial *serial)
{
    for (size_t r = 0; r < serial->shared->workers; r++)
        if (serial->state[r] == HR_ARRIVED) {
            hr_train_worker_leave_cut(&serial->worker[r]);
            serial->state[r] = HR_WANTS;
        }
}

/* All that they have done since the cut before is done. */
static enum hr_status report_steps(struct hr_serial *serial)
{
    const struct hr_cut *cut = serial->drive->leader->cuts.cut;
    const int64_t trained = cut->before_ns + cut->span_ended_ns - cut->span_began_ns;
    for (size_t r = 0; r < serial->shared->workers; r++)
        if (serial->state[r] == HR_ARRIVED)
            HR_TRY(hr_report_steps(&serial->worker[r], trained));
    hr_launcher_release(serial->drive->launcher);
    return HR_OK;
}

enum hr_status hr_serial_cut(struct hr_serial *serial)
{
    struct hr_drive *drive = serial->drive;
    const size_t workers = serial->shared->workers;
    HR_TRY(take_active(serial));
    drive->leader->cuts.cut->span_ended_ns = drive->driver->now_ns(drive);
    HR_TRY(report_steps(serial));
    hr_leader_decide(drive->leader);
    hr_record_cut(drive, drive->leader->cuts.cut->halt);
    for (size_t r = 0; r < workers; r++)
        if (serial->state[r] == HR_ARRIVED)
            hr_worker_export(&serial->worker[r].worker);
    for (size_t r = 0; r < workers; r++)
        if (serial->state[r] == HR_ARRIVED)
            HR_TRY(hr_rows_verify(&serial->worker[r].worker));
    if (drive->leader->cuts.cut->evaluate)
        HR_TRY(evaluate_all(serial));
    hr_leader_conclude(drive->leader);
    hr_losses_keep_cut(&drive->losses);
    go_on(serial);
    const enum hr_status status = hr_launcher_tick(drive->launcher);
    drive->leader->cuts.cut->span_began_ns = drive->driver->now_ns(drive);
    return status;
}

/* --- when --- */

/* NULL: it is not there. */
static struct hr_shard *shard_of(const struct hr_serial *serial, size_t shard)
{
    const struct hr_shared_state *shared = serial->shared;
    const bool there =
        shard < shared->servers && serial->state[shared->workers + shard] == HR_WANTS;
    return there ? &serial->shard[shard] : NULL;
}

/* The first batch of which nothing is in the state. Where all share one (backup-workers) a step is
 * in it as a whole or not at all. Relaxed here and below: one thread. */
static uint64_t index_of(const struct hr_serial *serial)
{
    const uint64_t next = hr_atom64_load_relaxed(&serial->shared->dispenser->next);
    const struct hr_shard *first = shard_of(serial, 0);
    return next - (first && first->open);
}

/* A cut at a multiple has saved. */
static bool is_due(const struct hr_serial *serial)
{
    const struct hr_dispenser *dispenser = serial->shared->dispenser;
    const struct hr_batch_schedule *schedule = &serial->shared->schedule;
    const uint64_t index = index_of(serial), begins = serial->drive->leader->cuts.cut->begins;
    const bool asked = hr_save_is_asked(&dispenser->save) && index > begins;
    const bool comes =
        index >= serial->next_save && index >= hr_batch_schedule_next_save(schedule, begins);
    return (asked || comes) && index < hr_atom64_load_relaxed(&dispenser->cut) &&
           hr_atom32_load_relaxed(&dispenser->stop) == HR_STOP_NOT;
}

static bool all_know_of_losses(const struct hr_serial *serial)
{
    for (size_t r = 0; r < hr_serial_ranks(serial); r++)
        if (serial->state[r] == HR_DEAD)
            return false;
    return hr_losses_are_taken(losses_of(serial));
}

/* --- where all stand --- */

static enum hr_status open_standing(const struct hr_serial *serial, struct hr_standing *standing)
{
    const size_t workers = serial->shared->workers;
    *standing = (struct hr_standing){
        .shared = serial->shared,
        .stands = calloc(workers, sizeof *standing->stands),
        .worker = calloc(workers, sizeof *standing->worker),
        .before = calloc(workers, sizeof *standing->before),
        .shard = calloc(serial->shared->servers + 1, sizeof *standing->shard),
    };
    return standing->stands && standing->worker && standing->before && standing->shard
               ? HR_OK
               : hr_fail(HR_E_NOMEM, "no memory to save the state of %zu workers", workers);
}

static void close_standing(struct hr_standing *standing)
{
    free(standing->stands);
    free(standing->worker);
    free(standing->before);
    free(standing->shard);
}

static void look_at_worker(struct hr_serial *serial, size_t rank, struct hr_standing *standing)
{
    const bool computes = serial->state[rank] == HR_HAS && hr_pool_has(serial->pool, rank);
    standing->worker[rank] = serial->ranks[rank].up ? &serial->worker[rank].worker : NULL;
    standing->before[rank] = computes ? &serial->ranks[rank].before : NULL;
    standing->stands[rank] = serial->state[rank] == HR_HAS     ? HR_STANDS_HAS
                             : serial->state[rank] == HR_ASKED ? HR_STANDS_ASKED
                                                               : HR_STANDS_BETWEEN;
}

/* False: somebody is on the way from one life to the next. */
static bool look(struct hr_serial *serial, struct hr_standing *standing)
{
    for (size_t r = 0; r < serial->shared->workers; r++)
        look_at_worker(serial, r, standing);
    for (size_t s = 0; s < serial->shared->servers; s++) {
        standing->shard[s] = shard_of(serial, s);
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

static bool mark_unreported(const struct hr_serial *serial)
{
    bool any = false;
    for (size_t r = 0; r < serial->shared->workers; r++) {
        struct hr_serial_rank *own = &serial->ranks[r];
        own->unreported = may_be_unreported(serial->state[r]) && serial->worker[r].reports.n > 0;
        any = any || own->unreported;
    }
    return any;
}

/* Who has a batch again has told, and who was lost never will. */
static bool all_have_reported(const struct hr_serial *serial)
{
    bool all = true;
    for (size_t r = 0; r < serial->shared->workers; r++) {
        serial->ranks[r].unreported =
            serial->ranks[r].unreported && may_be_unreported(serial->state[r]);
        all = all && !serial->ranks[r].unreported;
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

static void save(struct hr_serial *serial)
{
    struct hr_drive *drive = serial->drive;
    struct hr_pause *pause = serial->shared->pause;
    const struct hr_trained trained = sum_of(pause, serial->shared->workers);
    const uint64_t index = index_of(serial);
    pause->is_saved = true;
    const struct hr_cut_words had =
        hr_cut_pause(&drive->leader->cuts, index, &trained, drive->driver->now_ns(drive));
    drive->launcher->holds = mark_unreported(serial);
    hr_launcher_take(drive->launcher);
    drive->launcher->holds = false;
    hr_cut_end_pause(&drive->leader->cuts, &had);
    pause->is_saved = false;
    serial->next_save = hr_batch_schedule_next_save(&serial->shared->schedule, index);
}

enum hr_status hr_serial_pause(struct hr_serial *serial)
{
    struct hr_standing standing;
    if (serial->drive->launcher->held && all_have_reported(serial))
        hr_launcher_release(serial->drive->launcher);
    if (!serial->shared->pause || !is_due(serial) || !all_know_of_losses(serial))
        return HR_OK;
    const enum hr_status status = open_standing(serial, &standing);
    if (status == HR_OK && look(serial, &standing) &&
        hr_pause_copy(&standing, serial->shared->pause))
        save(serial);
    close_standing(&standing);
    return status;
}

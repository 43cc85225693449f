/* A shard in real time. */
#include "drive/serve.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/size.h"
#include "drive/record.h"
#include "observe/spans.h"
#include "products/ready.h"
#include "server/server.h"
#include "worker/conditions.h"
#include "worker/staged.h"

enum hr_status hr_say_for_whom(const struct hr_shared_state *shared, size_t rank,
                               enum hr_status status)
{
    const struct hr_control *control = shared->control;
    if (status != HR_E_TIMEOUT)
        return status;
    for (size_t r = 0; r < control->nranks; r++) {
        const uint32_t phase = hr_atom32_load_relaxed(&control->rank[r].phase); /* partner: r */
        if (r != rank && phase == HR_PHASE_COMPUTE)
            return hr_fail(status, "%s; rank %zu is still computing the gradient of step %llu",
                           hr_error_message(), r,
                           (unsigned long long)hr_atom64_load_relaxed(&control->rank[r].step));
    }
    return status;
}

/* Is there an input that may be taken? (hr_ready_fn) */
static bool server_has_input(void *arg)
{
    struct hr_server *server = arg;
    memset(server->enabled, 1, server->shard.shared->workers);
    server->shard.shared->strategy->enabled(&server->shard, server->enabled);
    for (size_t w = 0; w < server->shard.shared->workers; w++)
        if (server->enabled[w])
            return true;
    return false;
}

/* For hogring top. */
static void report(struct hr_server *server)
{
    const struct hr_shared_state *shared = server->shard.shared;
    const size_t rank = hr_shard_rank(shared, server->shard.number);
    struct hr_gauge *gauge = &shared->control->rank[rank].gauge;
    size_t waiting = 0;
    for (size_t w = 0; w < shared->workers; w++)
        waiting += server->enabled[w] != 0;
    hr_gauge_served(gauge, ++server->inputs, waiting);
    if (server->began_ns) {
        const int64_t waited = server->waiter.waited_ns;
        hr_atom64_store_relaxed(&gauge->spent_ns[HR_WAIT], (uint64_t)waited);
        hr_atom64_store_relaxed(&gauge->spent_ns[HR_COMPUTE],
                                (uint64_t)(hr_clock_coarse_ns() - server->began_ns - waited));
    }
}

/* Take one. */
static void server_take(struct hr_server *server)
{
    const struct hr_shared_state *shared = server->shard.shared;
    const int64_t began = server->spans.feed ? hr_clock_ns() : 0;
    report(server);
    hr_shard_take_and_note(&server->shard,
                           hr_pick(&server->shard.picker, server->enabled, shared->workers));
    if (server->spans.feed)
        hr_spans_serve(&server->spans, server->shard.taken.worker, server->shard.taken.kind, began,
                       hr_clock_ns());
}

bool hr_serve_then_look(void *arg)
{
    const struct hr_wanted *wanted = arg;
    struct hr_server *server = wanted->server;
    while (server_has_input(server)) {
        const enum hr_activity was = hr_account_turn(server->shard.account, HR_COMMUNICATE);
        server_take(server);
        hr_account_turn(server->shard.account, was);
    }
    return wanted->ready(wanted->arg);
}

static bool has_input_or_is_over(void *arg)
{
    const struct hr_server *server = arg;
    return server_has_input(arg) || hr_shard_over(&server->shard);
}

/* Wait for an input, and take it, or for the end. */
static enum hr_status take_next(struct hr_server *server)
{
    const struct hr_drive *drive = server->drive;
    const struct hr_shared_state *shared = drive->job->shared;
    const size_t rank = hr_shard_rank(shared, server->shard.number);
    const bool measures = drive->calibration.compute;
    const int64_t since = measures ? hr_clock_ns() : 0;
    HR_TRY(hr_wait_until(&server->waiter, &shared->control->rank[rank].bell, has_input_or_is_over,
                         server, "the workers"));
    if (hr_shard_over(&server->shard))
        return HR_OK;
    if (hr_conditions_kill_server(drive->job, server->shard.number, server->taken++,
                                  hr_launcher_ps(drive->launcher)))
        return hr_conditions_die(drive->job, rank);
    const int64_t began = measures ? hr_clock_ns() : 0;
    server_take(server);
    hr_calibrate_take(drive, &server->shard, since, began);
    return HR_OK;
}

enum hr_status hr_server_restart(struct hr_server *server)
{
    struct hr_shared_state *shared = server->shard.shared;
    struct hr_account *account = server->shard.account;
    hr_quiesce_open(&server->quiesce, shared->control, &server->waiter,
                    hr_shard_rank(shared, server->shard.number)); /* where its worker has rested */
    hr_shard_stop(&server->shard);
    HR_TRY(hr_shard_start(&server->shard, shared, server->shard.number));
    server->shard.account = account;
    return HR_OK;
}

/* Revoked: rest, and begin again from the snapshot. */
static enum hr_status server_quiesce(struct hr_server *server)
{
    const enum hr_status rested = hr_quiesce_at(&server->quiesce, HR_STAGE_SPAN);
    return rested == HR_E_REVOKED ? hr_server_restart(server) : rested;
}

enum hr_status hr_serve(struct hr_server *server)
{
    const struct hr_shared_state *shared = server->shard.shared;
    const size_t rank = hr_shard_rank(shared, server->shard.number);
    while (!hr_shard_over(&server->shard)) {
        enum hr_status status = take_next(server);
        if (status == HR_E_REVOKED)
            status = server_quiesce(server);
        HR_TRY(hr_say_for_whom(shared, rank, status));
    }
    return HR_OK;
}

enum hr_status hr_server_open(struct hr_server *server, const struct hr_drive *drive, size_t shard)
{
    struct hr_shared_state *shared = drive->job->shared;
    const size_t rank = hr_shard_rank(shared, shard);
    server->drive = drive;
    server->waiter = drive->job->waits;
    server->waiter.yield_ns = 0; /* it leaves the processor to who computes */
    hr_quiesce_open(&server->quiesce, shared->control, &server->waiter, rank);
    if (hr_roster_is_gone(shared->control, rank)) { /* it begins with all others: come_back */
        server->shard = (struct hr_shard){.shared = shared, .number = shard};
        return HR_OK;
    }
    return hr_shard_start(&server->shard, shared, shard);
}

void hr_server_close(struct hr_server *server)
{
    if (server->shard.shared)
        hr_shard_stop(&server->shard);
}

enum { HELD = 1, WANTED = 2, TURN = 4 };

struct lent {
    alignas(HR_LINE) struct hr_atom32 word; /* the hold */
    struct hr_server *server;               /* NULL: not opened yet. By who holds */
};

struct hr_resting {
    bool crowded;
    size_t n;
    struct lent shard[];
};

/* --- do they rest? --- */

static bool may_rest(const struct hr_drive *drive)
{
    const struct hr_train_job *job = drive->job;
    const struct hr_shared_state *shared = job->shared;
    return !job->serial && shared->servers && !shared->colocated &&
           job->launch == HR_LAUNCH_THREAD && !shared->outlives && !job->options->calibrate[0] &&
           !(shared->feed.memory && shared->feed.spans) && !job->pipeline &&
           !hr_inject_has(&job->conditions.inject, HR_INJECT_KILL_SERVER);
}

/* Of the first `ranks`, those here. */
static size_t busy_with(const struct hr_train_job *job, size_t ranks)
{
    const struct hr_train_options *o = job->options;
    return hr_ranks_here(job->shared, ranks) + o->ranks_beside +
           hr_workers_here(job->shared) * (o->threads_per_worker - 1);
}

bool hr_resting_would(const struct hr_drive *drive)
{
    return may_rest(drive) && busy_with(drive->job, drive->job->nranks) > hr_cpus_allowed();
}

enum hr_status hr_resting_open(struct hr_drive *drive, struct hr_resting **out)
{
    struct hr_train_job *job = drive->job;
    struct hr_shared_state *shared = job->shared;
    *out = NULL;
    if (!hr_resting_would(drive))
        return HR_OK;
    const size_t busy = busy_with(job, shared->workers), n = shared->servers;
    struct hr_resting *resting =
        aligned_alloc(HR_LINE, hr_round_up(sizeof *resting + n * sizeof(struct lent), HR_LINE));
    if (!resting)
        return hr_fail(HR_E_NOMEM, "no memory for %zu servers", n);
    resting->crowded = busy > hr_cpus_allowed();
    resting->n = n;
    for (size_t s = 0; s < n; s++) /* held until it is opened; one of another machine for ever */
        resting->shard[s] = (struct lent){.word = {HELD}};
    job->waits.spin_ns = hr_spin_budget_ns(busy);
    job->waits.yield_ns = hr_yield_budget_ns(busy);
    shared->rests = true;
    *out = resting;
    return HR_OK;
}

void hr_resting_close(struct hr_resting *resting)
{
    free(resting);
}

/* --- the hold --- */

static uint32_t turn_of(uint32_t word)
{
    return word & ~(uint32_t)(HELD | WANTED);
}

/* False: another has it, and will look again before it lets go. */
static bool take_hold(struct lent *lent)
{
    for (;;) {
        const uint32_t word = hr_atom32_load_acquire(&lent->word); /* partner: let_go */
        if (word & HELD && word & WANTED)
            return false;
        if (hr_atom32_replace_acq_rel(&lent->word, word, word & HELD ? word | WANTED : word | HELD))
            return !(word & HELD);
    }
}

/* False: it was wanted since; look again. */
static bool let_go(struct lent *lent, bool took)
{
    const uint32_t word = hr_atom32_load_relaxed(&lent->word); /* acquired below */
    const uint32_t turn = turn_of(word) + (took ? TURN : 0);
    if (word & WANTED) { /* partner: take_hold; what it had sent is seen */
        hr_atom32_replace_acq_rel(&lent->word, word, turn | HELD);
        return false;
    }
    return hr_atom32_replace_acq_rel(&lent->word, word, turn);
}

/* --- by who holds it --- */

enum { EVERYBODY = HR_MAX_RANKS };

static bool is_done(const struct hr_shard *shard, size_t worker)
{
    const struct hr_message *next =
        hr_ring_peek_spsc(hr_server_requests(shard->shared, worker, shard->number));
    return next && next->kind == HR_DONE;
}

/* Does it wait for nothing more, or where it cannot serve itself? */
static bool is_anybodys(const struct hr_shard *shard, size_t worker)
{
    return !hr_hosts_here(&shard->shared->hosts, worker) || is_done(shard, worker);
}

/* Leave but one input enabled. False, and all are left: there is none for it. */
static bool pick_for(struct hr_server *server, size_t whose)
{
    const size_t workers = server->shard.shared->workers;
    size_t w = whose;
    if (!server->enabled[whose])
        for (w = 0; w < workers && !(server->enabled[w] && is_anybodys(&server->shard, w));)
            w++;
    if (w == workers)
        return false;
    memset(server->enabled, 0, workers);
    server->enabled[w] = 1;
    return true;
}

/* What one worker has sent, or everybody, as far as it may be taken; and what those of other
 * machines have, and that others are done. server->enabled says afterwards who else may go on. */
static bool drain(struct hr_server *server, size_t whose)
{
    bool took = false;
    while (server_has_input(server)) {
        if (whose < EVERYBODY && !pick_for(server, whose))
            break;
        server_take(server);
        took = true;
    }
    return took;
}

/* Serve and let go; the shard is held. Is it over? *seen: the turn afterwards. */
static bool serve(struct lent *lent, size_t whose, struct hr_account *account, uint32_t *seen)
{
    struct hr_server *server = lent->server;
    const struct hr_shared_state *shared = server->shard.shared;
    const size_t rank = hr_shard_rank(shared, server->shard.number);
    unsigned char others[HR_MAX_RANKS];
    bool took = false, over;
    do {
        server->shard.account = account;
        took |= drain(server, whose);
        server->shard.account = NULL;
        memcpy(others, server->enabled, shared->workers);
        over = hr_shard_over(&server->shard);
        *seen = turn_of(hr_atom32_load_relaxed(&lent->word)) + (took ? TURN : 0);
    } while (!let_go(lent, took));
    for (size_t w = 0; w < shared->workers; w++)
        if (others[w] && w != whose)
            hr_bell_ring(&shared->control->rank[w].bell);
    if (over)
        hr_bell_ring(&shared->control->rank[rank].bell);
    return over;
}

/* --- a server's rank --- */

static bool is_over(void *arg)
{
    struct lent *lent = arg;
    uint32_t seen;
    return take_hold(lent) && serve(lent, EVERYBODY, NULL, &seen);
}

/* A server's rank, whose shard was opened: hand it to whoever waits, until all workers are done.
 * Nobody uses it any more when this returns. */
static enum hr_status resting_lend(struct hr_resting *resting, struct hr_server *server)
{
    struct hr_shared_state *shared = server->shard.shared;
    const size_t rank = hr_shard_rank(shared, server->shard.number);
    struct hr_control *control = shared->control;
    struct lent *lent = &resting->shard[server->shard.number];
    uint32_t seen;
    server->waiter.spin_ns = 0;
    server->waiter.poll = NULL; /* who waits does, and the bridge: it rings when something comes */
    server->waiter.beat = &control->rank[rank].gauge.taken; /* others wait for replies */
    lent->server = server;
    serve(lent, EVERYBODY, NULL, &seen);
    const enum hr_status status = hr_say_for_whom(
        shared, rank,
        hr_wait_until(&server->waiter, &control->rank[rank].bell, is_over, lent, "the workers"));
    while (!take_hold(lent)) /* and keep it: after a failure workers may still ask */
        sched_yield();
    return status;
}

/* --- a worker --- */

void hr_resting_ask(struct hr_resting_asker *asker)
{
    for (size_t s = 0; s < asker->resting->n; s++)
        asker->seen[s] = HELD; /* no turn */
    asker->had_sent = *asker->sent;
}

bool hr_resting_serve_then_look(void *arg)
{
    struct hr_resting_asker *asker = arg;
    struct hr_resting *resting = asker->resting;
    if (asker->ready(asker->arg))
        return true;
    if (*asker->sent != asker->had_sent)
        hr_resting_ask(asker);
    for (size_t k = 0; k < resting->n; k++) {
        const size_t s = (asker->rank + k) % resting->n; /* as it has sent */
        struct lent *lent = &resting->shard[s];
        /* Partner: let_go. Relaxed: the hold acquires. */
        if (turn_of(hr_atom32_load_relaxed(&lent->word)) == asker->seen[s] || !take_hold(lent))
            continue;
        const enum hr_activity was = hr_account_turn(asker->account, HR_COMMUNICATE);
        serve(lent, resting->crowded ? EVERYBODY : asker->rank, asker->account, &asker->seen[s]);
        hr_account_turn(asker->account, was);
    }
    return asker->ready(asker->arg);
}

/* --- a server --- */

/* One that was started again: all others are revoked, and the snapshot is that of the last cut; at
 * once, or where its replica has gone on at the next cut, however far away that is. */
static enum hr_status come_back(struct hr_server *server, bool *over)
{
    const int64_t timeout = server->waiter.timeout_ns;
    server->waiter.timeout_ns = 0;
    const enum hr_status status = hr_quiesce_join(&server->quiesce, over);
    server->waiter.timeout_ns = timeout;
    HR_TRY(status);
    return *over ? HR_OK : server_quiesce(server);
}

static void report_spans(struct hr_server *server, size_t rank)
{
    const struct hr_drive *drive = server->drive;
    const struct hr_shared_state *shared = drive->job->shared;
    if (!shared->spans)
        return;
    hr_spans_open(&server->spans, &shared->feed, rank, &server->waiter, drive->driver->now_ns,
                  drive);
    shared->spans[rank] = &server->spans;
}

static enum hr_status serve_shard(const struct hr_drive *drive, size_t rank)
{
    struct hr_control *control = drive->job->shared->control;
    struct hr_server server = {0};
    enum hr_status status = hr_server_open(&server, drive, rank - drive->job->shared->workers);
    bool over = false;
    if (status == HR_OK && hr_roster_is_gone(control, rank))
        status = come_back(&server, &over);
    if (status == HR_OK && !over) {
        hr_control_phase(control, rank, HR_PHASE_SERVE);
        if (drive->resting) {
            status = resting_lend(drive->resting, &server);
        } else {
            server.began_ns = hr_clock_coarse_ns();
            report_spans(&server, rank);
            status = hr_serve(&server);
        }
        hr_control_phase(control, rank, HR_PHASE_FINISHED);
    }
    hr_server_close(&server);
    return status;
}

/* --- a stage of a pipeline --- */

static enum hr_status serve_stage(const struct hr_drive *drive, size_t rank)
{
    const struct hr_train_job *job = drive->job;
    struct hr_control *control = job->shared->control;
    struct hr_waiter waiter = job->waits;
    struct hr_bell *bell[HR_MAX_RANKS];
    struct hr_stage stage;
    const struct hr_stage_context context = {
        .waiter = &waiter, .control = control, .rank = rank, .stage = &stage};
    size_t worker, k;
    hr_staged_member(job, rank, &worker, &k);
    struct hr_spans spans;
    if (job->shared->spans) {
        hr_spans_open(&spans, &job->shared->feed, rank, &waiter, drive->driver->now_ns, drive);
        job->shared->spans[rank] = &spans;
    }
    struct hr_stage_place place = hr_staged_place(job, worker, k, bell);
    struct hr_streamed_stage streamed = hr_streamed_stage_of(job, worker);
    if (hr_train_job_streams(job))
        hr_streamed_place(&streamed, &place);
    HR_TRY(hr_kernels_init_process(hr_train_job_threads(job)));
    HR_TRY(hr_stage_start(&stage, job->pipeline, k));
    hr_stage_sit(&stage, &place);
    const enum hr_status status = hr_say_for_whom(
        job->shared, rank,
        (hr_train_job_streams(job) ? hr_stream_serve : hr_stage_serve)(&stage, &context));
    hr_stage_stop(&stage);
    hr_control_phase(control, rank, HR_PHASE_FINISHED);
    return status;
}

enum hr_status hr_serve_beside(const struct hr_drive *drive, size_t rank)
{
    const struct hr_train_job *job = drive->job;
    return job->pipeline && rank >= job->first_stage ? serve_stage(drive, rank)
                                                     : serve_shard(drive, rank);
}

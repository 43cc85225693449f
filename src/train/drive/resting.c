#include "drive/resting.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/size.h"
#include "server/server.h"

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
    return !job->played && shared->servers && !shared->colocated &&
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
    job->spin_ns = hr_spin_budget_ns(busy);
    job->yield_ns = hr_yield_budget_ns(busy);
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
    return !hr_homes_here(&shard->shared->homes, worker) || is_done(shard, worker);
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
    while (hr_server_has_input(server)) {
        if (whose < EVERYBODY && !pick_for(server, whose))
            break;
        hr_server_take(server);
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
        over = shared->strategy->over(&server->shard);
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

enum hr_status hr_resting_lend(struct hr_resting *resting, struct hr_server *server)
{
    struct hr_shared_state *shared = server->shard.shared;
    const size_t rank = hr_shard_rank(shared, server->shard.number);
    struct hr_control *control = shared->control;
    struct lent *lent = &resting->shard[server->shard.number];
    uint32_t seen;
    server->waiter.spin_ns = 0;
    server->waiter.poll = NULL; /* who waits does, and the carrier: it rings when something comes */
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

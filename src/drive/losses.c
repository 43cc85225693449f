#include "drive/losses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "drive/rest.h"
#include "drive/terms.h"
#include "strategy/last_cut.h"
#include "strategy/server.h"

static const int64_t first_pause_ns = HR_NS_PER_SECOND / 10;

void hr_losses_begin(struct hr_losses *losses, struct hr_leader *leader)
{
    losses->leader = leader;
    losses->began_ns = losses->now_ns(losses->clock);
    hr_last_cut_keep(leader->job->shared);
}

void hr_losses_end(struct hr_losses *losses)
{
    free(losses->loss);
    losses->loss = NULL;
}

static struct hr_shared_state *shared_of(const struct hr_losses *losses)
{
    return losses->leader->job->shared;
}

/* --- who is gone --- */

static bool is_worker(const struct hr_losses *losses, size_t rank)
{
    return rank < shared_of(losses)->workers;
}

static size_t workers_left(const struct hr_losses *losses)
{
    const struct hr_shared_state *shared = shared_of(losses);
    size_t left = 0;
    for (size_t w = 0; w < shared->workers; w++)
        left += !hr_roster_is_gone(shared->control, w);
    return left;
}

static bool may_restart(const struct hr_losses *losses)
{
    const struct hr_train_options *o = losses->leader->job->options;
    return losses->restarts < o->max_restarts;
}

/* Why the run cannot outlive this loss; NULL: it can. */
static const char *hindrance(const struct hr_losses *losses, size_t rank)
{
    const struct hr_train_options *o = losses->leader->job->options;
    const bool restarts = !strcmp(o->on_loss, "restart");
    if (losses->n == HR_LOSSES_MOST)
        return "; more losses than are counted";
    if (!is_worker(losses, rank) && !may_restart(losses))
        return "; a server is needed, and --max-restarts are used up";
    if (is_worker(losses, rank) && !(restarts && may_restart(losses)) && workers_left(losses) == 1)
        return "; no worker is left";
    return NULL;
}

static struct hr_loss *note(struct hr_losses *losses, size_t rank, const char *how)
{
    const struct hr_shared_state *shared = shared_of(losses);
    struct hr_loss *loss = realloc(losses->loss, (losses->n + 1) * sizeof *loss);
    if (!loss)
        return NULL;
    losses->loss = loss;
    loss = &losses->loss[losses->n];
    *loss = (struct hr_loss){
        .server = !is_worker(losses, rank),
        .rank = is_worker(losses, rank) ? rank : rank - shared->workers,
        .step = is_worker(losses, rank) ? shared->stats[rank].steps : 0,
        .seconds = hr_seconds(losses->now_ns(losses->clock) - losses->began_ns),
        .pause_s = -1,
    };
    snprintf(loss->how, sizeof loss->how, "%s", how);
    hr_atom64_store_relaxed(&losses->resumptions->loss[losses->n].lost_ns, (uint64_t)hr_clock_ns());
    losses->n++;
    hr_atom32_store_release(&losses->resumptions->n, (uint32_t)losses->n); /* partner: resumed */
    return loss;
}

/* The time of its death is the end of its account. */
static void close_account(struct hr_shared_state *shared, size_t worker)
{
    struct hr_account *account = &shared->stats[worker].account;
    if (account->open)
        hr_account_close(account, hr_clock_ns());
}

static void plan_restart(struct hr_losses *losses, size_t rank)
{
    const struct hr_shared_state *shared = shared_of(losses);
    const uint32_t before = hr_roster_lost(shared->control, rank) - 1;
    const uint32_t doublings = before < 10 ? before : 10;
    losses->restarts++;
    losses->again_ns[rank] = hr_clock_ns() + (before ? first_pause_ns << (doublings - 1) : 0);
}

bool hr_losses_lost(void *arg, size_t rank, const char *how)
{
    struct hr_losses *losses = arg;
    struct hr_shared_state *shared = shared_of(losses);
    const struct hr_train_options *o = losses->leader->job->options;
    const bool worker = is_worker(losses, rank);
    const char *why_not = hindrance(losses, rank);
    const bool restarts =
        !losses->halted && (!worker || (!strcmp(o->on_loss, "restart") && may_restart(losses)));
    if (why_not || !note(losses, rank, how))
        return false;
    if (worker && !shared->strategy->recalls)
        hr_stats_mend(&shared->stats[rank]);
    if (worker)
        close_account(shared, rank);
    if (worker && shared->strategy->lost)
        shared->strategy->lost(shared, rank);
    losses->rolls = losses->rolls || (!worker && !losses->halted);
    hr_roster_lose(shared->control, rank,
                   !losses->halted && (!worker || shared->strategy->recalls));
    if (restarts)
        plan_restart(losses, rank);
    hr_log(HR_LOG_WARNING, "%s %zu was lost: %s; %s", worker ? "worker" : "server",
           losses->loss[losses->n - 1].rank, how,
           !worker    ? "all go back to the last cut"
           : restarts ? "it is started again"
                      : "the others go on");
    return true;
}

size_t hr_losses_again(void *arg)
{
    struct hr_losses *losses = arg;
    const size_t nranks = losses->leader->job->nranks;
    const int64_t now = hr_clock_ns();
    size_t next = nranks;
    for (size_t r = 0; r < nranks && !losses->halted; r++) {
        if (!losses->again_ns[r])
            continue;
        next = HR_LATER;
        if (losses->again_ns[r] > now)
            continue;
        losses->again_ns[r] = 0;
        hr_atom32_store_release(&shared_of(losses)->control->rank[r].stage, 0);
        return r;
    }
    return next;
}

/* --- who is back, and who rests --- */

static struct hr_loss *last_of(const struct hr_losses *losses, size_t rank)
{
    const bool server = !is_worker(losses, rank);
    const size_t number = server ? rank - shared_of(losses)->workers : rank;
    for (size_t i = losses->n; i-- > 0;)
        if (losses->loss[i].server == server && losses->loss[i].rank == number)
            return &losses->loss[i];
    return NULL;
}

static uint32_t stage_of(const struct hr_losses *losses, size_t rank)
{
    return hr_atom32_load_acquire(
        &shared_of(losses)->control->rank[rank].stage); /* partner: rest */
}

static void welcome_who_is_back(struct hr_losses *losses)
{
    struct hr_shared_state *shared = shared_of(losses);
    for (size_t r = 0; losses->n && r < losses->leader->job->nranks; r++) {
        if (!hr_roster_is_gone(shared->control, r) || stage_of(losses, r) != HR_STAGE_JOINS)
            continue;
        last_of(losses, r)->back = true;
        hr_roster_welcome(shared->control, r, is_worker(losses, r) && shared->strategy->recalls);
    }
}

static uint32_t recalls(const struct hr_losses *losses)
{
    return hr_atom32_load_relaxed(&shared_of(losses)->control->roster.recall); /* our own word */
}

/* Do all who live rest, and at least one? Servers do only when they are recalled. */
static bool all_rest(const struct hr_losses *losses)
{
    const struct hr_shared_state *shared = shared_of(losses);
    const bool recalled = recalls(losses) != losses->called;
    const size_t n = recalled ? losses->leader->job->nranks : shared->workers;
    size_t resting = 0;
    for (size_t r = 0; r < n; r++) {
        if (hr_roster_is_gone(shared->control, r)) {
            if (!is_worker(losses, r)) /* nothing goes on without it */
                return false;
            continue;
        }
        if (!hr_roster_rests(shared->control, r))
            return false;
        resting++;
    }
    return resting > 0;
}

/* Do workers of the present term rest at that stage? All of them do, or none. */
static bool rest_at(const struct hr_losses *losses, enum hr_stage stage)
{
    const struct hr_shared_state *shared = shared_of(losses);
    for (size_t w = 0; w < shared->workers; w++)
        if (!hr_roster_is_gone(shared->control, w) && stage_of(losses, w) == stage)
            return true;
    return false;
}

static enum hr_status begin_term(struct hr_losses *losses)
{
    struct hr_control *control = shared_of(losses)->control;
    const uint32_t called = recalls(losses);
    const struct hr_term_begin how = {.recalled = called != losses->called,
                                      .rolled = losses->rolls};
    uint64_t again;
    HR_TRY(hr_term_begin(losses->leader, how, &again));
    if (losses->n)
        losses->loss[losses->n - 1].again_samples += again;
    losses->rolls = false;
    losses->called = called;
    losses->view = hr_atom32_load_relaxed(&control->roster.view);
    hr_roster_begin_term(control, called, rest_at(losses, HR_STAGE_BEGINS));
    return HR_OK;
}

static void release(struct hr_losses *losses)
{
    struct hr_shared_state *shared = shared_of(losses);
    if (rest_at(losses, HR_STAGE_ENDED) && shared->strategy->missing)
        shared->strategy->missing(shared);
    if (rest_at(losses, HR_STAGE_BEGINS))
        losses->halted = losses->leader->cuts.cut->halt;
    hr_roster_release(shared->control);
}

enum hr_status hr_losses_look(struct hr_losses *losses)
{
    struct hr_shared_state *shared = shared_of(losses);
    struct hr_control *control = shared->control;
    welcome_who_is_back(losses);
    if (!all_rest(losses))
        return HR_OK;
    if (hr_atom32_load_relaxed(&control->roster.view) != losses->view)
        HR_TRY(begin_term(losses));
    else
        release(losses);
    return HR_OK;
}

/* --- the account --- */

static double pause_of(const struct hr_losses *losses, size_t i)
{
    const struct hr_resumption *it = &losses->resumptions->loss[i];
    const uint64_t resumed = hr_atom64_load_acquire(&it->resumed_ns); /* partner: resumed */
    return resumed ? hr_seconds((int64_t)(resumed - hr_atom64_load_relaxed(&it->lost_ns))) : -1;
}

void hr_losses_report(struct hr_losses *losses, struct hr_run_result *result)
{
    if (losses->n == 0)
        return;
    const struct hr_shared_state *shared = shared_of(losses);
    for (size_t i = 0; i < losses->n; i++)
        losses->loss[i].pause_s = pause_of(losses, i);
    for (size_t w = 0; w < shared->workers; w++) {
        const struct hr_fate *fate = hr_fate_of(shared->fates, w);
        struct hr_loss *last = last_of(losses, w);
        if (!last)
            continue;
        last->lost_samples += fate->lost_samples;
        last->again_samples += fate->again_samples;
        last->partial += fate->partial;
    }
    result->losses = losses->loss;
    result->nlosses = losses->n;
    result->restarts = losses->restarts;
    losses->loss = NULL;
    losses->n = 0;
}

void hr_losses_resumed(struct hr_resumptions *resumptions, uint32_t *seen, int64_t offered_ns)
{
    const uint32_t n = hr_atom32_load_acquire(&resumptions->n); /* partner: note */
    for (uint32_t i = *seen; i < n; i++) {
        struct hr_resumption *it = &resumptions->loss[i];
        if (offered_ns < (int64_t)hr_atom64_load_relaxed(&it->lost_ns))
            return; /* later losses are later still */
        hr_atom64_replace_acq_rel(&it->resumed_ns, 0, (uint64_t)hr_clock_ns());
        *seen = i + 1;
    }
}

#include "drive/losses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "drive/driver.h"
#include "drive/losses_multinode.h"
#include "drive/record.h"
#include "group/local_group.h"
#include "server/server.h"
#include "server/staleness.h"
#include "strategy/lost_batches.h"
#include "strategy/rows.h"
#include "strategy/shared.h"
#include "worker/staged.h"

uint64_t hr_term_go_back(const struct hr_leader *leader)
{
    struct hr_shared_state *shared = leader->job->shared;
    uint64_t samples = 0;
    hr_last_cut_restore(shared);
    hr_lost_work_roll_back(shared);
    if (leader->cuts.cut->begins == shared->schedule.first)
        hr_begin_with(shared);
    for (size_t w = 0; w < shared->workers; w++) {
        hr_stats_mend(&shared->stats[w]); /* it may have died while it counted */
        samples += hr_stats_roll_back(&shared->stats[w]);
    }
    return samples;
}

static void begin_dispenser(const struct hr_leader *leader, uint64_t index)
{
    struct hr_dispenser *dispenser = leader->job->shared->dispenser;
    hr_atom64_store_release(&dispenser->stop_at, UINT64_MAX); /* a request is agreed upon anew */
    hr_atom64_store_release(&dispenser->begins, index);
    if (leader->job->shared->strategy->synchronous)
        return;
    hr_atom64_store_release(&dispenser->next, index);
    hr_atom64_store_release(&dispenser->cut,
                            hr_batch_schedule_next_cut(&leader->job->shared->schedule, index));
}

static size_t choose_active(const struct hr_train_job *job)
{
    const struct hr_shared_state *shared = job->shared;
    struct hr_active *active = shared->active;
    size_t n = 0;
    for (size_t w = 0; w < shared->workers; w++)
        if (!hr_roster_is_gone(shared->control, w))
            active->rank[n++] = (uint16_t)w;
    while (job->micro_shards && n & (n - 1)) /* each has a whole subtree of the sum */
        n--;
    active->n = n;
    return n;
}

static enum hr_status begin_group(const struct hr_train_job *job)
{
    const struct hr_group_options options = hr_group_of_active(job->shared);
    size_t bytes;
    if (job->local)
        return hr_local_group_begin(job->local, job->shared->active->n);
    HR_TRY(hr_group_bytes(&job->shared->group_options, &bytes));
    memset(job->shared->group, 0, bytes);
    return hr_group_init(job->shared->group, &options);
}

/* As a run begins from a checkpoint. */
enum hr_status hr_term_begin_at_cut(const struct hr_leader *leader)
{
    struct hr_shared_state *shared = leader->job->shared;
    const uint64_t index = leader->cuts.cut->begins;
    if (choose_active(leader->job) == 0)
        return hr_fail(HR_E_LOST, "no worker is left");
    shared->active->index = index;
    if (shared->strategy->bytes)
        memset(shared->own, 0, shared->strategy->bytes(shared));
    hr_strategy_init(shared);
    hr_staleness_restore(shared);
    begin_dispenser(leader, index);
    return begin_group(leader->job);
}

/* Put in order what ranks share. *again: samples that will be computed once more. HR_E_LOST: there
 * is no worker left. */
static enum hr_status term_begin(const struct hr_leader *leader, bool revoked, uint64_t *again)
{
    *again = 0;
    if (choose_active(leader->job) == 0)
        return hr_fail(HR_E_LOST, "no worker is left");
    if (!revoked)
        return HR_OK;
    *again = hr_term_go_back(leader);
    return hr_term_begin_at_cut(leader);
}

static const int64_t first_pause_ns = HR_NS_PER_SECOND / 10;

static int64_t now_of(const struct hr_losses *losses)
{
    return losses->drive->driver->now_ns(losses->drive);
}

void hr_losses_begin(struct hr_drive *drive)
{
    struct hr_losses *losses = &drive->losses;
    losses->leader = drive->leader;
    losses->drive = drive;
    losses->began_ns = now_of(losses);
    if (drive->job->shared->last_cut)
        hr_last_cut_keep(drive->job->shared);
    losses->in_span = drive->job->serial;
    losses->kept_ns = now_of(losses);
    losses->copy_ns = losses->kept_ns - losses->began_ns; /* until a cut has been timed */
}

/* An interim cut, from which all go back for batches that are handed out again, is none to go back
 * to. */
void hr_losses_keep_cut(struct hr_losses *losses)
{
    const struct hr_shared_state *shared = losses->leader->job->shared;
    const struct hr_cut *cut = losses->leader->cuts.cut;
    if (shared->outlives && !hr_losses_lead(losses))
        hr_staleness_keep(shared); /* of its own workers */
    if (!shared->outlives || !hr_losses_lead(losses) || cut->concluded == losses->kept)
        return;
    if (!cut->again) {
        hr_lost_work_leave_cut(shared);
        hr_staleness_keep(shared);
        hr_last_cut_keep(shared);
    }
    losses->kept = cut->concluded;
    losses->kept_ns = now_of(losses);
    if (!cut->evaluate && !cut->save)
        losses->copy_ns = losses->kept_ns - losses->rest_ns;
}

void hr_losses_mind_copy(struct hr_losses *losses)
{
    const struct hr_shared_state *shared = losses->leader->job->shared;
    struct hr_save_request *request = &shared->dispenser->save;
    const bool needed = shared->outlives && !shared->strategy->rows.since &&
                        (!hr_shared_takes_losses(shared) || shared->servers);
    if (!needed || !hr_losses_lead(losses) || !losses->in_span || hr_copy_is_asked(request))
        return;
    const int64_t since = now_of(losses) - losses->kept_ns, every = 100 * losses->copy_ns;
    if (since >= (every > HR_NS_PER_SECOND ? every : HR_NS_PER_SECOND))
        hr_atom32_store_release(&request->copies_asked, /* partner: who begins a batch */
                                hr_atom32_load_relaxed(&request->copies_asked) + 1);
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

/* The others cannot do without it: a server, or a worker with one in it. */
static bool is_needed(const struct hr_losses *losses, size_t rank)
{
    return !losses->halted && (!is_worker(losses, rank) || hr_owns_shard(shared_of(losses), rank));
}

static bool is_last_worker(const struct hr_losses *losses, size_t rank)
{
    const struct hr_shared_state *shared = shared_of(losses);
    size_t others = 0;
    for (size_t w = 0; w < shared->workers; w++)
        others += w != rank && !hr_roster_is_gone(shared->control, w);
    return is_worker(losses, rank) && others == 0;
}

static bool one_comes(const struct hr_losses *losses, size_t ranks)
{
    bool comes = false;
    for (size_t r = 0; r < ranks; r++)
        comes |= losses->comes[r];
    return comes;
}

/* A worker's stages come with it. */
bool hr_losses_await(const struct hr_losses *losses)
{
    return one_comes(losses, shared_of(losses)->workers + shared_of(losses)->servers);
}

static bool may_restart(const struct hr_losses *losses)
{
    const struct hr_train_options *o = losses->leader->job->options;
    return losses->restarts < o->max_restarts;
}

/* --on-loss restart, as long as it lasts. */
static bool restarts_all(const struct hr_losses *losses)
{
    return losses->leader->job->choices.on_loss == HR_ON_LOSS_RESTART && may_restart(losses);
}

/* Do all go back to the last cut, or is its loss an input? */
static bool ends_term(const struct hr_losses *losses, size_t rank)
{
    return !losses->halted &&
           (!is_worker(losses, rank) || !hr_shared_takes_losses(shared_of(losses)));
}

/* Is it the last worker of machine 0 that lives? */
static bool leads_alone(const struct hr_losses *losses, size_t rank)
{
    const struct hr_hosts *hosts = losses->multinode->hosts;
    bool others = false;
    for (size_t w = 0; w < shared_of(losses)->workers && hosts->machine[w] == 0; w++)
        others |= w != rank && !hr_roster_is_gone(shared_of(losses)->control, w);
    return hosts->machine[rank] == 0 && !others;
}

/* Why the run cannot outlive this loss; NULL: it can. */
static const char *hindrance(const struct hr_losses *losses, size_t rank)
{
    if (losses->n == HR_LOSSES_MOST)
        return "; more losses than are counted";
    if (is_needed(losses, rank) && !may_restart(losses))
        return "; a server is needed, and its restarts are used up";
    if (!restarts_all(losses) && !is_needed(losses, rank) && is_last_worker(losses, rank) &&
        !one_comes(losses, shared_of(losses)->workers))
        return "; no worker is left";
    if (losses->multinode && leads_alone(losses, rank))
        return "; no worker is left on the first machine, which leads";
    return NULL;
}

/* One that is needed is, whatever --on-loss says. */
static bool is_started_again(const struct hr_losses *losses, size_t rank)
{
    return !losses->halted && (is_needed(losses, rank) || restarts_all(losses));
}

/* Seconds of training so far. Where one thread runs all ranks the clock stands at cuts anyway. */
static double trained_s(const struct hr_losses *losses, int64_t now)
{
    if (losses->leader->job->serial)
        return hr_seconds(now - losses->began_ns);
    return hr_seconds(losses->trained_ns + (losses->span_ns ? now - losses->span_ns : 0));
}

static struct hr_loss *last_of(const struct hr_losses *losses, size_t rank)
{
    const bool server = !is_worker(losses, rank);
    const size_t number = server ? rank - shared_of(losses)->workers : rank;
    for (size_t i = losses->n; i-- > 0;)
        if (losses->loss[i].server == server && losses->loss[i].rank == number)
            return &losses->loss[i];
    return NULL;
}

/* The last by which a worker lost anything. One that dies while it is being started again has
 * nothing yet, however soon that is noticed: owners may not have taken the loss before. */
static struct hr_loss *last_with_a_fate(const struct hr_losses *losses, size_t worker)
{
    struct hr_loss *found = NULL;
    for (size_t i = losses->n; i-- > 0;) {
        struct hr_loss *loss = &losses->loss[i];
        if (loss->server || loss->rank != worker)
            continue;
        if (found && loss->back)
            break;
        found = loss;
    }
    return found;
}

/* What was lost with a worker since its loss before is told of the last one. (Where batches are
 * handed out again at cuts, that is all since the last cut.) Who goes back to a cut loses less. */
static void report_lost_work(struct hr_losses *losses, size_t worker)
{
    const struct hr_lost_work *lost = &shared_of(losses)->lost_work[worker];
    struct hr_reported_work *reported = &losses->reported[worker];
    struct hr_loss *last = last_with_a_fate(losses, worker);
    if (!last)
        return;
    for (struct hr_loss *loss = last; reported->lost > lost->lost_samples && loss >= losses->loss;
         loss--) {
        const uint64_t excess = reported->lost - lost->lost_samples;
        const bool its = !loss->server && loss->rank == worker;
        const uint64_t less = !its ? 0 : excess < loss->lost_samples ? excess : loss->lost_samples;
        loss->lost_samples -= less;
        reported->lost -= less;
    }
    last->lost_samples += lost->lost_samples - reported->lost;
    last->again_samples += lost->again_samples - reported->again;
    last->partial += lost->partial - reported->partial;
    *reported = (struct hr_reported_work){lost->lost_samples, lost->again_samples, lost->partial};
}

/* How many gradients it had computed. */
static uint64_t step_of(const struct hr_losses *losses, size_t rank)
{
    const struct hr_control *control = shared_of(losses)->control;
    if (!is_worker(losses, rank))
        return 0;
    if (hr_control_is_elsewhere(control, rank)) /* partner: the bridge */
        return hr_atom64_load_relaxed(&control->rank[rank].gauge.gradients);
    return hr_roster_is_gone(shared_of(losses)->control, rank)
               ? last_of(losses, rank)->step
               : shared_of(losses)->stats[rank].steps;
}

static struct hr_loss *note(struct hr_losses *losses, size_t rank, const char *how, int64_t now)
{
    const struct hr_shared_state *shared = shared_of(losses);
    struct hr_loss *loss = realloc(losses->loss, (losses->n + 1) * sizeof *loss);
    if (!loss)
        return NULL;
    losses->loss = loss;
    loss = &losses->loss[losses->n];
    *loss = (struct hr_loss){
        .rolled_back = ends_term(losses, rank),
        .server = !is_worker(losses, rank),
        .rank = is_worker(losses, rank) ? rank : rank - shared->workers,
        .step = step_of(losses, rank),
        .seconds = trained_s(losses, now),
        .pause_s = -1,
    };
    snprintf(loss->how, sizeof loss->how, "%s", how);
    if (losses->multinode)
        snprintf(loss->host, sizeof loss->host, "%s",
                 losses->multinode->wire->host[losses->multinode->hosts->machine[rank]]);
    hr_atom64_store_relaxed(&losses->resumptions->loss[losses->n].lost_ns, (uint64_t)now);
    losses->n++;
    hr_atom32_store_release(&losses->resumptions->n, (uint32_t)losses->n); /* partner: resumed */
    return loss;
}

/* The time of its death is the end of its account. In a span it has not come to the end of: others
 * may have, and waited for it until now. Where no span runs it may have opened its account for one
 * that it did not live to begin, or behind the last cut for none. */
static void close_account(const struct hr_losses *losses, size_t worker, int64_t now)
{
    struct hr_worker_stats *stats = &shared_of(losses)->stats[worker];
    if (!stats->account.open || !losses->span_ns)
        return;
    hr_account_close(&stats->account, now);
    stats->came_ns = now;
}

static void plan_restart(struct hr_losses *losses, size_t rank)
{
    const struct hr_shared_state *shared = shared_of(losses);
    const uint32_t before = hr_roster_lost(shared->control, rank) - 1;
    const uint32_t doublings = before < 10 ? before : 10;
    losses->restarts++;
    if (!hr_losses_here(losses, rank))
        return;
    losses->comes[rank] = true;
    losses->again_ns[rank] = now_of(losses) + (before ? first_pause_ns << (doublings - 1) : 0);
}

static bool end_run(struct hr_losses *losses, size_t rank, const char *how)
{
    char text[300];
    if (!losses->why_not)
        losses->why_not = "; no memory to note it";
    snprintf(text, sizeof text, "%s%s", how, losses->why_not);
    hr_control_abort(shared_of(losses)->control, rank, HR_E_LOST, text);
    return false;
}

/* To who looks on, behind all that came before it. */
static void say_lost(const struct hr_losses *losses)
{
    const struct hr_observer *observer = losses->drive->launcher->observer;
    hr_launcher_report(losses->drive->launcher);
    if (observer->lost)
        observer->lost(observer->arg, &losses->loss[losses->n - 1]);
}

bool hr_losses_lost(void *arg, size_t rank, const char *how)
{
    struct hr_losses *losses = arg;
    struct hr_shared_state *shared = shared_of(losses);
    const bool worker = is_worker(losses, rank);
    const int64_t now = now_of(losses);
    losses->comes[rank] = false;
    losses->why_not = hindrance(losses, rank);
    const bool back = ends_term(losses, rank);
    const bool restarts = is_started_again(losses, rank);
    const bool counts = worker && hr_losses_lead(losses);
    if (counts)
        hr_stats_mend(&shared->stats[rank]), report_lost_work(losses, rank);
    if (losses->why_not || !note(losses, rank, how, now))
        return end_run(losses, rank, how);
    hr_record_lost(losses->drive, rank);
    if (counts)
        close_account(losses, rank, now);
    if (worker && shared->strategy->lost)
        shared->strategy->lost(shared, rank);
    hr_atom32_store_release(&shared->control->rank[rank].stage, 0); /* it is dead: ours now */
    hr_roster_lose(shared->control, rank, back);
    if (restarts)
        plan_restart(losses, rank);
    say_lost(losses);
    char from[60] = "";
    if (back)
        snprintf(from, sizeof from, ", all from step %llu",
                 (unsigned long long)losses->leader->cuts.cut->begins);
    hr_log(HR_LOG_WARNING, "%s %zu was lost: %s; %s%s", worker ? "worker" : "server",
           losses->loss[losses->n - 1].rank, how,
           restarts ? "it is started again" : "the others go on", from);
    return true;
}

void hr_losses_start(struct hr_losses *losses, size_t rank)
{
    losses->again_ns[rank] = 0;
    /* Relaxed: of a rank that does not run. */
    hr_atom32_store_relaxed(&shared_of(losses)->control->rank[rank].stage, 0);
}

size_t hr_losses_again(void *arg)
{
    struct hr_losses *losses = arg;
    const size_t nranks = losses->leader->job->nranks;
    if (losses->leader->job->launch == HR_LAUNCH_PROCESS &&
        hr_launcher_writes(losses->drive->launcher)) /* it would be forked beside a thread */
        return HR_LATER;
    const int64_t now = now_of(losses);
    size_t next = nranks;
    for (size_t r = 0; r < nranks && !losses->halted; r++) {
        if (!losses->again_ns[r])
            continue;
        next = HR_LATER;
        if (losses->again_ns[r] > now)
            continue;
        hr_losses_start(losses, r);
        return r;
    }
    return next;
}

/* --- who is back, and what then begins --- */

void hr_losses_welcome(struct hr_losses *losses, size_t rank)
{
    const struct hr_shared_state *shared = shared_of(losses);
    last_of(losses, rank)->back = true;
    losses->comes[rank] = false;
    hr_record_back(losses->drive, rank);
    hr_roster_welcome(shared->control, rank);
}

/* Relaxed: the launcher's own word. */
bool hr_losses_changed(const struct hr_losses *losses)
{
    return hr_atom32_load_relaxed(&shared_of(losses)->control->roster.view) != losses->view;
}

bool hr_losses_are_revoked(const struct hr_losses *losses)
{
    return hr_roster_is_revoked(shared_of(losses)->control);
}

bool hr_losses_are_taken(const struct hr_losses *losses)
{
    const struct hr_shared_state *shared = shared_of(losses);
    bool taken = !hr_losses_are_revoked(losses);
    for (size_t w = 0; taken && w < shared->workers; w++)
        taken = !hr_roster_is_gone(shared->control, w) || hr_server_may_join(shared, w);
    return taken;
}

void hr_losses_account(const struct hr_losses *losses)
{
    const struct hr_shared_state *shared = shared_of(losses);
    if (!shared->outlives)
        return;
    hr_server_missing(shared);
    hr_batch_states_missing(shared);
    if (hr_losses_lead(losses))
        losses->leader->cuts.cut->again = hr_returned_any(shared->returned);
}

/* The last loss that revoked. (Any, if none did.) */
static struct hr_loss *why_revoked(const struct hr_losses *losses)
{
    struct hr_loss *loss = &losses->loss[losses->n - 1];
    while (loss > losses->loss && !loss->rolled_back)
        loss--;
    return loss;
}

enum hr_status hr_losses_begin_term(struct hr_losses *losses, bool begins)
{
    struct hr_control *control = shared_of(losses)->control;
    const bool revoked = hr_losses_are_revoked(losses);
    uint64_t again;
    if (revoked && hr_losses_lead(losses))
        hr_launcher_take(losses->drive->launcher); /* the snapshot becomes another */
    HR_TRY(losses->begin ? losses->begin(losses, &again)
                         : term_begin(losses->leader, revoked, &again));
    if (revoked)
        hr_record_term(losses->drive, shared_of(losses)->active->index, again);
    losses->again = again;
    losses->revoked_by = losses->n ? (size_t)(why_revoked(losses) - losses->loss) : 0;
    if (losses->n)
        losses->loss[losses->revoked_by].again_samples += again;
    losses->view = hr_atom32_load_relaxed(&control->roster.view);
    hr_roster_begin_term(control, hr_atom32_load_relaxed(&control->roster.revoke), begins);
    return HR_OK;
}

/* --- how long a loss kept updates up --- */

/* Seconds until an update was applied that was offered after loss i; < 0: none was. */
static double pause_s_of(const struct hr_losses *losses, size_t i)
{
    const struct hr_resumption *it = &losses->resumptions->loss[i];
    const uint64_t resumed = hr_atom64_load_acquire(&it->resumed_ns); /* partner: resumed */
    return resumed ? hr_seconds((int64_t)(resumed - hr_atom64_load_relaxed(&it->lost_ns))) : -1;
}

void hr_losses_resumed(const struct hr_losses *losses, uint32_t *seen, int64_t offered_ns)
{
    struct hr_resumptions *resumptions = losses->resumptions;
    if (!resumptions)
        return;
    const uint32_t n = hr_atom32_load_acquire(&resumptions->n); /* partner: note */
    for (uint32_t i = *seen; i < n; i++) {
        struct hr_resumption *it = &resumptions->loss[i];
        if (offered_ns < (int64_t)hr_atom64_load_relaxed(&it->lost_ns))
            return; /* later losses are later still */
        hr_atom64_replace_acq_rel(&it->resumed_ns, 0, (uint64_t)now_of(losses));
        *seen = i + 1;
    }
}

/* --- the account --- */

void hr_losses_report(struct hr_losses *losses, struct hr_run_result *result)
{
    if (losses->n == 0)
        return;
    const struct hr_shared_state *shared = shared_of(losses);
    for (size_t i = 0; i < losses->n; i++)
        losses->loss[i].pause_s = pause_s_of(losses, i);
    for (size_t w = 0; w < shared->workers; w++)
        report_lost_work(losses, w);
    result->losses = losses->loss;
    result->nlosses = losses->n;
    result->restarts = losses->restarts;
    losses->loss = NULL;
    losses->n = 0;
}

/* It is started again with its worker. */
static void plan_stage(struct hr_losses *losses, size_t rank, size_t worker)
{
    if (!losses->comes[rank] || !losses->comes[worker])
        return;
    losses->comes[rank] = false;
    losses->again_ns[rank] = losses->again_ns[worker] ? losses->again_ns[worker] : 1;
}

static bool lose_stage(struct hr_losses *losses, size_t rank, const char *how)
{
    const struct hr_train_job *job = losses->leader->job;
    size_t worker, k;
    hr_staged_member(job, rank, &worker, &k);
    hr_log(HR_LOG_WARNING, "rank %zu, stage %zu of worker %zu, was lost: %s", rank, k, worker, how);
    snprintf(losses->stage_how, sizeof losses->stage_how, "its stage %zu: %s", k, how);
    losses->stage_of = worker;
    losses->comes[rank] = true;
    hr_staged_lose(job, worker);
    if (hr_roster_is_gone(job->shared->control, worker))
        plan_stage(losses, rank, worker);
    return true;
}

static bool lose_worker(struct hr_losses *losses, size_t worker, const char *how)
{
    const struct hr_train_job *job = losses->leader->job;
    const bool by_stage = losses->stage_how[0] && losses->stage_of == worker;
    hr_staged_lose(job, worker);
    const bool goes_on = hr_losses_lost(losses, worker, by_stage ? losses->stage_how : how);
    if (by_stage)
        losses->stage_how[0] = '\0';
    for (size_t k = 1; goes_on && k < job->pipeline->members; k++)
        plan_stage(losses, hr_staged_rank(job, worker, k), worker);
    return goes_on;
}

bool hr_replica_lost(void *arg, size_t rank, const char *how)
{
    struct hr_losses *losses = arg;
    const struct hr_train_job *job = losses->leader->job;
    if (!job->pipeline)
        return hr_losses_lost(losses, rank, how);
    if (rank >= job->first_stage)
        return lose_stage(losses, rank, how);
    return rank < job->shared->workers ? lose_worker(losses, rank, how)
                                       : hr_losses_lost(losses, rank, how);
}

#include "worker/conditions.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "strategy/strategy.h"
#include "worker/job.h"

/* Each use of random numbers has a seed of its own. */
enum { SEED_COMPUTE = 1, SEED_SERVE, SEED_INJECT, SEEDS = SEED_INJECT };

/* Of times, which each order of events draws anew: weights, batches and numbers that go wrong are
 * the seed's. */
static uint64_t seed_of(const struct hr_train_job *job, unsigned use)
{
    const size_t order = job->options->event_order;
    return hr_delay_seed(job->options->seed, use + SEEDS * (unsigned)(order ? order - 1 : 0));
}

/* Links: a topology whose first ranks are the workers, then the servers, then the workers' other
 * stages; --link alone is a switch in the middle, and a wire like that from each rank. */
static enum hr_status open_links(struct hr_train_job *job)
{
    const struct hr_train_options *o = job->options;
    struct hr_topology *topology = &job->conditions.topology;
    struct hr_link link = {.bandwidth = 16e9};
    char star[32];
    if (!o->link[0] && !o->topology[0])
        return HR_OK;
    if (o->link[0])
        HR_TRY(hr_link_parse("--link ", o->link, &link));
    const size_t stages = job->pipeline ? job->shared->workers * (job->pipeline->ranks - 1) : 0;
    const size_t ranks = job->nranks + stages; /* their numbers: staged.h */
    if (ranks == 1)
        return HR_OK; /* one of the rows of a comparison, which sends nothing */
    snprintf(star, sizeof star, "star:%zu", ranks);
    HR_TRY(hr_topology_open(o->topology[0] ? o->topology : star, &link, topology));
    if (topology->nranks >= ranks)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--topology %s: %zu gpus; expected at least %zu, the workers%s%s",
                   o->topology, topology->nranks, ranks,
                   job->shared->colocated ? "" : " and then the servers",
                   stages ? ", and then the other stages of each worker" : "");
}

/* Only virtual time has times of stages. */
static enum hr_status check_slow_stages(const struct hr_train_job *job)
{
    const struct hr_inject *inject = &job->conditions.inject;
    const size_t stages = job->pipeline ? job->pipeline->ranks : 0;
    if (!hr_inject_has(inject, HR_INJECT_SLOW_STAGE))
        return HR_OK;
    for (size_t i = 0; i < inject->n; i++) {
        const struct hr_inject_entry *entry = &inject->entry[i];
        if (entry->kind == HR_INJECT_SLOW_STAGE && entry->stage != HR_INJECT_ALL &&
            entry->stage >= stages)
            return hr_fail(HR_E_USAGE,
                           "--inject slow:stage: stage %zu: expected 0 to %zu, or * for all",
                           entry->stage, stages - 1);
    }
    return HR_OK;
}

/* Whose pushes are lost, and how long a worker waits: not as long as others wait for it. */
static enum hr_status open_drops(struct hr_train_job *job)
{
    const struct hr_inject *inject = &job->conditions.inject;
    const int64_t deadline_ps = hr_inject_deadline_ps(inject);
    if (!hr_inject_has(inject, HR_INJECT_DROP_PUSH))
        return HR_OK;
    if (!job->serial && job->waits.timeout_ns && deadline_ps / 1000 >= job->waits.timeout_ns)
        return hr_fail(HR_E_USAGE,
                       "--inject drop-push: a push is sent again after %g s, but waits end after "
                       "--timeout %g s; expected a shorter time, or a longer --timeout",
                       hr_ps_seconds(deadline_ps), hr_seconds(job->waits.timeout_ns));
    job->shared->drops = inject;
    return HR_OK;
}

enum hr_status hr_conditions_open(struct hr_train_job *job)
{
    const struct hr_train_options *o = job->options;
    struct hr_conditions *conditions = &job->conditions;
    const bool simulated = job->simulated;
    conditions->has_compute = o->compute_time[0];
    if (conditions->has_compute)
        HR_TRY(hr_delay_parse("--compute-time ", o->compute_time, &conditions->compute));
    HR_TRY(hr_inject_parse("--inject ", o->inject, job->shared->workers, job->shared->servers,
                           &conditions->inject));
    HR_TRY(check_slow_stages(job));
    HR_TRY(open_drops(job));
    if (o->server_time[0])
        HR_TRY(hr_delay_parse("--servers time=", o->server_time, &conditions->serve));
    return simulated ? open_links(job) : HR_OK;
}

void hr_conditions_close(struct hr_conditions *conditions)
{
    hr_delay_fini(&conditions->compute);
    hr_delay_fini(&conditions->serve);
    hr_topology_fini(&conditions->topology);
}

/* Steps of the worker that an entry names; of all: the most. */
static uint64_t most_steps(const struct hr_shared_state *shared, size_t rank)
{
    uint64_t most = 0;
    for (size_t w = 0; w < shared->workers; w++)
        if ((rank == HR_INJECT_ALL || rank == w) && shared->stats[w].steps > most)
            most = shared->stats[w].steps;
    return most;
}

/* What was to happen in a step; NULL: what happens in every one, or in none. */
static const char *what_happens(enum hr_inject_kind kind)
{
    switch (kind) {
    case HR_INJECT_STALL:
        return "stalled";
    case HR_INJECT_NAN:
        return "met a NaN";
    case HR_INJECT_FLIP_BIT:
        return "had a bit flipped";
    default:
        return NULL;
    }
}

/* Was it lost on another machine, where what happened to it was counted? */
static bool is_out_of_sight(const struct hr_train_job *job, size_t rank)
{
    const struct hr_control *control = job->shared->control;
    return rank < control->nranks && hr_control_is_elsewhere(control, rank) &&
           hr_roster_lost(control, rank);
}

static void warn_of_step(const struct hr_train_job *job, const struct hr_inject_entry *entry)
{
    const char *what = what_happens(entry->kind);
    const uint64_t steps = what ? most_steps(job->shared, entry->rank) : 0;
    char who[40] = "no worker";
    if (!what || entry->step < steps || is_out_of_sight(job, entry->rank))
        return;
    if (entry->rank != HR_INJECT_ALL)
        snprintf(who, sizeof who, "worker %zu never", entry->rank);
    hr_log(HR_LOG_WARNING,
           "--inject: %s %s: step %llu (counted from 0) was not among its %llu steps", who, what,
           (unsigned long long)entry->step, (unsigned long long)steps);
}

/* Deaths of rank `rank` that --inject made happen. Partner: hr_conditions_killed. */
static size_t killed_so_far(const struct hr_train_job *job, size_t rank)
{
    return hr_atom32_load_acquire(&job->shared->control->rank[rank].killed);
}

/* A rank dies of its entries in the order in which they are due, so the last of them did not
 * happen. */
static bool is_due_and_was_not(const struct hr_train_job *job, const struct hr_inject_entry *entry,
                               size_t rank, uint64_t steps, int64_t end_ps)
{
    const size_t due =
        hr_inject_kills_due(&job->conditions.inject, entry->kind, entry->rank,
                            entry->timed ? steps : entry->step, entry->timed ? entry->ps : end_ps);
    if (is_out_of_sight(job, rank))
        return false;
    return (entry->timed || entry->step >= steps) && due > killed_so_far(job, rank);
}

static void warn_of_death(const struct hr_train_job *job, const struct hr_inject_entry *entry,
                          int64_t end_ps)
{
    const bool server = entry->kind == HR_INJECT_KILL_SERVER;
    const size_t rank = entry->rank + (server ? job->shared->workers : 0);
    const uint64_t steps = server ? 0 : most_steps(job->shared, entry->rank);
    const char *who = server ? "server" : "worker";
    if (!is_due_and_was_not(job, entry, rank, steps, end_ps))
        return;
    const char *again =
        hr_roster_lost(job->shared->control, rank) ? "did not die again" : "never died";
    if (entry->timed)
        hr_log(HR_LOG_WARNING, "--inject: %s %zu %s: the run was over before %.4g s", who,
               entry->rank, again, (double)entry->ps / 1e12);
    else if (server)
        hr_log(HR_LOG_WARNING,
               "--inject: server %zu %s: input %llu (counted from 0) was not among those it took",
               entry->rank, again, (unsigned long long)entry->step);
    else
        hr_log(HR_LOG_WARNING,
               "--inject: worker %zu %s: step %llu (counted from 0) was not among its %llu steps",
               entry->rank, again, (unsigned long long)entry->step, (unsigned long long)steps);
}

void hr_conditions_warn(const struct hr_train_job *job, int64_t end_ps)
{
    const struct hr_inject *inject = &job->conditions.inject;
    for (size_t i = 0; i < inject->n; i++) {
        const struct hr_inject_entry *entry = &inject->entry[i];
        if (entry->kind == HR_INJECT_KILL || entry->kind == HR_INJECT_KILL_SERVER)
            warn_of_death(job, entry, end_ps);
        else
            warn_of_step(job, entry);
    }
}

static int64_t recorded_ps(const struct hr_recorded_times *times, size_t rank, uint64_t step)
{
    const size_t n = times->first[rank + 1] - times->first[rank];
    return hr_ps_add(times->ps[times->first[rank] + step % n], times->overhead_ps);
}

/* Duration without injected delays. */
static int64_t base_ps(const struct hr_train_job *job, size_t rank, uint64_t step, int64_t own_ps)
{
    const struct hr_conditions *conditions = &job->conditions;
    if (conditions->times)
        return recorded_ps(conditions->times, rank, step);
    if (!conditions->has_compute)
        return own_ps;
    return hr_delay_ps(&conditions->compute, seed_of(job, SEED_COMPUTE), rank, step);
}

int64_t hr_conditions_compute_ps(const struct hr_train_job *job, size_t rank, uint64_t step,
                                 int64_t own_ps)
{
    const struct hr_conditions *conditions = &job->conditions;
    return hr_inject_ps(&conditions->inject, seed_of(job, SEED_INJECT), rank, step,
                        base_ps(job, rank, step, own_ps));
}

void hr_conditions_slow_stages(const struct hr_train_job *job, size_t rank, uint64_t step,
                               double *slow)
{
    const uint64_t seed = seed_of(job, SEED_INJECT);
    for (size_t k = 0; k < job->pipeline->ranks; k++)
        slow[k] = hr_inject_stage_factor(&job->conditions.inject, seed, rank, k, step);
}

int64_t hr_conditions_serve_ps(const struct hr_train_job *job, size_t shard, uint64_t number)
{
    return hr_delay_ps(&job->conditions.serve, seed_of(job, SEED_SERVE),
                       job->shared->workers + shard, number);
}

/* --- numbers that go wrong --- */

size_t hr_conditions_nan_at(const struct hr_train_job *job, size_t rank, uint64_t step)
{
    if (!hr_inject_nan(&job->conditions.inject, rank, step))
        return SIZE_MAX;
    return hr_inject_place(job->options->seed, rank, step, job->shared->params);
}

void hr_conditions_flip_bit(const struct hr_train_job *job, size_t rank, uint64_t step,
                            float *weights)
{
    enum { BITS = 32 };
    uint32_t bits;
    if (!hr_inject_flip(&job->conditions.inject, rank, step))
        return;
    const uint64_t place =
        hr_inject_place(job->options->seed, rank, step, BITS * job->shared->params);
    memcpy(&bits, &weights[place / BITS], sizeof bits);
    bits ^= UINT32_C(1) << place % BITS;
    memcpy(&weights[place / BITS], &bits, sizeof bits);
}

/* --- deaths --- */

bool hr_conditions_kill(const struct hr_train_job *job, size_t rank, uint64_t step, int64_t now_ps)
{
    const size_t due =
        hr_inject_kills_due(&job->conditions.inject, HR_INJECT_KILL, rank, step, now_ps);
    return due > 0 && due > killed_so_far(job, rank);
}

bool hr_conditions_kill_server(const struct hr_train_job *job, size_t shard, uint64_t input,
                               int64_t now_ps)
{
    const size_t due =
        hr_inject_kills_due(&job->conditions.inject, HR_INJECT_KILL_SERVER, shard, input, now_ps);
    return due > 0 && due > killed_so_far(job, job->shared->workers + shard);
}

void hr_conditions_killed(const struct hr_train_job *job, size_t rank)
{
    struct hr_atom32 *killed = &job->shared->control->rank[rank].killed; /* the rank's own word */
    hr_atom32_store_release(killed, hr_atom32_load_relaxed(killed) + 1); /* partner: above */
}

enum hr_status hr_conditions_die(const struct hr_train_job *job, size_t rank)
{
    hr_conditions_killed(job, rank);
    if (job->launch == HR_LAUNCH_PROCESS && !job->serial)
        kill(getpid(), SIGKILL);
    return hr_fail(HR_E_GONE, "killed by --inject");
}

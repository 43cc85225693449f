#include "strategy/shared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/vec.h"
#include "nn/model.h"
#include "shm/control.h"

enum hr_status hr_overlap_least(const struct hr_shared_state *shared, size_t *least)
{
    const char *given = shared->options->bucket_size;
    uint64_t bytes;
    if (!hr_parse_size(given, &bytes) || bytes < sizeof(float))
        return hr_fail(HR_E_USAGE, "--overlap on:%s: expected bytes, as 256K or 1M", given);
    *least = shared->overlaps ? bytes / sizeof(float) : SIZE_MAX;
    return HR_OK;
}

enum hr_status hr_ahead_list(const struct hr_shared_state *shared, const struct hr_model *model,
                             struct hr_model_final **out, size_t *n)
{
    struct hr_model_final at;
    size_t least, end = shared->params, moments = 0;
    *out = NULL;
    *n = 0;
    HR_TRY(hr_overlap_least(shared, &least));
    if (least == SIZE_MAX || !shared->servers)
        return HR_OK;
    while (hr_model_final(model, moments, &at))
        moments++;
    *out = calloc(moments + 1, sizeof **out);
    if (!*out)
        return hr_fail(HR_E_NOMEM, "no memory for the parts of a push");
    for (size_t i = 0; i < moments; i++) {
        hr_model_final(model, i, &at);
        if (!hr_overlap_goes_ahead(least, at.offset, end))
            continue;
        (*out)[(*n)++] = at;
        end = at.offset;
    }
    return HR_OK;
}

const char hr_order_of_arrival[] = "as gradients arrive";

void hr_active_fill(const struct hr_shared_state *shared)
{
    struct hr_active *active = shared->active;
    active->n = shared->workers;
    active->index = shared->schedule.first;
    for (size_t w = 0; w < shared->workers; w++)
        active->rank[w] = (uint16_t)w;
}

bool hr_cut_only_quiesces(const struct hr_shared_state *shared)
{
    const struct hr_dispenser *dispenser = shared->dispenser;
    const uint64_t next = hr_atom64_load_acquire(&dispenser->next); /* partners: who hands out; */
    const uint64_t cut = hr_atom64_load_acquire(&dispenser->cut);   /* the leader */
    return hr_batch_schedule_only_quiesces(&shared->schedule, next < cut ? next : cut);
}

void hr_begin_with(const struct hr_shared_state *shared)
{
    for (uint64_t i = 0; i < shared->begins_with.n; i++)
        hr_returned_add(shared->returned, shared->begins_with.index[i]);
}

void hr_count_traffic(struct hr_worker *worker)
{
    const struct hr_traffic traffic = hr_member_traffic(&worker->member);
    worker->stats->bytes_sent += traffic.bytes_sent - worker->counted.bytes_sent;
    worker->stats->bytes_received += traffic.bytes_received - worker->counted.bytes_received;
    worker->counted = traffic;
}

struct hr_group_options hr_group_of_active(const struct hr_shared_state *shared)
{
    struct hr_group_options options = shared->group_options;
    const struct hr_active *active = shared->active;
    options.nranks = active->n;
    for (size_t s = 0; hr_shared_is_multinode(shared) && s < active->n; s++)
        options.hosts.machine[s] = shared->hosts.machine[active->rank[s]];
    return options;
}

void hr_turn_to(struct hr_worker *worker, enum hr_phase phase, enum hr_activity activity)
{
    struct hr_control *control = worker->shared->control;
    struct hr_worker_stats *stats = worker->stats;
    struct hr_gauge *gauge = &control->rank[worker->rank].gauge;
    hr_control_phase(control, worker->rank, phase);
    hr_account_turn(&stats->account, activity);
    hr_gauge_work(gauge, stats->samples, stats->steps);
    hr_gauge_time(gauge, &stats->account);
    hr_gauge_staleness(gauge, stats->stale.updates, stats->stale.sum, stats->stale.max);
}

size_t hr_state_floats(const struct hr_shared_state *shared)
{
    return hr_optimizer_state_floats(&shared->optimizer);
}

size_t hr_ratio_floats(const struct hr_shared_state *shared)
{
    return shared->optimizer.nsegments;
}

size_t hr_slice_begin(const struct hr_shared_state *shared, size_t server)
{
    const struct hr_optimizer *o = &shared->optimizer;
    const size_t begin = hr_stripe_begin(shared->params, shared->servers, server);
    size_t near = 0, end = 0;
    if (!o->rule->ratio || shared->strategy->rows.state == HR_KEPT_OWN)
        return begin;
    for (size_t i = 0; i < o->nsegments && near <= begin; i++) {
        end = o->segments[i].begin + o->segments[i].count;
        if (end >= begin)
            break;
        near = end;
    }
    return begin - near <= end - begin ? near : end;
}

struct hr_step hr_step_for(const struct hr_shared_state *shared, uint64_t index, size_t samples,
                           uint64_t number)
{
    return hr_step_of(&shared->optimizer, (double)hr_batch_schedule_lr(&shared->schedule, index),
                      samples, number);
}

enum hr_status hr_stale_prepare(struct hr_shared_state *shared)
{
    if (!shared->setup)
        HR_TRY(hr_setup_take(shared, sizeof(struct hr_stale_updates)));
    struct hr_stale_updates *stale = shared->setup;
    stale->compensation = (float)shared->options->delay_compensation;
    stale->inverse = shared->slows;
    return HR_OK;
}

void hr_stale_describe(const struct hr_shared_state *shared, char *text, size_t size)
{
    static const char slower[] = "lr / (1 + staleness)";
    const struct hr_stale_updates *stale = shared->setup;
    if (stale->compensation > 0)
        snprintf(text, size, "%s%sdelay-compensation %g", stale->inverse ? slower : "",
                 stale->inverse ? ", " : "", shared->options->delay_compensation);
    else if (stale->inverse)
        snprintf(text, size, "%s", slower);
}

struct hr_step hr_step_stale(const struct hr_shared_state *shared, uint64_t index, size_t samples,
                             uint64_t number, uint64_t staleness)
{
    const double lr = (double)hr_batch_schedule_lr(&shared->schedule, index);
    const double slower =
        ((const struct hr_stale_updates *)shared->setup)->inverse ? 1 + (double)staleness : 1;
    return hr_step_of(&shared->optimizer, lr / slower, samples, number);
}

void hr_step_replica(struct hr_worker *worker, struct hr_step *step)
{
    const enum hr_activity was = hr_account_turn(&worker->stats->account, HR_COMPUTE);
    hr_step_measure(step, worker->weights, worker->state, worker->grads, worker->ratio);
    hr_step_update(step, 0, worker->shared->params, worker->weights, worker->state, worker->grads);
    hr_account_turn(&worker->stats->account, was);
}

void hr_update_replica(struct hr_worker *worker, uint64_t index)
{
    struct hr_step step = hr_step_for(worker->shared, index, worker->samples, ++worker->applied);
    hr_step_replica(worker, &step);
}

bool hr_always_ready(void *worker)
{
    (void)worker;
    return true;
}

enum hr_status hr_setup_take(struct hr_shared_state *shared, size_t bytes)
{
    shared->setup = calloc(1, bytes);
    return shared->setup ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for what options say");
}

/* --- the first workers of machines --- */

void hr_leaders_choose(struct hr_leaders *leaders, const struct hr_hosts *hosts,
                       const uint16_t *rank, size_t n)
{
    *leaders = (struct hr_leaders){.group = leaders->group};
    leaders->options = (struct hr_group_options){
        .algorithm = &hr_allreduce_auto,
        .hosts = {.machines = hosts->machines, .self = hosts->self},
    };
    size_t *machines = &leaders->options.nranks;
    uint8_t *machine = leaders->options.hosts.machine;
    for (size_t i = 0; i < n; i++) {
        const size_t worker = rank ? rank[i] : i;
        if (!*machines || machine[*machines - 1] != hosts->machine[worker]) {
            machine[*machines] = hosts->machine[worker];
            leaders->rank[(*machines)++] = (uint16_t)worker;
        }
        if (hosts->machine[worker] != hosts->self)
            continue;
        leaders->here = *machines - 1;
        leaders->first = leaders->each++ ? leaders->first : i;
    }
}

enum hr_status hr_leaders_join(const struct hr_shared_state *shared, struct hr_waiter *waiter,
                               struct hr_member *member)
{
    const struct hr_leaders *leaders = &shared->leaders;
    const struct hr_place place = {.group = leaders->group,
                                   .segment = shared->segment,
                                   .control = shared->control,
                                   .waiter = waiter,
                                   .world_rank = leaders->rank,
                                   .number = 1};
    return hr_member_init(member, &leaders->options, &place, leaders->here);
}

#include "strategy/shared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "observe/spans.h"
#include "shm/control.h"

const char hr_order_of_arrival[] = "as gradients arrive";

void hr_next_agreed(struct hr_worker *worker, uint64_t meet, struct hr_task *task)
{
    struct hr_dispenser *dispenser = worker->shared->dispenser;
    const uint64_t stop_at = hr_atom64_load_acquire(&dispenser->stop_at); /* partner: below */
    if (worker->index >= worker->cut || worker->index >= stop_at) {
        *task = (struct hr_task){HR_TASK_CUT, worker->index};
        return;
    }
    /* Partner: the load above, in every worker, after the sum before `meet`: that sum needs what
     * this worker offers after this store, so a worker that has the sum sees the store. */
    if (worker->seat == 0 && stop_at == UINT64_MAX && hr_shared_rests(worker->shared, meet))
        hr_atom64_store_release(&dispenser->stop_at, meet);
    *task = (struct hr_task){HR_TASK_BATCH, worker->index++};
}

void hr_seats_fill(const struct hr_shared_state *shared)
{
    struct hr_seats *seats = shared->seats;
    seats->n = shared->workers;
    seats->index = shared->schedule.first;
    for (size_t w = 0; w < shared->workers; w++)
        seats->rank[w] = (uint16_t)w;
}

size_t hr_fates_room(const struct hr_shared_state *shared)
{
    const size_t held = shared->outlives ? shared->workers * (shared->options->sync_every + 1) : 0;
    return held + shared->begins_with.n;
}

bool hr_cut_only_rests(const struct hr_shared_state *shared)
{
    if (shared->outlives)
        return false;
    const struct hr_dispenser *dispenser = shared->dispenser;
    const uint64_t next = hr_atom64_load_acquire(&dispenser->next); /* partners: who hands out; */
    const uint64_t cut = hr_atom64_load_acquire(&dispenser->cut);   /* the leader */
    return hr_batch_schedule_only_rests(&shared->schedule, next < cut ? next : cut);
}

void hr_begin_with(const struct hr_shared_state *shared)
{
    for (uint64_t i = 0; i < shared->begins_with.n; i++)
        hr_fates_return(shared->fates, shared->begins_with.index[i]);
}

void hr_next_synchronous(struct hr_worker *worker, struct hr_task *task)
{
    hr_next_agreed(worker, worker->index + 1, task);
}

void hr_count_traffic(struct hr_worker *worker)
{
    const struct hr_traffic traffic = hr_member_traffic(&worker->member);
    worker->stats->bytes_sent += traffic.bytes_sent - worker->counted.bytes_sent;
    worker->stats->bytes_received += traffic.bytes_received - worker->counted.bytes_received;
    worker->counted = traffic;
}

struct hr_range hr_stripe_of(const struct hr_worker *worker)
{
    const size_t params = worker->shared->params;
    const size_t begin = hr_stripe_begin(params, worker->seats, worker->seat);
    const size_t end = hr_stripe_begin(params, worker->seats, worker->seat + 1);
    return (struct hr_range){begin, end - begin};
}

struct hr_group_options hr_group_of_seats(const struct hr_shared_state *shared)
{
    struct hr_group_options options = shared->group_options;
    const struct hr_seats *seats = shared->seats;
    options.nranks = seats->n;
    for (size_t s = 0; hr_shared_is_apart(shared) && s < seats->n; s++)
        options.homes.machine[s] = shared->homes.machine[seats->rank[s]];
    return options;
}

struct hr_range hr_export_stripe(struct hr_worker *worker)
{
    const struct hr_range stripe = hr_stripe_of(worker);
    if (!worker->shared->snapshot.live)
        memcpy(worker->shared->snapshot.weights + stripe.begin, worker->weights + stripe.begin,
               stripe.count * sizeof(float));
    return stripe;
}

static bool has_seat(const struct hr_shared_state *shared, size_t worker)
{
    size_t seat = 0;
    while (seat < shared->seats->n && shared->seats->rank[seat] != worker)
        seat++;
    return seat < shared->seats->n;
}

/* Whoever has no seat, and comes back with a later run, begins with the mean, and no state. */
static void export_absent(const struct hr_worker *worker, struct hr_range stripe)
{
    const struct hr_snapshot *to = &worker->shared->snapshot;
    const size_t params = worker->shared->params, floats = hr_state_floats(worker->shared);
    for (size_t w = 0; w < worker->shared->workers; w++) {
        if (has_seat(worker->shared, w))
            continue;
        if (to->replicas)
            memcpy(to->replicas + w * params + stripe.begin, to->weights + stripe.begin,
                   stripe.count * sizeof(float));
        for (size_t at = w * floats; to->state && at < (w + 1) * floats; at += params)
            memset(to->state + at + stripe.begin, 0, stripe.count * sizeof(float));
        if (worker->seat == 0)
            to->applied[w] = 0;
    }
}

void hr_export_mean(struct hr_worker *worker, const float **replicas)
{
    const struct hr_range stripe = hr_stripe_of(worker);
    float *mean = worker->shared->snapshot.weights + stripe.begin;
    for (size_t s = 0; s < worker->seats; s++)
        replicas[s] += stripe.begin;
    hr_vec()->tree_sum(&mean, 1, replicas, worker->seats, stripe.count);
    hr_vec()->scale(mean, 1.0f / (float)worker->seats, stripe.count);
    hr_keep_frozen(&worker->shared->optimizer, stripe.begin, stripe.count, mean, replicas[0]);
    if (worker->seats < worker->shared->workers)
        export_absent(worker, stripe);
}

void hr_export_mean_of_snapshot(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const float *replicas[HR_VEC_MAX_INPUTS];
    for (size_t s = 0; s < worker->seats; s++)
        replicas[s] = shared->snapshot.replicas + shared->seats->rank[s] * shared->params;
    hr_export_mean(worker, replicas);
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

void hr_export_state(const struct hr_shared_state *shared, const float *state, size_t begin,
                     size_t count)
{
    for (size_t at = begin; shared->snapshot.state && at < hr_state_floats(shared);
         at += shared->params)
        memcpy(shared->snapshot.state + at, state + at, count * sizeof(float));
}

void hr_export_own_state(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const size_t floats = hr_state_floats(shared);
    if (shared->snapshot.state)
        memcpy(shared->snapshot.state + worker->rank * floats, worker->state,
               floats * sizeof(float));
    shared->snapshot.applied[worker->rank] = worker->applied;
}

static float *replica_of(const struct hr_worker *worker)
{
    return worker->shared->snapshot.replicas + worker->rank * worker->shared->params;
}

void hr_take_up_weights(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    if (worker->weights != shared->snapshot.weights)
        memcpy(worker->weights, shared->snapshot.weights, shared->params * sizeof(float));
}

void hr_load_replica(struct hr_worker *worker)
{
    memcpy(worker->weights, replica_of(worker), worker->shared->params * sizeof(float));
}

void hr_export_replica(struct hr_worker *worker)
{
    memcpy(replica_of(worker), worker->weights, worker->shared->params * sizeof(float));
}

size_t hr_state_bytes(const struct hr_shared_state *shared)
{
    return (hr_state_floats(shared) + hr_ratio_floats(shared)) * sizeof(float);
}

float *hr_state_of(const struct hr_shared_state *shared, size_t worker)
{
    return shared->states + worker * (hr_state_floats(shared) + hr_ratio_floats(shared));
}

enum hr_status hr_state_start(struct hr_worker *worker, size_t copy)
{
    const struct hr_shared_state *shared = worker->shared;
    const size_t floats = hr_state_floats(shared);
    const bool anew = worker->back; /* it takes part as a new one would */
    worker->state =
        shared->states ? hr_state_of(shared, worker->rank) : malloc(hr_state_bytes(shared));
    if (!worker->state)
        return hr_fail(HR_E_NOMEM, "no memory for the %s state of %zu parameters",
                       shared->optimizer.rule->name, shared->params);
    worker->ratio = worker->state + floats;
    worker->applied = anew ? 0 : shared->snapshot.applied[copy];
    if (anew || !shared->snapshot.state)
        memset(worker->state, 0, floats * sizeof(float));
    else
        memcpy(worker->state, shared->snapshot.state + copy * floats, floats * sizeof(float));
    return HR_OK;
}

void hr_state_stop(struct hr_worker *worker)
{
    if (!worker->shared->states)
        free(worker->state);
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
    stale->inverse = !strcmp(shared->options->staleness_lr, "inverse");
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

/* Unlike those of servers and of stages: one a step, from the one to the other. */
static void tell_message(const struct hr_worker *worker, size_t from, size_t to)
{
    const struct hr_shared_state *shared = worker->shared;
    const bool sent = worker->rank == from;
    const uint64_t step = worker->index & ((UINT64_C(1) << 40) - 1);
    if (shared->spans)
        hr_spans_message(shared->spans[worker->rank], sent, sent ? to : from,
                         HR_PEER_MESSAGE | (uint64_t)(from * shared->workers + to) << 40 | step);
}

void hr_peer_took(const struct hr_worker *worker, size_t from, uint64_t bytes)
{
    worker->stats->bytes_received += bytes;
    tell_message(worker, from, worker->rank);
}

void hr_peer_send(const struct hr_worker *worker, size_t to, uint64_t bytes)
{
    const struct hr_shared_state *shared = worker->shared;
    const size_t from = worker->rank;
    const struct hr_posted what = {.from = from, .to = to, .bytes = bytes};
    tell_message(worker, from, to);
    if (!shared->posted || !shared->posted(shared->posted_arg, &what))
        shared->strategy->deliver(shared, from, to);
}

void hr_update_replica(struct hr_worker *worker, uint64_t index)
{
    const struct hr_shared_state *shared = worker->shared;
    const enum hr_activity was = hr_account_turn(&worker->stats->account, HR_COMPUTE);
    struct hr_step step = hr_step_for(shared, index, worker->samples, ++worker->applied);
    hr_step_measure(&step, worker->weights, worker->state, worker->grads, worker->ratio);
    hr_step_update(&step, 0, shared->params, worker->weights, worker->state, worker->grads);
    hr_account_turn(&worker->stats->account, was);
}

void hr_tell_nobody(struct hr_worker *worker)
{
    (void)worker;
}

bool hr_always_ready(void *worker)
{
    (void)worker;
    return true;
}

enum hr_status hr_verify_nothing(struct hr_worker *worker)
{
    (void)worker;
    return HR_OK;
}

/* How many replicas have these bits at parameter i. *other: the last rank that has not. */
static size_t count_alike(const struct hr_shared_state *shared, const float *bits, size_t i,
                          size_t *other)
{
    size_t n = 0;
    for (size_t s = 0; s < shared->seats->n; s++) {
        const size_t rank = shared->seats->rank[s];
        const bool alike = !memcmp(&shared->weights[rank][i], bits, sizeof *bits);
        n += alike;
        if (!alike)
            *other = rank;
    }
    return n;
}

/* Parameter i is not the same everywhere. What most replicas have is right; of two, or where none
 * is in most, nobody knows. All rest between barriers, so their weights can be read. */
static enum hr_status say_who_differs(const struct hr_shared_state *shared, size_t i)
{
    const struct hr_seats *seats = shared->seats;
    size_t right = 0, wrong = 0, alike = 0;
    for (size_t s = 0; s < seats->n && 2 * alike <= seats->n; s++) {
        right = seats->rank[s];
        alike = count_alike(shared, &shared->weights[right][i], i, &wrong);
    }
    const double odd = (double)shared->weights[wrong][i], usual = (double)shared->weights[right][i];
    if (2 * alike > seats->n)
        return hr_fail(HR_E_FAILED,
                       "replicas differ: parameter %zu is %.9g in rank %zu, and %.9g in %zu of %zu "
                       "ranks: the weights of rank %zu were altered",
                       i, odd, wrong, usual, alike, seats->n, wrong);
    return hr_fail(HR_E_FAILED,
                   "replicas differ: parameter %zu is %.9g in rank %zu and %.9g in rank %zu: the "
                   "weights of one of them were altered",
                   i, odd, wrong, usual, right);
}

enum hr_status hr_verify_replica(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    for (size_t i = 0; i < shared->params; i++) {
        if (memcmp(&worker->weights[i], &shared->snapshot.weights[i], sizeof(float)) == 0)
            continue;
        if (!hr_shared_is_apart(shared))
            return say_who_differs(shared, i);
        return hr_fail(HR_E_FAILED, /* not all can be read here */
                       "replicas differ: parameter %zu is %.9g, and %.9g in the rank that exports "
                       "it: the weights of one of them were altered",
                       i, (double)worker->weights[i], (double)shared->snapshot.weights[i]);
    }
    return HR_OK;
}

enum hr_status hr_setup_take(struct hr_shared_state *shared, size_t bytes)
{
    shared->setup = calloc(1, bytes);
    return shared->setup ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for what options say");
}

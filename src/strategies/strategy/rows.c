#include "strategy/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "strategy/compression.h"
#include "strategy/shared.h"

static const struct hr_rows *rows_of(const struct hr_shared_state *shared)
{
    return &shared->strategy->rows;
}

bool hr_rows_mean(const struct hr_rows *rows)
{
    return rows->weights == HR_KEPT_MEAN || rows->due;
}

size_t hr_rows_more(const struct hr_rows *rows)
{
    size_t n = 0;
    while (rows->more && rows->more[n])
        n++;
    return n;
}

static size_t more_floats(const struct hr_shared_state *shared)
{
    return hr_rows_more(rows_of(shared)) * shared->params;
}

/* Equal replicas stand in the first. */
static bool is_in_first(const struct hr_rows *rows)
{
    return rows->weights == HR_KEPT_EQUAL && !rows->due;
}

bool hr_rows_stand(const struct hr_rows *rows)
{
    return rows->memory || is_in_first(rows);
}

float *hr_rows_memory(const struct hr_shared_state *shared)
{
    const struct hr_rows *rows = rows_of(shared);
    return is_in_first(rows) ? shared->weights[0] : rows->memory(shared);
}

static bool has_one_state(const struct hr_shared_state *shared)
{
    return rows_of(shared)->one_state && rows_of(shared)->one_state(shared);
}

size_t hr_rows_worker_floats(const struct hr_shared_state *shared)
{
    return rows_of(shared)->state == HR_KEPT_SERVED || has_one_state(shared)
               ? 0
               : hr_state_floats(shared) + more_floats(shared) + hr_ratio_floats(shared);
}

void hr_rows_init(struct hr_shared_state *shared)
{
    if (has_one_state(shared) && shared->snapshot.state)
        memcpy(shared->own, shared->snapshot.state, hr_state_floats(shared) * sizeof(float));
}

/* Do its weights at this cut differ from those of others? All workers at a cut say the same. */
static bool is_apart(struct hr_worker *worker)
{
    const struct hr_rows *rows = rows_of(worker->shared);
    return rows->weights == HR_KEPT_MEAN || (rows->due && *rows->due(worker) > worker->index);
}

static float *replica_of(const struct hr_worker *worker)
{
    return worker->shared->snapshot.replicas + worker->rank * worker->shared->params;
}

/* --- a worker begins --- */

static void load(struct hr_worker *worker, const float *weights)
{
    if (worker->weights != weights)
        memcpy(worker->weights, weights, worker->shared->params * sizeof *weights);
}

/* A checkpoint may be of the middle of a period. */
static void load_equal(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const uint64_t apart = rows_of(shared)->due ? *shared->snapshot.apart : 0;
    load(worker, apart ? replica_of(worker) : shared->snapshot.weights);
    if (apart)
        *rows_of(shared)->due(worker) = shared->active->index + apart;
}

/* Who is back has the weights of the servers, when these know of it. */
static void load_tied(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_snapshot *from = &shared->snapshot;
    const bool as_saved = from->since && !hr_roster_lost(shared->control, worker->rank);
    if (worker->back)
        return;
    load(worker, as_saved ? replica_of(worker) : from->weights);
    if (as_saved)
        *rows_of(shared)->since(worker) = (uint64_t)from->since[worker->rank];
}

static void load_weights(struct hr_worker *worker)
{
    const struct hr_rows *rows = rows_of(worker->shared);
    worker->weights = worker->shared->weights[worker->rank];
    if (rows->weights == HR_KEPT_EQUAL)
        load_equal(worker);
    else if (rows->weights == HR_KEPT_MEAN)
        load(worker, replica_of(worker));
    else if (rows->since)
        load_tied(worker);
}

static void load_floats(float *to, const float *from, size_t floats)
{
    if (from)
        memcpy(to, from, floats * sizeof *to);
    else
        memset(to, 0, floats * sizeof *to);
}

/* Who is back takes part as a new one would. */
static void load_state(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const size_t floats = hr_state_floats(shared);
    const size_t copy = rows_of(shared)->state == HR_KEPT_OWN ? worker->rank : 0;
    const float *saved = shared->snapshot.state;
    worker->more = worker->state + floats;
    worker->ratio = worker->more + more_floats(shared);
    worker->applied = worker->back ? 0 : shared->snapshot.applied[copy];
    load_floats(worker->state, worker->back || !saved ? NULL : saved + copy * floats, floats);
    load_floats(worker->more, shared->snapshot.more, more_floats(shared));
}

enum hr_status hr_rows_start(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const size_t floats = hr_rows_worker_floats(shared);
    load_weights(worker);
    worker->state = NULL;
    if (has_one_state(shared)) {
        worker->state = shared->own;
        worker->applied = shared->snapshot.applied[0];
    }
    if (rows_of(shared)->state == HR_KEPT_SERVED || has_one_state(shared))
        return HR_OK;
    worker->state = shared->states ? shared->states + worker->rank * floats
                                   : malloc(floats * sizeof *worker->state);
    if (!worker->state)
        return hr_fail(HR_E_NOMEM, "no memory for the %s state of %zu parameters",
                       shared->optimizer.rule->name, shared->params);
    load_state(worker);
    return HR_OK;
}

void hr_rows_stop(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    if (!shared->states && !has_one_state(shared))
        free(worker->state);
    worker->state = NULL;
}

/* --- a cut: exporting --- */

/* This worker's stripe of the parameters. */
static struct hr_range stripe_of(const struct hr_worker *worker)
{
    const size_t params = worker->shared->params;
    const size_t begin = hr_stripe_begin(params, worker->group_size, worker->group_rank);
    const size_t end = hr_stripe_begin(params, worker->group_size, worker->group_rank + 1);
    return (struct hr_range){begin, end - begin};
}

static void export_stripe(const struct hr_worker *worker)
{
    const struct hr_range stripe = stripe_of(worker);
    if (!worker->shared->snapshot.live)
        memcpy(worker->shared->snapshot.weights + stripe.begin, worker->weights + stripe.begin,
               stripe.count * sizeof(float));
}

static bool is_active(const struct hr_shared_state *shared, size_t worker)
{
    size_t s = 0;
    while (s < shared->active->n && shared->active->rank[s] != worker)
        s++;
    return s < shared->active->n;
}

/* Whoever is not active, and comes back with a later run, begins with the mean, and no state. */
static void export_absent(const struct hr_worker *worker, struct hr_range stripe)
{
    const struct hr_snapshot *to = &worker->shared->snapshot;
    const size_t params = worker->shared->params, floats = hr_state_floats(worker->shared);
    for (size_t w = 0; w < worker->shared->workers; w++) {
        if (is_active(worker->shared, w))
            continue;
        if (to->replicas)
            memcpy(to->replicas + w * params + stripe.begin, to->weights + stripe.begin,
                   stripe.count * sizeof(float));
        for (size_t at = w * floats; to->state && at < (w + 1) * floats; at += params)
            memset(to->state + at + stripe.begin, 0, stripe.count * sizeof(float));
        if (worker->group_rank == 0)
            to->applied[w] = 0;
    }
}

/* Its stripe of the mean of replicas, one an active worker, in the order T(n); the pointers are
 * changed. Who is not active has the mean for a replica there, and no state. */
static void export_mean(const struct hr_worker *worker, const float **replicas)
{
    const struct hr_range stripe = stripe_of(worker);
    float *mean = worker->shared->snapshot.weights + stripe.begin;
    for (size_t s = 0; s < worker->group_size; s++)
        replicas[s] += stripe.begin;
    hr_vec()->tree_sum(&mean, 1, replicas, worker->group_size, stripe.count);
    hr_vec()->scale(mean, 1.0f / (float)worker->group_size, stripe.count);
    hr_keep_frozen(&worker->shared->optimizer, stripe.begin, stripe.count, mean, replicas[0]);
    if (worker->group_size < worker->shared->workers)
        export_absent(worker, stripe);
}

/* All are quiescent, so what others have can be read, but not on other machines: hr_rows_combine.
 * */
static void export_replica(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_rows *rows = rows_of(shared);
    const float *replicas[HR_VEC_MAX_INPUTS];
    for (size_t s = 0; s < worker->group_size && !hr_shared_is_multinode(shared); s++) {
        const size_t rank = shared->active->rank[s];
        replicas[s] = rows->replica ? rows->replica(worker, rank) : shared->weights[rank];
    }
    if (!hr_shared_is_multinode(shared))
        export_mean(worker, replicas);
    if (shared->snapshot.replicas) /* else nobody saves */
        memcpy(replica_of(worker), worker->weights, shared->params * sizeof(float));
}

static void export_weights(struct hr_worker *worker)
{
    const struct hr_rows *rows = rows_of(worker->shared);
    if (is_apart(worker))
        export_replica(worker);
    else if (rows->weights != HR_KEPT_SERVED)
        export_stripe(worker);
    if (rows->due && worker->group_rank == 0)
        *worker->shared->snapshot.apart = is_apart(worker) ? *rows->due(worker) - worker->index : 0;
}

/* Its stripe of each of some arrays of (params) floats, if anybody reads them. */
static void export_stripes(const struct hr_worker *worker, float *to, const float *from,
                           size_t floats)
{
    const struct hr_range stripe = stripe_of(worker);
    for (size_t at = stripe.begin; to && at < floats; at += worker->shared->params)
        memcpy(to + at, from + at, stripe.count * sizeof *to);
}

static void export_state(struct hr_worker *worker)
{
    const struct hr_snapshot *to = &worker->shared->snapshot;
    const size_t floats = hr_state_floats(worker->shared);
    const bool own = rows_of(worker->shared)->state == HR_KEPT_OWN;
    if (own && to->state)
        memcpy(to->state + worker->rank * floats, worker->state, floats * sizeof(float));
    if (!own)
        export_stripes(worker, to->state, worker->state, floats);
    export_stripes(worker, to->more, worker->more, more_floats(worker->shared));
    if (own || worker->group_rank == 0)
        to->applied[own ? worker->rank : 0] = worker->applied;
}

void hr_rows_export(struct hr_worker *worker)
{
    export_weights(worker);
    if (rows_of(worker->shared)->state != HR_KEPT_SERVED)
        export_state(worker);
}

void hr_rows_combine(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const float *replicas[HR_VEC_MAX_INPUTS];
    if (!is_apart(worker))
        return;
    for (size_t s = 0; s < worker->group_size; s++)
        replicas[s] = shared->snapshot.replicas + shared->active->rank[s] * shared->params;
    export_mean(worker, replicas);
}

/* --- a cut: the check of replicas --- */

/* How many replicas have these bits at parameter i. *other: the last rank that has not. */
static size_t count_alike(const struct hr_shared_state *shared, const float *bits, size_t i,
                          size_t *other)
{
    size_t n = 0;
    for (size_t s = 0; s < shared->active->n; s++) {
        const size_t rank = shared->active->rank[s];
        const bool alike = !memcmp(&shared->weights[rank][i], bits, sizeof *bits);
        n += alike;
        if (!alike)
            *other = rank;
    }
    return n;
}

/* Parameter i is not the same everywhere. What most replicas have is right; of two, or where none
 * is in most, nobody knows. All are quiescent between barriers, so their weights can be read. */
static enum hr_status say_who_differs(const struct hr_shared_state *shared, size_t i)
{
    const struct hr_active *active = shared->active;
    size_t right = 0, wrong = 0, alike = 0;
    for (size_t s = 0; s < active->n && 2 * alike <= active->n; s++) {
        right = active->rank[s];
        alike = count_alike(shared, &shared->weights[right][i], i, &wrong);
    }
    const double odd = (double)shared->weights[wrong][i], usual = (double)shared->weights[right][i];
    if (2 * alike > active->n)
        return hr_fail(HR_E_FAILED,
                       "replicas differ: parameter %zu is %.9g in rank %zu, and %.9g in %zu of %zu "
                       "ranks: the weights of rank %zu were altered",
                       i, odd, wrong, usual, alike, active->n, wrong);
    return hr_fail(HR_E_FAILED,
                   "replicas differ: parameter %zu is %.9g in rank %zu and %.9g in rank %zu: the "
                   "weights of one of them were altered",
                   i, odd, wrong, usual, right);
}

/* The snapshot has a stripe of each replica, so one that equals it equals them all. */
static enum hr_status compare(const struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    for (size_t i = 0; i < shared->params; i++) {
        if (memcmp(&worker->weights[i], &shared->snapshot.weights[i], sizeof(float)) == 0)
            continue;
        if (!hr_shared_is_multinode(shared))
            return say_who_differs(shared, i);
        return hr_fail(HR_E_FAILED, /* not all can be read here */
                       "replicas differ: parameter %zu is %.9g, and %.9g in the rank that exports "
                       "it: the weights of one of them were altered",
                       i, (double)worker->weights[i], (double)shared->snapshot.weights[i]);
    }
    return HR_OK;
}

/* What is more is the same everywhere at every cut, if anybody reads it. Of several machines the
 * first alone gets it whole. */
static enum hr_status compare_more(const struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const float *more = shared->hosts.self ? NULL : shared->snapshot.more;
    for (size_t i = 0; more && i < more_floats(shared); i++)
        if (memcmp(&worker->more[i], &more[i], sizeof *more) != 0)
            return hr_fail(HR_E_FAILED,
                           "replicas differ: %s of parameter %zu is %.9g in rank %zu, and %.9g in "
                           "the rank that exports it: the memory of one of them was altered",
                           rows_of(shared)->more[i / shared->params], i % shared->params,
                           (double)worker->more[i], worker->rank, (double)more[i]);
    return HR_OK;
}

/* Those that are tied to the weights begin again, unless all only quiesce, to save. */
static void begin_again(struct hr_worker *worker)
{
    const struct hr_snapshot *snapshot = &worker->shared->snapshot;
    if (!hr_cut_only_quiesces(worker->shared))
        load(worker, snapshot->weights);
    if (!snapshot->since)
        return;
    memcpy(replica_of(worker), worker->weights, worker->shared->params * sizeof(float));
    snapshot->since[worker->rank] = 0; /* it has just exchanged */
}

enum hr_status hr_rows_verify(struct hr_worker *worker)
{
    const struct hr_rows *rows = rows_of(worker->shared);
    if (rows->since)
        begin_again(worker);
    const bool of_machines =
        rows->weights == HR_KEPT_SHARED && hr_shared_is_multinode(worker->shared);
    if (of_machines || (rows->weights == HR_KEPT_EQUAL && !is_apart(worker)))
        HR_TRY(compare(worker));
    return compare_more(worker);
}

/* --- the snapshot's memory --- */

size_t hr_snapshot_parts(const struct hr_shared_state *shared, const struct hr_snapshot *snapshot,
                         struct hr_snapshot_part parts[HR_SNAPSHOT_PARTS])
{
    const size_t params = shared->params * sizeof(float), workers = shared->workers;
    const size_t state = hr_state_floats(shared) * sizeof(float), copies = snapshot->state_copies;
    const size_t errors = hr_compression_state_floats(shared) * sizeof(float);
    const size_t more = hr_rows_more(rows_of(shared));
    const struct hr_snapshot_part all[] = {
        {offsetof(struct hr_snapshot, weights), params, !snapshot->live, true},
        {offsetof(struct hr_snapshot, state), state, snapshot->copied ? copies : 0, true},
        {offsetof(struct hr_snapshot, applied), sizeof *snapshot->applied, copies, false},
        {offsetof(struct hr_snapshot, more), more * params, snapshot->copied && more, true},
        {offsetof(struct hr_snapshot, replicas), params, snapshot->replica_copies, true},
        {offsetof(struct hr_snapshot, since), sizeof *snapshot->since, snapshot->tied ? workers : 0,
         false},
        {offsetof(struct hr_snapshot, apart), sizeof *snapshot->apart, 1, false},
        {offsetof(struct hr_snapshot, errors), errors, snapshot->copied && errors ? workers : 0,
         true},
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].copies)
            parts[n++] = all[i];
    return n;
}

void hr_snapshot_place(struct hr_snapshot *snapshot, const struct hr_snapshot_part *part,
                       void *memory)
{
    memcpy((unsigned char *)snapshot + part->field, &memory, sizeof memory);
}

static void *part_of(const struct hr_snapshot *snapshot, const struct hr_snapshot_part *part)
{
    void *memory;
    memcpy(&memory, (const unsigned char *)snapshot + part->field, sizeof memory);
    return memory;
}

static void copy(const struct hr_shared_state *shared, const struct hr_snapshot *to,
                 const struct hr_snapshot *from)
{
    struct hr_snapshot_part part[HR_SNAPSHOT_PARTS];
    const size_t n = hr_snapshot_parts(shared, &shared->snapshot, part);
    for (size_t i = 0; i < n; i++)
        if (part[i].bytes)
            memcpy(part_of(to, &part[i]), part_of(from, &part[i]), part[i].bytes * part[i].copies);
}

void hr_last_cut_keep(const struct hr_shared_state *shared)
{
    copy(shared, shared->last_cut, &shared->snapshot);
}

void hr_last_cut_restore(const struct hr_shared_state *shared)
{
    copy(shared, &shared->snapshot, shared->last_cut);
}

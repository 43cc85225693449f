#include "support/served_reference.h"

#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "optim/optimizer.h"
#include "server/server.h"
#include "support/check.h"

static const struct hr_shared_state *shared_of(const struct served_reference *reference)
{
    return reference->serial->shared;
}

static float *floats_of(const struct served_reference *reference)
{
    float *floats = malloc(shared_of(reference)->params * sizeof *floats);
    assert_non_null(floats);
    memcpy(floats, shared_of(reference)->snapshot.weights,
           shared_of(reference)->params * sizeof *floats);
    return floats;
}

void served_reference_begin(struct served_reference *reference, const struct hr_serial *serial)
{
    *reference = (struct served_reference){
        .serial = serial, .params = serial->shared->params, .event = SIZE_MAX};
    const struct hr_strategy *strategy = serial->shared->strategy;
    assert_true(shared_of(reference)->workers <= REFERENCE_WORKERS);
    assert_true(shared_of(reference)->servers <= REFERENCE_SERVERS);
    reference->drops = strategy->shares_batch && !strategy->synchronous;
    assert_true(hr_optimizer_momentum(&shared_of(reference)->optimizer) == 0);
    reference->weights = floats_of(reference);
    reference->at_cut = floats_of(reference);
    reference->sum = floats_of(reference);
    reference->state = floats_of(reference);
    for (size_t w = 0; w < shared_of(reference)->workers; w++)
        reference->worker[w].read = floats_of(reference);
}

void served_reference_drop(struct served_reference *reference)
{
    free(reference->weights);
    free(reference->at_cut);
    free(reference->sum);
    free(reference->state);
    for (size_t w = 0; w < REFERENCE_WORKERS; w++)
        free(reference->worker[w].read);
}

/* --- what a server took --- */

static void update(struct served_reference *reference, const struct hr_shard *shard, uint64_t index,
                   size_t samples, const float *g)
{
    const struct hr_shared_state *shared = shared_of(reference);
    const double lr = (double)hr_batch_schedule_lr(&shared->schedule, index);
    const struct hr_step step = hr_step_of(&shared->optimizer, lr, samples, 1);
    hr_step_update(&step, shard->first, shard->count, reference->weights + shard->first,
                   reference->state, g + shard->first);
}

/* T(n): the left half is the largest power of two below n. */
static float tree(float *const *grads, const uint16_t *rank, size_t n, size_t at)
{
    size_t left = 1;
    if (n == 1)
        return grads[rank[0]][at];
    while (2 * left < n)
        left *= 2;
    return tree(grads, rank, left, at) + tree(grads, rank + left, n - left, at);
}

/* The gradients of these `n` are in: one update, if there are samples in them. */
static void update_with_sum(struct served_reference *reference, const struct hr_shard *shard,
                            const uint16_t *rank, size_t n)
{
    size_t samples = 0;
    for (size_t k = 0; k < n; k++)
        samples += reference->worker[rank[k]].samples;
    if (samples == 0)
        return;
    for (size_t i = shard->first; i < shard->first + shard->count; i++)
        reference->sum[i] = tree(shared_of(reference)->grads, rank, n, i);
    update(reference, shard, reference->worker[rank[0]].index, samples, reference->sum);
}

static void took_push(struct served_reference *reference, const struct hr_shard *shard, size_t w)
{
    struct reference_worker *worker = &reference->worker[w];
    const bool synchronous = shared_of(reference)->strategy->synchronous;
    const struct hr_active *active = shared_of(reference)->active;
    if (shard->number == 0) {
        assert_true(worker->index < REFERENCE_BATCHES);
        reference->taken[worker->index]++;
        assert_true(synchronous || reference->taken[worker->index] == 1);
        worker->clock++;
    }
    if (!synchronous)
        update(reference, shard, worker->index, worker->samples, shared_of(reference)->grads[w]);
    else if (shard->version != reference->version[shard->number])
        update_with_sum(reference, shard, active->rank, active->n);
}

static uint64_t slowest(const struct served_reference *reference)
{
    uint64_t clock = UINT64_MAX;
    for (size_t w = 0; w < shared_of(reference)->workers; w++)
        if (!reference->worker[w].aside && reference->worker[w].clock < clock)
            clock = reference->worker[w].clock;
    return clock;
}

/* Who holds up others from now on begins level with the slowest. */
static void asks(struct served_reference *reference, size_t w)
{
    struct reference_worker *worker = &reference->worker[w];
    worker->rests = false;
    if (!worker->aside)
        return;
    const uint64_t least = slowest(reference);
    worker->clock = least == UINT64_MAX ? 0 : least;
    worker->aside = false;
}

static void joins(struct served_reference *reference, size_t joiner)
{
    reference->joined = true;
    for (size_t w = 0; w < shared_of(reference)->workers; w++)
        reference->worker[w].aside |= reference->worker[w].rests;
    reference->worker[joiner].aside = true;
    asks(reference, joiner);
}

static void begin_clocks(struct served_reference *reference, bool rests)
{
    for (size_t w = 0; w < shared_of(reference)->workers; w++) {
        struct reference_worker *worker = &reference->worker[w];
        worker->clock = 0;
        worker->rests = rests;
        worker->aside = reference->joined || hr_roster_is_gone(shared_of(reference)->control, w);
    }
}

static void took_pull(struct served_reference *reference, const struct hr_shard *shard, size_t w)
{
    const size_t bytes = shard->count * sizeof(float);
    const bool decides = shard->number == 0 && !shared_of(reference)->strategy->synchronous;
    if (shard->number == 0)
        asks(reference, w);
    if (decides && !shard->worker[w].batches) /* no batch is left */
        return;
    if (shard->number == 0) /* ssp's promise */
        assert_true(reference->worker[w].clock - slowest(reference) <=
                    shared_of(reference)->staleness_bound);
    memcpy(reference->worker[w].read + shard->first, reference->weights + shard->first, bytes);
    assert_memory_equal(shared_of(reference)->weights[w] + shard->first,
                        reference->weights + shard->first, bytes);
}

/* --- backup-workers --- */

/* Those who live share the batch. */
static void begin_step(struct served_reference *reference, uint64_t index)
{
    reference->open = true;
    reference->step = index;
    reference->expected = 0;
    for (size_t w = 0; w < shared_of(reference)->workers; w++) {
        reference->worker[w].shares = !reference->worker[w].gone;
        reference->expected += reference->worker[w].shares;
    }
}

static void end_step_if_enough(struct served_reference *reference, const struct hr_shard *shard)
{
    const size_t backups = shared_of(reference)->options->backups;
    const size_t needed = reference->expected > backups ? reference->expected - backups : 1;
    uint16_t rank[REFERENCE_WORKERS];
    size_t n = 0;
    for (size_t w = 0; w < shared_of(reference)->workers; w++)
        if (reference->worker[w].in)
            rank[n++] = (uint16_t)w;
    if (n > 0 && n < needed)
        return;
    if (n > 0) {
        update_with_sum(reference, shard, rank, n);
        assert_int_equal(++reference->taken[reference->step], 1);
    } else if (reference->expected > 0) {
        return;
    }
    reference->open = false;
    for (size_t w = 0; w < shared_of(reference)->workers; w++)
        reference->worker[w].in = false;
}

static void took_of_share(struct served_reference *reference, const struct hr_shard *shard,
                          size_t w)
{
    struct reference_worker *worker = &reference->worker[w];
    const size_t bytes = shard->count * sizeof(float);
    const uint32_t kind = shard->taken.kind;
    if (kind == HR_PULL && !reference->open && shard->open)
        begin_step(reference, shard->taken.value);
    if (kind == HR_PULL && reference->open) {
        assert_true(worker->shares && !worker->in);
        memcpy(worker->read, reference->weights, bytes);
        assert_memory_equal(shared_of(reference)->weights[w], worker->read, bytes);
    } else if (kind == HR_PUSH && reference->open && worker->index == reference->step) {
        worker->in = true;
        end_step_if_enough(reference, shard);
    } else if (kind == HR_GONE || kind == HR_DONE) {
        worker->gone = true;
        reference->expected -= reference->open && worker->shares && !worker->in;
        worker->shares &= worker->in;
        if (reference->open)
            end_step_if_enough(reference, shard);
    } else if (kind == HR_JOIN) {
        worker->gone = false;
    }
    assert_int_equal(reference->open, shard->open);
}

/* --- elastic-averaging --- */

static bool averages(const struct served_reference *reference)
{
    return shared_of(reference)->strategy->rows.state == HR_KEPT_OWN;
}

/* All replicas are the center. */
static void begin_at_center(struct served_reference *reference)
{
    for (size_t w = 0; w < shared_of(reference)->workers && averages(reference); w++) {
        memcpy(reference->worker[w].read, reference->weights, reference->params * sizeof(float));
        memset(reference->worker[w].since, 0, REFERENCE_BATCHES);
    }
}

/* It has a gradient of its own replica. */
static void update_replica(struct served_reference *reference, size_t w)
{
    const struct hr_shared_state *shared = shared_of(reference);
    struct reference_worker *worker = &reference->worker[w];
    const double lr = (double)hr_batch_schedule_lr(&shared->schedule, worker->index);
    const struct hr_step step = hr_step_of(&shared->optimizer, lr, worker->samples, 1);
    hr_step_update(&step, 0, reference->params, worker->read, reference->state, shared->grads[w]);
    assert_true(worker->index < REFERENCE_BATCHES);
    worker->since[worker->index] = 1;
}

static void exchange(struct served_reference *reference, struct reference_worker *worker)
{
    const double asked = shared_of(reference)->options->moving_rate;
    const float rate = (float)(asked > 0 ? asked : 0.9 / (double)shared_of(reference)->workers);
    for (size_t i = 0; i < reference->params; i++) {
        const float d = rate * (worker->read[i] - reference->weights[i]);
        worker->read[i] -= d;
        reference->weights[i] += d;
    }
    for (size_t i = 0; i < REFERENCE_BATCHES; i++)
        assert_true((reference->taken[i] += worker->since[i]) <= 1);
    memset(worker->since, 0, sizeof worker->since);
}

static void took_of_replica(struct served_reference *reference, const struct hr_shard *shard,
                            size_t w)
{
    struct reference_worker *worker = &reference->worker[w];
    const uint32_t kind = shard->taken.kind;
    const size_t bytes = reference->params * sizeof(float);
    if (kind == HR_PUSHPULL)
        exchange(reference, worker);
    else if (kind == HR_PULL && worker->fresh)
        memcpy(worker->read, reference->weights, bytes);
    else if (kind == HR_GONE)
        memset(worker->since, 0, sizeof worker->since);
    worker->fresh = kind == HR_JOIN || (worker->fresh && kind != HR_PULL);
    if (kind == HR_PUSHPULL || kind == HR_PULL)
        assert_memory_equal(shared_of(reference)->weights[w], worker->read, bytes);
}

/* --- what happens --- */

static void took(struct served_reference *reference, size_t s, size_t w)
{
    const struct hr_shard *shard = &reference->serial->shard[s];
    if (reference->serial->state[shared_of(reference)->workers + s] != HR_WANTS)
        return; /* it died instead */
    if (averages(reference))
        took_of_replica(reference, shard, w);
    else if (reference->drops)
        took_of_share(reference, shard, w);
    else if (shard->taken.kind == HR_PUSH)
        took_push(reference, shard, w);
    else if (shard->taken.kind == HR_PULL)
        took_pull(reference, shard, w);
    else if (s == 0 && (shard->taken.kind == HR_GONE || shard->taken.kind == HR_CUT))
        reference->worker[w].aside = true;
    else if (s == 0 && shard->taken.kind == HR_JOIN)
        joins(reference, w);
    reference->version[s] = shard->version;
    assert_memory_equal(shard->weights, reference->weights + shard->first,
                        shard->count * sizeof *shard->weights);
}

/* --- cuts and restarts --- */

static void leave_cut(struct served_reference *reference)
{
    const struct hr_shared_state *shared = shared_of(reference);
    reference->begins = reference->serial->drive->leader->cuts.cut->begins;
    memcpy(reference->at_cut, reference->weights, shared->params * sizeof *reference->weights);
    memcpy(reference->taken_at_cut, reference->taken, sizeof reference->taken);
}

/* All were revoked, and begin from the snapshot. */
static void begin_again(struct served_reference *reference)
{
    const struct hr_shared_state *shared = shared_of(reference);
    memcpy(reference->weights, reference->at_cut, shared->params * sizeof(float));
    memcpy(reference->taken, reference->taken_at_cut, sizeof reference->taken);
    reference->joined = reference->open = false;
    begin_clocks(reference, false);
    begin_at_center(reference);
    for (size_t w = 0; w < shared->workers; w++) {
        struct reference_worker *worker = &reference->worker[w];
        worker->gone = hr_roster_is_gone(shared->control, w);
        worker->fresh = worker->in = false;
    }
    for (size_t s = 0; s < shared->servers; s++) {
        const struct hr_shard *shard = &reference->serial->shard[s];
        reference->version[s] = shard->version;
        assert_memory_equal(shard->weights, reference->weights + shard->first,
                            shard->count * sizeof *shard->weights);
    }
}

/* What happens between two events: a cut, or a new term. */
static void look_around(struct served_reference *reference)
{
    const struct hr_serial *serial = reference->serial;
    const struct hr_shared_state *shared = shared_of(reference);
    const uint32_t called = hr_atom32_load_relaxed(&shared->control->roster.called);
    const struct hr_cut *cut = serial->drive->leader->cuts.cut;
    if (cut->begins != reference->begins)
        leave_cut(reference);
    if (cut->concluded != reference->concluded) {
        begin_clocks(reference, true);
        begin_at_center(reference);
    }
    reference->concluded = cut->concluded;
    if (called == reference->called)
        return;
    reference->called = called;
    begin_again(reference);
}

static void offered(struct served_reference *reference, size_t w)
{
    struct reference_worker *worker = &reference->worker[w];
    worker->offers = false;
    if (reference->serial->state[w] == HR_DEAD) /* it was killed instead */
        return;
    worker->samples = reference->serial->worker[w].worker.samples;
    if (averages(reference))
        update_replica(reference, w);
}

void served_reference_next(struct served_reference *reference, size_t event)
{
    const struct hr_serial *serial = reference->serial;
    const size_t workers = shared_of(reference)->workers, before = reference->event;
    const size_t inputs = workers * shared_of(reference)->servers;
    if (before < workers && reference->worker[before].offers)
        offered(reference, before);
    if (before >= workers && before < workers + inputs)
        took(reference, (before - workers) / workers, (before - workers) % workers);
    look_around(reference);
    reference->event = event;
    if (event >= workers || serial->state[event] != HR_HAS) /* it will not hand in a gradient */
        return;
    struct reference_worker *worker = &reference->worker[event];
    assert_memory_equal(shared_of(reference)->weights[event], worker->read,
                        shared_of(reference)->params * sizeof *worker->read);
    worker->index = serial->task[event].index;
    worker->offers = true;
}

void served_reference_state(const struct served_reference *reference,
                            void (*add)(void *arg, const void *piece, size_t bytes), void *arg)
{
    const size_t bytes = shared_of(reference)->params * sizeof *reference->weights;
    add(arg, reference->weights, bytes);
    add(arg, reference->at_cut, bytes);
    for (size_t w = 0; w < shared_of(reference)->workers; w++) {
        const struct reference_worker *worker = &reference->worker[w];
        add(arg, worker->read, bytes);
        add(arg, &worker->index, sizeof *worker - offsetof(struct reference_worker, index));
    }
    add(arg, &reference->open, sizeof *reference - offsetof(struct served_reference, open));
}

void served_reference_end(struct served_reference *reference, const char *weights_digest,
                          uint64_t batches)
{
    char digest[33];
    hr_digest_floats(reference->weights, reference->params, digest);
    assert_string_equal(weights_digest, digest);
    for (uint64_t i = 0; i < batches && !reference->drops; i++)
        assert_true(reference->taken[i] >= 1);
    served_reference_drop(reference);
}

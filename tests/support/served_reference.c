#include "support/served_reference.h"

#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "optim/optimizer.h"
#include "server/server.h"
#include "support/check.h"

static const struct hr_shared_state *shared_of(const struct served_reference *reference)
{
    return reference->play->shared;
}

static float *floats_of(const struct served_reference *reference)
{
    float *floats = malloc(shared_of(reference)->params * sizeof *floats);
    assert_non_null(floats);
    memcpy(floats, shared_of(reference)->snapshot.weights,
           shared_of(reference)->params * sizeof *floats);
    return floats;
}

void served_reference_begin(struct served_reference *reference, const struct hr_play *play)
{
    *reference =
        (struct served_reference){.play = play, .params = play->shared->params, .event = SIZE_MAX};
    assert_true(shared_of(reference)->workers <= REFERENCE_WORKERS);
    assert_true(shared_of(reference)->servers <= REFERENCE_SERVERS);
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

/* The gradients of all are in. */
static void update_with_sum(struct served_reference *reference, const struct hr_shard *shard)
{
    const struct hr_shared_state *shared = shared_of(reference);
    const struct hr_seats *seats = shared->seats;
    size_t samples = 0;
    for (size_t s = 0; s < seats->n; s++)
        samples += reference->play->worker[seats->rank[s]].worker.samples;
    for (size_t i = shard->first; i < shard->first + shard->count; i++)
        reference->sum[i] = tree(shared->grads, seats->rank, seats->n, i);
    update(reference, shard, reference->worker[seats->rank[0]].index, samples, reference->sum);
}

static void took_push(struct served_reference *reference, const struct hr_shard *shard, size_t w)
{
    struct reference_worker *worker = &reference->worker[w];
    const bool synchronous = shared_of(reference)->strategy->synchronous;
    if (shard->number == 0) {
        assert_true(worker->index < REFERENCE_BATCHES);
        reference->taken[worker->index]++;
        assert_true(synchronous || reference->taken[worker->index] == 1);
        worker->clock++;
    }
    if (!synchronous)
        update(reference, shard, worker->index, reference->play->worker[w].worker.samples,
               shared_of(reference)->grads[w]);
    else if (shard->version != reference->version[shard->number])
        update_with_sum(reference, shard);
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

static void took(struct served_reference *reference, size_t s, size_t w)
{
    const struct hr_shard *shard = &reference->play->shard[s];
    if (reference->play->state[shared_of(reference)->workers + s] != HR_WANTS)
        return; /* it died instead */
    if (shard->taken.kind == HR_PUSH)
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
    reference->begins = reference->play->drive->leader->cuts.cut->begins;
    memcpy(reference->at_cut, reference->weights, shared->params * sizeof *reference->weights);
    memcpy(reference->taken_at_cut, reference->taken, sizeof reference->taken);
}

/* All were recalled, and begin from the snapshot. */
static void begin_again(struct served_reference *reference)
{
    const struct hr_shared_state *shared = shared_of(reference);
    if (reference->server_lost) {
        memcpy(reference->weights, reference->at_cut, shared->params * sizeof(float));
        memcpy(reference->taken, reference->taken_at_cut, sizeof reference->taken);
    }
    reference->joined = false;
    begin_clocks(reference, false);
    for (size_t s = 0; s < shared->servers; s++) {
        const struct hr_shard *shard = &reference->play->shard[s];
        reference->version[s] = shard->version;
        assert_memory_equal(shard->weights, reference->weights + shard->first,
                            shard->count * sizeof *shard->weights);
    }
    reference->server_lost = false;
}

/* What happens between two events: a cut, or a new term. */
static void look_around(struct served_reference *reference)
{
    const struct hr_play *play = reference->play;
    const struct hr_shared_state *shared = shared_of(reference);
    const uint32_t called = hr_atom32_load_relaxed(&shared->control->roster.called);
    const struct hr_cut *cut = play->drive->leader->cuts.cut;
    if (cut->begins != reference->begins)
        leave_cut(reference);
    if (cut->concluded != reference->concluded)
        begin_clocks(reference, true);
    reference->concluded = cut->concluded;
    for (size_t s = 0; s < shared->servers; s++)
        reference->server_lost |= play->state[shared->workers + s] == HR_DEAD;
    if (called == reference->called)
        return;
    reference->called = called;
    begin_again(reference);
}

void served_reference_next(struct served_reference *reference, size_t event)
{
    const struct hr_play *play = reference->play;
    const size_t workers = shared_of(reference)->workers, before = reference->event;
    const size_t inputs = workers * shared_of(reference)->servers;
    if (before >= workers && before < workers + inputs)
        took(reference, (before - workers) / workers, (before - workers) % workers);
    look_around(reference);
    reference->event = event;
    if (event >= workers || play->state[event] != HR_HAS) /* it will not hand in a gradient */
        return;
    struct reference_worker *worker = &reference->worker[event];
    assert_memory_equal(shared_of(reference)->weights[event], worker->read,
                        shared_of(reference)->params * sizeof *worker->read);
    worker->index = play->task[event].index;
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
    add(arg, reference->version, sizeof *reference - offsetof(struct served_reference, version));
}

void served_reference_end(struct served_reference *reference, const char *weights_digest,
                          uint64_t batches)
{
    char digest[33];
    hr_digest_floats(reference->weights, reference->params, digest);
    assert_string_equal(weights_digest, digest);
    for (uint64_t i = 0; i < batches; i++)
        assert_true(reference->taken[i] >= 1);
    served_reference_drop(reference);
}

#include "strategy/compression.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "strategy/shared.h"

/* --- of a run --- */

static size_t count_of(const struct hr_optimizer *optimizer, enum hr_segment_role role)
{
    size_t count = 0;
    for (size_t i = 0; i < optimizer->nsegments; i++)
        count += optimizer->segments[i].role == role ? optimizer->segments[i].count : 0;
    return count;
}

enum hr_status hr_compression_begin(struct hr_shared_state *shared, struct hr_compression *out)
{
    const struct hr_optimizer *optimizer = &shared->optimizer;
    const struct hr_train_options *o = shared->options;
    *out = (struct hr_compression){0};
    HR_TRY(hr_compress_parse(o->compress, &out->how));
    if (!out->how.how)
        return HR_OK;
    if (shared->params > UINT32_MAX)
        return hr_fail(HR_E_USAGE,
                       "--compress %s: not with so many parameters: an index has 32 bits",
                       o->compress);
    shared->compression = out;
    if (hr_compress_is_factors(&out->how)) {
        out->count = optimizer->params;
        return hr_factors_begin(&out->factors, out->how.rank, optimizer->nsegments, o->seed);
    }
    out->count = count_of(optimizer, HR_SEGMENT_TRAINED);
    out->exact = count_of(optimizer, HR_SEGMENT_STATISTIC);
    out->gathered = out->count < optimizer->params;
    shared->group_options.blocks =
        !hr_strategy_is_served(shared->strategy) && !hr_compression_is_public(shared);
    return HR_OK;
}

void hr_compression_fini(struct hr_compression *compression)
{
    hr_factors_fini(&compression->factors);
    *compression = (struct hr_compression){0};
}

size_t hr_compression_own_blocks(const struct hr_shared_state *shared)
{
    const struct hr_compression *c = hr_compression_of(shared);
    const size_t blocks = (c->count + HR_COMPRESS_BLOCK - 1) / HR_COMPRESS_BLOCK;
    return (blocks + shared->workers - 1) / shared->workers;
}

static size_t more_floats(const struct hr_shared_state *shared)
{
    const struct hr_compression *c = hr_compression_of(shared);
    if (hr_compress_is_factors(&c->how))
        return c->factors.q_floats;
    if (hr_compression_is_public(shared))
        return c->exact;
    return c->how.how->block_bytes && !hr_strategy_is_served(shared->strategy)
               ? hr_compression_own_blocks(shared) * HR_COMPRESS_BLOCK
               : 0;
}

size_t hr_compression_state_floats(const struct hr_shared_state *shared)
{
    const struct hr_compression *c = hr_compression_of(shared);
    return c ? c->count + more_floats(shared) : 0;
}

static size_t vector_floats(const struct hr_compression *c)
{
    return c->gathered ? c->count : 0;
}

static size_t packet_bytes(const struct hr_shared_state *shared)
{
    const struct hr_compression *c = hr_compression_of(shared);
    return hr_strategy_is_served(shared->strategy) ? c->how.how->bytes(&c->how, c->count) : 0;
}

size_t hr_compression_worker_bytes(const struct hr_shared_state *shared)
{
    const struct hr_compression *c = hr_compression_of(shared);
    if (!c || hr_compression_is_public(shared))
        return 0; /* public copies lie where neighbours read them */
    return (hr_compression_state_floats(shared) + vector_floats(c)) * sizeof(float) +
           packet_bytes(shared);
}

/* --- of a worker --- */

static float *snapshot_of(const struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    float *errors = shared->snapshot.errors;
    return errors ? errors + worker->rank * hr_compression_state_floats(shared) : NULL;
}

enum hr_status hr_compression_start(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_compression *c = hr_compression_of(shared);
    const size_t floats = hr_compression_state_floats(shared);
    worker->compressing = NULL;
    if (!c)
        return HR_OK;
    struct hr_compressing *own =
        calloc(1, hr_round_up(sizeof *own, HR_LINE) + hr_compression_worker_bytes(shared));
    if (!own)
        return hr_fail(HR_E_NOMEM, "no memory for what %s keeps of a gradient", c->how.how->name);
    worker->compressing = own;
    if (hr_compression_is_public(shared))
        return HR_OK;
    own->state = (float *)(void *)((unsigned char *)own + hr_round_up(sizeof *own, HR_LINE));
    own->error = own->state;
    own->more = own->state + c->count;
    own->vector = c->gathered ? own->state + floats : NULL;
    own->packet = packet_bytes(shared) ? own->state + floats + vector_floats(c) : NULL;
    if (snapshot_of(worker))
        memcpy(own->state, snapshot_of(worker), floats * sizeof(float));
    return HR_OK;
}

void hr_compression_stop(struct hr_worker *worker)
{
    free(worker->compressing);
    worker->compressing = NULL;
}

void hr_compression_export(const struct hr_worker *worker)
{
    if (worker->compressing && snapshot_of(worker))
        memcpy(snapshot_of(worker), worker->compressing->state,
               hr_compression_state_floats(worker->shared) * sizeof(float));
}

/* --- tensors --- */

/* Tensors of that role, end to end. */
static void take(const struct hr_shared_state *shared, enum hr_segment_role role, const float *x,
                 float *vector)
{
    const struct hr_optimizer *optimizer = &shared->optimizer;
    for (size_t i = 0; i < optimizer->nsegments; i++) {
        const struct hr_param_segment *segment = &optimizer->segments[i];
        if (segment->role != role)
            continue;
        memcpy(vector, x + segment->begin, segment->count * sizeof *x);
        vector += segment->count;
    }
}

static void put(const struct hr_shared_state *shared, enum hr_segment_role role, float *x,
                const float *vector)
{
    const struct hr_optimizer *optimizer = &shared->optimizer;
    for (size_t i = 0; i < optimizer->nsegments; i++) {
        const struct hr_param_segment *segment = &optimizer->segments[i];
        if (segment->role != role)
            continue;
        memcpy(x + segment->begin, vector, segment->count * sizeof *x);
        vector += segment->count;
    }
}

void hr_compression_take(const struct hr_shared_state *shared, const float *x, float *values)
{
    take(shared, HR_SEGMENT_TRAINED, x, values);
    take(shared, HR_SEGMENT_STATISTIC, x, values + hr_compression_of(shared)->count);
}

float *hr_compression_vector(const struct hr_worker *worker)
{
    float *vector = worker->compressing->vector;
    return vector ? vector : worker->grads;
}

float *hr_compression_gather(const struct hr_worker *worker)
{
    if (worker->compressing->vector)
        take(worker->shared, HR_SEGMENT_TRAINED, worker->grads, worker->compressing->vector);
    return hr_compression_vector(worker);
}

void hr_compression_scatter(const struct hr_worker *worker)
{
    if (worker->compressing->vector)
        put(worker->shared, HR_SEGMENT_TRAINED, worker->grads, worker->compressing->vector);
}

void hr_compression_take_exact(const struct hr_worker *worker, float *exact)
{
    take(worker->shared, HR_SEGMENT_STATISTIC, worker->grads, exact);
}

void hr_compression_put_exact(const struct hr_worker *worker, const float *exact)
{
    put(worker->shared, HR_SEGMENT_STATISTIC, worker->grads, exact);
}

void hr_compression_scale(const struct hr_shared_state *shared, uint64_t index, bool back,
                          float *error, size_t n)
{
    const uint64_t full = shared->schedule.batch;
    const uint64_t count = hr_batch_schedule_batch(&shared->schedule, index).count;
    const double share = (double)count / (double)full;
    if (count != full)
        hr_vec()->scale(error, (float)(back ? 1 / share : share), n);
}

/* --- a push --- */

void hr_compression_push(const struct hr_worker *worker, uint64_t index)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_compression *c = hr_compression_of(shared);
    const struct hr_compressing *own = worker->compressing;
    if (!own)
        return;
    const enum hr_activity was = hr_account_turn(&worker->stats->account, HR_COMPUTE);
    float *vector = hr_compression_gather(worker);
    hr_compression_scale(shared, index, false, own->error, c->count);
    c->how.how->encode(&c->how, c->count, vector, own->error, own->packet);
    c->how.how->decode(&c->how, c->count, own->packet, vector);
    hr_compression_scale(shared, index, true, own->error, c->count);
    hr_compression_scatter(worker);
    hr_account_turn(&worker->stats->account, was);
}

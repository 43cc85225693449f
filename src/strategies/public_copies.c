#include "strategies/public_copies.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "compress/round.h"
#include "strategies/gossip_weights.h"
#include "strategy/compression.h"

/* --- memory: [h of worker 0, two places | of 1 ...], [packets of worker 0 | of 1 ...] --- */

static size_t values_of(const struct hr_compression *c)
{
    return c->count + c->exact;
}

static size_t copy_bytes(const struct hr_shared_state *shared)
{
    return hr_round_up(values_of(hr_compression_of(shared)) * sizeof(float), HR_LINE);
}

size_t hr_public_copies_packet_bytes(const struct hr_shared_state *shared)
{
    const struct hr_compression *c = hr_compression_of(shared);
    return c->exact * sizeof(float) + c->how.how->bytes(&c->how, c->count);
}

/* In one memory nobody reads it. */
static size_t packet_places(const struct hr_shared_state *shared)
{
    return hr_shared_is_multinode(shared) ? 2 : 1;
}

static size_t packet_place_bytes(const struct hr_shared_state *shared)
{
    return hr_round_up(hr_public_copies_packet_bytes(shared), HR_LINE);
}

size_t hr_public_copies_bytes(const struct hr_shared_state *shared)
{
    return shared->workers *
           (2 * copy_bytes(shared) + packet_places(shared) * packet_place_bytes(shared));
}

struct hr_payload hr_public_copies_packet(const struct hr_shared_state *shared, void *memory,
                                          size_t worker, uint64_t step)
{
    const size_t places = packet_places(shared);
    unsigned char *packets = (unsigned char *)memory + shared->workers * 2 * copy_bytes(shared);
    return (struct hr_payload){packets +
                                   (worker * places + step % places) * packet_place_bytes(shared),
                               hr_public_copies_packet_bytes(shared)};
}

/* --- a worker's --- */

struct hr_public_copies {
    unsigned char *memory; /* of all workers, in the segment */
    float *known[];        /* (workers) h of neighbours on other machines; else NULL */
};

/* h of a worker of this machine, after step `step`. */
static float *place_of(const struct hr_shared_state *shared, const struct hr_public_copies *copies,
                       size_t worker, uint64_t step)
{
    return (float *)(void *)(copies->memory + (worker * 2 + step % 2) * copy_bytes(shared));
}

static bool is_known(const struct hr_shared_state *shared, size_t worker, size_t j)
{
    return hr_gossip_neighbours(shared, worker, j) && !hr_hosts_same(&shared->hosts, worker, j);
}

static size_t known_by(const struct hr_shared_state *shared, size_t worker)
{
    size_t known = 0;
    for (size_t j = 0; j < shared->workers; j++)
        known += is_known(shared, worker, j);
    return known;
}

static size_t pointers_bytes(const struct hr_shared_state *shared)
{
    return hr_round_up(sizeof(struct hr_public_copies) + shared->workers * sizeof(float *),
                       HR_LINE);
}

size_t hr_public_copies_worker_bytes(const struct hr_shared_state *shared)
{
    size_t most = 0;
    if (!hr_compression_of(shared))
        return 0;
    for (size_t w = 0; w < shared->workers; w++)
        most = hr_max_size(most, known_by(shared, w));
    return pointers_bytes(shared) + most * copy_bytes(shared);
}

/* h (count + exact) of worker j, as the run begins. */
static void begin_with(const struct hr_shared_state *shared, size_t j, float *h)
{
    const struct hr_snapshot *from = &shared->snapshot;
    const size_t values = values_of(hr_compression_of(shared));
    if (from->errors)
        memcpy(h, from->errors + j * values, values * sizeof *h);
    else
        hr_compression_take(shared, from->replicas + j * shared->params, h);
}

enum hr_status hr_public_copies_start(struct hr_worker *worker, void *memory,
                                      struct hr_public_copies **out)
{
    const struct hr_shared_state *shared = worker->shared;
    const size_t rank = worker->rank, pointers = pointers_bytes(shared);
    struct hr_public_copies *copies =
        calloc(1, pointers + known_by(shared, rank) * copy_bytes(shared));
    if (!copies)
        return hr_fail(HR_E_NOMEM, "no memory for what neighbours know of their weights");
    copies->memory = memory;
    unsigned char *at = (unsigned char *)copies + pointers;
    for (size_t j = 0; j < shared->workers; j++) {
        if (!is_known(shared, rank, j))
            continue;
        copies->known[j] = (float *)(void *)at;
        begin_with(shared, j, copies->known[j]);
        at += copy_bytes(shared);
    }
    worker->compressing->state = place_of(shared, copies, rank, 1); /* before step 0 */
    begin_with(shared, rank, worker->compressing->state);
    *out = copies;
    return HR_OK;
}

/* --- a step --- */

/* Of topk: what differs most goes there as it is. */
static void take_weights(const struct hr_compression *c, const float *x, void *pairs)
{
    struct hr_compress_pair *pair = pairs;
    for (size_t i = 0; i < hr_compress_largest(&c->how, c->count); i++)
        pair[i].value = hr_float_flush(x[pair[i].index]);
}

/* packet of x (count + exact), where h is known; due (count): overwritten. */
static void encode(const struct hr_compression *c, const float *x, const float *h, float *due,
                   float *packet)
{
    float *body = packet + c->exact;
    for (size_t i = 0; i < c->count; i++)
        due[i] = -h[i];
    memcpy(packet, x + c->count, c->exact * sizeof *packet);
    c->how.how->encode(&c->how, c->count, x, due, body);
    if (hr_compress_is_sparse(&c->how))
        take_weights(c, x, body);
}

/* h (count + exact) learns what the packet says; decoded (count): overwritten. */
static void learn(const struct hr_compression *c, const float *packet, float *decoded, float *h)
{
    const float *body = packet + c->exact;
    const struct hr_compress_pair *pair = (const void *)body;
    memcpy(h + c->count, packet, c->exact * sizeof *h);
    if (hr_compress_is_sparse(&c->how)) {
        for (size_t i = 0; i < hr_compress_largest(&c->how, c->count); i++)
            h[pair[i].index] = pair[i].value;
        return;
    }
    c->how.how->decode(&c->how, c->count, body, decoded);
    hr_vec()->add(h, decoded, c->count);
}

void hr_public_copies_publish(const struct hr_worker *worker, struct hr_public_copies *copies,
                              uint64_t step)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_compression *c = hr_compression_of(shared);
    const enum hr_activity was = hr_account_turn(&worker->stats->account, HR_COMPUTE);
    const float *before = place_of(shared, copies, worker->rank, step + 1);
    float *h = place_of(shared, copies, worker->rank, step);
    float *packet = (void *)hr_public_copies_packet(shared, copies->memory, worker->rank, step).at;
    hr_compression_take(shared, worker->weights, worker->grads);
    encode(c, worker->grads, before, h, packet);
    memcpy(h, before, values_of(c) * sizeof *h);
    learn(c, packet, worker->grads, h);
    worker->compressing->state = h;
    hr_account_turn(&worker->stats->account, was);
}

/* A tensor of x, whose values begin at `from` in all h: (x - h) + the average. */
static void average_tensor(const struct hr_worker *worker, const float *weights,
                           const float *const *h, const struct hr_param_segment *tensor,
                           size_t from)
{
    enum { NEAR = 2048 }; /* elements that stay in the nearest cache */
    float average[NEAR];
    for (size_t at = 0; at < tensor->count; at += NEAR) {
        const size_t n = hr_min_size(NEAR, tensor->count - at);
        const float *own = h[worker->rank] + from + at;
        float *x = worker->weights + tensor->begin + at;
        hr_gossip_average(worker->shared, weights, h, from + at, n, average);
        for (size_t i = 0; i < n; i++)
            x[i] = (x[i] - own[i]) + average[i];
    }
}

static void average_tensors(const struct hr_worker *worker, const float *weights,
                            const float *const *h, enum hr_segment_role role, size_t from)
{
    const struct hr_optimizer *optimizer = &worker->shared->optimizer;
    for (size_t i = 0; i < optimizer->nsegments; i++)
        if (optimizer->segments[i].role == role) {
            average_tensor(worker, weights, h, &optimizer->segments[i], from);
            from += optimizer->segments[i].count;
        }
}

void hr_public_copies_average(const struct hr_worker *worker, struct hr_public_copies *copies,
                              const float *weights, uint64_t step)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_compression *c = hr_compression_of(shared);
    const enum hr_activity was = hr_account_turn(&worker->stats->account, HR_COMPUTE);
    const float *h[HR_VEC_MAX_INPUTS];
    for (size_t j = 0; j < shared->workers; j++) {
        h[j] = copies->known[j] ? copies->known[j] : place_of(shared, copies, j, step);
        if (copies->known[j])
            learn(c, hr_public_copies_packet(shared, copies->memory, j, step).at, worker->grads,
                  copies->known[j]);
    }
    average_tensors(worker, weights, h, HR_SEGMENT_TRAINED, 0);
    average_tensors(worker, weights, h, HR_SEGMENT_STATISTIC, c->count);
    hr_account_turn(&worker->stats->account, was);
}

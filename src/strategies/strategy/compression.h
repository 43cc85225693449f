/* compression.h - gradients compressed before they travel (--compress): what of a gradient is, who
 * keeps which error, and a push. The sum of all workers' is strategies/compressed_sum.h.
 *
 *   What      trained tensors, end to end, as one vector of `count` values. Statistics (a running
 *             mean: every update needs it) travel as they are, `exact` values; what is frozen does
 *             not travel.
 *   Units     a gradient is a sum over samples, and its error is one over a full batch. The last
 *             batch of an epoch may be smaller: then the error counts in proportion, so that it
 *             has the weight in the mean that it had (else one sample's batch would be swamped).
 *   State     of a worker: [error | of bf16, fp16, int8 the error of the sums it owns, of powersgd
 *             the factor Q]. It is private, begins at 0, is copied to the snapshot at every cut and
 *             taken up from there: a run that goes on is the one that never stopped. With another
 *             number of workers it begins at 0 again (state/state.c says so).
 *   Push      (ps-sync, ps-async, ssp, backup-workers) the worker encodes its gradient with its
 *             own error, and what the server would decode takes the gradient's place in the memory
 *             that both reach; no bytes are moved, but to a server on another machine, which
 *             decodes the packet there (below). What is counted, and carried by links in
 *             virtual time, is the packet: the whole gradient's, each server's slice of it by
 *             itself. So the number of servers changes no bit. Pulls are float32.
 *             A push that backup-workers drop is lost with what of the error was in it.
 *
 *   Weights   (gossip) the state is a public copy, and all else strategies/public_copies.h's.
 *
 * Threads: struct hr_compression is constant; the rest a worker's own.
 * Test:    tests/unit/train/test_compress.c
 */
#ifndef HR_STRATEGY_COMPRESSION_H
#define HR_STRATEGY_COMPRESSION_H

#include "compress/powersgd.h"
#include "strategy/strategy.h"

/* Of a run. */
struct hr_compression {
    struct hr_compress how;    /* of none: how NULL, and all else 0 */
    struct hr_factors factors; /* powersgd; owned */
    size_t count, exact;       /* values; powersgd: count is all parameters */
    bool gathered;             /* `count` of them are not all parameters */
};

/* A worker's. */
struct hr_compressing {
    float *state;        /* (hr_compression_state_floats) */
    float *error, *more; /* in it */
    float *vector;       /* (count) where it is gathered; else NULL */
    void *packet;        /* of the last push; NULL: it does not push */
};

/* `shared` knows its options, workers and optimizer; the strategy obeys --compress. Refused, with
 * the reason: what cannot be, with this strategy or other options. HR_E_USAGE, HR_E_NOMEM. Free
 * with hr_compression_fini, harmless on a zeroed one. powersgd: the caller adds tensors to its
 * factors. */
HR_CHECKED enum hr_status hr_compression_begin(struct hr_shared_state *shared,
                                               struct hr_compression *out);
void hr_compression_fini(struct hr_compression *compression);

/* The run's, or NULL: nothing is compressed. */
static inline const struct hr_compression *hr_compression_of(const struct hr_shared_state *shared)
{
    return shared->compression && shared->compression->how.how ? shared->compression : NULL;
}

/* Are weights what travels, and a worker's state its public copy? (gossip) */
static inline bool hr_compression_is_public(const struct hr_shared_state *shared)
{
    return shared->strategy->rows.weights == HR_KEPT_MEAN;
}

/* A worker's state; 0: there is none. Bytes that a worker takes in all. */
size_t hr_compression_state_floats(const struct hr_shared_state *shared);
size_t hr_compression_worker_bytes(const struct hr_shared_state *shared);
/* Of blocks: those that each rank owns of the sum. */
size_t hr_compression_own_blocks(const struct hr_shared_state *shared);

/* A worker begins, from the snapshot; ends; copies its state into the snapshot. Without compression
 * nothing. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_compression_start(struct hr_worker *worker);
void hr_compression_stop(struct hr_worker *worker);
void hr_compression_export(const struct hr_worker *worker);

/* Of weights x (params) what travels: (count + exact) values, statistics behind what is trained. */
void hr_compression_take(const struct hr_shared_state *shared, const float *x, float *values);

/* Where the values that travel are: in grads, or gathered. Gather them, and scatter them. */
float *hr_compression_vector(const struct hr_worker *worker);
float *hr_compression_gather(const struct hr_worker *worker);
void hr_compression_scatter(const struct hr_worker *worker);
/* The other way for statistics: exact (exact) <- grads, or grads <- exact. */
void hr_compression_take_exact(const struct hr_worker *worker, float *exact);
void hr_compression_put_exact(const struct hr_worker *worker, const float *exact);

/* Errors (n) to the size of batch `index`, and back to that of a full one. */
void hr_compression_scale(const struct hr_shared_state *shared, uint64_t index, bool back,
                          float *error, size_t n);

/* The gradient in hand, of batch `index`, becomes what its servers decode. */
void hr_compression_push(const struct hr_worker *worker, uint64_t index);

/* What of a compressed push goes to one server: how many bytes, and the packet in
 * which they travel to another machine.
 *
 *   Packet    [statistics of the slice, float32 | values of the gradient's packet (compression.h)]
 *             bf16, fp16, int8: block by block what a whole block begins with (int8: its
 *             scale), and those of its values that the slice has. topk: the pairs whose index
 *             is in the slice. So the parts of a push have no value twice, and decoded they are
 *             the whole, bit for bit, wherever servers cut it.
 *   Range     [begin, end) of the parameters, as hr_slice_begin cuts them.
 *
 * Threads: a worker's own; unpack: whoever has that worker's gradient in hand.
 * Test:    tests/unit/strategy/test_push_slice.c, tests/unit/train/test_multinode_compress.c
 */

/* Bytes of a push to all servers together; 0 where nobody pushes, or compresses. */
uint64_t hr_push_bytes(const struct hr_shared_state *shared);

/* Bytes of [begin, end) of the last push: what hr_compression_push has made, or without compression
 * all. */
uint64_t hr_push_slice_bytes(const struct hr_worker *worker, size_t begin, size_t end);

/* Of a run that compresses: the most that hr_push_slice_pack writes. */
size_t hr_push_slice_most(const struct hr_shared_state *shared, size_t begin, size_t end);
/* The slice's packet of the last push, to `to` (hr_push_slice_most, aligned to 4): its bytes, which
 * are hr_push_slice_bytes. */
size_t hr_push_slice_pack(const struct hr_worker *worker, size_t begin, size_t end, void *to);
/* The slice of grads (params), which the worker's own is after hr_compression_push; what is frozen
 * stays as it is. packet: as pack made it, `bytes` long. */
void hr_push_slice_unpack(const struct hr_shared_state *shared, size_t begin, size_t end,
                          const void *packet, size_t bytes, float *grads);

#endif

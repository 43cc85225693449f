/* push_slice.h - what of a compressed push goes to one server: how many bytes, and the packet in
 * which they travel to another machine.
 *
 *   Packet    [statistics of the slice, float32 | values of the gradient's packet (compression.h)]
 *             bf16, fp16, int8: block by block what a whole block begins with (int8: its
 *             scale), and those of its values that the slice has. topk: the pairs whose index
 *             is in the slice. So the parts of a push have no value twice, and decoded they are
 *             the whole, bit for bit, wherever servers cut it.
 *   Range     [begin, end) of the parameters, as hr_server_slice cuts them.
 *
 * Threads: a worker's own; unpack: whoever has that worker's gradient in hand.
 * Test:    tests/unit/strategy/test_push_slice.c, tests/unit/train/test_several_compress.c
 */
#ifndef HR_STRATEGY_PUSH_SLICE_H
#define HR_STRATEGY_PUSH_SLICE_H

#include "strategy/compression.h"

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

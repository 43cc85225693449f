/* compressed_sum.h - the sum of all workers' gradients, compressed on its way.
 *
 *   Blocks    (bf16, fp16, int8) as the algorithm direct, with packets in place of values:
 *               1. each worker encodes its gradient, with its error; the blocks go to their owners
 *               2. the owner decodes them, adds them in T(n), and encodes the sum, with an error
 *                  of its own for it; everybody gets all sums
 *             So a value is rounded twice, once at its worker and once at its owner, and each of
 *             the two keeps what it cut off. Partial sums are not rounded; owners' blocks are
 *             equal in number, the last filled up with zeros, which travel as well.
 *   Largest   (topk) every worker gets every other's pairs, decodes them all, and adds them in
 *             T(n): the union, which is not cut down again. An owner would have pairs of any
 *             number, and sum sparse values that are hardly ever in the same place.
 *   Factors   (powersgd) two sums of float32, by the group's algorithm (compress/powersgd.h).
 *   Exact     statistics travel as float32, in a sum of their own.
 *   Promise   all workers have the same bits, those of T(n); threads, processes and ranks of one
 *             thread alike.
 *   Source    two-sided error feedback: Tang et al., "DoubleSqueeze", arXiv 1905.05957, and
 *             DeepSpeed's compressed all-reduce (1-bit Adam, arXiv 2102.02888).
 *
 * Memory:   packets lie where all ranks reach them: hr_compressed_sum_bytes, in the strategy's.
 * Threads:  a worker's own; as a member's operation, nothing waits.
 * Test:     tests/unit/strategies/test_compressed_sum.c, tests/unit/train/test_compress.c
 */
#ifndef HR_STRATEGIES_COMPRESSED_SUM_H
#define HR_STRATEGIES_COMPRESSED_SUM_H

#include "strategy/compression.h"

struct hr_compressed_sum {
    struct hr_worker *worker;
    void *memory;
    uint64_t plain; /* bytes that the worker would send without compression */
    uint64_t index; /* of the batch */
    unsigned phase; /* what is under way; 0: nothing */
    enum hr_status status;
    struct hr_bell *bell; /* what the worker parks on */
};

/* In the segment, of all workers together; 0 where nothing is compressed, or nothing summed. */
size_t hr_compressed_sum_bytes(const struct hr_shared_state *shared);

/* Bytes that worker 0 sends in a step, to servers too; and without compression. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_compressed_step_bytes(const struct hr_shared_state *shared,
                                                   uint64_t *bytes, uint64_t *plain);

/* Before the first; memory: as above, of all workers. Without compression nothing. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_compressed_sum_begin(struct hr_compressed_sum *sum,
                                                  struct hr_worker *worker, void *memory);
/* grads become the sum of batch `index`. */
void hr_compressed_sum_start(struct hr_compressed_sum *sum, uint64_t index);
/* Go on; true when it is over, well or badly: sum->status. */
bool hr_compressed_sum_test(struct hr_compressed_sum *sum);

#endif

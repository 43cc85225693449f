/* tree_sums.h - T(n) over parts that come one after another (vec.h), in log2 n buffers.
 *
 *   A part that completes a pair is added to the one before it, and so on up the tree; a sum that
 *   waits for its right neighbour is kept in its level's buffer. After the last part the remaining
 *   buffers are added, smallest first, each as the left operand: a + b is b + a, to the bit.
 *
 * Threads: belong to one thread.
 * Test:    tests/unit/stages/test_tree_sums.c
 */
#ifndef HR_STAGES_TREE_SUMS_H
#define HR_STAGES_TREE_SUMS_H

#include <stddef.h>

#include "base/error.h"

enum { HR_TREE_LEVELS = 16, HR_TREE_MOST = 1 << HR_TREE_LEVELS };

struct hr_tree_sums {
    size_t parts, count;         /* how many, at most; floats of each */
    float *sums[HR_TREE_LEVELS]; /* (count) each, owned: level l holds 2^l parts */
};

/* Bytes that it takes. */
size_t hr_tree_sums_bytes(size_t parts, size_t count);
/* For up to HR_TREE_MOST parts. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_tree_sums_init(struct hr_tree_sums *it, size_t parts, size_t count);
/* Harmless on a zeroed one. */
void hr_tree_sums_fini(struct hr_tree_sums *it);

/* x (count) in: part i of `parts` (no more than in init), in their order. After the last one x is
 * the sum of all; before, it may be overwritten. */
void hr_tree_sums_carry(struct hr_tree_sums *it, size_t i, size_t parts, float *x);

#endif

/* element.h - elements of every type, combined by every operator: one source for all of them.
 *
 * Sum of float32 is the tuned case (base/vec.h); all others are the plain loops of element.c.
 * Integers wrap; min and max carry NaN. HR_MEAN folds as HR_SUM, and hr_element_mean divides once
 * at the end.
 *
 * Threads: pure functions on the caller's memory.
 * Test: tests/unit/plan/test_element.c
 */
#ifndef HR_PLAN_ELEMENT_H
#define HR_PLAN_ELEMENT_H

#include "hogring/group.h"

struct hr_kind {
    enum hr_type type;
    enum hr_redop redop;
};

/* mine[i] = mine[i] op theirs[i]; disjoint. */
void hr_element_fold(struct hr_kind kind, void *mine, const void *theirs, size_t count);

/* out[j][i] = T(n) over in[0][i] .. in[n-1][i], for j < nout. An output may be exactly one of the
 * inputs. 1 <= n <= HR_VEC_MAX_INPUTS. */
void hr_element_tree(struct hr_kind kind, void *const *out, size_t nout, const void *const *in,
                     size_t n, size_t count);

/* The last step of a mean over n ranks: x[i] = x[i] / n. */
void hr_element_mean(struct hr_kind kind, void *x, size_t n, size_t count);

/* Names to numbers; false: unknown. */
int hr_type_parse(const char *name, enum hr_type *out);
int hr_redop_parse(const char *name, enum hr_redop *out);

#endif

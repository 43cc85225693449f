/* powersgd.h - a gradient's matrices as products of two thin ones, which are summed over ranks.
 *
 *   Story    of a matrix M (rows, columns), and Q (columns, R) of the step before:
 *              1. P = M Q, summed over ranks; with it all that is no matrix, as it is
 *              2. P's columns made orthonormal, by each rank for itself, from the same bits
 *              3. Q = M' P, summed over ranks
 *              4. the sum of all M becomes P Q'; the error is M - P (Q / ranks)'
 *            So a step sends R (rows + columns) values for rows times columns. Q of the last step
 *            is where the next begins (warm start): the power iteration goes on over steps.
 *   Matrices  tensors of two or more dimensions: (first, all others). One that its factors are
 *            not smaller than, a vector (bias), a statistic: sent as it is, without error. What is
 *            frozen is not sent: its sum is 0.
 *   Order    a dot product over columns: 16 sums, of every 16th product, folded in halves; over
 *            rows: in their order. Gram-Schmidt from the first column to the last, modified: each
 *            is freed of those before it one by one. So the bits are those of every instruction
 *            set; denormals follow the thread's mode, as in training's other products.
 *   Rank     a column of P of which less than a thousandth is left after that (M has a smaller
 *            rank) is 0 in this step, and begins again in the next with its column of Q drawn from
 *            the seed.
 *   Error    of the four, steps 1 and 3 are linear, so the ranks' errors add up to that of the sum.
 *   Source   Vogels, Karimireddy, Jaggi, "PowerSGD", NeurIPS 2019, arXiv 1905.13727, algorithms 1
 *            and 2; their memory is also what is left of the ranks' mean.
 *
 * Threads: pure functions on the caller's memory.     Test: tests/unit/compress/test_powersgd.c
 */
#ifndef HR_COMPRESS_POWERSGD_H
#define HR_COMPRESS_POWERSGD_H

#include "compress/compress.h"

/* A tensor of the gradient. */
struct hr_factored {
    size_t begin, rows, columns; /* columns 0: `rows` values that are sent as they are */
    size_t p, q;                 /* where its factors, or those values, begin */
};

struct hr_factors {
    size_t rank, n;
    struct hr_factored *tensor; /* (n) owned */
    size_t p_floats, q_floats;  /* of all of them */
    uint64_t seed;
};

/* Of as many tensors, at most; HR_E_NOMEM. Free with hr_factors_fini, harmless on a zeroed one. */
HR_CHECKED enum hr_status hr_factors_begin(struct hr_factors *f, size_t rank, size_t tensors,
                                           uint64_t seed);
/* The next of them. columns 0: as it is, whatever its size. */
void hr_factors_add(struct hr_factors *f, size_t begin, size_t rows, size_t columns);
void hr_factors_fini(struct hr_factors *f);

/* Steps 1 to 4. error is the rank's own: in 1 it becomes what is due, in 4 what is left of that.
 *   x, error (params); p (p_floats) and q (q_floats), each tensor's columns end to end; q is
 *   zeroed before the first step, and the last step's in the others */
void hr_factors_left(const struct hr_factors *f, const float *x, float *error, float *q, float *p);
void hr_factors_orthogonalise(const struct hr_factors *f, float *p);
void hr_factors_right(const struct hr_factors *f, const float *error, const float *p, float *q);
void hr_factors_finish(const struct hr_factors *f, const float *p, const float *q, size_t ranks,
                       float *x, float *error);

#endif

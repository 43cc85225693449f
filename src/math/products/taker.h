/* taker.h - who takes an array's elements as they become final, out of the caches, instead of
 * reading the whole array later out of memory: an update of weights from their gradient.
 *
 * What is taken is nowhere afterwards: the array is memory for one piece after the other.
 *
 * Threads: it is called by the thread that the computation was asked by.
 * Test:    tests/unit/products/test_product.c, test_product_bf16.c
 */
#ifndef HR_PRODUCTS_TAKER_H
#define HR_PRODUCTS_TAKER_H

#include <stdbool.h>
#include <stddef.h>

enum { HR_TAKER_BESIDE = 3 };

/* Elements [begin + i * step, begin + i * step + columns), i < rows; each is final, and is in one
 * piece only. */
struct hr_final_piece {
    size_t begin, rows, columns, step;
    float *values; /* (rows, columns), row i at values + i * stride; the taker may write there */
    size_t stride;
};

/* Its rows follow one another in both memories: it is one row of so many elements; else 0. */
static inline size_t hr_final_run(const struct hr_final_piece *piece)
{
    const bool runs = piece->columns == piece->step && piece->columns == piece->stride;
    return runs || piece->rows == 1 ? piece->rows * piece->columns : 0;
}

/* A smaller array, of floats, stays in the caches, and is one piece. */
enum { HR_TAKER_LEAST = 1 << 18 };

struct hr_taker {
    void (*take)(void *arg, const struct hr_final_piece *piece);
    void *arg;
    /* What it reads and writes then, arrays with the same indices, which are fetched meanwhile;
     * NULL behind the last. */
    const float *beside[HR_TAKER_BESIDE];
};

#endif

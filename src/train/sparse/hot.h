/* hot.h - a worker's own copies of the weights that most rows have.
 *
 *   Story    the most frequent features have the first places and are in nearly every row, so
 *            between two rows of a worker another has mostly written them, and their cache lines
 *            would go back and forth. So a worker reads and updates copies of its own. Every
 *            HR_SPARSE_HOT_ROWS rows it adds their changes to the shared weights, and copies those:
 *            an update of them is at most so many rows of each worker late.
 *   Merge    shared += mine - read, then mine = read = shared: one relaxed load and store a weight.
 *            Another's merge between the two is lost, and sampled as all lost updates are.
 *   Who      several workers with solver sgd and without a lock (--solver sgd:N). Else count is 0,
 *            and all calls do nothing. One worker's bits are those of plain descent.
 *   Threads  a worker's own. Test: tests/unit/sparse/test_hot.c
 */
#ifndef HR_SPARSE_HOT_H
#define HR_SPARSE_HOT_H

#include "sparse/weights.h"

struct hr_sparse_hot {
    size_t count;                         /* places [0, count) */
    struct hr_atom32 mine[HR_SPARSE_HOT]; /* private: atoms so that weights.h takes them */
    float read[HR_SPARSE_HOT];            /* of the shared weights, at the last merge */
};

/* How many pairs of a row are hot: they come first. */
static inline struct hr_sparse_row hr_sparse_hot_part(const struct hr_sparse_hot *hot,
                                                      struct hr_sparse_row row)
{
    size_t k = 0;
    while (k < row.count && row.pairs[k].column < hot->count)
        k++;
    return (struct hr_sparse_row){row.pairs, k};
}

/* Copies of `count` of these weights, at most HR_SPARSE_HOT. */
static inline void hr_sparse_hot_read(struct hr_sparse_hot *hot, const struct hr_atom32 *weights,
                                      size_t count)
{
    hot->count = count;
    for (size_t f = 0; f < count; f++) {
        hot->read[f] = hr_hogwild_load_float_relaxed(&weights[f]);
        hr_hogwild_store_float_relaxed(&hot->mine[f], hot->read[f]);
    }
}

/* Returns how many merges of others it overwrote; counts them only if asked to. */
static inline uint64_t hr_sparse_hot_merge(struct hr_sparse_hot *hot, struct hr_atom32 *weights,
                                           bool looking)
{
    uint64_t lost = 0;
    for (size_t f = 0; f < hot->count; f++) {
        const float moved = hr_hogwild_load_float_relaxed(&hot->mine[f]) - hot->read[f];
        const float old = hr_hogwild_load_float_relaxed(&weights[f]), next = old + moved;
        if (looking)
            lost += (uint64_t)hr_hogwild_exchange_float_relaxed(&weights[f], old, next);
        else
            hr_hogwild_store_float_relaxed(&weights[f], next);
        hr_hogwild_store_float_relaxed(&hot->mine[f], next);
        hot->read[f] = next;
    }
    return lost;
}

#endif

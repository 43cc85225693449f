/* takes.h - a taker (products/taker.h) that puts what it takes where it belongs, each once. */
#ifndef SUPPORT_TAKES_H
#define SUPPORT_TAKES_H

#include <math.h>
#include <string.h>

#include "products/taker.h"
#include "support/check.h"

/* at[i] was what no sum is before element i was taken. */
struct takes {
    float *at;
    size_t count, pieces;
};

static inline void takes_take(void *arg, const struct hr_final_piece *piece)
{
    struct takes *takes = arg;
    takes->pieces++;
    for (size_t i = 0; i < piece->rows; i++)
        for (size_t j = 0; j < piece->columns; j++) {
            const size_t index = piece->begin + i * piece->step + j;
            float *value = &piece->values[i * piece->stride + j];
            assert_true(index < takes->count);
            assert_memory_equal(&takes->at[index], "\x7f\x7f\x7f\x7f", sizeof *value);
            takes->at[index] = *value;
            *value = NAN; /* it may write there */
        }
}

/* Of so many floats at `at`, all unlike any sum; `beside`: as many. */
static inline struct hr_taker takes_into(struct takes *takes, float *at, size_t count,
                                         const float *beside)
{
    *takes = (struct takes){at, count, 0};
    memset(at, 0x7f, count * sizeof *at);
    return (struct hr_taker){takes_take, takes, {beside, beside, beside}};
}

#endif

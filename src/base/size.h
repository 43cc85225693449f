/* size.h - sizes that are checked before memory is taken: no product or sum of sizes wraps. */
#ifndef HR_BASE_SIZE_H
#define HR_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a * b; false (and *out untouched) when that does not fit. */
static inline bool hr_size_mul(size_t a, size_t b, size_t *out)
{
    size_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

/* *out = a + b; false (and *out untouched) when that does not fit. */
static inline bool hr_size_add(size_t a, size_t b, size_t *out)
{
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

/* n rounded up to a multiple of `align`, a power of two. The caller knows that it fits. */
static inline size_t hr_round_up(size_t n, size_t align)
{
    return (n + align - 1) & ~(align - 1);
}

static inline size_t hr_min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t hr_max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Where part `index` of `count` begins when n things are split into parts that differ by at most
 * one: part i is [hr_split_begin(n, count, i), hr_split_begin(n, count, i + 1)). */
static inline size_t hr_split_begin(size_t n, size_t count, size_t index)
{
    const size_t quotient = n / count, remainder = n % count;
    return quotient * index + (index < remainder ? index : remainder);
}

#endif

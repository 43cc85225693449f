/* sampler.h - the order of samples, a pure function of (seed, epoch, position).
 *
 * Each epoch is a permutation of [0, count): every sample once, whoever asks, in any order of
 * asking. There is no state, so nothing needs to be reset, saved or agreed on.
 *
 * How: a Feistel network over the smallest even number of bits that holds `count`, its round keys
 * from Philox(seed, epoch); a value outside [0, count) is sent through again (cycle walking), which
 * keeps it a bijection (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).
 *
 * Threads: pure. Test: tests/unit/data/test_sampler.c
 */
#ifndef HR_DATA_SAMPLER_H
#define HR_DATA_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

enum { HR_SAMPLER_ROUNDS = 8 };

/* One epoch's order; a plain value, cheap to make (once per epoch, not per batch). */
struct hr_sampler {
    uint32_t count;
    uint32_t half_bits;
    uint32_t keys[HR_SAMPLER_ROUNDS];
};

/* The order of epoch `epoch` over `count` samples, 1 <= count < 2^31. */
struct hr_sampler hr_sampler_of(uint64_t seed, uint64_t epoch, size_t count);

/* Another one, of a window of samples that has this number, below 2^31 (order.h). */
struct hr_sampler hr_sampler_within(uint64_t seed, uint64_t epoch, uint32_t window, size_t count);

/* Samples at positions first .. first + n - 1 of the order; first + n <= count. */
void hr_sampler_fill(const struct hr_sampler *sampler, size_t first, size_t n, uint32_t *samples);

#endif

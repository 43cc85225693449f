#include "data/sampler.h"

#include "base/error.h"
#include "base/philox.h"

/* Smallest h >= 1 with 2^(2h) >= count. */
static uint32_t half_bits_of(uint32_t count)
{
    uint32_t half = 1;
    while ((uint64_t)1 << (2 * half) < count)
        half++;
    return half;
}

/* Keys are blocks `sequence` and following of the stream. */
static struct hr_sampler sampler_of(uint64_t seed, enum hr_random_stream stream, uint64_t epoch,
                                    uint32_t sequence, size_t count)
{
    HR_ASSERT(count >= 1 && count < (size_t)1 << 31);
    struct hr_sampler sampler = {(uint32_t)count, half_bits_of((uint32_t)count), {0}};
    for (uint32_t i = 0; i < HR_SAMPLER_ROUNDS; i += 4) {
        const struct hr_philox block = hr_random_block(seed, stream, epoch, sequence + i / 4);
        for (uint32_t j = 0; j < 4; j++)
            sampler.keys[i + j] = block.v[j];
    }
    return sampler;
}

struct hr_sampler hr_sampler_of(uint64_t seed, uint64_t epoch, size_t count)
{
    return sampler_of(seed, HR_STREAM_SHUFFLE, epoch, 0, count);
}

struct hr_sampler hr_sampler_within(uint64_t seed, uint64_t epoch, uint32_t window, size_t count)
{
    return sampler_of(seed, HR_STREAM_WINDOW, epoch, HR_SAMPLER_ROUNDS / 4 * window, count);
}

/* A hash of (half, key); the top bits are the best ones. */
static inline uint32_t round_value(uint32_t half, uint32_t key, uint32_t bits)
{
    const uint32_t x = (half + key) * 0x9e3779b1u;
    return (x ^ x >> 15) * 0x85ebca6bu >> (32 - bits);
}

/* A bijection of [0, 2^(2 * half_bits)), whatever round_value is. */
static inline uint32_t encrypt(const struct hr_sampler *sampler, uint32_t value)
{
    const uint32_t bits = sampler->half_bits;
    uint32_t left = value >> bits, right = value & ((1u << bits) - 1);
    for (int i = 0; i < HR_SAMPLER_ROUNDS; i++) {
        const uint32_t next = left ^ round_value(right, sampler->keys[i], bits);
        left = right;
        right = next;
    }
    return left << bits | right;
}

void hr_sampler_fill(const struct hr_sampler *sampler, size_t first, size_t n, uint32_t *samples)
{
    HR_ASSERT(first <= sampler->count && n <= sampler->count - first);
    const struct hr_sampler order = *sampler; /* a copy, so that no store can change a key */
    /* Two loops: the first has no data-dependent branch, so that samples overlap in the pipeline.
     * */
    for (size_t i = 0; i < n; i++)
        samples[i] = encrypt(&order, (uint32_t)(first + i));
    for (size_t i = 0; i < n; i++)
        while (samples[i] >= order.count) /* ends: the cycle leads back to first + i < count */
            samples[i] = encrypt(&order, samples[i]);
}

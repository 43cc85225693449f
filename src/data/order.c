#include "data/order.h"

#include "base/error.h"
#include "base/philox.h"
#include "base/size.h"
#include "hogring/data.h"

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

/* --- of an epoch --- */

struct hr_order hr_order_of(uint64_t seed, uint64_t epoch, size_t count, size_t window)
{
    struct hr_order order = {.seed = seed, .epoch = epoch, .count = (uint32_t)count};
    if (window == 0 || window >= count) {
        order.sampler = hr_sampler_of(seed, epoch, count);
        return order;
    }
    const struct hr_philox draw = hr_random_block(seed, HR_STREAM_WINDOW, epoch, UINT32_MAX);
    order.window = (uint32_t)window;
    order.whole = (uint32_t)(count / window);
    order.start = (uint32_t)(((uint64_t)draw.v[0] << 32 | draw.v[1]) % count);
    order.sampler = hr_sampler_of(seed, epoch, order.whole);
    return order;
}

struct hr_order_window hr_order_window(const struct hr_order *order, size_t position)
{
    const uint32_t at = (uint32_t)(position / order->window);
    uint32_t which = order->whole; /* the short one */
    HR_ASSERT(position < order->count);
    if (at < order->whole)
        hr_sampler_fill(&order->sampler, at, 1, &which);
    const uint64_t begin = (uint64_t)which * order->window;
    return (struct hr_order_window){
        .first = at * order->window,
        .count = (uint32_t)hr_min_size(order->window, order->count - begin),
        .sample = (uint32_t)((order->start + begin) % order->count),
    };
}

/* The samples of a window, at positions [from, from + n) of it. */
static void fill_within(const struct hr_order *order, const struct hr_order_window *window,
                        size_t from, size_t n, uint32_t *samples)
{
    const struct hr_sampler within =
        sampler_of(order->seed, HR_STREAM_WINDOW, order->epoch,
                   HR_SAMPLER_ROUNDS / 4 * window->sample, window->count);
    hr_sampler_fill(&within, from, n, samples);
    for (size_t i = 0; i < n; i++) {
        const uint32_t sample = window->sample + samples[i]; /* both are below 2^31 */
        samples[i] = sample < order->count ? sample : sample - order->count;
    }
}

void hr_order_fill(const struct hr_order *order, size_t first, size_t n, uint32_t *samples)
{
    HR_ASSERT(first <= order->count && n <= order->count - first);
    if (!order->window) {
        hr_sampler_fill(&order->sampler, first, n, samples);
        return;
    }
    for (size_t done = 0; done < n;) {
        const struct hr_order_window window = hr_order_window(order, first + done);
        const size_t from = first + done - window.first;
        const size_t here = hr_min_size(n - done, window.count - from);
        fill_within(order, &window, from, here, samples + done);
        done += here;
    }
}

enum hr_status hr_dataset_order_in_windows(uint64_t seed, uint64_t epoch, size_t count,
                                           size_t window, size_t first, size_t n, uint32_t *samples)
{
    if (count < 1 || count >= (size_t)1 << 31 || first > count || n > count - first ||
        (n && !samples))
        return hr_fail(HR_E_USAGE, "samples %zu to %zu of an epoch of %zu%s: there are none", first,
                       first + n, count, n && !samples ? " to NULL" : "");
    const struct hr_order order = hr_order_of(seed, epoch, count, window);
    hr_order_fill(&order, first, n, samples);
    return HR_OK;
}

enum hr_status hr_dataset_order(uint64_t seed, uint64_t epoch, size_t count, size_t first, size_t n,
                                uint32_t *samples)
{
    return hr_dataset_order_in_windows(seed, epoch, count, 0, first, n, samples);
}

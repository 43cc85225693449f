#include "data/order.h"

#include "base/error.h"
#include "base/philox.h"
#include "base/size.h"
#include "hogring/data.h"

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
        hr_sampler_within(order->seed, order->epoch, window->sample, window->count);
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

#include "report/remaining.h"

#include <math.h>

struct mean {
    double sum;
    size_t n;
};

static double an_epoch(const struct hr_remaining *remaining, size_t i, double seconds)
{
    return seconds / fmax(remaining->epochs[i], 1);
}

/* Of the runs of one entry: what an epoch took; `now` is under way. */
static struct mean of_entry(const struct hr_remaining *remaining, size_t entry, size_t now,
                            double now_s)
{
    struct mean mean = {0};
    for (size_t i = entry; i < remaining->n; i += remaining->per_seed) {
        const double seconds = i == now ? now_s : remaining->seconds[i];
        if (!(seconds > 0) || !isfinite(seconds))
            continue;
        mean.sum += an_epoch(remaining, i, seconds);
        mean.n++;
    }
    return mean;
}

double hr_remaining_expect(const struct hr_remaining *remaining, size_t i)
{
    const struct mean one = of_entry(remaining, i % remaining->per_seed, i, 0);
    return one.sum / (double)one.n * fmax(remaining->epochs[i], 1); /* 0 / 0: unknown */
}

double hr_remaining_after(const struct hr_remaining *remaining, size_t now, double now_s)
{
    struct mean all = {0};
    double seconds = 0;
    for (size_t e = 0; e < remaining->per_seed; e++) {
        const struct mean one = of_entry(remaining, e, now, now_s);
        all.sum += one.n ? one.sum / (double)one.n : 0;
        all.n += one.n > 0;
    }
    for (size_t i = now + 1; i < remaining->n; i++) {
        if (remaining->spared[i])
            continue;
        struct mean one = of_entry(remaining, i % remaining->per_seed, now, now_s);
        one = one.n ? one : all;
        seconds += one.sum / (double)one.n * fmax(remaining->epochs[i], 1); /* 0 / 0: unknown */
    }
    return seconds;
}

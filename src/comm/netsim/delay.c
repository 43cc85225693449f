#include "netsim/delay.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "netsim/portable_math.h"

/* --- times as text */

void hr_ps_text(int64_t ps, char out[HR_PS_TEXT])
{
    static const struct {
        const char *name;
        int64_t ps;
        int digits;
    } units[] = {
        {"s", 1000000000000, 12}, {"ms", 1000000000, 9}, {"us", 1000000, 6}, {"ns", 1000, 3}};
    size_t unit = 0;
    while (unit < 3 && ps < units[unit].ps && ps > 0)
        unit++;
    int length = snprintf(out, HR_PS_TEXT, "%" PRId64, ps / units[unit].ps);
    if (ps % units[unit].ps) {
        length += snprintf(out + length, HR_PS_TEXT - (size_t)length, ".%0*" PRId64,
                           units[unit].digits, ps % units[unit].ps);
        while (out[length - 1] == '0')
            length--;
    }
    snprintf(out + length, HR_PS_TEXT - (size_t)length, "%s", units[unit].name);
}

/* Seventeen digits are always enough; fewer are easier to read. */
static void number_text(double value, char out[HR_PS_TEXT])
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(out, HR_PS_TEXT, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            return;
    }
}

void hr_delay_text(const struct hr_delay *delay, char out[HR_DELAY_TEXT])
{
    char time[HR_PS_TEXT], high[HR_PS_TEXT], shape[HR_PS_TEXT];
    hr_ps_text(delay->time_ps, time);
    hr_ps_text(delay->high_ps, high);
    number_text(delay->shape, shape);
    switch (delay->kind) {
    case HR_DELAY_CONSTANT:
        snprintf(out, HR_DELAY_TEXT, "constant(%s)", time);
        break;
    case HR_DELAY_UNIFORM:
        snprintf(out, HR_DELAY_TEXT, "uniform(%s, %s)", time, high);
        break;
    case HR_DELAY_EXPONENTIAL:
        snprintf(out, HR_DELAY_TEXT, "exponential(%s)", time);
        break;
    case HR_DELAY_LOGNORMAL:
        snprintf(out, HR_DELAY_TEXT, "lognormal(%s, %s)", time, shape);
        break;
    case HR_DELAY_PARETO:
        snprintf(out, HR_DELAY_TEXT, "pareto(%s, %s)", time, shape);
        break;
    case HR_DELAY_TRACE:
        snprintf(out, HR_DELAY_TEXT, "trace:%s", delay->path);
        break;
    }
}

/* --- what is drawn */

static int64_t cut(double ps)
{
    return ps < (double)HR_PS_NEVER ? (int64_t)floor(ps + 0.5) : HR_PS_NEVER;
}

/* In (0, 1): the middle of one of 2^52 equal parts, exact. */
static double unit_of(uint64_t word)
{
    return ((double)(word >> 12) + 0.5) * 0x1p-52;
}

/* The upper 44 bits times at most 2^20 fit. */
static size_t index_of(uint64_t word, size_t n)
{
    return (size_t)((word >> 20) * n >> 44);
}

int64_t hr_delay_ps(const struct hr_delay *delay, uint64_t seed, size_t rank, uint64_t step)
{
    const double time = (double)delay->time_ps;
    if (delay->kind == HR_DELAY_CONSTANT)
        return delay->time_ps;
    const struct hr_philox block = hr_random_block(seed, HR_STREAM_DELAY, step, (uint32_t)rank);
    const uint64_t word = (uint64_t)block.v[0] << 32 | block.v[1];
    const double u = unit_of(word);
    switch (delay->kind) {
    case HR_DELAY_CONSTANT:
        break;
    case HR_DELAY_UNIFORM:
        return cut(time + (double)(delay->high_ps - delay->time_ps) * u);
    case HR_DELAY_EXPONENTIAL:
        return cut(time * -hr_portable_log(u));
    case HR_DELAY_LOGNORMAL:
        return cut(time * hr_portable_exp(delay->shape * hr_portable_normal_quantile(u)));
    case HR_DELAY_PARETO:
        return cut(time * hr_portable_exp(-hr_portable_log(u) / delay->shape));
    case HR_DELAY_TRACE:
        return delay->samples[index_of(word, delay->nsamples)];
    }
    return delay->time_ps;
}

/* Quotients and remainders apart, so that no sum is too large. */
static int64_t mean_of_samples(const int64_t *samples, size_t n)
{
    const int64_t count = (int64_t)n;
    int64_t whole = 0, rest = 0;
    for (size_t i = 0; i < n; i++) {
        whole += samples[i] / count;
        rest += samples[i] % count;
    }
    return whole + (rest + count / 2) / count;
}

int64_t hr_delay_mean_ps(const struct hr_delay *delay)
{
    const double time = (double)delay->time_ps, shape = delay->shape;
    switch (delay->kind) {
    case HR_DELAY_CONSTANT:
    case HR_DELAY_EXPONENTIAL:
        break;
    case HR_DELAY_UNIFORM:
        return cut((time + (double)delay->high_ps) / 2);
    case HR_DELAY_LOGNORMAL:
        return cut(time * hr_portable_exp(shape * shape / 2));
    case HR_DELAY_PARETO:
        return cut(time * (shape / (shape - 1)));
    case HR_DELAY_TRACE:
        return mean_of_samples(delay->samples, delay->nsamples);
    }
    return delay->time_ps;
}

void hr_delay_fini(struct hr_delay *delay)
{
    free(delay->path);
    free(delay->samples);
    *delay = (struct hr_delay){0};
}

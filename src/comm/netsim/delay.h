/* delay.h - how long something takes, as a model: every duration a pure function of
 * (seed, rank, step).
 *
 * Text:      10ms, constant(10ms)     always that
 *            uniform(5ms, 15ms)       between these two, all alike
 *            exponential(10ms)        its mean
 *            lognormal(10ms, 0.3)     its median, and the standard deviation of its logarithm; the
 *                                     mean is median x exp(sigma^2 / 2), here 10.46ms
 *            pareto(10ms, 2.5)        its minimum m and its shape a > 1; the mean is m a / (a - 1)
 *            trace:FILE               drawn, all alike and with repetition, from the durations in
 *                                     FILE: one per line, with its unit (9.8ms); # begins a
 *                                     comment. The order of the file has no meaning: a draw is a
 *                                     function of (seed, rank, step) too.
 *            Times are those of base/parse.h (a unit is needed, but for 0), at most 24h; blanks
 *            around the arguments do not matter.
 * Units:     whole picoseconds, as in topology.h; what is longer than HR_PS_NEVER is cut to it.
 * Bits:      the numbers come from Philox, hr_portable_log and its like, so they are the same
 *            everywhere.
 * Two models in one run (computing and serving) draw the same numbers from the same seed: give each
 * a seed of its own (hr_delay_seed).
 * Threads:   const after parse.
 * Test:      tests/unit/netsim/test_delay.c, test_delay_fit.c
 */
#ifndef HR_NETSIM_DELAY_H
#define HR_NETSIM_DELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "netsim/topology.h"

enum { HR_DELAY_SAMPLES = 1 << 20, HR_DELAY_TEXT = 4096 + 16, HR_PS_TEXT = 40 };

enum hr_delay_kind {
    HR_DELAY_CONSTANT,
    HR_DELAY_UNIFORM,
    HR_DELAY_EXPONENTIAL,
    HR_DELAY_LOGNORMAL,
    HR_DELAY_PARETO,
    HR_DELAY_TRACE
};

/* All zero: constant(0). */
struct hr_delay {
    enum hr_delay_kind kind;
    int64_t time_ps;  /* value, lower end, mean, median, minimum */
    int64_t high_ps;  /* uniform: upper end */
    double shape;     /* lognormal: sigma; pareto: a */
    char *path;       /* trace: owned */
    int64_t *samples; /* (nsamples) trace: owned, in the order of the file */
    size_t nsamples;
};

/* Read a model. HR_E_USAGE: "<where><text>: expected ..."; of the file HR_E_FORMAT
 * ("file:line: ..."), HR_E_IO, HR_E_NOMEM. On error *out is untouched. */
HR_CHECKED enum hr_status hr_delay_parse(const char *where, const char *text, struct hr_delay *out);

/* Harmless on a zeroed struct. */
void hr_delay_fini(struct hr_delay *delay);

/* How long step `step` of rank `rank` takes. 0 to HR_PS_NEVER. */
int64_t hr_delay_ps(const struct hr_delay *delay, uint64_t seed, size_t rank, uint64_t step);

/* The model as text that hr_delay_parse reads back to the same model. */
void hr_delay_text(const struct hr_delay *delay, char out[HR_DELAY_TEXT]);

/* A seed for use number `use` of a run with this seed: 0 is the seed itself. */
static inline uint64_t hr_delay_seed(uint64_t seed, unsigned use)
{
    return seed + use * UINT64_C(0x9E3779B97F4A7C15);
}

/* --- times as text --- */

/* 10ms, 1.5s, ...: at most 24h. False, and *ps untouched, when the whole text is not such a time.
 */
bool hr_ps_parse(const char *text, int64_t *ps);

/* The shortest exact text: "10ms", "0.25ns"; "0s". */
void hr_ps_text(int64_t ps, char out[HR_PS_TEXT]);

/* === measured durations as a model: the lognormal that is nearest, and how near it is ===
 *
 * Fit:       mean and standard deviation of the logarithms (the most likely ones).
 * Good:      no more than 0.05 from the measured distribution (Kolmogorov-Smirnov), and the means
 *            differ by no more than 2 %: the second because rare long ones make up the time of a
 *            step and hardly move the distance. Otherwise the durations themselves are the better
 *            model: trace:FILE. */

struct hr_delay_fit {
    struct hr_delay delay; /* lognormal; nothing to free */
    double distance;       /* 0 to 1 */
    double mean_ns;        /* measured */
    double mean_off;       /* of the model, relative: 0.01 is 1 % too long */
    bool good;
};

/* Fit to ns (n > 0), durations in nanoseconds, which are sorted. What is below 1 counts as 1. The
 * model is in whole nanoseconds, its sigma of five digits. */
struct hr_delay_fit hr_delay_fit(double *ns, size_t n);

/* === log, exp and the normal quantile with the same bits on every machine ===
 *
 * The C library's log and exp may differ in the last bit from one version to the next, and virtual
 * time must not. These use + - * / and sqrt alone, which IEEE 754 rounds exactly (and exact
 * scaling by powers of two); hogring is compiled without contraction. Within a few units of the
 * last place of the true value, which is more than a simulated duration needs. */

/* Of x > 0, finite and normal. */
double hr_portable_log(double x);

/* Of any x: 0 below -700, the largest finite number above 700. */
double hr_portable_exp(double x);

/* The x below which a standard normal number lies with probability p, 0 < p < 1: Wichura,
 * "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37,
 * 1988 (PPND16, about 16 digits). */
double hr_portable_normal_quantile(double p);

#endif

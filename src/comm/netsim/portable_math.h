/* portable_math.h - log, exp and the normal quantile with the same bits on every machine.
 *
 * The C library's log and exp may differ in the last bit from one version to the next, and virtual
 * time must not. These use + - * / and sqrt alone, which IEEE 754 rounds exactly (and exact
 * scaling by powers of two); hogring is compiled without contraction. Within a few units of the
 * last place of the true value, which is more than a simulated duration needs.
 *
 * Threads: pure functions.
 * Test:    tests/unit/netsim/test_delay.c
 */
#ifndef HR_NETSIM_PORTABLE_MATH_H
#define HR_NETSIM_PORTABLE_MATH_H

/* Of x > 0, finite and normal. */
double hr_portable_log(double x);

/* Of any x: 0 below -700, the largest finite number above 700. */
double hr_portable_exp(double x);

/* The x below which a standard normal number lies with probability p, 0 < p < 1: Wichura,
 * "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37,
 * 1988 (PPND16, about 16 digits). */
double hr_portable_normal_quantile(double p);

#endif

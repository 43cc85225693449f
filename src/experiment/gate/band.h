/* band.h - is the mean of new runs where the old ones say that it will be?
 *
 * Asynchronous runs in real time have a few outcomes far below all others, when a worker was held
 * up at a bad moment: Student's interval of plain means raised a false alarm in one of ten gates.
 * So both samples are trimmed: of n values n/5, at least one, on each side are left out, and
 *
 *     the mean of the rest, now, is outside of the prediction interval of the old one's, which
 *     takes its spread from the baseline alone (Tukey's and McLaughlin's, by winsorized variance)
 *
 * and, which holds whatever the distribution is,
 *
 *     the rank-sum test of all values, old and new, is as sure as the level asks, or as it can
 *     be of so few (stats/rank_sum.h)
 *
 * have both to hold for an alarm. Two-sided, as a digest is: a change is a change, whichever way.
 * New runs have the baseline's seeds, so both are rather too careful than too rash.
 *
 * A count of m samples goes in steps of 1 / m: a few values may be equal by chance, so the spread
 * is taken to be half a step at least (`step`; 0: there are none).
 *
 * Threads: pure functions. Test: tests/unit/gate/test_judge.c, test_null.c
 * Source: J. W. Tukey and D. H. McLaughlin, "Less vulnerable confidence and significance procedures
 *     for location based on a single sample", Sankhya A 25, 1963. K. K. Yuen, Biometrika 61, 1974.
 */
#ifndef HR_GATE_BAND_H
#define HR_GATE_BAND_H

#include <stdbool.h>
#include <stddef.h>

#include "stats/spread.h"

enum { HR_GATE_SEEDS_LEAST = 5 };
#define HR_GATE_POWER 0.8

struct hr_gate_band {
    double mean, sd; /* of the baseline: trimmed, and that of one value, with the floor of a step */
    size_t n, k;     /* values there, and new ones */
    size_t kept;     /* of n, when trimmed */
    double now;      /* trimmed mean of the new ones */
    double level;    /* the chance of a false alarm */
    double p;        /* of the ranks */
    struct hr_interval interval;
    bool outside; /* also where a new value is no number */
};

/* n and k of at least HR_GATE_SEEDS_LEAST; sorts both. */
struct hr_gate_band hr_gate_band_of(double *seen, size_t n, double *fresh, size_t k, double step,
                                    double level);

/* The change of the mean that is noticed with the chance HR_GATE_POWER, as far as the baseline's
 * spread is the true one and values are normal. Of values with long tails, on one side or on both,
 * it is noticed in 70 % or more: the ranks then are less sure than the band. */
double hr_gate_band_told(const struct hr_gate_band *band);

#endif

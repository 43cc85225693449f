/* judge.h - are the new runs what the baseline says? One rule per strategy, and it is named.
 *
 *   digests   where a run's bits repeat, and this machine has the baseline's: every seed's weights
 *             have the digest that they had. Equal digests need no such machine: they are proof.
 *   band      else: the means of accuracy (of values: rmse) and loss over the seeds are where the
 *             baseline's seeds, 5 at least, say that they will be, and their ranks say so, too
 *   nothing   where there are fewer. That is said, and is no pass.
 *
 * All intervals together raise a false alarm in at most 1 % of gates: each has its equal share of
 * that (Bonferroni), and so has each test of speed (speed.h).
 *
 * Threads: none. Test: tests/unit/gate/test_judge.c, test_null.c
 */
#ifndef HR_GATE_JUDGE_H
#define HR_GATE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "gate/document.h"
#include "gate/place.h"
#include "stats/tests.h"

#define HR_GATE_FALSE_ALARMS 0.01
/* --- bands: is the mean of new runs where the old ones say that it will be? ---
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
 *     be of so few (stats/tests.h)
 *
 * have both to hold for an alarm. Two-sided, as a digest is: a change is a change, whichever way.
 * New runs have the baseline's seeds, so both are rather too careful than too rash.
 *
 * A count of m samples goes in steps of 1 / m: a few values may be equal by chance, so the spread
 * is taken to be half a step at least (`step`; 0: there are none).

 *
 * Source: J. W. Tukey and D. H. McLaughlin, "Less vulnerable confidence and significance procedures
 *     for location based on a single sample", Sankhya A 25, 1963. K. K. Yuen, Biometrika 61,
 *     1974. */

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
double hr_gate_band_detectable(const struct hr_gate_band *band);

/* --- judgements --- */

enum { HR_GATE_LABELS_MAX = 256, HR_GATE_METRICS = 2 };

enum hr_gate_rule { HR_GATE_BY_DIGESTS, HR_GATE_BY_BAND, HR_GATE_BY_NOTHING };
enum hr_gate_verdict { HR_GATE_PASSED, HR_GATE_FAILED, HR_GATE_NOT_JUDGED };

/* A figure that is judged by its band. */
struct hr_gate_metric {
    const char *name; /* "accuracy", "rmse", "loss" */
    struct hr_gate_band band;
};

/* A strategy: the runs of one label. */
struct hr_gate_strategy {
    const char *label; /* borrowed of the baseline */
    enum hr_gate_rule rule;
    enum hr_gate_verdict verdict;
    size_t seeds, fresh; /* of the baseline; of them that are among the new runs */
    size_t differ;       /* seeds whose digests differ */
    char seed[24];       /* the first of these, or the first that is missing */
    size_t nmetrics;
    struct hr_gate_metric metric[HR_GATE_METRICS];
    double speed[2]; /* mean samples/s: there, and now; NaN: not known. Never judged here */
    size_t tokens;   /* of a sample, of text; else 0 */
    char why[200];   /* the rule, or what was found, in words */
};

struct hr_gate_judgement {
    struct hr_gate_strategy *strategy; /* (n) owned */
    size_t n;
    size_t passed, failed, unjudged;
    size_t intervals; /* among which false alarms are shared: those of bands, and `speeds` */
    double level;     /* of each */
    const char *bits; /* what of the machine is another, as "isa"; "": the baseline does not say;
                         NULL: nothing */
};

/* Judge the new runs by the old ones; speeds: tests of speed that share the false alarms. `older`
 * is the baseline, or in its place the old program's runs of it on this machine. Which strategies
 * and seeds there are is the baseline's to say: what is not among older is not judged. Labels are
 * borrowed of it. HR_E_USAGE: they are of other data or options; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_gate_judge(const struct hr_gate_document *baseline,
                                        const struct hr_gate_document *older,
                                        const struct hr_gate_document *fresh, size_t speeds,
                                        struct hr_gate_judgement *out);
void hr_gate_judgement_free(struct hr_gate_judgement *judgement);

/* How many labels a document has. */
size_t hr_gate_nlabels(const struct hr_gate_document *document);

#endif

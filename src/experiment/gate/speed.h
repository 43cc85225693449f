/* speed.h - is the new binary slower than the old one? Both run the same, in turn, in pairs: what
 * the machine does meanwhile happens to both.
 *
 * Of each strategy and pair two ratios, new over old: of the run's seconds, and of the processor
 * time of all its threads, which a busy machine changes little. Of their logarithms the mean, and
 * Student's interval: slower is what is slower by more than `slower` with all but the chance
 * `level`, in seconds or in processor time. So noise makes the interval wide, and no alarm.
 *
 * Threads: none. Test: tests/unit/gate/test_findings.c, tests/cli/gate.bats
 */
#ifndef HR_GATE_SPEED_H
#define HR_GATE_SPEED_H

#include "gate/child.h"
#include "stats/tests.h"

enum { HR_GATE_PAIRS_LEAST = 3, HR_GATE_PAIRS_MAX = 1000 };
enum { HR_GATE_WALL, HR_GATE_CPU, HR_GATE_CLOCKS };

/* The pairs of a strategy. */
struct hr_gate_pairs {
    const char *label; /* borrowed of the baseline */
    size_t missing;    /* pairs that lack a run of it */
    size_t n[HR_GATE_CLOCKS];
    double *log_ratio[HR_GATE_CLOCKS]; /* (n, pairs) owned */
};

struct hr_gate_ratio {
    double mean; /* new over old, geometric; NaN: no pairs */
    struct hr_interval interval;
    bool slower;
};

/* level: the chance of each end of the interval, so that of a false alarm. slower: 0.2 for 20 %. */
struct hr_gate_ratio hr_gate_ratio_of(const double *log_ratio, size_t n, double level,
                                      double slower);

struct hr_gate_speeds {
    struct hr_gate_pairs *label; /* (nlabels) owned */
    size_t nlabels, pairs;
};

/* The pairs of a label; NULL: it has none. */
const struct hr_gate_pairs *hr_gate_pairs_find(const struct hr_gate_speeds *speeds,
                                               const char *label);

/* Run `pairs` pairs of one seed of the baseline; hr_gate_speeds_free them. Errors as
 * hr_gate_child_run. */
HR_CHECKED enum hr_status hr_gate_speeds_measure(const struct hr_gate_document *baseline,
                                                 const struct hr_gate_child *older,
                                                 const struct hr_gate_child *newer, size_t pairs,
                                                 struct hr_gate_speeds *out);
void hr_gate_speeds_free(struct hr_gate_speeds *speeds);

#endif

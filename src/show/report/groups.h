/* groups.h - runs that differ only in their seed are one row, one curve, one sample of a test.
 *
 *     struct hr_groups groups;
 *     HR_TRY(hr_groups_make(&groups, runs, n));
 *     ... groups.group[g].run[i] ...
 *     hr_groups_free(&groups);
 *
 * Groups are in the order of their first runs; runs of a group need not be neighbours. A repeated
 * seed opens a new group: the runs differed in something that the result does not tell.
 *
 * Threads: none. Test: tests/unit/report/test_groups.c
 */
#ifndef HR_REPORT_GROUPS_H
#define HR_REPORT_GROUPS_H

#include "base/error.h"
#include "hogring/train.h"
#include "options/metric.h"
#include "stats/tests.h"

struct hr_run_group {
    char label[160]; /* of its row, "allreduce direct", "ssp s=3"; differs from all others */
    const char
        *name; /* in sentences: its strategy, where no other group is of it; else the label */
    size_t n;  /* runs: seeds, with --orders each several times */
    const struct hr_run_result **run; /* (n) borrowed runs, in the order given */
    bool interrupted;                 /* any of them */
};

/* What its runs are counted in: a seed has one, but with --orders. */
static inline const char *hr_run_group_unit(const struct hr_run_group *group)
{
    return group->run[0]->event_order ? "runs" : group->run[0]->folds ? "folds" : "seeds";
}

struct hr_groups {
    size_t n, most; /* groups; runs in the largest */
    struct hr_run_group *group;
    const struct hr_run_result **runs; /* owned: behind the run[] of all groups */
};

HR_CHECKED enum hr_status hr_groups_make(struct hr_groups *groups, const struct hr_run_result *runs,
                                         size_t n);
void hr_groups_free(struct hr_groups *groups);
/* The label of the group that a run is in. */
const char *hr_groups_label(const struct hr_groups *groups, const struct hr_run_result *run);

/* One number of a run. For a resumed run: of the whole training, as far as it is known. */
typedef double hr_measure(const struct hr_run_result *run);
typedef hr_measure *hr_measure_fn;

/* Its spread over the group's runs; values that are NaN make the mean NaN. */
struct hr_spread hr_run_group_spread(const struct hr_run_group *group, hr_measure_fn measure);

/* The same of a metric, as it is on the test set. */
struct hr_spread hr_run_group_metric(const struct hr_run_group *group, enum hr_metric metric);

hr_measure hr_measure_accuracy;                                                   /* 0..1 */
hr_measure hr_measure_balanced_accuracy, hr_measure_macro_f1, hr_measure_roc_auc; /* the same */
hr_measure hr_measure_rate;                                                       /* samples/s */
hr_measure hr_measure_test_loss, hr_measure_train_loss, hr_measure_validation_accuracy,
    hr_measure_validation_loss, hr_measure_validation_rmse, hr_measure_seconds, hr_measure_updates,
    hr_measure_max_lead, hr_measure_dropped, hr_measure_resent, hr_measure_lr,
    hr_measure_effective_lr;
hr_measure hr_measure_rmse, hr_measure_mae, hr_measure_r2;  /* in the targets' own units */
hr_measure hr_measure_perplexity, hr_measure_bits_per_byte; /* of text */
hr_measure hr_measure_shown_rate;                           /* of text tokens/s (report/human.h) */
hr_measure hr_measure_stale_mean, hr_measure_stale_max;     /* NaN when nothing was counted */

/* Mean loss at the initial weights; NaN when they were not drawn at random. */
double hr_run_first_loss(const struct hr_run_result *run);
/* Mean training loss of the first epoch; NaN when it is not known. */
double hr_run_first_epoch_loss(const struct hr_run_result *run);

/* The earlier loss that a training loss ended above. */
struct hr_rise {
    double above;
    const char *what; /* "it began with" */
};

/* Did the training loss end above where it began, by more than chance: above the loss at the
 * initial weights, or above the first of several epochs? */
bool hr_run_rose(const struct hr_run_result *run, struct hr_rise *rise);
/* Did it end with nothing learned: after ten updates or more, training and last evaluation above
 * where training began, by more than chance, and above what guessing a class costs; and classes
 * told no better than by chance? What is called diverged is this, and numbers that are not finite:
 * both end with exit code 1 (watch/watch.h). Where a run began that was given weights is not known:
 * then it is its first of several epochs, and of classes alone. */
bool hr_run_diverged(const struct hr_run_result *run, struct hr_rise *rise);
/* How many runs of the group rose; how many of them diverged. */
size_t hr_run_group_rose(const struct hr_run_group *group);
size_t hr_run_group_diverged(const struct hr_run_group *group);

/* How many runs are no better than chance. */
size_t hr_run_group_chance(const struct hr_run_group *group);

/* How many runs of the group lost ranks; did all runs lose equally many? */
size_t hr_run_group_lost(const struct hr_run_group *group);
bool hr_groups_lost_alike(const struct hr_groups *groups);
/* Samples that were lost with ranks: scheduled, and never trained on. */
uint64_t hr_run_lost_samples(const struct hr_run_result *run);
/* Seconds in which a worker was lost, or was left over (--reduce repro): what its times leave of
 * the run's. 0 for those that never were. */
double hr_run_absent(const struct hr_run_result *run, size_t worker);

/* Seconds to the target over the runs that reached it: spread.n says how many did. */
struct hr_spread hr_run_group_target(const struct hr_run_group *group);

/* Hogwild's lost updates: the fraction of written weights that overwrote another worker's update,
 * and its 95 % interval. Pairs of a cache line are mostly lost together, so the interval counts
 * lines; with one worker it is 0. */
struct hr_lost_share {
    uint64_t lines, pairs, lost;
    double fraction, low, high;
};

/* That of the sample so far (zeroed to begin with) and of a run. */
struct hr_lost_share hr_lost_share_with(struct hr_lost_share share,
                                        const struct hr_run_result *run);

#endif

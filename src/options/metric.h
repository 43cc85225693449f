/* metric.h - what is measured on samples that are not trained on: its name, how people read it, and
 * which way is better. Whoever shows, compares or chooses by a figure asks this table.
 *
 *     loss       what is minimised             of all
 *     accuracy   share of right answers, 0..1  of classes
 *     balanced   balanced accuracy            of classes, as macro_f1, and roc_auc of two
 *                (session/class_scores.h)
 *     rmse, mae  in the targets' own units     of values (--task regress, --model linear and mf)
 *     r2         1: all of it is explained     of values
 *     perplexity e^loss                        of text, as bits_per_byte
 *
 * Threads: pure functions. Test: tests/unit/options/test_metric.c
 */
#ifndef HR_OPTIONS_METRIC_H
#define HR_OPTIONS_METRIC_H

#include <stdbool.h>
#include <stddef.h>

#include "hogring/train.h"
#include "base/error.h"

enum hr_metric {
    HR_METRIC_LOSS,
    HR_METRIC_ACCURACY,
    HR_METRIC_BALANCED_ACCURACY,
    HR_METRIC_MACRO_F1,
    HR_METRIC_ROC_AUC,
    HR_METRIC_RMSE,
    HR_METRIC_MAE,
    HR_METRIC_R2,
    HR_METRIC_PERPLEXITY,
    HR_METRIC_BITS_PER_BYTE,
    HR_METRICS
};

/* What a model predicts of a sample. */
enum hr_predicted { HR_OF_CLASSES = 1, HR_OF_VALUES = 2, HR_OF_TEXT = 4 };

struct hr_metric_kind {
    const char *name;  /* in options and JSON: "accuracy" */
    const char *title; /* where a sentence begins with it: "Accuracy" */
    double scale;      /* people read scale times the value ... */
    const char *unit;  /* ... and this behind it: " %" */
    bool higher;       /* is better */
    unsigned of;       /* HR_OF_CLASSES and the like: where there is such a metric */
    size_t classes;    /* of so many alone; 0: of any number */
};

const struct hr_metric_kind *hr_metric_kind(enum hr_metric metric);

/* false: no metric has this name. */
bool hr_metric_parse(const char *name, enum hr_metric *out);

/* Is a better than b, by more than `margin`? Not where one of them is not a number. */
bool hr_metric_better(enum hr_metric metric, double a, double b, double margin);

/* What it was at an evaluation; NaN where it was not measured. */
double hr_metric_at(enum hr_metric metric, const struct hr_curve_point *point);
/* On the test set at the end of a run, and on its validation split. */
double hr_metric_of_test(enum hr_metric metric, const struct hr_run_result *run);
double hr_metric_of_validation(enum hr_metric metric, const struct hr_run_result *run);

static inline enum hr_predicted hr_predicted_of(const struct hr_dataset *dataset)
{
    return dataset->tokens.context  ? HR_OF_TEXT
           : dataset->targets.count ? HR_OF_VALUES
                                    : HR_OF_CLASSES;
}

enum hr_predicted hr_predicted_by(const struct hr_run_result *run);

/* The one that people look at first: accuracy, of values the rmse, of text the loss. */
static inline enum hr_metric hr_metric_of(enum hr_predicted of)
{
    return of == HR_OF_TEXT     ? HR_METRIC_LOSS
           : of == HR_OF_VALUES ? HR_METRIC_RMSE
                                : HR_METRIC_ACCURACY;
}
enum hr_metric hr_metric_of_run(const struct hr_run_result *run);

/* What the options ask a run to reach (--time-to), and of which metric; 0: nothing. */
struct hr_target {
    enum hr_metric metric;
    double value;
};
struct hr_target hr_target_asked(const struct hr_train_options *options);

/* "96.51 %", "0.4123": a value as people read it. */
struct hr_metric_text {
    char text[40];
};
struct hr_metric_text hr_metric_text(enum hr_metric metric, double value);
/* The same of one that a user gave: "97 %", "rmse 3.5". */
struct hr_metric_text hr_target_text(enum hr_metric metric, double target);

/* --- when it is enough ---
 * What --early-stop METRIC,PATIENCE[,MIN-DELTA] and --keep best=METRIC say.
 * Test:    tests/unit/session/test_best.c */

struct hr_early_stop {
    bool asked;
    enum hr_metric metric;
    size_t patience;  /* evaluations without an improvement after which it stops */
    double min_delta; /* what resets the patience improves by more than this */
};

/* "" asks for nothing. HR_E_USAGE: option, text, and what was expected. */
HR_CHECKED enum hr_status hr_early_stop_parse(const char *text, struct hr_early_stop *out);
/* Of --keep best=METRIC: never stops. */
HR_CHECKED enum hr_status hr_keep_best_parse(const char *text, struct hr_early_stop *out);

/* Is it measured of what is predicted, so many classes? HR_E_USAGE names `option`. */
HR_CHECKED enum hr_status hr_early_stop_fits(const struct hr_early_stop *rule, const char *option,
                                             enum hr_predicted of, size_t classes);

/* The same of sparse models: of classes, loss and accuracy are all that their blocks sum. */
HR_CHECKED enum hr_status hr_early_stop_fits_sparse(const struct hr_early_stop *rule,
                                                    const char *option, bool values);

/* `check` of their rows. */
HR_CHECKED enum hr_status hr_check_early_stop(const struct hr_train_options *options);
HR_CHECKED enum hr_status hr_check_keep_best(const struct hr_train_options *options);

#endif

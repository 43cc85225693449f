/* problem.h - the data in the layout of the solvers.
 *
 *   pair     a column and a value side by side: a row is one stream of memory
 *   value    logistic, svm: y x, so that a margin is y w.x and no label is looked at again;
 *            linear: x; mf: the rating minus the mean of all training ratings
 *   column   linear models: the feature's *place*. Features are placed by falling frequency, so
 *            those that most rows have share few cache lines; a row's places ascend. mf: the item
 *   decay    1 / (C d_f) of the feature at a place, d_f being the training rows that have it: a
 *            row's part of the regulariser, divided by C. At most `largest_decay`
 *
 * Memory: owned, private to the process (children read the copy they inherit).
 * Threads: read-only once made. Test: tests/unit/sparse/test_problem.c
 */
#ifndef HR_SPARSE_PROBLEM_H
#define HR_SPARSE_PROBLEM_H

#include "base/error.h"
#include "hogring/sparse.h"
#include "options/choices.h"
#include "session/target_scale.h"

struct hr_sparse_pair {
    uint32_t column;
    float value;
};

struct hr_sparse_rows {
    size_t count;
    uint64_t *begin;              /* (count + 1) */
    struct hr_sparse_pair *pairs; /* (begin[count]) */
    const uint32_t *labels;       /* (count) of the data set; mf: the user; linear: a target */
};

struct hr_sparse_problem {
    enum hr_sparse_model model;
    size_t features, users; /* mf: features are items; users is 0 for linear models */
    size_t factors;         /* mf */
    size_t params;          /* features, or (users + features) * factors */
    double cost;            /* C */
    float mean;             /* mf: of the training ratings */
    uint32_t *degree;       /* (users + features) training pairs of each, before placing */
    uint32_t *place;        /* but mf: (features) the place of each */
    float *decay;           /* (users + features), in place order */
    struct hr_sparse_rows train, test;
    struct hr_conflicts conflicts;
    /* linear: the data set's, and how they are learned, which the caller owns, and sets. */
    struct hr_targets targets;
    const struct hr_target_scale *scale;
};

/* HR_E_USAGE says why `model` cannot learn from these data. */
HR_CHECKED enum hr_status hr_sparse_problem_check(const char *model,
                                                  const struct hr_dataset *dataset);
/* Free in any case. */
HR_CHECKED enum hr_status hr_sparse_problem_make(const struct hr_train_options *options,
                                                 const struct hr_dataset *dataset,
                                                 float largest_decay,
                                                 struct hr_sparse_problem *out);
/* To test given weights: the test rows only, with places from the training rows. */
HR_CHECKED enum hr_status hr_sparse_problem_make_test(const char *model, size_t factors, float mean,
                                                      const struct hr_dataset *dataset,
                                                      struct hr_sparse_problem *out);
/* Harmless on a zeroed struct. */
void hr_sparse_problem_free(struct hr_sparse_problem *problem);

/* Does it predict values? */
static inline bool hr_sparse_is_of_values(enum hr_sparse_model model)
{
    return model == HR_SPARSE_LINEAR || model == HR_SPARSE_MF;
}

/* linear: what w.x has to be in a row with this label. */
static inline double hr_sparse_target(const struct hr_sparse_problem *p, uint32_t label)
{
    return (p->targets.values[label] - p->scale->mean[0]) / p->scale->deviation[0];
}

#endif

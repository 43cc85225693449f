/* target_scale.h - what a regression's model learns: (target - mean) / deviation, the training
 * samples' own, so that targets of any size and unit cost about 1 when nothing is known of them.
 *
 * What its outputs mean is kept in the model's file:
 *
 *     hogring.targets          how many: "2"
 *     hogring.target.0         "182.5 77.25 price": mean, deviation and name of the first; without
 *                              standardisation 0 and 1
 *
 * Mean and deviation (over n, not n - 1) are computed in double in two passes, in the order of the
 * samples: targets far from 0 lose nothing. A target is rounded to float when it has been scaled.
 *
 * Errors:  HR_E_USAGE: a target that is the same everywhere; HR_E_FORMAT, HR_E_NOMEM.
 * Threads: before the ranks start; then constant. Test: tests/unit/session/test_target_scale.c
 */
#ifndef HR_SESSION_TARGET_SCALE_H
#define HR_SESSION_TARGET_SCALE_H

#include <stdbool.h>

#include "base/error.h"
#include "hogring/checkpoint.h"
#include "hogring/data.h"
#include "hogring/run_result.h"

struct hr_target_scale {
    size_t count;             /* 0: classes are predicted, and all else is NULL */
    double *mean, *deviation; /* (count) owned */
    char (*name)[64];         /* (count) owned; "" where there is no header */
    size_t rows;
    float *values; /* (rows, count) owned: the data set's targets, scaled; NULL: not made */
};

/* A run's, whose targets are scaled: those of its training samples (`standard` false: 0 and 1), or
 * where it goes on from a checkpoint, those that it began with. */
HR_CHECKED enum hr_status hr_target_scale_begin(const struct hr_dataset *dataset,
                                                const struct hr_checkpoint *checkpoint,
                                                bool standard, struct hr_target_scale *out);
/* Those that a model was trained with; count 0 where it predicts classes. */
HR_CHECKED enum hr_status hr_target_scale_get(const struct hr_checkpoint *checkpoint,
                                              struct hr_target_scale *out);
/* Scale the targets of a data set; HR_E_USAGE: it has another number of them. */
HR_CHECKED enum hr_status hr_target_scale_apply(const struct hr_dataset *dataset,
                                                struct hr_target_scale *scale);
/* Harmless on a zeroed struct. */
void hr_target_scale_free(struct hr_target_scale *scale);

/* How many metadata entries they take; and append them. */
size_t hr_target_scale_entries(const struct hr_target_scale *scale);
void hr_target_scale_put(const struct hr_target_scale *scale, struct hr_tensor_file *file);

/* "regress: mse of price (mean 350, deviation 120), rent (mean 12, deviation 4)", as much as fits.
 */
void hr_target_scale_text(const struct hr_target_scale *scale, const char *loss, char *text,
                          size_t size);

/* HR_E_USAGE unless both predict values, or both classes. */
HR_CHECKED enum hr_status hr_target_scale_same_task(const struct hr_checkpoint *checkpoint,
                                                    const struct hr_dataset *dataset);

/* What an output of target k means, in the target's own unit. */
static inline double hr_target_of_output(const struct hr_target_scale *scale, size_t k,
                                         float output)
{
    return scale->mean[k] + scale->deviation[k] * (double)output;
}

/* --- errors of what was predicted, in the targets' own units --- */

/* Add those of B samples, one after the other.
 *   outputs  (B, count) of the model
 *   labels   (B) rows of the data set's targets
 *   sums     (2, count) squared errors, absolute errors */
void hr_fit_add(const struct hr_target_scale *scale, const struct hr_targets *targets, size_t B,
                const float *outputs, const uint32_t *labels, double *sums);
/* All of a split, from such sums over all of its samples.
 *   each  (count) out, or NULL
 * Returns the means over the targets, as scikit-learn's "uniform_average". */
struct hr_fit hr_fit_of(const struct hr_targets *targets, const struct hr_split *split,
                        const double *sums, struct hr_fit *each);

#endif

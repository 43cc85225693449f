/* meaning.h - what a model's outputs mean: probabilities, scores or values.
 *
 *   cross-entropy        p = softmax(x)
 *   bce, logistic        p = sigmoid(x) of each class; of a single output 1 - p and p
 *   mse, svm             scores: x as it is
 *   mf, --task regress   values, which the evaluation gives in the targets' own units (doubles)
 * Probabilities are computed in double and rounded once.
 *
 * Threads: pure. Test: tests/unit/predict/test_meaning.c
 */
#ifndef HR_PREDICT_MEANING_H
#define HR_PREDICT_MEANING_H

#include <stddef.h>

#include "hogring/predict.h"
#include "nn/model.h"

struct hr_meaning {
    enum hr_prediction_kind kind;
    enum hr_loss_kind loss; /* of probabilities: cross-entropy or bce */
    size_t outputs;         /* of the model */
    size_t columns;         /* numbers that they become */
};

/* Of a model's text, its loss, and the values that it predicts of a sample (0: classes). */
struct hr_meaning hr_meaning_of(const char *model, enum hr_loss_kind loss, size_t outputs,
                                size_t values);

/* Of probabilities and scores: outputs (count, outputs) in, columns (count, columns) out. */
void hr_meaning_apply(const struct hr_meaning *meaning, size_t count, const float *outputs,
                      float *columns);

/* ranked (n) out, n at most the columns: those of a row x (columns) from the largest on, the first
 * of equals first; not a number: last. */
void hr_meaning_rank(const float *x, size_t columns, size_t n, size_t *ranked);

#endif

#include "predict/meaning.h"

#include <math.h>
#include <string.h>

#include "hogring/sparse.h"
#include "options/choices.h"

struct hr_meaning hr_meaning_of(const char *model, enum hr_loss_kind loss, size_t outputs,
                                size_t values)
{
    struct hr_meaning meaning = {
        .kind = loss == HR_LOSS_MSE ? HR_PREDICT_SCORES : HR_PREDICT_PROBABILITIES,
        .loss = loss,
        .outputs = outputs,
        .columns = outputs,
    };
    if (values) {
        meaning.kind = HR_PREDICT_VALUES;
    } else if (hr_sparse_is_model(model)) {
        const enum hr_sparse_model which = hr_sparse_model_of(model);
        meaning.loss = HR_LOSS_BCE;
        meaning.kind = which == HR_SPARSE_MF    ? HR_PREDICT_VALUES
                       : which == HR_SPARSE_SVM ? HR_PREDICT_SCORES
                                                : HR_PREDICT_PROBABILITIES;
    }
    if (meaning.kind == HR_PREDICT_PROBABILITIES && meaning.loss == HR_LOSS_BCE && outputs == 1)
        meaning.columns = 2;
    return meaning;
}

/* x, p (n) */
static void softmax(size_t n, const float *x, float *p)
{
    double largest = -HUGE_VAL, sum = 0;
    for (size_t c = 0; c < n; c++)
        largest = (double)x[c] > largest ? (double)x[c] : largest;
    for (size_t c = 0; c < n; c++)
        sum += exp((double)x[c] - largest);
    for (size_t c = 0; c < n; c++)
        p[c] = (float)(exp((double)x[c] - largest) / sum);
}

static float sigmoid(float x)
{
    return (float)(1 / (1 + exp(-(double)x)));
}

static void apply_row(const struct hr_meaning *meaning, const float *x, float *p)
{
    if (meaning->kind != HR_PREDICT_PROBABILITIES) {
        memcpy(p, x, meaning->outputs * sizeof *p);
    } else if (meaning->loss == HR_LOSS_CROSS_ENTROPY) {
        softmax(meaning->outputs, x, p);
    } else if (meaning->outputs == 1) {
        p[0] = sigmoid(-x[0]);
        p[1] = sigmoid(x[0]);
    } else {
        for (size_t c = 0; c < meaning->outputs; c++)
            p[c] = sigmoid(x[c]);
    }
}

void hr_meaning_apply(const struct hr_meaning *meaning, size_t count, const float *outputs,
                      float *columns)
{
    for (size_t i = 0; i < count; i++)
        apply_row(meaning, outputs + i * meaning->outputs, columns + i * meaning->columns);
}

static bool is_before(float a, float b)
{
    return isnan(b) ? !isnan(a) : a > b;
}

void hr_meaning_rank(const float *x, size_t columns, size_t n, size_t *ranked)
{
    size_t have = 0;
    for (size_t c = 0; c < columns; c++) {
        size_t at = have;
        while (at > 0 && is_before(x[c], x[ranked[at - 1]]))
            at--;
        if (at == n)
            continue;
        have += have < n;
        memmove(&ranked[at + 1], &ranked[at], (have - at - 1) * sizeof *ranked);
        ranked[at] = c;
    }
}

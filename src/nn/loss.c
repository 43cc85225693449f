#include "nn/loss.h"

#include <math.h>
#include <string.h>

#include "kernels/rows.h"

struct row {
    float loss;
    uint32_t answer; /* HR_NO_CLASS when an output is not a number */
};

static struct row row_of(float loss, float sum, size_t answer)
{
    return (struct row){loss, isnan(sum) ? HR_NO_CLASS : (uint32_t)answer};
}

static size_t first_largest(size_t C, const float *x)
{
    size_t best = 0;
    for (size_t c = 1; c < C; c++)
        if (x[c] > x[best])
            best = c;
    return best;
}

/* The part of the loss and the gradient that comes from smoothing: targets are s / C everywhere,
 * and (1 - s) more for the label. log_sum is log sum e^(x - x[best]). */
static float smooth_row(const struct hr_loss_function *loss, const float *x, size_t best,
                        float log_sum, float *dx)
{
    const size_t C = loss->outputs;
    float below = 0.0f; /* sum of x[best] - x[c], none negative */
    for (size_t c = 0; c < C; c++) {
        below += x[best] - x[c];
        if (dx)
            dx[c] -= loss->smoothing / (float)C;
    }
    return loss->smoothing * (log_sum + below / (float)C);
}

/* x (C) in; dx (C) out, or NULL */
static struct row cross_entropy(const struct hr_loss_function *loss, const float *x, size_t label,
                                float *dx)
{
    const size_t C = loss->outputs, best = first_largest(C, x);
    const float weight = 1.0f - loss->smoothing;
    float sum = 0.0f;
    for (size_t c = 0; c < C; c++) {
        const float e = expf(x[c] - x[best]);
        sum += e;
        if (dx)
            dx[c] = e;
    }
    if (dx) {
        for (size_t c = 0; c < C; c++)
            dx[c] /= sum;
        dx[label] -= weight;
    }
    const float log_sum = logf(sum);
    float value = weight * (log_sum - (x[label] - x[best]));
    if (loss->smoothing > 0.0f)
        value += smooth_row(loss, x, best, log_sum, dx);
    return row_of(value, sum, best);
}

/* Of one output, before the division by C. */
static float binary(float x, float target, float *dx)
{
    const float e = expf(-fabsf(x));
    if (dx)
        *dx = (x < 0.0f ? e : 1.0f) / (1.0f + e) - target;
    return (x < 0.0f ? 0.0f : x) - x * target + log1pf(e);
}

static float squared(float x, float target, float *dx)
{
    const float d = x - target;
    if (dx)
        *dx = 2.0f * d;
    return d * d;
}

static float huber(float x, float target, float delta, float *dx)
{
    const float d = x - target, size = fabsf(d);
    if (dx)
        *dx = size > delta ? copysignf(delta, d) : d; /* NaN stays */
    return size > delta ? delta * (size - 0.5f * delta) : 0.5f * d * d;
}

/* A regression's: no answer is right or wrong. x (C) in; dx (C) out, or NULL */
static struct row of_values(const struct hr_loss_function *loss, const float *x, size_t sample,
                            float *dx)
{
    const size_t C = loss->outputs;
    const float *wanted = loss->wanted.values + sample * C;
    float sum = 0.0f, d = 0.0f;
    for (size_t c = 0; c < C; c++) {
        sum += loss->kind == HR_LOSS_HUBER ? huber(x[c], wanted[c], loss->delta, &d)
                                           : squared(x[c], wanted[c], &d);
        if (dx)
            dx[c] = d / (float)C;
    }
    return (struct row){sum / (float)C, HR_NO_CLASS};
}

/* The class that a single output means. */
static size_t answer_of(const struct hr_loss_function *loss, float x)
{
    if (loss->kind == HR_LOSS_BCE)
        return x > 0.0f;
    const float last = (float)(loss->classes - 1), nearest = ceilf(x - 0.5f);
    return (size_t)(nearest > last ? last : nearest > 0.0f ? nearest : 0.0f);
}

/* Losses that are a mean over the outputs. x (C) in; dx (C) out, or NULL */
static struct row by_output(const struct hr_loss_function *loss, const float *x, size_t label,
                            float *dx)
{
    const size_t C = loss->outputs;
    float sum = 0.0f, d = 0.0f;
    for (size_t c = 0; c < C; c++) {
        const float target = C == 1 ? (float)label : c == label ? 1.0f : 0.0f;
        sum += loss->kind == HR_LOSS_BCE ? binary(x[c], target, &d) : squared(x[c], target, &d);
        if (dx)
            dx[c] = d / (float)C;
    }
    const size_t answer = C == 1 ? answer_of(loss, x[0]) : first_largest(C, x);
    return row_of(sum / (float)C, sum, answer);
}

static struct row one(const struct hr_loss_function *loss, const float *x, size_t label, float *dx)
{
    return loss->kind == HR_LOSS_CROSS_ENTROPY ? cross_entropy(loss, x, label, dx)
           : loss->wanted.count                ? of_values(loss, x, label, dx)
                                               : by_output(loss, x, label, dx);
}

/* --- language models --- */

enum { PLACES = 128 }; /* in one go */

/* Of a sequence whose first token is number `first`. */
static float of_sequence(const struct hr_loss_function *loss, size_t first, const float *x,
                         float *dx)
{
    const size_t C = loss->outputs, T = loss->places;
    uint32_t next[PLACES];
    float losses[PLACES];
    double sum = 0;
    for (size_t at = 0; at < T; at += PLACES) {
        const size_t n = T - at < PLACES ? T - at : PLACES;
        for (size_t i = 0; i < n; i++)
            next[i] = hr_token(loss->text, first + at + i + 1);
        hr_row_loops()->cross_entropy(&(struct hr_row_losses){.R = n,
                                                              .C = C,
                                                              .x = x + at * C,
                                                              .labels = next,
                                                              .losses = losses,
                                                              .dx = dx ? dx + at * C : NULL,
                                                              .scale = 1.0f / (float)T});
        for (size_t i = 0; i < n; i++)
            sum += (double)losses[i];
    }
    return (float)(sum / (double)T);
}

static void add_sequences(const struct hr_loss_function *loss, size_t B, const float *logits,
                          const uint32_t *labels, float *dlogits, struct hr_batch_result *sum)
{
    const size_t elems = loss->places * loss->outputs;
    for (size_t b = 0; b < B; b++) {
        HR_ASSERT(labels[b] + loss->places < loss->classes);
        sum->loss_sum += (double)of_sequence(loss, labels[b], logits + b * elems,
                                             dlogits ? dlogits + b * elems : NULL);
    }
}

void hr_loss_add(const struct hr_loss_function *loss, size_t B, const float *logits,
                 const uint32_t *labels, float *dlogits, struct hr_batch_result *sum)
{
    if (loss->text) {
        add_sequences(loss, B, logits, labels, dlogits, sum);
        return;
    }
    for (size_t b = 0; b < B; b++) {
        HR_ASSERT(labels[b] < loss->classes);
        const float *x = logits + b * loss->outputs;
        float *dx = dlogits ? dlogits + b * loss->outputs : NULL;
        struct row row = one(loss, x, labels[b], dx);
        if (dx && loss->class_weights) {
            const float weight = loss->class_weights[labels[b]];
            row.loss *= weight;
            for (size_t c = 0; c < loss->outputs; c++)
                dx[c] *= weight;
        }
        sum->loss_sum += (double)row.loss;
        sum->correct += row.answer == labels[b];
    }
}

void hr_loss_each(const struct hr_loss_function *loss, size_t B, const float *logits,
                  const uint32_t *labels, float *losses)
{
    for (size_t b = 0; b < B; b++)
        losses[b] = loss->text ? of_sequence(loss, labels[b],
                                             logits + b * loss->places * loss->outputs, NULL)
                               : one(loss, logits + b * loss->outputs, labels[b], NULL).loss;
}

void hr_loss_answers(const struct hr_loss_function *loss, size_t B, const float *logits,
                     uint32_t *answers)
{
    for (size_t b = 0; b < B; b++) /* whatever the label is */
        answers[b] =
            loss->text ? HR_NO_CLASS : one(loss, logits + b * loss->outputs, 0, NULL).answer;
}

struct hr_batch_result hr_loss(const struct hr_loss_function *loss, size_t B, const float *logits,
                               const uint32_t *labels, float *dlogits)
{
    struct hr_batch_result result = {0};
    hr_loss_add(loss, B, logits, labels, dlogits, &result);
    return result;
}

static const char *const names[] = {"cross-entropy", "bce", "mse", "huber"};

const char *hr_loss_name(enum hr_loss_kind kind)
{
    return names[kind];
}

enum hr_status hr_loss_parse(const char *name, enum hr_loss_kind *out)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) {
            *out = (enum hr_loss_kind)i;
            return HR_OK;
        }
    return hr_fail(HR_E_USAGE, "--loss %s: expected cross-entropy, bce, mse or huber", name);
}

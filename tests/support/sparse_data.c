#include "support/sparse_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/order.h"
#include "optim/lr.h"
#include "support/data_files.h"

struct hr_dataset sparse_data(size_t rows, size_t features, double nonzeros, uint64_t seed)
{
    struct hr_sparse_shape shape;
    hr_sparse_shape_defaults(&shape);
    shape.rows = rows;
    shape.features = features;
    shape.nonzeros = nonzeros;
    shape.seed = seed;
    unlink(scratch("made"));
    CHECK_OK(hr_sparse_make(scratch("made"), &shape));
    return data_open("made", NULL);
}

struct hr_dataset sparse_ratings(size_t users, size_t items, size_t count)
{
    FILE *file = fopen(scratch("ratings"), "w");
    unsigned state = 7;
    assert_non_null(file);
    for (size_t i = 0; i < count; i++) {
        state = state * 1103515245u + 12345u;
        const size_t user = state >> 8 & 0xfff, item = state >> 20;
        const double u = (double)(user % users % 7) - 3, v = (double)(item % items % 5) - 2;
        fprintf(file, "%zu %zu:%.3f\n", user % users, item % items + 1, 3 + u * v / 4);
    }
    fclose(file);
    return data_open("ratings", NULL);
}

struct hr_train_options sparse_options(const char *model, const char *solver, size_t workers,
                                       size_t epochs)
{
    struct hr_train_options options;
    hr_sparse_defaults(&options);
    snprintf(options.model, sizeof options.model, "%s", model);
    snprintf(options.solver, sizeof options.solver, "%s", solver);
    options.workers = workers;
    options.epochs = epochs;
    return options;
}

struct hr_run_result sparse_run(const struct hr_train_options *options,
                                const struct hr_dataset *dataset)
{
    struct hr_run_result result;
    CHECK_OK(hr_train(options, dataset, NULL, &result));
    return result;
}

struct hr_train_options sparse_saving(struct hr_train_options options, const char *name)
{
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", scratch(name));
    options.overwrite = true;
    return options;
}

struct hr_train_options sparse_resuming(struct hr_train_options options, const char *name)
{
    snprintf(options.resume, sizeof options.resume, "%s", scratch(name));
    options.overwrite = false;
    return options;
}

void sparse_refuses(struct hr_train_options options, const struct hr_dataset *dataset,
                    enum hr_status status, const char *text)
{
    struct hr_run_result result;
    CHECK_FAILS(hr_train(&options, dataset, NULL, &result), status);
    CHECK_MESSAGE(text);
    assert_null(result.curve);
}

static double side(const struct hr_split *split, size_t row)
{
    return split->labels[row] ? 1 : -1;
}

double sparse_objective(const struct hr_train_options *options, const struct hr_dataset *dataset,
                        const float *weights)
{
    const struct hr_split *s = &dataset->train;
    const bool svm = !strcmp(options->model, "svm");
    double loss = 0, squares = 0;
    for (size_t i = 0; i < s->count; i++) {
        double m = 0;
        for (uint64_t k = s->rows[i]; k < s->rows[i + 1]; k++)
            m += side(s, i) * (double)s->values[k] * (double)weights[s->columns[k]];
        loss += svm ? fmax(0, 1 - m) : log1p(exp(-m));
    }
    for (size_t f = 0; f < hr_shape_elems(dataset->shape); f++)
        squares += (double)weights[f] * (double)weights[f];
    return options->cost * loss + squares / 2;
}

/* --- the twin --- */

struct twin {
    const struct hr_train_options *options;
    const struct hr_split *split;
    size_t features;
    uint32_t *degree;
    float *weights;
    uint32_t columns[256]; /* of the row in hand, most frequent first */
    float values[256];     /* times the label */
    size_t count;
    double inner_eps;
    size_t newton;
};

static bool comes_before(const struct twin *t, uint32_t a, uint32_t b)
{
    return t->degree[a] != t->degree[b] ? t->degree[a] > t->degree[b] : a < b;
}

static void load(struct twin *t, size_t row)
{
    t->count = 0;
    for (uint64_t k = t->split->rows[row]; k < t->split->rows[row + 1]; k++) {
        const uint32_t column = t->split->columns[k];
        size_t at = t->count++;
        for (; at > 0 && comes_before(t, column, t->columns[at - 1]); at--) {
            t->columns[at] = t->columns[at - 1];
            t->values[at] = t->values[at - 1];
        }
        t->columns[at] = column;
        t->values[at] = (float)side(t->split, row) * t->split->values[k];
    }
}

static float dot(const struct twin *t)
{
    float s[4] = {0};
    const size_t whole = t->count / 4 * 4;
    for (size_t k = 0; k < t->count; k++)
        s[k < whole ? k % 4 : 0] += t->weights[t->columns[k]] * t->values[k];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static void sgd_step(struct twin *t, float rate)
{
    const float m = dot(t), most = (float)(1 / t->options->lr);
    const bool svm = !strcmp(t->options->model, "svm");
    const float step = rate * (svm ? (m < 1 ? 1.0f : 0.0f) : 1 / (1 + expf(m)));
    for (size_t k = 0; k < t->count; k++) {
        float *w = &t->weights[t->columns[k]];
        const float decay = (float)(1 / (t->options->cost * t->degree[t->columns[k]]));
        *w = *w + step * t->values[k] - rate * (decay < most ? decay : most) * *w;
    }
}

static double logistic_alpha(struct twin *t, double *alpha, double *rest, double a, double m)
{
    const double cost = t->options->cost, before = *alpha;
    const bool turned = 0.5 * a * (*rest - *alpha) + m < 0;
    const double old = turned ? *rest : *alpha, b = turned ? -m : m;
    double z = cost - old < 0.5 * cost ? 0.1 * old : old;
    size_t steps = 0;
    for (; steps <= 100; steps++) {
        const double g = a * (z - old) + b + log(z / (cost - z));
        if (fabs(g) < t->inner_eps)
            break;
        const double next = z - g / (a + cost / (cost - z) / z);
        z = next <= 0 ? 0.1 * z : next;
    }
    t->newton += steps;
    if (!steps)
        return 0;
    *alpha = turned ? cost - z : z;
    *rest = turned ? z : cost - z;
    (void)before;
    return turned ? old - z : z - old;
}

static void dual_step(struct twin *t, double *alpha, double *rest)
{
    const double cost = t->options->cost, m = (double)dot(t);
    double squares = 0;
    for (size_t k = 0; k < t->count; k++)
        squares += (double)t->values[k] * (double)t->values[k];
    const double a = (double)(float)squares;
    double move;
    if (!strcmp(t->options->model, "svm")) {
        const double old = *alpha;
        *alpha = fmin(cost, fmax(0, old - (m - 1) / a));
        move = *alpha - old;
    } else {
        move = logistic_alpha(t, alpha, rest, a, m);
    }
    for (size_t k = 0; k < t->count; k++)
        t->weights[t->columns[k]] += (float)move * t->values[k];
}

static void begin_dual(struct twin *t, double *alphas, double *rests)
{
    const double cost = t->options->cost;
    const bool svm = !strcmp(t->options->model, "svm");
    const double first = svm ? 0 : fmin(0.001 * cost, 1e-8);
    for (size_t i = 0; i < t->split->count; i++) {
        alphas[i] = first;
        rests[i] = cost - first;
        load(t, i);
        for (size_t k = 0; k < t->count; k++)
            t->weights[t->columns[k]] += (float)first * t->values[k];
    }
    t->inner_eps = 1e-2;
}

static void epoch(struct twin *t, uint64_t number, double *alphas, double *rests)
{
    const struct hr_train_options *o = t->options;
    const struct hr_lr_schedule schedule = {.kind = HR_LR_STEP,
                                            .peak = o->lr,
                                            .epochs = (double)o->epochs,
                                            .step_epochs = o->lr_step_epochs,
                                            .gamma = o->lr_gamma};
    const struct hr_sampler order = hr_sampler_of(o->seed, number, t->split->count);
    for (size_t i = 0; i < t->split->count; i++) {
        uint32_t row;
        hr_sampler_fill(&order, i, 1, &row);
        load(t, row);
        if (!strcmp(o->solver, "dual"))
            dual_step(t, &alphas[row], &rests[row]);
        else
            sgd_step(t, hr_lr_at(&schedule, (double)number, 1));
    }
    if (t->newton <= t->split->count / 10)
        t->inner_eps = fmax(t->inner_eps / 10, 1e-6);
    t->newton = 0;
}

void sparse_twin(const struct hr_train_options *options, const struct hr_dataset *dataset,
                 float *weights, double *alphas)
{
    const struct hr_split *split = &dataset->train;
    const size_t features = hr_shape_elems(dataset->shape);
    struct twin t = {.options = options, .split = split, .features = features, .weights = weights};
    double *memory = calloc(2 * split->count, sizeof *memory);
    t.degree = calloc(features, sizeof *t.degree);
    memset(weights, 0, features * sizeof *weights);
    for (uint64_t k = 0; k < split->rows[split->count]; k++)
        t.degree[split->columns[k]]++;
    if (!strcmp(options->solver, "dual"))
        begin_dual(&t, memory, memory + split->count);
    for (uint64_t e = 0; e < options->epochs; e++)
        epoch(&t, e, memory, memory + split->count);
    if (alphas)
        memcpy(alphas, memory, split->count * sizeof *alphas);
    free(memory);
    free(t.degree);
}

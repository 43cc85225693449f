/* A checkpoint's weights on a test split, in the caller's thread, by the loops of a run's cuts, so
 * that the same rows give the same figures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/size.h"
#include "hogring/evaluate.h"
#include "session/model_input.h"
#include "sparse/engine.h"
#include "sparse/state.h"
#include "sparse/weights.h"

/* Measured at an epoch's end: the objective on the training rows, loss and accuracy on the test
 * rows. Workers take blocks of rows in turn; the blocks' sums, in doubles, are added in order. */
/* Of a class. */
static double loss_of(enum hr_sparse_model model, double margin)
{
    if (model == HR_SPARSE_SVM)
        return margin < 1 ? 1 - margin : 0;
    return margin > 0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin;
}

double hr_sparse_row_loss(const struct hr_sparse_problem *p, size_t row, double margin)
{
    if (p->model != HR_SPARSE_LINEAR)
        return loss_of(p->model, margin);
    const double error = hr_sparse_target(p, p->train.labels[row]) - margin;
    return error * error / 2;
}

/* What was to be predicted, about 0, and what is left of it. */
static void add_value(struct hr_sparse_cell *cell, double value, double error)
{
    cell->loss += error * error;
    cell->absolute += fabs(error);
    cell->value += value;
    cell->squares += value * value;
    cell->pairs++;
}

static void add_row(const struct hr_sparse_run *run, const struct hr_sparse_rows *rows, size_t i,
                    struct hr_sparse_cell *cell)
{
    const struct hr_sparse_row row = hr_sparse_row_at(rows, i);
    if (run->problem.model != HR_SPARSE_MF) {
        const double margin = (double)hr_sparse_dot(run->weights, row);
        if (run->problem.model == HR_SPARSE_LINEAR) {
            const double target = hr_sparse_target(&run->problem, rows->labels[i]);
            add_value(cell, target, target - margin);
            return;
        }
        /* A margin of 0 is class 1, whose values were not negated. */
        cell->hits += margin > 0 || (!(margin < 0) && rows->labels[i]);
        cell->loss += loss_of(run->problem.model, margin);
        cell->pairs++;
        return;
    }
    for (size_t k = 0; k < row.count; k++)
        add_value(cell, (double)row.pairs[k].value,
                  (double)hr_sparse_rating_error(run, rows->labels[i], row.pairs[k]));
}

void hr_sparse_evaluate(const struct hr_sparse_worker *worker)
{
    const struct hr_sparse_run *run = worker->run;
    const size_t ncells = run->ncells[0] + run->ncells[1];
    for (size_t c = worker->rank; c < ncells; c += run->options.workers) {
        const bool test = c >= run->ncells[0];
        const struct hr_sparse_rows *rows = test ? &run->problem.test : &run->problem.train;
        const size_t first = (test ? c - run->ncells[0] : c) * HR_SPARSE_EVAL_BLOCK;
        const size_t end = hr_min_size(first + HR_SPARSE_EVAL_BLOCK, rows->count);
        struct hr_sparse_cell cell = {0};
        for (size_t i = first; i < end; i++)
            add_row(run, rows, i, &cell);
        run->cells[c] = cell;
    }
}

static struct hr_sparse_cell sum_cells(const struct hr_sparse_cell *cells, size_t n)
{
    struct hr_sparse_cell sum = {0};
    for (size_t c = 0; c < n; c++) {
        sum.loss += cells[c].loss;
        sum.hits += cells[c].hits;
        sum.pairs += cells[c].pairs;
        sum.absolute += cells[c].absolute;
        sum.value += cells[c].value;
        sum.squares += cells[c].squares;
    }
    return sum;
}

static double squared_weights(const struct hr_sparse_run *run)
{
    const bool mf = run->problem.model == HR_SPARSE_MF;
    double sum = 0;
    for (size_t k = 0; !mf && k < run->problem.params; k++) {
        const double w = (double)hr_hogwild_load_float_relaxed(&run->weights[k]);
        sum += w * w;
    }
    for (size_t k = 0; mf && k < run->problem.params / 2; k++) {
        const struct hr_float_pair pair = hr_hogwild_load_relaxed(&run->factors[k]);
        sum += (double)pair.first * (double)pair.first + (double)pair.second * (double)pair.second;
    }
    return sum;
}

/* The values are about 0, so that their squares and the square of their sum do not cancel. What
 * they were divided by is `unit`. */
static struct hr_fit fit_of(const struct hr_sparse_cell *sum, double unit)
{
    const double n = (double)sum->pairs, spread = sum->squares - sum->value * sum->value / n;
    return (struct hr_fit){.rmse = unit * sqrt(sum->loss / n),
                           .mae = unit * (sum->absolute / n),
                           .r2 = spread > 0 ? 1 - sum->loss / spread : (double)NAN};
}

void hr_sparse_fold(const struct hr_sparse_run *run, struct hr_curve_point *point)
{
    const struct hr_sparse_problem *p = &run->problem;
    const bool mf = p->model == HR_SPARSE_MF, values = hr_sparse_is_of_values(p->model);
    const struct hr_sparse_cell train = sum_cells(run->cells, run->ncells[0]);
    const struct hr_sparse_cell test = sum_cells(run->cells + run->ncells[0], run->ncells[1]);
    const double loss = values ? train.loss / 2 : train.loss;
    const double mean = test.pairs ? test.loss / (double)test.pairs : NAN;
    const double unit = !values ? (double)NAN : p->scale ? p->scale->deviation[0] : 1;
    point->train_loss = p->cost * loss + squared_weights(run) / 2;
    point->test_loss = mf ? sqrt(mean) : values ? mean / 2 : mean;
    point->values = values;
    point->fit = fit_of(&test, unit);
    point->test_accuracy = values || !test.pairs ? NAN : (double)test.hits / (double)test.pairs;
}

/* For mf the file has factors and mean. */
static enum hr_status open_problem(const struct hr_checkpoint *checkpoint, const char *model,
                                   const struct hr_dataset *dataset, struct hr_sparse_problem *out)
{
    const struct hr_tensor *users = hr_tensor_get(&checkpoint->model, "users.weight");
    const struct hr_tensor *mean = hr_tensor_get(&checkpoint->model, "mean");
    const bool mf = hr_sparse_model_of(model) == HR_SPARSE_MF;
    if (!mf)
        return hr_sparse_problem_make_test(model, 0, 0, dataset, out);
    if (!users || users->ndim != 2 || users->shape[1] < 2 || users->shape[1] % 2)
        return hr_fail(HR_E_FORMAT,
                       "%s: tensor users.weight is missing, or has no even number of "
                       "factors",
                       checkpoint->path);
    if (!mean || mean->dtype != HR_F32 || mean->bytes != sizeof(float))
        return hr_fail(HR_E_FORMAT, "%s: tensor mean is missing, or is no float32",
                       checkpoint->path);
    return hr_sparse_problem_make_test(model, users->shape[1], *(const float *)mean->data, dataset,
                                       out);
}

static enum hr_status take_memory(struct hr_sparse_run *run)
{
    run->ncells[1] = hr_sparse_cells(run->problem.test.count);
    run->weights = calloc(run->problem.params, sizeof *run->weights);
    run->factors = (struct hr_atom64 *)(void *)run->weights;
    run->cells = calloc(run->ncells[1], sizeof *run->cells);
    return run->weights && run->cells
               ? HR_OK
               : hr_fail(HR_E_NOMEM, "no memory for %zu weights", run->problem.params);
}

/* What linear predicts for each row, and mf for each rating. */
static void write_values(const struct hr_sparse_run *run, double *values)
{
    const struct hr_sparse_rows *rows = &run->problem.test;
    const bool mf = run->problem.model == HR_SPARSE_MF;
    for (size_t i = 0; i < rows->count; i++) {
        const struct hr_sparse_row row = hr_sparse_row_at(rows, i);
        if (!mf)
            values[i] = hr_target_of_output(&run->scale, 0, hr_sparse_dot(run->weights, row));
        for (size_t k = 0; mf && k < row.count; k++)
            values[rows->begin[i] + k] =
                (double)run->problem.mean + (double)row.pairs[k].value -
                (double)hr_sparse_rating_error(run, rows->labels[i], row.pairs[k]);
    }
}

/* w.x of each row, of classes. */
static void write_margins(const struct hr_sparse_run *run, float *outputs)
{
    const struct hr_sparse_rows *rows = &run->problem.test;
    for (size_t i = 0; i < rows->count; i++) {
        const float margin = hr_sparse_dot(run->weights, hr_sparse_row_at(rows, i));
        outputs[i] = rows->labels[i] ? margin : -margin;
    }
}

static enum hr_status write_outputs(const struct hr_sparse_run *run, struct hr_evaluation *out)
{
    const struct hr_sparse_rows *rows = &run->problem.test;
    const bool mf = run->problem.model == HR_SPARSE_MF;
    const bool values = hr_sparse_is_of_values(run->problem.model);
    out->count = mf ? rows->begin[rows->count] : rows->count;
    out->noutputs = 1;
    if (values)
        out->values = calloc(out->count, sizeof *out->values);
    else
        out->outputs = calloc(out->count, sizeof *out->outputs);
    if (!(values ? (void *)out->values : out->outputs))
        return hr_fail(HR_E_NOMEM, "no memory for outputs of %zu samples", out->count);
    if (values)
        write_values(run, out->values);
    else
        write_margins(run, out->outputs);
    return HR_OK;
}

/* How linear's target was learned. */
static enum hr_status scale_target(struct hr_sparse_run *run,
                                   const struct hr_checkpoint *checkpoint,
                                   const struct hr_dataset *dataset)
{
    if (run->problem.model != HR_SPARSE_LINEAR)
        return HR_OK;
    HR_TRY(hr_target_scale_get(checkpoint, &run->scale));
    run->problem.scale = &run->scale;
    if (run->scale.count == 1)
        return hr_target_scale_apply(dataset, &run->scale);
    return hr_fail(HR_E_FORMAT, "%s: metadata \"hogring.targets\" is missing, or not 1",
                   checkpoint->path);
}

static enum hr_status add_target(const struct hr_sparse_run *run, struct hr_evaluation *out)
{
    const struct hr_target_scale *scale = &run->scale;
    if (!scale->count)
        return HR_OK;
    out->target = calloc(1, sizeof *out->target);
    if (!out->target)
        return hr_fail(HR_E_NOMEM, "no memory for a target");
    out->target[0] = (struct hr_target_fit){
        .mean = scale->mean[0], .deviation = scale->deviation[0], .fit = out->fit};
    memcpy(out->target[0].name, scale->name[0], sizeof out->target[0].name);
    return HR_OK;
}

/* Its weights are there. */
static void measure(struct hr_sparse_run *run, struct hr_curve_point *out)
{
    const struct hr_sparse_worker worker = {.run = run};
    hr_fp_flush_denormals();
    run->options.workers = 1;
    hr_sparse_evaluate(&worker);
    hr_sparse_fold(run, out);
}

static enum hr_status evaluate(struct hr_sparse_run *run, const struct hr_checkpoint *checkpoint,
                               const char *model, const struct hr_dataset *dataset,
                               struct hr_evaluation *out)
{
    struct hr_curve_point point;
    HR_TRY(open_problem(checkpoint, model, dataset, &run->problem));
    HR_TRY(scale_target(run, checkpoint, dataset));
    HR_TRY(take_memory(run));
    HR_TRY(hr_sparse_load_weights(checkpoint, "", run));
    measure(run, &point);
    out->test_loss = point.test_loss;
    out->test_accuracy = point.test_accuracy;
    out->targets = point.values;
    out->fit = point.fit;
    snprintf(out->model, sizeof out->model, "%s", model);
    HR_TRY(add_target(run, out));
    return write_outputs(run, out);
}

static void drop(struct hr_sparse_run *run)
{
    hr_sparse_problem_free(&run->problem);
    hr_target_scale_free(&run->scale);
    free(run->weights);
    free(run->cells);
}

enum hr_status hr_sparse_evaluate_checkpoint(const struct hr_checkpoint *checkpoint,
                                             const char *model, const struct hr_dataset *dataset,
                                             struct hr_evaluation *out)
{
    struct hr_class_view classes;
    struct hr_sparse_run run = {0};
    enum hr_status status = hr_class_view_open(checkpoint, dataset, true, &classes);
    classes.dataset.train = dataset->train; /* decides the places of features */
    if (status == HR_OK)
        status = evaluate(&run, checkpoint, model, &classes.dataset, out);
    hr_class_view_close(&classes);
    drop(&run);
    return status;
}

/* --- the test set of a run that validates --- */

static enum hr_status test_weights(struct hr_sparse_run *test, const struct hr_sparse_run *run,
                                   struct hr_run_result *result)
{
    const struct hr_sparse_problem *p = &run->problem;
    struct hr_curve_point point;
    HR_TRY(hr_sparse_problem_make_test(run->options.model, p->factors, p->mean, run->whole,
                                       &test->problem));
    test->problem.scale = p->scale;
    HR_TRY(take_memory(test));
    float *weights = malloc(p->params * sizeof *weights);
    if (!weights)
        return hr_fail(HR_E_NOMEM, "no memory to copy %zu weights", p->params);
    hr_sparse_copy_weights(run, weights);
    hr_sparse_set_weights(test, weights);
    free(weights);
    measure(test, &point);
    result->test_loss = point.test_loss;
    result->test_accuracy = point.test_accuracy;
    result->test_fit = point.fit;
    result->test_evaluations = 1;
    return HR_OK;
}

enum hr_status hr_sparse_test(const struct hr_sparse_run *run, struct hr_run_result *result)
{
    if (!run->whole)
        return HR_OK;
    result->validation_samples = run->dataset->test.count;
    result->test_loss = result->test_accuracy = (double)NAN;
    if (result->interrupted)
        return HR_OK;
    struct hr_sparse_run test = {0};
    const enum hr_status status = test_weights(&test, run, result);
    drop(&test);
    return status;
}

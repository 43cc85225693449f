/* Measured at an epoch's end: the objective on the training rows, loss and accuracy on the test
 * rows. Workers take blocks of rows in turn; the blocks' sums, in doubles, are added in order. */
#include <math.h>

#include "base/size.h"
#include "sparse/weights.h"

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
    point->train_loss = p->cost * loss + squared_weights(run) / 2;
    point->test_loss = mf ? sqrt(mean) : values ? mean / 2 : mean;
    point->values = values;
    point->fit = fit_of(&test, p->scale ? p->scale->deviation[0] : 1);
    point->test_accuracy = values || !test.pairs ? NAN : (double)test.hits / (double)test.pairs;
}

/* Measured at an epoch's end: the objective on the training rows, loss and accuracy on the test
 * rows. Workers take blocks of rows in turn; the blocks' sums, in doubles, are added in order. */
#include <math.h>

#include "base/size.h"
#include "sparse/weights.h"

static double loss_of(enum hr_sparse_model model, double margin)
{
    if (model == HR_SPARSE_SVM)
        return margin < 1 ? 1 - margin : 0;
    return margin > 0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin;
}

static void add_row(const struct hr_sparse_run *run, const struct hr_sparse_rows *rows, size_t i,
                    struct hr_sparse_cell *cell)
{
    const struct hr_sparse_row row = hr_sparse_row_at(rows, i);
    if (run->problem.model != HR_SPARSE_MF) {
        const double margin = (double)hr_sparse_dot(run->weights, row);
        /* A margin of 0 is class 1, whose values were not negated. */
        cell->hits += margin > 0 || (!(margin < 0) && rows->labels[i]);
        cell->loss += loss_of(run->problem.model, margin);
        cell->pairs++;
        return;
    }
    for (size_t k = 0; k < row.count; k++) {
        const double e = (double)hr_sparse_rating_error(run, rows->labels[i], row.pairs[k]);
        cell->loss += e * e;
        cell->pairs++;
    }
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

void hr_sparse_fold(const struct hr_sparse_run *run, struct hr_curve_point *point)
{
    const bool mf = run->problem.model == HR_SPARSE_MF;
    const struct hr_sparse_cell train = sum_cells(run->cells, run->ncells[0]);
    const struct hr_sparse_cell test = sum_cells(run->cells + run->ncells[0], run->ncells[1]);
    const double loss = mf ? train.loss / 2 : train.loss;
    const double mean = test.pairs ? test.loss / (double)test.pairs : NAN;
    point->train_loss = run->problem.cost * loss + squared_weights(run) / 2;
    point->test_loss = mf ? sqrt(mean) : mean;
    point->test_accuracy = mf || !test.pairs ? NAN : (double)test.hits / (double)test.pairs;
}

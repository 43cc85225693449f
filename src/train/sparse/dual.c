/* Coordinate descent on the dual, a row at a time: w = sum_i alpha_i y_i x_i, 0 <= alpha_i <= C.
 *
 * svm       minimises over alpha_i in closed form, clipped to [0, C] (Hsieh et al., ICML 2008)
 * linear    the same without bounds: (w.x_i - target + alpha_i / C) / (|x_i|^2 + 1 / C) off; there
 *           w = sum_i alpha_i x_i (Ho and Lin, JMLR 13, 2012, with epsilon 0)
 * logistic  Newton's method on the one-variable problem in z = alpha_i or C - alpha_i, whichever is
 *           the smaller at the solution, so that log z keeps its digits (Yu, Huang, Lin, Machine
 *           Learning 85, 2011, algorithm 5). A row whose gradient is below inner_eps is left alone;
 *           inner_eps falls tenfold whenever an epoch had fewer inner steps than a tenth of its
 *           rows. Both rules are LIBLINEAR's: an epoch here does what an iteration does there.
 *
 * Several workers without a lock lose some updates of w, but none of alpha, which is of one worker:
 * w is then not the sum over alpha, and comes to rest near the minimum, not at it (PASSCoDe-Wild:
 * Hsieh, Yu, Dhillon, ICML 2015). A run that goes on takes both as they were saved.
 *
 * alphas[i] = {alpha_i, C - alpha_i}: both are kept, as neither gives the other's small digits. Of
 * linear the second is 0.
 */
#include <stdlib.h>

#include "base/size.h"
#include "sparse/weights.h"

static const double FIRST_INNER_EPS = 1e-2;

static double squared_norm(struct hr_sparse_row row)
{
    double sum = 0;
    for (size_t k = 0; k < row.count; k++)
        sum += (double)row.pairs[k].value * (double)row.pairs[k].value;
    return sum;
}

/* d/dz of z log z + (C - z) log(C - z) + a (z - old)^2 / 2 + b (z - old) */
static double gradient(double z, double old, double cost, double a, double b)
{
    return a * (z - old) + b + log(z / (cost - z));
}

/* Update alpha; returns how far alpha_i moves. */
static double logistic_move(struct hr_sparse_worker *worker, double alpha[2], double a, double m)
{
    enum { MOST_STEPS = 100 };
    const double cost = worker->run->problem.cost;
    const bool turned = 0.5 * a * (alpha[1] - alpha[0]) + m < 0; /* the smaller is C - alpha_i */
    const double old = alpha[turned], b = turned ? -m : m;
    double z = cost - old < 0.5 * cost ? 0.1 * old : old;
    double g = gradient(z, old, cost, a, b);
    size_t steps = 0;
    for (; steps <= MOST_STEPS && fabs(g) >= worker->inner_eps; steps++) {
        const double next = z - g / (a + cost / (cost - z) / z);
        z = next <= 0 ? 0.1 * z : next;
        g = gradient(z, old, cost, a, b);
    }
    worker->tally->newton += steps;
    if (!steps)
        return 0;
    alpha[turned] = z;
    alpha[!turned] = cost - z;
    return turned ? old - z : z - old;
}

static double svm_move(double alpha[2], double cost, double a, double m)
{
    const double old = alpha[0], wanted = old - (m - 1) / a;
    alpha[0] = wanted < 0 ? 0 : wanted > cost ? cost : wanted;
    alpha[1] = cost - alpha[0];
    return alpha[0] - old;
}

/* missing: target - w.x */
static double linear_move(double alpha[2], double cost, double a, double missing)
{
    const double move = (missing - alpha[0] / cost) / (a + 1 / cost);
    alpha[0] += move;
    return move;
}

/* Of row i, whose squared norm is above 0. */
static double move_of(struct hr_sparse_worker *worker, size_t i, double margin)
{
    const struct hr_sparse_problem *p = &worker->run->problem;
    const double a = (double)worker->run->norms[i];
    double *alpha = worker->run->alphas[i];
    if (p->model == HR_SPARSE_LINEAR)
        return linear_move(alpha, p->cost, a,
                           (double)p->scale->values[p->train.labels[i]] - margin);
    return p->model == HR_SPARSE_SVM ? svm_move(alpha, p->cost, a, margin)
                                     : logistic_move(worker, alpha, a, margin);
}

enum hr_status hr_sparse_dual(struct hr_sparse_worker *worker, const uint32_t *order, size_t n)
{
    struct hr_sparse_run *run = worker->run;
    const struct hr_sparse_problem *p = &run->problem;
    for (size_t i = 0; i < n; i++) {
        hr_sparse_look_ahead(worker, order, n, i);
        const struct hr_sparse_row row = hr_sparse_row_at(&p->train, order[i]);
        const float margin = hr_sparse_dot(run->weights, row);
        HR_TRY(hr_sparse_check(margin, "margin", order[i], "--cost"));
        if (worker->reports)
            worker->loss_sum += hr_sparse_row_loss(p, order[i], (double)margin);
        if (!(run->norms[order[i]] > 0)) /* an empty row: w.x is always 0 */
            continue;
        const double move = move_of(worker, order[i], (double)margin);
        const struct hr_sparse_step step = {.step = (float)move};
        if (fabsf(step.step) > 0)
            HR_TRY(hr_sparse_push(worker, row, &step));
    }
    return HR_OK;
}

void hr_sparse_dual_begin(struct hr_sparse_run *run)
{
    const struct hr_sparse_problem *p = &run->problem;
    const bool logistic = p->model == HR_SPARSE_LOGISTIC;
    const double first = !logistic ? 0 : 0.001 * p->cost < 1e-8 ? 0.001 * p->cost : 1e-8;
    const struct hr_sparse_step step = {.step = (float)first};
    for (size_t i = 0; i < p->train.count; i++) {
        const struct hr_sparse_row row = hr_sparse_row_at(&p->train, i);
        run->norms[i] = (float)squared_norm(row);
        run->alphas[i][0] = first;
        run->alphas[i][1] = p->model == HR_SPARSE_LINEAR ? 0 : p->cost - first;
        if (logistic)
            hr_sparse_update(run->weights, row, &step);
    }
    *run->inner_eps = FIRST_INNER_EPS;
}

/* Stochastic gradient descent on logistic, hinge and squared loss, a row at a time.
 *
 * Row i's part of the objective over C is loss_i + sum over its features f of w_f^2 / (2 C d_f):
 *     w_f += rate (slope y x_f - w_f / (C d_f)),   slope = -d loss / d margin >= 0
 * For linear the margin is w.x and slope y is what is missing, target - w.x.
 *
 * Several workers keep copies of the most frequent features' weights (hot.h).
 */
#include "sparse/hot.h"

static float slope_of(const struct hr_sparse_problem *p, size_t row, float margin)
{
    if (p->model == HR_SPARSE_LINEAR)
        return p->scale->values[p->train.labels[row]] - margin;
    if (p->model == HR_SPARSE_SVM)
        return margin < 1 ? 1.0f : 0.0f;
    return 1 / (1 + expf(margin));
}

static void merge(struct hr_sparse_worker *worker, struct hr_sparse_hot *hot)
{
    struct hr_sparse_tally *tally = worker->tally;
    const bool looking = tally->merges++ % HR_SPARSE_LOOK_EVERY == 0;
    tally->lost += hr_sparse_hot_merge(hot, worker->run->weights, looking);
    tally->looked_at += looking ? hot->count : 0;
}

enum hr_status hr_sparse_sgd(struct hr_sparse_worker *worker, const uint32_t *order, size_t n)
{
    struct hr_sparse_run *run = worker->run;
    const struct hr_sparse_problem *p = &run->problem;
    struct hr_sparse_hot hot;
    hr_sparse_hot_read(&hot, run->weights, worker->hot);
    for (size_t i = 0; i < n; i++) {
        if (i && i % HR_SPARSE_HOT_ROWS == 0)
            merge(worker, &hot);
        hr_sparse_look_ahead(worker, order, n, i);
        const struct hr_sparse_row row = hr_sparse_row_at(&p->train, order[i]);
        const struct hr_sparse_row mine = hr_sparse_hot_part(&hot, row);
        const struct hr_sparse_row shared = {row.pairs + mine.count, row.count - mine.count};
        const float margin = hr_sparse_dot(hot.mine, mine) + hr_sparse_dot(run->weights, shared);
        HR_TRY(hr_sparse_check(margin, "margin", order[i], "--lr"));
        if (worker->reports)
            worker->loss_sum += hr_sparse_row_loss(p, order[i], (double)margin);
        const struct hr_sparse_step step = {worker->rate * slope_of(p, order[i], margin),
                                            worker->rate, p->decay};
        hr_sparse_update(hot.mine, mine, &step);
        HR_TRY(hr_sparse_push(worker, shared, &step));
    }
    merge(worker, &hot);
    return HR_OK;
}

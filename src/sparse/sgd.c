/* Stochastic gradient descent on logistic and hinge loss, a row at a time.
 *
 * Row i's part of the objective over C is loss_i + sum over its features f of w_f^2 / (2 C d_f):
 *     w_f += rate (slope y x_f - w_f / (C d_f)),   slope = -d loss / d margin >= 0
 */
#include "sparse/weights.h"

static float slope_of(enum hr_sparse_model model, float margin)
{
    if (model == HR_SPARSE_SVM)
        return margin < 1 ? 1.0f : 0.0f;
    return 1 / (1 + expf(margin));
}

enum hr_status hr_sparse_sgd(struct hr_sparse_worker *worker, const uint32_t *order, size_t n)
{
    struct hr_sparse_run *run = worker->run;
    const struct hr_sparse_problem *p = &run->problem;
    for (size_t i = 0; i < n; i++) {
        hr_sparse_look_ahead(worker, order, n, i);
        const struct hr_sparse_row row = hr_sparse_row_at(&p->train, order[i]);
        const float margin = hr_sparse_dot(run->weights, row);
        HR_TRY(hr_sparse_check(margin, "margin", order[i]));
        const struct hr_sparse_step step = {worker->rate * slope_of(p->model, margin), worker->rate,
                                            p->decay};
        HR_TRY(hr_sparse_push(worker, row, &step));
    }
    return HR_OK;
}

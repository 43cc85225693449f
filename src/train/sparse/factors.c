/* Matrix factorisation: a rating r of item v by user u is mean + u.v.
 *
 * A rating's part of the objective over C is e^2 / 2 + |u|^2 / (2 C d_u) + |v|^2 / (2 C d_v), with
 * e = r - mean - u.v and d the training ratings of that user, of that item:
 *     u += rate (e v - u / (C d_u));   v += rate (e u - v / (C d_v)), with u as it was
 * Numbers are read and written in pairs, so `factors` is even.
 */
#include <math.h>

#include "base/philox.h"
#include "sparse/weights.h"

/* Rows of a user and an item in run->factors, `pairs` each. */
struct rating {
    struct hr_atom64 *user, *item;
    size_t pairs;
};

static float error_of(const struct rating *r, float value)
{
    float even = 0, odd = 0;
    for (size_t k = 0; k < r->pairs; k++) {
        const struct hr_float_pair u = hr_hogwild_load_relaxed(&r->user[k]);
        const struct hr_float_pair v = hr_hogwild_load_relaxed(&r->item[k]);
        even += u.first * v.first;
        odd += u.second * v.second;
    }
    return value - (even + odd);
}

struct pull {
    float step, keep_user, keep_item;
};

static void move(const struct rating *r, const struct pull *pull)
{
    for (size_t k = 0; k < r->pairs; k++) {
        const struct hr_float_pair u = hr_hogwild_load_relaxed(&r->user[k]);
        const struct hr_float_pair v = hr_hogwild_load_relaxed(&r->item[k]);
        const struct hr_float_pair to_user = {
            u.first + (pull->step * v.first - pull->keep_user * u.first),
            u.second + (pull->step * v.second - pull->keep_user * u.second)};
        const struct hr_float_pair to_item = {
            v.first + (pull->step * u.first - pull->keep_item * v.first),
            v.second + (pull->step * u.second - pull->keep_item * v.second)};
        hr_hogwild_store_relaxed(&r->user[k], to_user);
        hr_hogwild_store_relaxed(&r->item[k], to_item);
    }
}

static struct rating rating_at(const struct hr_sparse_run *run, size_t user, size_t item)
{
    const size_t pairs = run->problem.factors / 2;
    return (struct rating){run->factors + user * pairs,
                           run->factors + (run->problem.users + item) * pairs, pairs};
}

float hr_sparse_rating_error(const struct hr_sparse_run *run, size_t user,
                             struct hr_sparse_pair pair)
{
    const struct rating r = rating_at(run, user, pair.column);
    return error_of(&r, pair.value);
}

static enum hr_status step(struct hr_sparse_worker *worker, size_t user, struct hr_sparse_pair pair)
{
    const struct hr_sparse_problem *p = &worker->run->problem;
    const struct rating r = rating_at(worker->run, user, pair.column);
    const float e = error_of(&r, pair.value);
    HR_TRY(hr_sparse_check(e * e, "squared error", user, "--lr"));
    if (worker->reports)
        worker->loss_sum += (double)e * (double)e / 2;
    const struct pull pull = {worker->rate * e, worker->rate * p->decay[user],
                              worker->rate * p->decay[p->users + pair.column]};
    if (worker->run->locked)
        HR_TRY(hr_sparse_lock_take(worker));
    move(&r, &pull);
    if (worker->run->locked)
        hr_sparse_lock_leave(worker);
    worker->tally->updates++;
    return HR_OK;
}

static void look_ahead(const struct hr_sparse_run *run, const uint32_t *order, size_t n, size_t i)
{
    enum { AHEAD = 4, LINE_PAIRS = 64 / sizeof(struct hr_atom64) };
    const struct hr_sparse_rows *rows = &run->problem.train;
    if (i + AHEAD >= n)
        return;
    const size_t row = order[i + AHEAD];
    const struct hr_sparse_row far = hr_sparse_row_at(rows, row);
    if (!far.count)
        return;
    const struct rating r = rating_at(run, rows->labels[row], far.pairs[0].column);
    for (size_t k = 0; k < r.pairs; k += LINE_PAIRS) {
        __builtin_prefetch(&r.user[k], 1);
        __builtin_prefetch(&r.item[k], 1);
    }
}

enum hr_status hr_sparse_factorise(struct hr_sparse_worker *worker, const uint32_t *order, size_t n)
{
    const struct hr_sparse_rows *rows = &worker->run->problem.train;
    for (size_t i = 0; i < n; i++) {
        look_ahead(worker->run, order, n, i);
        const struct hr_sparse_row row = hr_sparse_row_at(rows, order[i]);
        for (size_t k = 0; k < row.count; k++)
            HR_TRY(step(worker, rows->labels[order[i]], row.pairs[k]));
    }
    return HR_OK;
}

/* Uniform in [-a, a), a so that u.v begins with a standard deviation of 0.1. */
void hr_sparse_factors_begin(struct hr_sparse_run *run)
{
    const size_t pairs = run->problem.params / 2;
    const float a = sqrtf(0.3f / sqrtf((float)run->problem.factors));
    for (size_t k = 0; k < pairs; k++) {
        const struct hr_philox block =
            hr_random_block(run->options.seed, HR_STREAM_FACTORS, k / 2, 0);
        const uint32_t *words = block.v + k % 2 * 2;
        const struct hr_float_pair pair = {a * (2 * hr_random_unit(words[0]) - 1),
                                           a * (2 * hr_random_unit(words[1]) - 1)};
        hr_hogwild_store_relaxed(&run->factors[k], pair);
    }
}

/* PowerSGD against what its sums say in double: factors, projections, what is left over. */
#include <math.h>
#include <string.h>

#include "base/philox.h"
#include "compress/powersgd.h"
#include "support/check.h"

enum { RANKS = 3, R = 2, ROWS = 20, COLUMNS = 37, BIAS = 20, M = ROWS * COLUMNS, ALL = M + BIAS };

static float x[RANKS][ALL], error[RANKS][ALL], due[RANKS][ALL], out[ALL];
static float p[RANKS][400], q[RANKS][400], sum[400];

static void draw(float *to, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++)
        to[i] = 2 * hr_random_unit(hr_random_block(seed, HR_STREAM_TEST, i, 7).v[0]) - 1;
}

static struct hr_factors two_tensors(void)
{
    struct hr_factors f;
    CHECK_OK(hr_factors_begin(&f, R, 2, 1));
    hr_factors_add(&f, 0, ROWS, COLUMNS);
    hr_factors_add(&f, M, BIAS, 0);
    assert_int_equal(f.p_floats, R * ROWS + BIAS);
    assert_int_equal(f.q_floats, R * COLUMNS);
    return f;
}

static void add_up(float (*of)[400], size_t n)
{
    memset(sum, 0, sizeof sum);
    for (size_t r = 0; r < RANKS; r++)
        for (size_t i = 0; i < n; i++)
            sum[i] += of[r][i];
    for (size_t r = 0; r < RANKS; r++)
        memcpy(of[r], sum, n * sizeof *sum);
}

/* A step of all ranks; every rank has the same sums behind it. */
static void step(const struct hr_factors *f)
{
    for (size_t r = 0; r < RANKS; r++) {
        for (size_t i = 0; i < ALL; i++)
            due[r][i] = x[r][i] + error[r][i];
        hr_factors_left(f, x[r], error[r], q[r], p[r]);
    }
    add_up(p, f->p_floats);
    for (size_t r = 0; r < RANKS; r++) {
        hr_factors_orthogonalise(f, p[r]);
        hr_factors_right(f, error[r], p[r], q[r]);
    }
    add_up(q, f->q_floats);
    for (size_t r = 0; r < RANKS; r++) {
        float mine[ALL];
        hr_factors_finish(f, p[r], q[r], RANKS, mine, error[r]);
        assert_true(r == 0 || !memcmp(mine, out, sizeof out));
        memcpy(out, mine, sizeof out);
    }
}

static void begin(void)
{
    memset(error, 0, sizeof error);
    memset(q, 0, sizeof q);
}

static double column_product(const float *a, size_t i, size_t j)
{
    double all = 0;
    for (size_t k = 0; k < ROWS; k++)
        all += (double)a[i * ROWS + k] * (double)a[j * ROWS + k];
    return all;
}

/* What is sent is P P' M of the summed M, and the errors are what is missing from it. */
static void a_step_projects_and_keeps_the_rest(void **state)
{
    struct hr_factors f = two_tensors();
    (void)state;
    begin();
    for (uint32_t s = 0; s < 5; s++) {
        for (size_t r = 0; r < RANKS; r++)
            draw(x[r], ALL, s * RANKS + (uint32_t)r);
        step(&f);
        for (size_t i = 0; i < R; i++)
            for (size_t j = 0; j < R; j++)
                CHECK_NEAR(column_product(p[0], i, j), i == j, 0, 1e-5);
        for (size_t i = 0; i < M; i++) {
            double all = 0, left = 0, projected = 0;
            for (size_t r = 0; r < RANKS; r++) {
                all += (double)due[r][i];
                left += (double)error[r][i];
            }
            for (size_t j = 0; j < R; j++)
                for (size_t k = 0; k < ROWS; k++)
                    for (size_t r = 0; r < RANKS; r++)
                        projected += (double)p[0][j * ROWS + i / COLUMNS] *
                                     (double)p[0][j * ROWS + k] *
                                     (double)due[r][k * COLUMNS + i % COLUMNS];
            CHECK_NEAR((double)out[i], projected, 0, 1e-4);
            CHECK_NEAR((double)out[i] + left, all, 0, 1e-5);
        }
        for (size_t i = M; i < ALL; i++) {
            const float bias = x[0][i] + x[1][i] + x[2][i];
            assert_true(out[i] == bias && error[0][i] == 0);
        }
    }
    hr_factors_fini(&f);
}

/* The same gradient over and over: the warm start makes it better each time, and errors feed it, so
 * that the mean of what was sent comes to the gradient. */
static void steps_add_up_to_the_gradient(void **state)
{
    enum { STEPS = 400 };
    static double sent[M];
    struct hr_factors f = two_tensors();
    double missing = 0, all = 0;
    (void)state;
    begin();
    memset(sent, 0, sizeof sent);
    for (size_t r = 0; r < RANKS; r++)
        draw(x[r], ALL, (uint32_t)r);
    for (size_t s = 0; s < STEPS; s++) {
        step(&f);
        for (size_t i = 0; i < M; i++)
            sent[i] += (double)out[i] / STEPS;
    }
    for (size_t i = 0; i < M; i++) {
        const double want = (double)x[0][i] + (double)x[1][i] + (double)x[2][i];
        missing += (sent[i] - want) * (sent[i] - want);
        all += want * want;
    }
    assert_true(sqrt(missing / all) < 0.05);
    hr_factors_fini(&f);
}

/* A matrix of rank 1 is sent whole; the second column is 0, and comes back when it is needed. */
static void a_small_rank_leaves_columns_out(void **state)
{
    struct hr_factors f = two_tensors();
    float u[ROWS], v[COLUMNS];
    (void)state;
    begin();
    draw(u, ROWS, 50);
    draw(v, COLUMNS, 60);
    for (size_t r = 0; r < RANKS; r++)
        for (size_t i = 0; i < M; i++)
            x[r][i] = u[i / COLUMNS] * v[i % COLUMNS];
    for (int s = 0; s < 3; s++) {
        step(&f);
        for (size_t i = 0; i < M; i++)
            CHECK_NEAR((double)out[i], 3 * (double)x[0][i], 1e-4, 1e-4);
        assert_true(column_product(p[0], 1, 1) < 1e-9);
    }
    memset(x, 0, sizeof x);
    step(&f);
    for (size_t i = 0; i < M; i++)
        CHECK_NEAR((double)out[i], 0, 0, 1e-4);
    for (size_t r = 0; r < RANKS; r++)
        draw(x[r], ALL, (uint32_t)r);
    step(&f);
    CHECK_NEAR(column_product(p[0], 1, 1), 1, 0, 1e-5);
    hr_factors_fini(&f);
}

static void what_factors_do_not_shrink_is_sent_as_it_is(void **state)
{
    struct hr_factors f;
    (void)state;
    CHECK_OK(hr_factors_begin(&f, 4, 3, 1));
    hr_factors_add(&f, 0, 8, 8); /* 4 (8 + 8) = 8 * 8 */
    hr_factors_add(&f, 64, 8, 9);
    hr_factors_add(&f, 136, 5, 0);
    assert_true(!f.tensor[0].columns && f.tensor[0].rows == 64);
    assert_true(f.tensor[1].columns == 9 && f.tensor[1].p == 64 && f.tensor[1].q == 0);
    assert_true(f.tensor[2].rows == 5 && f.tensor[2].p == 64 + 32);
    assert_true(f.p_floats == 64 + 32 + 5 && f.q_floats == 36);
    hr_factors_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_projects_and_keeps_the_rest),
        cmocka_unit_test(steps_add_up_to_the_gradient),
        cmocka_unit_test(a_small_rank_leaves_columns_out),
        cmocka_unit_test(what_factors_do_not_shrink_is_sent_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

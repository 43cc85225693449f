/* The laws: formulas beside walks where links are what the formulas think of. */

#include <math.h>
#include <stdio.h>

#include "netsim/walk.h"
#include "support/check.h"

static const struct hr_link link16 = {.bandwidth = 16e9};
static const double N = 16e6, B = 16e9, MS = 1e-3;

/* As many runs of what a ring deals out for each of up to 64 chunks. */
static const double WHOLE = 64.0 * 10 * HR_RUN_ELEMS * sizeof(float);

static double walked(const char *family, const struct hr_algorithm *algorithm, size_t n)
{
    struct hr_topology t;
    struct hr_walk walk;
    char what[32];
    snprintf(what, sizeof what, "%s:%zu", family, n);
    CHECK_OK(hr_topology_open(what, &link16, &t));
    const struct hr_walk_options options = {.topology = &t,
                                            .node = t.rank_node,
                                            .n = n,
                                            .plan = algorithm->plan,
                                            .bytes = (uint64_t)WHOLE};
    CHECK_OK(hr_walk(&options, &walk));
    const double seconds = hr_ps_seconds(walk.ps);
    hr_walk_fini(&walk);
    hr_topology_fini(&t);
    return seconds;
}

static void formulas_agree_with_walks(void **state)
{
    (void)state;
    static const struct {
        const char *family;
        const struct hr_algorithm *algorithm;
        double trips; /* the literature's tree goes one way */
    } cases[] = {
        {"star", &hr_allreduce_master_worker, 1},
        {"star", &hr_allreduce_direct, 1},
        {"star", &hr_allreduce_ring, 1},
        {"ring", &hr_allreduce_ring, 1},
        {"ring", &hr_allreduce_bidirectional_ring, 1},
        {"star", &hr_allreduce_tree, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t n = 4; n <= 32; n *= 2) {
            const double law = hr_law_seconds(cases[i].algorithm->name, n, n - 1, WHOLE, B);
            CHECK_NEAR(walked(cases[i].family, cases[i].algorithm, n), cases[i].trips * law, 0.01,
                       0);
        }
    assert_true(isnan(hr_law_seconds("hierarchical", 4, 3, N, B)));
    assert_null(hr_law_formula("hierarchical"));
    assert_string_equal(hr_law_formula("tree"), "log2(P) N / B");
}

static double round_ms(size_t workers, size_t servers)
{
    int64_t ps;
    CHECK_OK(hr_law_server_round(workers, servers, (uint64_t)N, &link16, &ps));
    return hr_ps_seconds(ps) / MS;
}

static void one_server_is_linear_in_the_workers(void **state)
{
    (void)state;
    for (size_t m = 1; m <= 32; m++)
        CHECK_NEAR(round_ms(m, 1), 2.0 * (double)m, 1e-9, 0);
}

/* Where the workers do not divide, some server's link has nothing to do for a while; and a server
 * that is done early answers while others still listen. */
static void n_servers_divide_that_by_n(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 8; n *= 2)
        for (size_t m = 1; m <= 32; m++) {
            const double share = (double)m / (double)n, got = round_ms(m, n);
            if (m % n == 0)
                CHECK_NEAR(got, 2 * share, 1e-9, 0);
            assert_true(got >= 2 * share - 1e-9 && got < 2 * (share + 1));
        }
}

static void a_slope_is_that_of_the_line(void **state)
{
    (void)state;
    const double x[] = {1, 2, 4, 9}, line[] = {5, 7, 11, 21}, bent[] = {0, 1, 1, 2};
    CHECK_NEAR(hr_law_slope(x, line, 4), 2, 1e-12, 0);
    CHECK_NEAR(hr_law_slope(x, bent, 4), 8.0 / 38, 1e-12, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_agree_with_walks),
        cmocka_unit_test(one_server_is_linear_in_the_workers),
        cmocka_unit_test(n_servers_divide_that_by_n),
        cmocka_unit_test(a_slope_is_that_of_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

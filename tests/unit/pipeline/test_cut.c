/* The cut against all cuts there are. */
#include <stdbool.h>
#include <string.h>

#include "base/philox.h"
#include "pipeline/cut.h"
#include "support/check.h"

enum { PIECES = 10, MOST_PARTS = 32 };

struct cut {
    int64_t most, squares;
    size_t first[MOST_PARTS + 1];
};

static struct cut measure(const int64_t *cost, size_t parts, const size_t *first)
{
    struct cut cut = {0};
    memcpy(cut.first, first, (parts + 1) * sizeof *first);
    for (size_t p = 0; p < parts; p++) {
        int64_t run = 0;
        assert_true(first[p] < first[p + 1]);
        for (size_t i = first[p]; i < first[p + 1]; i++)
            run += cost[i];
        cut.most = run > cut.most ? run : cut.most;
        cut.squares += run * run;
    }
    return cut;
}

/* Of equal ones the later cut wins, from the last one on. */
static bool better(const struct cut *a, const struct cut *b, size_t parts)
{
    if (a->most != b->most)
        return a->most < b->most;
    if (a->squares != b->squares)
        return a->squares < b->squares;
    for (size_t p = parts; p-- > 0;)
        if (a->first[p] != b->first[p])
            return a->first[p] > b->first[p];
    return false;
}

/* A cut is a set of places between pieces: the bits of a number. */
static struct cut best_of_all(const int64_t *cost, size_t n, size_t parts)
{
    struct cut best = {.most = INT64_MAX};
    for (size_t places = 0; places < (size_t)1 << (n - 1); places++) {
        size_t first[PIECES + 1] = {0}, p = 1;
        for (size_t i = 1; i < n; i++)
            if (places >> (i - 1) & 1)
                first[p++] = i;
        first[p] = n;
        if (p != parts)
            continue;
        const struct cut cut = measure(cost, parts, first);
        if (better(&cut, &best, parts))
            best = cut;
    }
    return best;
}

static void a_cut_is_the_best_of_all(void **state)
{
    (void)state;
    for (uint32_t which = 0; which < 20; which++)
        for (size_t n = 1; n <= PIECES; n++) {
            int64_t cost[PIECES];
            for (size_t i = 0; i < n; i++) {
                const struct hr_philox random =
                    hr_random_block(check_seed(), HR_STREAM_TEST, i, which * 100 + n);
                cost[i] = random.v[0] % 3 ? random.v[1] % (which % 2 ? 6 : 1000) : 0;
            }
            for (size_t parts = 1; parts <= n; parts++) {
                const struct cut best = best_of_all(cost, n, parts);
                size_t first[PIECES + 1];
                CHECK_OK(hr_pipeline_cut(cost, n, parts, first));
                assert_memory_equal(first, best.first, (parts + 1) * sizeof *first);
            }
        }
}

/* The most of ranks, each of which has every ranks-th run, and the runs' squares. */
static struct cut measure_ranks(const int64_t *cost, size_t ranks, size_t parts,
                                const size_t *first)
{
    struct cut cut = {0};
    for (size_t r = 0; r < ranks; r++) {
        int64_t load = 0;
        for (size_t p = r; p < parts; p += ranks)
            for (size_t i = first[p]; i < first[p + 1]; i++)
                load += cost[i];
        cut.most = load > cut.most ? load : cut.most;
    }
    cut.squares = measure(cost, parts, first).squares;
    return cut;
}

static struct cut best_for_ranks(const int64_t *cost, size_t n, size_t ranks, size_t parts)
{
    struct cut best = {.most = INT64_MAX};
    for (size_t places = 0; places < (size_t)1 << (n - 1); places++) {
        size_t first[PIECES + 1] = {0}, p = 1;
        for (size_t i = 1; i < n; i++)
            if (places >> (i - 1) & 1)
                first[p++] = i;
        first[p] = n;
        if (p != parts)
            continue;
        const struct cut cut = measure_ranks(cost, ranks, parts, first);
        if (cut.most < best.most || (cut.most == best.most && cut.squares < best.squares))
            best = cut;
    }
    return best;
}

static void a_cut_for_ranks_is_the_best_of_all(void **state)
{
    (void)state;
    for (uint32_t which = 0; which < 60; which++)
        for (size_t ranks = 2; ranks <= 5; ranks++)
            for (size_t parts = ranks; parts <= PIECES; parts += ranks) {
                int64_t cost[PIECES];
                size_t first[PIECES + 1];
                for (size_t i = 0; i < PIECES; i++)
                    cost[i] =
                        hr_random_block(check_seed(), HR_STREAM_TEST, i, 5000 + which).v[0] % 100;
                const struct cut best = best_for_ranks(cost, PIECES, ranks, parts);
                CHECK_OK(hr_pipeline_cut_for_ranks(cost, PIECES, ranks, parts, first));
                assert_int_equal(first[0], 0);
                assert_int_equal(first[parts], PIECES);
                const struct cut got = measure_ranks(cost, ranks, parts, first);
                assert_int_equal(got.most, best.most);
                assert_int_equal(got.squares, best.squares);
            }
}

/* Too many to look at all of them: it ends, and is nearly even. */
static void many_pieces_are_cut_nearly_evenly(void **state)
{
    enum { MANY = 200, RANKS = 8, RUNS = MOST_PARTS };
    int64_t cost[MANY];
    size_t first[RUNS + 1];
    (void)state;
    int64_t sum = 0;
    for (size_t i = 0; i < MANY; i++)
        sum += cost[i] = hr_random_block(check_seed(), HR_STREAM_TEST, i, 9000).v[0] % 1000;
    CHECK_OK(hr_pipeline_cut_for_ranks(cost, MANY, RANKS, RUNS, first));
    assert_true(measure_ranks(cost, RANKS, RUNS, first).most * RANKS < sum + sum / 20);
}

static void what_costs_nothing_stays_with_the_piece_before(void **state)
{
    const int64_t mlp[] = {0, 200704, 0, 32768, 0, 1280}, nothing[] = {0, 0, 0};
    size_t first[4];
    (void)state;
    CHECK_OK(hr_pipeline_cut(mlp, 6, 3, first));
    assert_memory_equal(first, ((size_t[]){0, 3, 5, 6}), sizeof first);
    CHECK_OK(hr_pipeline_cut(nothing, 3, 3, first));
    assert_memory_equal(first, ((size_t[]){0, 1, 2, 3}), sizeof first);
}

static void more_parts_than_pieces_are_refused(void **state)
{
    const int64_t cost[] = {1, 2};
    size_t first[4];
    (void)state;
    CHECK_FAILS(hr_pipeline_cut(cost, 2, 3, first), HR_E_USAGE);
    CHECK_MESSAGE("2 pieces in 3 parts: expected 1 to 2 parts");
    CHECK_FAILS(hr_pipeline_cut(cost, 2, 0, first), HR_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_is_the_best_of_all),
        cmocka_unit_test(a_cut_for_ranks_is_the_best_of_all),
        cmocka_unit_test(many_pieces_are_cut_nearly_evenly),
        cmocka_unit_test(what_costs_nothing_stays_with_the_piece_before),
        cmocka_unit_test(more_parts_than_pieces_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

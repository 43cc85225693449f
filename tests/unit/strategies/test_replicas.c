/* Replicas that are not equal at a cut: who is said to have been altered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "strategy/shared.h"
#include "support/check.h"

enum { PARAMS = 100, MOST = 8 };

/* What a strategy keeps that says nothing of it. */
static const struct hr_strategy equal;

/* Workers with equal replicas, and a snapshot with a stripe of each. */
struct replicas {
    struct hr_shared_state shared;
    float weights[MOST][PARAMS], snapshot[PARAMS];
    float *weight[MOST];
    struct hr_active *active;
    uint64_t applied;
};

static void begin(struct replicas *it, size_t workers)
{
    const size_t bytes = hr_round_up(sizeof *it->active + MOST * sizeof(uint16_t), HR_LINE);
    *it = (struct replicas){.active = aligned_alloc(HR_LINE, bytes)};
    assert_non_null(it->active);
    memset(it->active, 0, bytes);
    it->active->n = workers;
    for (size_t w = 0; w < workers; w++) {
        it->active->rank[w] = (uint16_t)w;
        it->weight[w] = it->weights[w];
        for (size_t i = 0; i < PARAMS; i++)
            it->weights[w][i] = (float)i;
    }
    it->shared =
        (struct hr_shared_state){.strategy = &equal,
                                 .optimizer.rule = hr_rule_at(0),
                                 .workers = workers,
                                 .params = PARAMS,
                                 .weights = it->weight,
                                 .active = it->active,
                                 .snapshot = {.weights = it->snapshot, .applied = &it->applied}};
}

static struct hr_worker worker_at(struct replicas *it, size_t s)
{
    const size_t rank = it->active->rank[s];
    return (struct hr_worker){.shared = &it->shared,
                              .rank = rank,
                              .group_rank = s,
                              .group_size = it->active->n,
                              .weights = it->weights[rank]};
}

/* All export; then all verify. How many found a difference, each with `text` in its message. */
static size_t found(struct replicas *it, const char *text)
{
    size_t n = 0;
    for (size_t s = 0; s < it->active->n; s++) {
        struct hr_worker worker = worker_at(it, s);
        hr_rows_export(&worker);
    }
    for (size_t s = 0; s < it->active->n; s++) {
        struct hr_worker worker = worker_at(it, s);
        const enum hr_status status = hr_rows_verify(&worker);
        if (status == HR_OK)
            continue;
        assert_int_equal(status, HR_E_FAILED);
        CHECK_MESSAGE(text);
        n++;
    }
    return n;
}

static void equal_replicas_are_equal(void **state)
{
    (void)state;
    for (size_t workers = 1; workers <= MOST; workers++) {
        struct replicas it;
        begin(&it, workers);
        assert_int_equal(found(&it, ""), 0);
        free(it.active);
    }
}

/* Whoever exported the parameter, and whoever looks. */
static void of_three_or_more_the_altered_one_is_named(void **state)
{
    (void)state;
    for (size_t workers = 3; workers <= MOST; workers++)
        for (size_t wrong = 0; wrong < workers; wrong++)
            for (size_t i = 0; i < PARAMS; i++) {
                struct replicas it;
                char text[200];
                begin(&it, workers);
                it.weights[wrong][i] = -1;
                snprintf(
                    text, sizeof text,
                    "parameter %zu is -1 in rank %zu, and %zu in %zu of %zu ranks: the weights "
                    "of rank %zu were altered",
                    i, wrong, i, workers - 1, workers, wrong);
                assert_true(found(&it, text) >= 1);
                free(it.active);
            }
}

static void of_two_both_are_named(void **state)
{
    (void)state;
    for (size_t wrong = 0; wrong < 2; wrong++) {
        struct replicas it;
        begin(&it, 2);
        it.weights[wrong][7] = -1;
        assert_int_equal(found(&it, wrong ? "parameter 7 is 7 in rank 0 and -1 in rank 1: the "
                                            "weights of one of them were altered"
                                          : "parameter 7 is -1 in rank 0 and 7 in rank 1"),
                         1);
        free(it.active);
    }
}

static void zeros_of_two_signs_and_nans_are_compared_as_bits(void **state)
{
    (void)state;
    struct replicas it;
    begin(&it, 3);
    it.weights[1][0] = -0.0f;
    assert_true(found(&it, "parameter 0 is -0 in rank 1, and 0 in 2 of 3 ranks") >= 1);
    free(it.active);
}

/* Two altered at one place: what three of five have is right; of four, two against two, nobody
 * knows. */
static void most_replicas_are_right(void **state)
{
    (void)state;
    struct replicas it;
    begin(&it, 5);
    it.weights[0][7] = -1;
    it.weights[1][7] = -2;
    assert_true(found(&it, "and 7 in 3 of 5 ranks: the weights of rank") >= 1);
    free(it.active);
    begin(&it, 4);
    it.weights[0][7] = it.weights[1][7] = -1;
    assert_true(found(&it, "the weights of one of them were altered") >= 1);
    free(it.active);
}

/* A worker that is gone has the weights that it died with. */
static void those_who_are_gone_do_not_count(void **state)
{
    (void)state;
    struct replicas it;
    begin(&it, 5);
    it.active->n = 3;
    for (size_t s = 0; s < 3; s++)
        it.active->rank[s] = (uint16_t)(s + 2);
    memset(it.weights[0], 0xff, 2 * sizeof it.weights[0]);
    assert_int_equal(found(&it, ""), 0);
    it.weights[3][7] = -1;
    assert_true(found(&it, "is -1 in rank 3, and 7 in 2 of 3 ranks") >= 1);
    free(it.active);
}

static void what_is_more_is_compared_too(void **state)
{
    (void)state;
    static const char *const names[] = {"anchor", "momentum", NULL};
    const struct hr_strategy keeps_more = {.rows = {.more = names}};
    float more[2][2 * PARAMS] = {{0}}, kept[2 * PARAMS];
    struct replicas it;
    begin(&it, 2);
    it.shared.strategy = &keeps_more;
    it.shared.snapshot.more = kept;
    for (size_t round = 0; round < 2; round++) {
        more[1][PARAMS + 7] = round ? 0.5f : 0;
        struct hr_worker worker[2] = {worker_at(&it, 0), worker_at(&it, 1)};
        for (size_t w = 0; w < 2; w++) {
            worker[w].more = more[w];
            hr_rows_export(&worker[w]);
        }
        CHECK_OK(hr_rows_verify(&worker[0])); /* it has exported that parameter */
        assert_int_equal(hr_rows_verify(&worker[1]), round ? HR_E_FAILED : HR_OK);
    }
    CHECK_MESSAGE("momentum of parameter 7 is 0.5 in rank 1, and 0 in the rank that exports it");
    free(it.active);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_more_is_compared_too),
        cmocka_unit_test(equal_replicas_are_equal),
        cmocka_unit_test(of_three_or_more_the_altered_one_is_named),
        cmocka_unit_test(of_two_both_are_named),
        cmocka_unit_test(zeros_of_two_signs_and_nans_are_compared_as_bits),
        cmocka_unit_test(most_replicas_are_right),
        cmocka_unit_test(those_who_are_gone_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

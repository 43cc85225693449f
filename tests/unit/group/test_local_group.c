/* A local group: one thread's ranks get the bits, and the accounts, of real ones; up to 1024. */
#include "group/local_group.h"
#include "support/ranks.h"
#include "unit/group/party.h"

static const size_t counts[] = {0, 1, 63, 5003};

enum { COUNTS = sizeof counts / sizeof *counts, ALL_COUNTS = 5067 };

/* --- against real ranks ----------------------------------------------------------------------- */

static enum hr_status reduce_for_real(struct rank *me)
{
    struct hr_traffic *traffic = me->ranks->arg;
    size_t at = 0;
    fill(me->floats, me->rank, ALL_COUNTS);
    for (size_t c = 0; c < COUNTS; at += counts[c++])
        HR_TRY(member_all_reduce(&me->member, me->floats + at, counts[c]));
    traffic[me->rank] = hr_member_traffic(&me->member);
    return HR_OK;
}

static void check_against_real_ranks(const struct hr_algorithm *algorithm, size_t n, bool plan_only)
{
    struct hr_traffic traffic[HR_MAX_RANKS];
    struct ranks ranks = {.nranks = n,
                          .floats = ALL_COUNTS,
                          .algorithm = algorithm,
                          .plan_only = plan_only,
                          .timeout_ns = (int64_t)60 * 1000 * 1000 * 1000,
                          .body = reduce_for_real,
                          .arg = traffic};
    struct party party;
    size_t at = 0;
    ranks_open(&ranks);
    CHECK_OK(ranks_run(&ranks));
    party_open(&party, &ranks.options, ALL_COUNTS);
    for (size_t r = 0; r < n; r++)
        fill(party.buffer[r], r, ALL_COUNTS);
    for (size_t c = 0; c < COUNTS; at += counts[c++])
        reduce_all(&party, c * 5 % n, at, counts[c]);
    for (size_t r = 0; r < n; r++) {
        const struct hr_traffic mine = hr_member_traffic(&party.member[r]);
        CHECK_SAME_FLOATS(party.buffer[r], ranks_floats(&ranks, r), ALL_COUNTS);
        assert_memory_equal(&mine, &traffic[r], sizeof mine);
    }
    party_close(&party);
    ranks_close(&ranks);
}

static void every_algorithm_gives_the_bits_and_the_accounts_of_real_ranks(void **state)
{
    (void)state;
    static const size_t ranks[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 64};
    const struct hr_algorithm *algorithm;
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++)
        for (size_t i = 0; (algorithm = hr_algorithm_at(i)); i++)
            check_against_real_ranks(algorithm, ranks[k], true);
}

static void the_fast_ways_of_real_ranks_are_no_different(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 5; n++) {
        check_against_real_ranks(&hr_allreduce_auto, n, false);
        check_against_real_ranks(&hr_allreduce_direct, n, false);
        check_against_real_ranks(&hr_allreduce_one_shot, n, false);
    }
}

/* --- beyond 64 -------------------------------------------------------------------------------- */

/* T(n), by its definition. */
static float tree_twin(size_t first, size_t n, size_t i)
{
    size_t left = 1;
    if (n == 1)
        return real(first, i);
    while (left * 2 < n)
        left *= 2;
    const float a = tree_twin(first, left, i), b = tree_twin(first + left, n - left, i);
    return a + b;
}

static float ring_twin(size_t n, size_t first, size_t i)
{
    const size_t chunk = (first + i) / HR_RUN_ELEMS % n;
    float sum = real(chunk, i);
    for (size_t k = 1; k < n; k++)
        sum += real((chunk + k) % n, i);
    return sum;
}

static void check_against_twin(const struct hr_algorithm *algorithm, size_t n, size_t count)
{
    const size_t first = algorithm == &hr_allreduce_ring ? n / 2 * HR_RUN_ELEMS - 200 : 0;
    struct party party;
    float want[400];
    for (size_t i = 0; i < count; i++)
        want[i] = first ? ring_twin(n, first, i) : tree_twin(0, n, i);
    party_open(&party, &(struct hr_group_options){.nranks = n, .algorithm = algorithm}, count);
    party.first = first;
    for (size_t r = 0; r < n; r++)
        fill(party.buffer[r], r, count);
    reduce_all(&party, n / 3, 0, count);
    for (size_t r = 0; r < n; r++)
        CHECK_SAME_FLOATS(party.buffer[r], want, count);
    party_close(&party);
}

static void a_thousand_ranks_add_in_the_order_that_is_promised(void **state)
{
    (void)state;
    static const size_t ranks[] = {65, 100, 1024};
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++) {
        check_against_twin(&hr_allreduce_auto, ranks[k], 257);
        check_against_twin(&hr_allreduce_direct, ranks[k], 400);
        check_against_twin(&hr_allreduce_one_shot, ranks[k], 1);
        check_against_twin(&hr_allreduce_tree, ranks[k], 33);
        check_against_twin(&hr_allreduce_master_worker, ranks[k], 33);
        check_against_twin(&hr_allreduce_hierarchical, ranks[k], 33);
        check_against_twin(&hr_allreduce_ring, ranks[k], 400);
    }
    check_against_twin(&hr_allreduce_halving_doubling, 1024, 400);
}

static void check_integers(const struct hr_algorithm *algorithm, size_t n, size_t group_size)
{
    enum { COUNT = 2500 };
    struct party party;
    party_open(
        &party,
        &(struct hr_group_options){.nranks = n, .algorithm = algorithm, .group_size = group_size},
        COUNT);
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < COUNT; i++)
            party.buffer[r][i] = (float)(r + i % 7);
    reduce_all(&party, n - 1, 0, COUNT);
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < COUNT; i++)
            assert_true(party.buffer[r][i] == (float)(n * (n - 1) / 2 + n * (i % 7)));
    party_close(&party);
}

static void integers_are_exact_whatever_the_algorithm(void **state)
{
    (void)state;
    const struct hr_algorithm *algorithm;
    for (size_t i = 0; (algorithm = hr_algorithm_at(i)); i++) {
        check_integers(algorithm, 65, 0);
        check_integers(algorithm, 200, 0);
    }
    check_integers(&hr_allreduce_hierarchical, 100, 33);
    check_integers(&hr_allreduce_hierarchical, 1024, 1024);
    check_integers(&hr_allreduce_bidirectional_ring, 1024, 0);
}

/* The local does these without their rows, so nothing else looks at how a merged plan sums. */
static void the_merged_plans_of_direct_and_master_worker_are_the_tree(void **state)
{
    (void)state;
    static const struct hr_algorithm *const algorithm[] = {&hr_allreduce_direct,
                                                           &hr_allreduce_master_worker};
    enum { N = 13, COUNT = 500 };
    for (size_t a = 0; a < 2; a++) {
        static float buffer[N][COUNT];
        void *at[N];
        struct hr_merged_plan *merged;
        CHECK_OK(hr_merged_plan_create(algorithm[a], N, 0, &merged));
        for (size_t r = 0; r < N; r++) {
            at[r] = buffer[r];
            fill(buffer[r], r, COUNT);
        }
        hr_merged_plan_perform(merged, (struct hr_kind){HR_FLOAT32, HR_SUM}, at, 0, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            for (size_t r = 0; r < N; r++)
                assert_true(buffer[r][i] == tree_twin(0, N, i));
        hr_merged_plan_destroy(merged);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_gives_the_bits_and_the_accounts_of_real_ranks),
        cmocka_unit_test(the_fast_ways_of_real_ranks_are_no_different),
        cmocka_unit_test(a_thousand_ranks_add_in_the_order_that_is_promised),
        cmocka_unit_test(integers_are_exact_whatever_the_algorithm),
        cmocka_unit_test(the_merged_plans_of_direct_and_master_worker_are_the_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

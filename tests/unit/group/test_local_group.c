/* A local group: one thread's ranks get the bits, and the accounts, of real ones; up to 1024. */
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "group/local_group.h"
#include "group/merged_plan.h"
#include "support/check.h"
#include "support/ranks.h"

static const size_t counts[] = {0, 1, 63, 5003};

enum { COUNTS = sizeof counts / sizeof *counts, ALL_COUNTS = 5067 };

static float real(size_t rank, size_t i)
{
    return hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, (uint32_t)rank).v[0]) -
           0.5f;
}

/* --- n ranks in a local group --- */

struct party {
    struct hr_group_options options;
    struct hr_local_group *local;
    struct hr_member *member; /* (n) */
    float **buffer;           /* (n)(floats) */
    size_t first;             /* flat index of what is reduced */
    uint64_t told;            /* sums of which the driver was told */
    struct hr_local_group_sum last;
    bool unreleased;
};

static void party_open(struct party *party, const struct hr_group_options *options, size_t floats)
{
    const size_t n = options->nranks;
    *party = (struct party){.options = *options,
                            .member = calloc(n, sizeof *party->member),
                            .buffer = calloc(n, sizeof *party->buffer)};
    assert_true(party->member && party->buffer);
    CHECK_OK(hr_local_group_create(options, &party->local));
    for (size_t r = 0; r < n; r++) {
        party->buffer[r] = calloc(floats + 1, sizeof(float));
        assert_non_null(party->buffer[r]);
        hr_member_init_local(&party->member[r], party->local, r);
    }
}

static void party_close(struct party *party)
{
    for (size_t r = 0; r < party->options.nranks; r++) {
        hr_member_fini(&party->member[r]);
        free(party->buffer[r]);
    }
    hr_local_group_destroy(party->local);
    free(party->member);
    free(party->buffer);
}

/* All ranks, beginning with `first`, reduce `count` floats from `at` on. */
static void reduce_all(struct party *party, size_t first, size_t at, size_t count)
{
    const size_t n = party->options.nranks;
    for (size_t k = 0; k < n; k++) {
        struct hr_member *member = &party->member[(first + k) % n];
        hr_member_all_reduce_part_start(member, party->buffer[(first + k) % n] + at, party->first,
                                        count);
        assert_int_equal(hr_member_test(member), k + 1 == n);
    }
    for (size_t r = 0; r < n; r++) {
        assert_true(hr_member_test(&party->member[r]));
        CHECK_OK(hr_member_finish(&party->member[r]));
    }
}

static void fill(float *buffer, size_t rank, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buffer[i] = real(rank, i);
}

/* --- against real ranks ----------------------------------------------------------------------- */

static enum hr_status reduce_for_real(struct rank *me)
{
    struct hr_traffic *traffic = me->ranks->arg;
    size_t at = 0;
    fill(me->floats, me->rank, ALL_COUNTS);
    for (size_t c = 0; c < COUNTS; at += counts[c++])
        HR_TRY(hr_member_all_reduce(&me->member, me->floats + at, counts[c]));
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

/* --- other jobs ------------------------------------------------------------------------------- */

struct model {
    float weight[9000];
    size_t applied;
};

static void apply(void *arg, size_t begin, size_t count, const float *sum)
{
    struct model *model = arg;
    for (size_t i = 0; i < count; i++)
        model->weight[begin + i] -= 0.1f * sum[i];
    model->applied += count;
}

static void a_fused_sum_is_a_stored_one_and_an_update(void **state)
{
    (void)state;
    enum { N = 70, COUNT = 9000 };
    static struct model fused, apart;
    struct party party;
    party_open(&party, &(struct hr_group_options){.nranks = N, .algorithm = &hr_allreduce_direct},
               COUNT);
    for (size_t r = 0; r < N; r++) {
        fill(party.buffer[r], r, COUNT);
        hr_member_reduce_apply_start(&party.member[r], party.buffer[r], COUNT, apply, &fused);
    }
    for (size_t r = 0; r < N; r++)
        assert_true(hr_member_test(&party.member[r]));
    const struct hr_traffic once = hr_member_traffic(&party.member[3]);
    reduce_all(&party, 0, 0, COUNT);
    const struct hr_traffic twice = hr_member_traffic(&party.member[3]);
    apply(&apart, 0, COUNT, party.buffer[N - 1]);
    assert_int_equal(fused.applied, COUNT);
    CHECK_SAME_FLOATS(fused.weight, apart.weight, COUNT);
    assert_int_equal(twice.bytes_sent, 2 * once.bytes_sent);
    assert_int_equal(twice.messages_received, 2 * once.messages_received);
    party_close(&party);
}

static void check_mean_of_integers(const struct hr_algorithm *algorithm)
{
    enum { N = 5, COUNT = 300 };
    static int32_t in[N][COUNT], out[N][COUNT];
    struct party party;
    party_open(&party, &(struct hr_group_options){.nranks = N, .algorithm = algorithm}, 0);
    for (size_t r = 0; r < N; r++) {
        for (size_t i = 0; i < COUNT; i++)
            in[r][i] = (int32_t)(r * i);
        hr_member_start(&party.member[r], &(struct hr_job){.operation = HR_OP_ALL_REDUCE,
                                                           .kind = {HR_INT32, HR_MEAN},
                                                           .in = in[r],
                                                           .out = out[r],
                                                           .count = COUNT});
    }
    for (size_t r = 0; r < N; r++) {
        CHECK_OK(hr_member_wait(&party.member[r]));
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(out[r][i], 2 * i);
            assert_int_equal(in[r][i], r * i);
        }
    }
    party_close(&party);
}

static void other_types_operators_and_outputs_work_as_well(void **state)
{
    (void)state;
    check_mean_of_integers(&hr_allreduce_direct);
    check_mean_of_integers(&hr_allreduce_ring);
    check_mean_of_integers(&hr_allreduce_hierarchical);
}

static void ranks_that_call_different_sums_are_all_told_both(void **state)
{
    (void)state;
    struct party party;
    const struct hr_group_options options = {.nranks = 3, .algorithm = &hr_allreduce_direct};
    for (int other_kind = 0; other_kind < 2; other_kind++) {
        party_open(&party, &options, 100);
        struct hr_member *m = party.member;
        reduce_all(&party, 0, 0, 100);
        hr_member_all_reduce_start(&m[1], party.buffer[1], 100);
        assert_false(hr_member_test(&m[1]));
        if (other_kind)
            hr_member_reduce_apply_start(&m[2], party.buffer[2], 100, apply, NULL);
        else
            hr_member_all_reduce_start(&m[2], party.buffer[2], 99);
        CHECK_FAILS(hr_member_wait(&m[2]), HR_E_MISMATCH);
        CHECK_MESSAGE("rank 2 called ");
        CHECK_MESSAGE(other_kind ? "reduce_apply number 2 of 100"
                                 : "direct number 2 of 99 float32");
        CHECK_MESSAGE("; rank 1 called all_reduce direct number 2 of 100 float32 sum");
        assert_true(hr_member_test(&m[1]));
        CHECK_FAILS(hr_member_finish(&m[1]), HR_E_MISMATCH);
        CHECK_MESSAGE(
            "rank 1 called all_reduce direct number 2 of 100 float32 sum; rank 2 called ");
        hr_member_all_reduce_start(&m[0], party.buffer[0], 100); /* the last, and it is told */
        CHECK_FAILS(hr_member_wait(&m[0]), HR_E_MISMATCH);
        party_close(&party);
    }
}

/* --- the driver's time ------------------------------------------------------------------------ */

static void summed(void *arg, const struct hr_local_group_sum *what)
{
    struct party *party = arg;
    assert_false(party->unreleased);
    assert_int_equal(what->number, ++party->told);
    party->last = *what;
    party->unreleased = true;
}

static void a_sum_is_seen_when_the_driver_releases_it(void **state)
{
    (void)state;
    struct party party;
    party_open(&party, &(struct hr_group_options){.nranks = 2, .algorithm = &hr_allreduce_auto}, 8);
    struct hr_member *m = party.member;
    hr_local_group_on_sum(party.local, summed, &party);
    hr_member_all_reduce_start(&m[1], party.buffer[1], 8);
    hr_local_group_release(party.local); /* too early: nothing has been summed */
    assert_int_equal(party.told, 0);
    hr_member_all_reduce_start(&m[0], party.buffer[0], 8);
    assert_int_equal(party.told, 1);
    assert_int_equal(party.last.bytes, 8 * sizeof(float));
    assert_int_equal(party.last.last_rank, 0);
    assert_ptr_equal(party.last.algorithm, &hr_allreduce_direct);
    assert_false(hr_member_test(&m[0]) || hr_member_test(&m[1]));
    hr_local_group_release(party.local);
    assert_true(hr_member_test(&m[1]) && hr_member_test(&m[0]));
    party_close(&party);
}

/* One step of a rank: look whether its sum is there, check it, begin the next. */
static void play_rank(struct party *party, size_t rank, uint64_t *finished)
{
    struct hr_member *member = &party->member[rank];
    const size_t n = party->options.nranks;
    if (member->call.sequence) {
        if (!hr_member_test(member))
            return;
        CHECK_OK(hr_member_finish(member));
        assert_int_equal(++*finished, member->call.sequence);
        const float want = (float)(n * (n - 1) / 2 + n * *finished);
        for (size_t i = 0; i < *finished % 50; i++)
            assert_true(party->buffer[rank][i] == want);
    }
    for (size_t i = 0; i < 50; i++)
        party->buffer[rank][i] = (float)(rank + *finished + 1);
    hr_member_all_reduce_start(member, party->buffer[rank], (*finished + 1) % 50);
}

static void ranks_run_ahead_into_the_next_sum_in_any_order(void **state)
{
    (void)state;
    enum { N = 6, SUMS = 300 };
    struct party party;
    uint64_t finished[N] = {0};
    size_t ahead = 0;
    party_open(&party, &(struct hr_group_options){.nranks = N, .algorithm = &hr_allreduce_ring},
               50);
    hr_local_group_on_sum(party.local, summed, &party);
    for (uint64_t k = 0; party.told < SUMS; k++) {
        const uint32_t random = hr_random_block(check_seed(), HR_STREAM_TEST, k, 7).v[0];
        if (random % (N + 1) < N) {
            play_rank(&party, random % (N + 1), &finished[random % (N + 1)]);
        } else if (party.unreleased) {
            party.unreleased = false;
            hr_local_group_release(party.local);
        }
        for (size_t r = 1; r < N; r++)
            ahead += finished[r] > finished[0];
    }
    assert_true(ahead > SUMS); /* it was looked at */
    party_close(&party);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_gives_the_bits_and_the_accounts_of_real_ranks),
        cmocka_unit_test(the_fast_ways_of_real_ranks_are_no_different),
        cmocka_unit_test(a_thousand_ranks_add_in_the_order_that_is_promised),
        cmocka_unit_test(integers_are_exact_whatever_the_algorithm),
        cmocka_unit_test(the_merged_plans_of_direct_and_master_worker_are_the_tree),
        cmocka_unit_test(a_fused_sum_is_a_stored_one_and_an_update),
        cmocka_unit_test(other_types_operators_and_outputs_work_as_well),
        cmocka_unit_test(ranks_that_call_different_sums_are_all_told_both),
        cmocka_unit_test(a_sum_is_seen_when_the_driver_releases_it),
        cmocka_unit_test(ranks_run_ahead_into_the_next_sum_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

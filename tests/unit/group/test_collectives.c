/* Collectives between real ranks: exact sums of integers, equal bits of reals, whole guards. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/philox.h"
#include "support/check.h"
#include "support/ranks.h"

enum { LARGEST = 70001, GUARD = 64, REALS = 5003, MAX_RANKS = 17 };

/* The ways to do an all-reduce: the algorithms, and direct once more without its fast path. */
static const struct way {
    const char *name;
    const struct hr_algorithm *algorithm;
    bool plan_only, same_bits; /* as direct */
} ways[] = {
    {"direct", &hr_allreduce_direct, false, true},
    {"direct by its plan", &hr_allreduce_direct, true, true},
    {"ring", &hr_allreduce_ring, false, false},
    {"master-worker", &hr_allreduce_master_worker, false, true},
    {"auto", &hr_allreduce_auto, false, true},
    {"one-shot", &hr_allreduce_one_shot, false, true},
    {"one-shot by its plan", &hr_allreduce_one_shot, true, true},
    {"bidirectional-ring", &hr_allreduce_bidirectional_ring, false, false},
    {"tree", &hr_allreduce_tree, false, true},
    {"double-tree", &hr_allreduce_double_tree, false, false},
    {"halving-doubling", &hr_allreduce_halving_doubling, false, false},
    {"hierarchical", &hr_allreduce_hierarchical, false, true},
};

enum { DIRECT, WAYS = sizeof ways / sizeof *ways };

static struct ranks ranks_for(const struct way *way, size_t nranks, size_t floats)
{
    return (struct ranks){.nranks = nranks,
                          .floats = floats,
                          .algorithm = way->algorithm,
                          .plan_only = way->plan_only,
                          .spin_ns = 2000};
}

/* --- integers ----------------------------------------------------------------------------------
 */

struct counts {
    size_t n, count[16];
};

static struct counts all_counts(size_t P)
{
    return (struct counts){13,
                           {0, 1, P - 1, P, P + 1, 31, 32, 33, 2047, 2048, 2049, 10007, LARGEST}};
}

static float integer(size_t rank, size_t operation, size_t i)
{
    return (float)(i % 1021 * (rank + 1) + operation);
}

static float sum_of_integers(size_t n, size_t operation, size_t i)
{
    return (float)(i % 1021 * n * (n + 1) / 2 + n * operation);
}

/* A buffer with guards on both sides; each rank's lies a little differently. */
static float *buffer_of(struct rank *me)
{
    return me->floats + GUARD + me->rank;
}

static void fill(struct rank *me, size_t operation, size_t count)
{
    float *buffer = buffer_of(me);
    for (size_t i = 0; i < GUARD; i++)
        buffer[(ptrdiff_t)i - GUARD] = buffer[count + i] = -7;
    for (size_t i = 0; i < count; i++)
        buffer[i] = integer(me->rank, operation, i);
}

static enum hr_status check_guards(struct rank *me, size_t count)
{
    const float *buffer = buffer_of(me);
    for (size_t i = 0; i < GUARD; i++) {
        RANK_CHECK(buffer[(ptrdiff_t)i - GUARD] == -7, "count %zu: guard before", count);
        RANK_CHECK(buffer[count + i] == -7, "count %zu: guard behind", count);
    }
    return HR_OK;
}

static enum hr_status reduce_once(struct rank *me, size_t operation, size_t count)
{
    const float *buffer = buffer_of(me);
    fill(me, operation, count);
    HR_TRY(member_all_reduce(&me->member, buffer_of(me), count));
    for (size_t i = 0; i < count; i++) {
        const float want = sum_of_integers(me->ranks->nranks, operation, i);
        RANK_CHECK(buffer[i] == want, "count %zu, operation %zu, element %zu: %g, not %g", count,
                   operation, i, (double)buffer[i], (double)want);
    }
    return check_guards(me, count);
}

static enum hr_status broadcast_once(struct rank *me, size_t root, size_t count)
{
    const float *buffer = buffer_of(me);
    fill(me, root, count);
    HR_TRY(member_broadcast(&me->member, buffer_of(me), count, root));
    for (size_t i = 0; i < count; i++)
        RANK_CHECK(buffer[i] == integer(root, root, i), "count %zu, root %zu, element %zu: %g",
                   count, root, i, (double)buffer[i]);
    return check_guards(me, count);
}

/* Several operations in a row: each refills its buffer as soon as the one before is over. */
static enum hr_status sweep(struct rank *me)
{
    const struct counts *counts = me->ranks->arg;
    for (size_t c = 0; c < counts->n; c++) {
        const size_t count = counts->count[c];
        HR_TRY(reduce_once(me, 1, count));
        HR_TRY(reduce_once(me, 2, count));
        for (size_t root = 0; root < me->ranks->nranks; root++)
            HR_TRY(broadcast_once(me, root, count));
        HR_TRY(hr_member_barrier(&me->member));
        HR_TRY(reduce_once(me, 3, count));
        HR_TRY(hr_member_barrier(&me->member));
        HR_TRY(hr_member_barrier(&me->member));
    }
    /* Under a sanitizer a rank may be late by more than 50 ms, and then ready as they end. */
    RANK_CHECK(!me->waiter.missed || me->ranks->crowded || CHECK_SANITIZED, "a wake-up was lost");
    return HR_OK;
}

static void run_sweep(const struct way *way, size_t n, struct counts counts, bool crowded,
                      enum hr_launch launch)
{
    struct ranks ranks = ranks_for(way, n, LARGEST + 2 * GUARD + n);
    ranks.body = sweep;
    ranks.arg = &counts;
    ranks.launch = launch;
    ranks.crowded = crowded;
    ranks.spin_ns = crowded ? 200 : ranks.spin_ns;
    ranks_open(&ranks);
    const enum hr_status status = ranks_run(&ranks);
    if (status != HR_OK)
        print_error("%s, %zu ranks\n", way->name, n);
    CHECK_OK(status);
    ranks_close(&ranks);
}

static void threads_get_exact_sums(void **state)
{
    (void)state;
    static const size_t numbers[] = {1, 2, 3, 4, 7, 8};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        for (size_t w = 0; w < WAYS; w++)
            for (int crowded = 0; crowded < 2; crowded++)
                run_sweep(&ways[w], numbers[k], all_counts(numbers[k]), crowded, HR_LAUNCH_THREAD);
}

static void processes_get_exact_sums(void **state)
{
    (void)state;
    static const size_t numbers[] = {1, 2, 3, 8};
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        for (size_t w = 0; w < WAYS; w++) {
            const struct counts counts = {6, {0, 1, numbers[k] + 1, 33, 2049, 10007}};
            run_sweep(&ways[w], numbers[k], counts, w % 2, HR_LAUNCH_PROCESS);
        }
    assert_true(no_children_left());
    assert_int_equal(segments_of(getpid()), 0);
}

/* --- reals -------------------------------------------------------------------------------------
 */

/* Near 1, so that no sum loses its digits. */
static void fill_with_reals(float *x, size_t rank, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = 0.5f + hr_random_unit(
                          hr_random_block(check_seed(), HR_STREAM_TEST, i, (uint32_t)rank).v[0]);
}

/* The same inputs twice, into two places. */
static enum hr_status reduce_reals_twice(struct rank *me)
{
    for (size_t k = 0; k < 2; k++) {
        fill_with_reals(me->floats + k * REALS, me->rank, REALS);
        HR_TRY(member_all_reduce(&me->member, me->floats + k * REALS, REALS));
    }
    return HR_OK;
}

/* result (REALS): what every rank got, each time. */
static void reals_by(const struct way *way, size_t n, float *result)
{
    struct ranks ranks = ranks_for(way, n, 2 * REALS);
    ranks.body = reduce_reals_twice;
    ranks_open(&ranks);
    CHECK_OK(ranks_run(&ranks));
    memcpy(result, ranks_floats(&ranks, 0), REALS * sizeof *result);
    for (size_t r = 0; r < n; r++) {
        CHECK_SAME_FLOATS(ranks_floats(&ranks, r), result, REALS);
        CHECK_SAME_FLOATS(ranks_floats(&ranks, r) + REALS, result, REALS);
    }
    ranks_close(&ranks);
}

static void algorithms_that_add_in_one_order_agree_to_the_bit(void **state)
{
    (void)state;
    static float got[WAYS][REALS];
    for (size_t n = 1; n <= MAX_RANKS; n++) {
        for (size_t w = 0; w < WAYS; w++) {
            const bool power_of_two = (n & (n - 1)) == 0;
            reals_by(&ways[w], n, got[w]);
            if (ways[w].same_bits ||
                (ways[w].algorithm == &hr_allreduce_halving_doubling && power_of_two))
                CHECK_SAME_FLOATS(got[w], got[DIRECT], REALS);
            else
                CHECK_NEAR_FLOATS(got[w], got[DIRECT], REALS, 1e-6, 0);
        }
    }
}

static enum hr_status reduce_what_is_not_finite(struct rank *me)
{
    for (size_t i = 0; i < 4; i++)
        me->floats[i] = 1;
    if (me->rank == 1)
        memcpy(me->floats, (float[]){NAN, INFINITY, -INFINITY, 3e38f}, 4 * sizeof *me->floats);
    if (me->rank == 2)
        me->floats[3] = 3e38f;
    HR_TRY(member_all_reduce(&me->member, me->floats, 4));
    RANK_CHECK(isnan(me->floats[0]), "NaN was lost");
    RANK_CHECK(isinf(me->floats[1]) && me->floats[1] > 0, "infinity was lost");
    RANK_CHECK(isinf(me->floats[2]) && me->floats[2] < 0, "minus infinity was lost");
    RANK_CHECK(isinf(me->floats[3]), "overflow was lost");
    return HR_OK;
}

static void what_is_not_finite_is_carried(void **state)
{
    (void)state;
    for (size_t w = 0; w < WAYS; w++) {
        struct ranks ranks = ranks_for(&ways[w], 3, 4);
        ranks.body = reduce_what_is_not_finite;
        ranks_open(&ranks);
        CHECK_OK(ranks_run(&ranks));
        ranks_close(&ranks);
    }
}

/* --- one thread runs all ranks ----------------------------------------------------------------
 */

/* Members of a group that nobody waits for: progress is made in an order drawn from a seed. */
struct table {
    struct ranks ranks;
    struct rank rank[MAX_RANKS];
    uint64_t choices;
    uint32_t seed;
};

static void table_open(struct table *table, const struct way *way, size_t n, size_t count)
{
    memset(table, 0, sizeof *table);
    table->ranks = ranks_for(way, n, count + 2 * GUARD + n);
    ranks_open(&table->ranks);
    hr_control_init(table->ranks.control, n);
    CHECK_OK(hr_group_init(table->ranks.segment.base, &table->ranks.options));
    for (size_t r = 0; r < n; r++) {
        struct rank *me = &table->rank[r];
        void *base = table->ranks.segment.base;
        const struct hr_place place = {
            .group = base, .segment = base, .control = table->ranks.control};
        *me = (struct rank){.ranks = &table->ranks, .rank = r};
        me->floats = ranks_floats(&table->ranks, r);
        CHECK_OK(hr_member_init(&me->member, &table->ranks.options, &place, r));
    }
}

static void table_close(struct table *table)
{
    for (size_t r = 0; r < table->ranks.nranks; r++)
        hr_member_fini(&table->rank[r].member);
    ranks_close(&table->ranks);
}

static size_t choose(struct table *table)
{
    return hr_random_block(check_seed(), HR_STREAM_TEST, table->choices++, table->seed).v[0] %
           table->ranks.nranks;
}

/* Ranks start, go on and finish at random; operations follow each other without a pause. */
static void play(struct table *table, size_t operations, size_t count)
{
    const size_t n = table->ranks.nranks;
    size_t done[MAX_RANKS] = {0}, over = 0;
    bool busy[MAX_RANKS] = {0};
    for (uint64_t turns = 0; over < n; turns++) {
        const size_t r = choose(table);
        struct rank *me = &table->rank[r];
        assert_true(turns < 100000); /* else it hangs */
        if (done[r] == operations)
            continue;
        if (!busy[r]) {
            fill(me, done[r], count);
            hr_member_all_reduce_start(&me->member, buffer_of(me), 0, count);
            busy[r] = true;
        } else if (hr_member_test(&me->member)) {
            CHECK_OK(hr_member_finish(&me->member));
            for (size_t i = 0; i < count; i++)
                CHECK_NEAR(buffer_of(me)[i], sum_of_integers(n, done[r], i), 0, 0);
            CHECK_OK(check_guards(me, count));
            busy[r] = false;
            over += ++done[r] == operations;
        }
    }
}

static void any_order_of_progress_gives_the_sum(void **state)
{
    (void)state;
    static struct table table;
    for (size_t n = 1; n <= MAX_RANKS; n += 2)
        for (size_t w = 0; w < WAYS; w++)
            for (uint32_t seed = 0; seed < check_count(3, 50); seed++) {
                const size_t count = seed == 0 ? 2049 + n : 67 * seed % 500;
                table_open(&table, &ways[w], n, count);
                table.seed = seed;
                play(&table, 4, count);
                table_close(&table);
            }
}

/* What one rank sent is what the other received, link by link; in all it is the formula. */
static void accounts_add_up_to_the_algorithms_cost(void **state)
{
    (void)state;
    static struct table table;
    for (size_t n = 1; n <= MAX_RANKS; n += 4)
        for (size_t w = 0; w < WAYS; w++) {
            const size_t count = 32 * n * 16;
            const bool one_shot = ways[w].algorithm == &hr_allreduce_one_shot;
            const bool hosts = ways[w].algorithm == &hr_allreduce_halving_doubling;
            uint64_t sent = 0;
            table_open(&table, &ways[w], n, count);
            play(&table, 2, count);
            for (size_t r = 0; r < n; r++)
                for (size_t q = 0; q < n; q++) {
                    const struct hr_traffic *there = &table.rank[r].member.traffic[q];
                    const struct hr_traffic *back = &table.rank[q].member.traffic[r];
                    assert_int_equal(there->bytes_sent, back->bytes_received);
                    assert_int_equal(there->messages_sent, back->messages_received);
                    sent += there->bytes_sent;
                }
            const uint64_t p = n < 2 ? 1 : n < 16 ? (n < 8 ? 4 : 8) : 16;
            const uint64_t copies = one_shot ? n * (n - 1)
                                    : hosts  ? 2 * (p - 1) + 2 * (n - p)
                                             : 2 * (n - 1);
            assert_int_equal(sent, 2 * copies * count * sizeof(float));
            table_close(&table);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_get_exact_sums),
        cmocka_unit_test(processes_get_exact_sums),
        cmocka_unit_test(algorithms_that_add_in_one_order_agree_to_the_bit),
        cmocka_unit_test(what_is_not_finite_is_carried),
        cmocka_unit_test(any_order_of_progress_gives_the_sum),
        cmocka_unit_test(accounts_add_up_to_the_algorithms_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

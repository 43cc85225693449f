/* Exact accounts: schedules played by hand, whose staleness can be counted on fingers. */
#include "strategy/shared.h"
#include "support/check.h"
#include "support/stage.h"

/* Three shards of 32 parameters; keys in shard 0, 0-1, 1, and 1-2. */
static const size_t begins[] = {0, 20, 40, 50};
enum { A, B, C, WORKERS, SERVERS = 3, PARAMS = 96, KEYS = 4 };

static void expect_counts(const uint64_t *got, const uint64_t *want, size_t n)
{
    for (size_t i = 0; i < HR_STALENESS_BUCKETS; i++)
        assert_int_equal(got[i], i < n ? want[i] : 0);
}

#define EXPECT_WORKER(stage, rank, ...)                                                            \
    expect_counts((stage)->world.stats[rank].stale, (const uint64_t[]){__VA_ARGS__},               \
                  sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void expect_key(const struct stage *stage, size_t key, const uint64_t *want, size_t n)
{
    const struct hr_staleness_counts *counts = hr_staleness_of_key(&stage->world, key);
    uint64_t updates = 0, sum = 0, max = 0;
    for (size_t i = 0; i < HR_STALENESS_BUCKETS; i++) {
        const uint64_t wanted = i < n ? want[i] : 0;
        assert_int_equal(hr_atom64_load_relaxed(&counts->bucket[i]), wanted);
        updates += wanted, sum += i * wanted;
        max = wanted ? i : max;
    }
    assert_int_equal(hr_atom64_load_relaxed(&counts->updates), updates);
    assert_int_equal(hr_atom64_load_relaxed(&counts->sum), sum);
    assert_int_equal(hr_atom64_load_relaxed(&counts->max), max);
}

#define EXPECT_KEY(stage, key, ...)                                                                \
    expect_key((stage), (key), (const uint64_t[]){__VA_ARGS__},                                    \
               sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void take_at_all(struct stage *stage, size_t worker)
{
    for (size_t s = 0; s < stage->world.servers; s++)
        stage_take(stage, s, worker);
}

/* Everybody reads version 0, and the shards take the pushes in different orders:
 *              A  B  C
 *   shard 0    0  1  2
 *   shard 1    2  1  0
 *   shard 2    1  0  2                                                                     */
static void play_a_round(struct stage *stage)
{
    static const size_t order[SERVERS][WORKERS] = {{A, B, C}, {C, B, A}, {B, A, C}};
    for (size_t w = 0; w < WORKERS; w++)
        stage_pull(stage, w);
    for (size_t w = 0; w < WORKERS; w++)
        stage_push(stage, w);
    for (size_t s = 0; s < SERVERS; s++)
        for (size_t i = 0; i < WORKERS; i++)
            stage_take(stage, s, order[s][i]);
    for (size_t w = 0; w < WORKERS; w++)
        stage_pull(stage, w);
}

static void a_key_is_as_stale_as_the_shards_it_lies_in(void **state)
{
    (void)state;
    static struct stage stage;
    stage_set(&stage, "ps-async", WORKERS, SERVERS, PARAMS, begins, KEYS);
    play_a_round(&stage);
    EXPECT_WORKER(&stage, A, 0, 0, 1);
    EXPECT_WORKER(&stage, B, 0, 1);
    EXPECT_WORKER(&stage, C, 0, 0, 1);
    EXPECT_KEY(&stage, 0, 1, 1, 1); /* shard 0: 0, 1, 2 */
    EXPECT_KEY(&stage, 1, 0, 1, 2); /* shards 0 and 1: 2, 1, 2 */
    EXPECT_KEY(&stage, 2, 1, 1, 1);
    EXPECT_KEY(&stage, 3, 0, 1, 2); /* shards 1 and 2 */
    stage_strike(&stage);
}

/* Then A makes two updates while B and C compute one. */
static void a_fast_worker_makes_the_others_stale(void **state)
{
    (void)state;
    static struct stage stage;
    stage_set(&stage, "ssp", WORKERS, SERVERS, PARAMS, begins, KEYS);
    play_a_round(&stage);
    for (size_t turn = 0; turn < 2; turn++) {
        stage_push(&stage, A);
        take_at_all(&stage, A);
        stage_pull(&stage, A);
    }
    for (size_t w = B; w <= C; w++) {
        stage_push(&stage, w);
        take_at_all(&stage, w);
        stage_pull(&stage, w);
    }
    EXPECT_WORKER(&stage, A, 2, 0, 1);
    EXPECT_WORKER(&stage, B, 0, 1, 1);
    EXPECT_WORKER(&stage, C, 0, 0, 1, 1);
    EXPECT_KEY(&stage, 0, 3, 1, 2, 1);
    EXPECT_KEY(&stage, 1, 2, 1, 3, 1);
    assert_int_equal(stage.world.stats[C].stale_sum, 5);
    assert_int_equal(stage.world.stats[A].max_skew, 2);
    stage_strike(&stage);
}

/* B makes two updates between A's read and its write. */
static void hogwild_counts_the_pushes_between_read_and_write(void **state)
{
    (void)state;
    static struct stage stage;
    stage_set(&stage, "hogwild", 2, 0, PARAMS, begins, KEYS);
    stage_pull(&stage, A);
    for (size_t turn = 0; turn < 2; turn++) {
        stage_pull(&stage, B);
        stage_push(&stage, B);
    }
    stage_push(&stage, A);
    EXPECT_WORKER(&stage, A, 0, 0, 1);
    EXPECT_WORKER(&stage, B, 2);
    assert_null(hr_staleness_of_key(&stage.world, 0));
    assert_int_equal(stage.world.stats[B].max_skew, 1); /* when it read the second time */
    stage_pull(&stage, A);
    assert_int_equal(stage.world.stats[A].max_skew, 0);
    stage_strike(&stage);
}

static void what_is_beyond_the_histogram_is_in_its_last_bucket(void **state)
{
    (void)state;
    static struct hr_worker_stats stats;
    hr_stats_staleness(&stats, HR_STALENESS_BUCKETS - 2);
    hr_stats_staleness(&stats, HR_STALENESS_BUCKETS - 1);
    hr_stats_staleness(&stats, 1000000);
    assert_int_equal(stats.stale[HR_STALENESS_BUCKETS - 2], 1);
    assert_int_equal(stats.stale[HR_STALENESS_BUCKETS - 1], 2);
    assert_int_equal(stats.stale_max, 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_as_stale_as_the_shards_it_lies_in),
        cmocka_unit_test(a_fast_worker_makes_the_others_stale),
        cmocka_unit_test(hogwild_counts_the_pushes_between_read_and_write),
        cmocka_unit_test(what_is_beyond_the_histogram_is_in_its_last_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

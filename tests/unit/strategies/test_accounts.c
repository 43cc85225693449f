/* Exact accounts: schedules played by hand, whose staleness can be counted on fingers. */
#include "strategy/shared.h"
#include "strategies/strategies.h"
#include "support/check.h"
#include "support/script.h"

/* Three shards of 32 parameters; keys in shard 0, 0-1, 1, and 1-2. */
static const size_t begins[] = {0, 20, 40, 50};
enum { A, B, C, WORKERS, SERVERS = 3, PARAMS = 96, KEYS = 4 };

static void expect_counts(const uint64_t *got, const uint64_t *want, size_t n)
{
    for (size_t i = 0; i < HR_STALENESS_BUCKETS; i++)
        assert_int_equal(got[i], i < n ? want[i] : 0);
}

#define EXPECT_WORKER(script, rank, ...)                                                           \
    expect_counts((script)->shared.stats[rank].stale.bucket, (const uint64_t[]){__VA_ARGS__},      \
                  sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void expect_key(const struct script *script, size_t key, const uint64_t *want, size_t n)
{
    const struct hr_staleness_counts *counts = hr_staleness_of_key(&script->shared, key);
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

#define EXPECT_KEY(script, key, ...)                                                               \
    expect_key((script), (key), (const uint64_t[]){__VA_ARGS__},                                   \
               sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void open_world(struct script *script, const struct hr_strategy *strategy, size_t workers,
                       size_t servers)
{
    script_open(script, strategy,
                (struct script_plan){.workers = workers,
                                     .servers = servers,
                                     .batches = 100,
                                     .params = PARAMS,
                                     .nkeys = KEYS,
                                     .begins = begins});
}

/* Everybody reads version 0, and the shards take the pushes in different orders:
 *              A  B  C
 *   shard 0    0  1  2
 *   shard 1    2  1  0
 *   shard 2    1  0  2                                                                     */
static void play_a_round(struct script *script)
{
    static const size_t order[SERVERS][WORKERS] = {{A, B, C}, {C, B, A}, {B, A, C}};
    for (size_t w = 0; w < WORKERS; w++)
        script_read(script, w);
    for (size_t w = 0; w < WORKERS; w++)
        script_give(script, w, 0);
    for (size_t s = 0; s < SERVERS; s++)
        for (size_t i = 0; i < WORKERS; i++)
            script_serve(script, s, order[s][i]);
    for (size_t w = 0; w < WORKERS; w++)
        script_read(script, w);
}

static void a_key_is_as_stale_as_the_shards_it_lies_in(void **state)
{
    (void)state;
    static struct script script;
    open_world(&script, &hr_strategy_ps_async, WORKERS, SERVERS);
    play_a_round(&script);
    EXPECT_WORKER(&script, A, 0, 0, 1);
    EXPECT_WORKER(&script, B, 0, 1);
    EXPECT_WORKER(&script, C, 0, 0, 1);
    EXPECT_KEY(&script, 0, 1, 1, 1); /* shard 0: 0, 1, 2 */
    EXPECT_KEY(&script, 1, 0, 1, 2); /* shards 0 and 1: 2, 1, 2 */
    EXPECT_KEY(&script, 2, 1, 1, 1);
    EXPECT_KEY(&script, 3, 0, 1, 2); /* shards 1 and 2 */
    script_close(&script);
}

/* Then A makes two updates while B and C compute one. */
static void a_fast_worker_makes_the_others_stale(void **state)
{
    (void)state;
    static struct script script;
    open_world(&script, &hr_strategy_ssp, WORKERS, SERVERS);
    play_a_round(&script);
    for (size_t turn = 0; turn < 2; turn++) {
        script_push(&script, A, 0);
        script_read(&script, A);
    }
    for (size_t w = B; w <= C; w++) {
        script_push(&script, w, 0);
        script_read(&script, w);
    }
    EXPECT_WORKER(&script, A, 2, 0, 1);
    EXPECT_WORKER(&script, B, 0, 1, 1);
    EXPECT_WORKER(&script, C, 0, 0, 1, 1);
    EXPECT_KEY(&script, 0, 3, 1, 2, 1);
    EXPECT_KEY(&script, 1, 2, 1, 3, 1);
    assert_int_equal(script.shared.stats[C].stale.sum, 5);
    assert_int_equal(script.shared.stats[A].max_skew, 2);
    script_close(&script);
}

/* B makes two updates between A's read and its write. */
static void hogwild_counts_the_pushes_between_read_and_write(void **state)
{
    (void)state;
    static struct script script;
    open_world(&script, &hr_strategy_hogwild, 2, 0);
    script_read(&script, A);
    for (size_t turn = 0; turn < 2; turn++) {
        script_read(&script, B);
        script_give(&script, B, 0);
    }
    script_give(&script, A, 0);
    EXPECT_WORKER(&script, A, 0, 0, 1);
    EXPECT_WORKER(&script, B, 2);
    assert_null(hr_staleness_of_key(&script.shared, 0));
    assert_int_equal(script.shared.stats[B].max_skew, 1); /* when it read the second time */
    script_read(&script, A);
    assert_int_equal(script.shared.stats[A].max_skew, 0);
    script_read(&script, B);
    script_give(&script, B, 0);
    script_cut(&script); /* all read */
    script_read(&script, A);
    script_give(&script, A, 0);
    EXPECT_WORKER(&script, A, 1, 0, 1);
    script_close(&script);
}

static void what_is_beyond_the_histogram_is_in_its_last_bucket(void **state)
{
    (void)state;
    static struct hr_stale stale;
    hr_stale_count(&stale, HR_STALENESS_BUCKETS - 2);
    hr_stale_count(&stale, HR_STALENESS_BUCKETS - 1);
    hr_stale_count(&stale, 1000000);
    assert_int_equal(stale.bucket[HR_STALENESS_BUCKETS - 2], 1);
    assert_int_equal(stale.bucket[HR_STALENESS_BUCKETS - 1], 2);
    assert_int_equal(stale.max, 1000000);
}

/* Who leaves alone leaves a run that has failed: nobody must be told that all are in step. */
static void nobody_is_served_once_a_worker_has_left(void **state)
{
    (void)state;
    static const struct hr_strategy *const gated[] = {&hr_strategy_ps_sync, &hr_strategy_ssp,
                                                      &hr_strategy_ps_async};
    struct hr_train_options options;
    hr_train_defaults(&options);
    options.staleness = 0;
    for (size_t i = 0; i < sizeof gated / sizeof *gated; i++) {
        static struct script script;
        script_open(
            &script, gated[i],
            (struct script_plan){.workers = 2, .servers = 1, .batches = 9, .options = &options});
        script_read(&script, 0);
        script_read(&script, 1);
        script_push(&script, 0, 1);
        script_ask(&script, 0);
        assert_int_equal(script_enabled(&script, 0, 0), gated[i] == &hr_strategy_ps_async);
        gated[i]->leave(&script.worker[1]);
        script_serve(&script, 0, 1);
        assert_false(script_enabled(&script, 0, 0));
        script_close(&script);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_as_stale_as_the_shards_it_lies_in),
        cmocka_unit_test(a_fast_worker_makes_the_others_stale),
        cmocka_unit_test(hogwild_counts_the_pushes_between_read_and_write),
        cmocka_unit_test(what_is_beyond_the_histogram_is_in_its_last_bucket),
        cmocka_unit_test(nobody_is_served_once_a_worker_has_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

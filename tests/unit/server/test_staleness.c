/* Staleness: the bound of ssp in many orders, and counts that can be worked out by hand. */
#include <stdio.h>

#include "support/runs.h"

enum { WORKERS = 4, STEPS = 40 };

static struct hr_run_result run_in_order(const char *strategy, uint64_t bound, size_t servers,
                                         size_t seed)
{
    struct hr_train_options options = run_options(strategy, WORKERS);
    snprintf(options.model, sizeof options.model, "softmax");
    snprintf(options.schedule, sizeof options.schedule, "explore:%zu", seed);
    options.batch_size = 4;
    options.max_steps = STEPS;
    options.staleness = bound;
    options.servers = servers;
    return run_train(&options);
}

/* Nobody reads weights while it is more than s clocks ahead; and the bound is reached, or it would
 * not have been put to the test. */
static void ssp_keeps_its_bound_in_any_order(void **state)
{
    (void)state;
    for (uint64_t bound = 1; bound <= 3; bound++) {
        uint64_t largest = 0;
        for (size_t seed = 0; seed < check_count(200, 10000); seed++) {
            struct hr_run_result result = run_in_order("ssp", bound, 1 + seed % 2, seed);
            assert_in_range(result.max_skew, 0, bound);
            assert_int_equal(result.updates, STEPS);
            largest = result.max_skew > largest ? result.max_skew : largest;
            hr_run_result_free(&result);
        }
        assert_int_equal(largest, bound);
    }
}

static void ps_async_has_no_bound(void **state)
{
    (void)state;
    uint64_t largest = 0;
    for (size_t seed = 0; seed < 50; seed++) {
        struct hr_run_result result = run_in_order("ps-async", 1, 1, seed);
        largest = result.max_skew > largest ? result.max_skew : largest;
        hr_run_result_free(&result);
    }
    assert_true(largest > 3);
}

/* Each update is counted once, and the histogram is the sum. */
static void every_update_is_counted(void **state)
{
    (void)state;
    static const char *const strategies[] = {"ps-async", "ssp", "hogwild"};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct hr_run_result result = run_in_order(strategies[i], 3, 2, 5);
        uint64_t count = 0, sum = 0;
        for (size_t bucket = 0; bucket < HR_RESULT_STALENESS_BUCKETS; bucket++) {
            count += result.stale[bucket];
            sum += bucket * result.stale[bucket];
        }
        assert_int_equal(result.stale_updates, STEPS);
        assert_int_equal(count, STEPS);
        assert_int_equal(sum, result.stale_sum);
        assert_true(result.stale_max > 0);
        hr_run_result_free(&result);
    }
}

/* Parts of the result [first, first + n): each histogram holds its part's updates. Returns all. */
static uint64_t check_parts(const struct hr_run_result *result, size_t first, size_t n)
{
    uint64_t updates = 0;
    for (size_t i = first; i < first + n; i++) {
        const struct hr_staleness *part = &result->stale_parts[i];
        uint64_t count = 0, sum = 0;
        for (size_t bucket = 0; bucket < part->n; bucket++) {
            count += result->stale_counts[part->first + bucket];
            sum += bucket * result->stale_counts[part->first + bucket];
        }
        assert_int_equal(count, part->updates);
        assert_int_equal(sum, part->sum);
        assert_int_equal(part->n, part->max + 1);
        updates += count;
    }
    return updates;
}

/* Each update has one worker, and changes every key. */
static void workers_share_the_updates_and_keys_have_them_all(void **state)
{
    (void)state;
    static const char *const strategies[] = {"ps-async", "ssp", "hogwild"};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct hr_run_result result = run_in_order(strategies[i], 3, 2, 5);
        assert_int_equal(result.nstale_workers, WORKERS);
        assert_int_equal(result.nstale_keys, 2);
        assert_int_equal(check_parts(&result, 0, WORKERS), STEPS);
        assert_int_equal(check_parts(&result, WORKERS, 2), 2 * STEPS);
        assert_string_equal(result.stale_parts[WORKERS].name, "1.weight");
        assert_string_equal(result.stale_parts[WORKERS + 1].name, "1.bias");
        assert_string_equal(result.stale_parts[0].name, "");
        hr_run_result_free(&result);
    }
}

/* One worker never meets another's update; a synchronous server never sees a stale one. */
static void nothing_is_stale_where_nothing_can_be(void **state)
{
    (void)state;
    static const char *const strategies[] = {"ps-async", "ssp", "hogwild"};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct hr_train_options options = run_options(strategies[i], 1);
        struct hr_run_result result = run_train(&options);
        assert_int_equal(result.stale_max, 0);
        assert_int_equal(result.stale_updates, result.updates);
        hr_run_result_free(&result);
    }
    struct hr_run_result result = run_in_order("ps-sync", 0, 2, 1);
    assert_int_equal(result.stale_max, 0);
    assert_int_equal(result.max_skew, 0);
    hr_run_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ssp_keeps_its_bound_in_any_order),
        cmocka_unit_test(ps_async_has_no_bound),
        cmocka_unit_test(every_update_is_counted),
        cmocka_unit_test(workers_share_the_updates_and_keys_have_them_all),
        cmocka_unit_test(nothing_is_stale_where_nothing_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

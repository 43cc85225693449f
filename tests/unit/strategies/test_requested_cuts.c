/* A cut that is only a rest, for a save, leaves an asynchronous run as it is: clocks and replicas
 * go on. At an epoch's end workers are level, and replicas begin again. */
#include "strategies/strategies.h"
#include "support/runs.h"
#include "support/script.h"

static struct script script;

enum { BATCHES = 3 };

/* Two workers, and a cut behind three batches, which end the epoch or do not. */
static void open(const struct hr_strategy *strategy, const struct hr_train_options *options,
                 bool ends_epoch)
{
    script_open(&script, strategy,
                (struct script_plan){.workers = 2,
                                     .servers = hr_strategy_is_served(strategy),
                                     .batches = BATCHES,
                                     .options = options});
    script.shared.schedule.batches_per_epoch = ends_epoch ? BATCHES : 10 * BATCHES;
}

/* All arrive, export, and go on, with more batches. */
static void cut(void)
{
    script_cut(&script);
    for (size_t w = 0; w < 2; w++)
        CHECK_OK(hr_rows_verify(&script.worker[w]));
    hr_atom64_store_relaxed(&script.shared.dispenser->next, BATCHES);
    hr_atom64_store_relaxed(&script.shared.dispenser->cut, 2 * BATCHES);
}

/* Worker 1 makes one update, and worker 0 two. */
static void one_and_two(void)
{
    static const size_t turn[] = {1, 0, 0};
    for (size_t i = 0; i < BATCHES; i++) {
        assert_int_equal(script_read(&script, turn[i]).index, i);
        script_push(&script, turn[i], 1);
    }
    for (size_t w = 0; w < 2; w++)
        assert_int_equal(script_read(&script, w).kind, HR_TASK_CUT);
}

static void servers_count_on(void **state)
{
    (void)state;
    static const struct hr_strategy *const served[] = {&hr_strategy_ps_async, &hr_strategy_ssp};
    for (size_t s = 0; s < 2; s++)
        for (size_t ends = 0; ends < 2; ends++) {
            open(served[s], NULL, ends);
            one_and_two();
            cut();
            assert_int_equal(script.shard[0].worker[0].clock, ends ? 0 : 2);
            assert_int_equal(script.shard[0].worker[1].clock, ends ? 0 : 1);
            assert_int_equal(script_read(&script, 0).index, BATCHES);
            assert_int_equal(script.shared.stats[0].max_skew, ends ? 0 : 1);
            script_close(&script);
        }
}

static void hogwild_counts_on(void **state)
{
    (void)state;
    for (size_t ends = 0; ends < 2; ends++) {
        open(&hr_strategy_hogwild, NULL, ends);
        one_and_two();
        cut();
        assert_int_equal(script_read(&script, 0).index, BATCHES);
        assert_int_equal(script.shared.stats[0].max_skew, ends ? 0 : 1);
        script_close(&script);
    }
}

/* Exchanges after each step, alpha 1/2; the center c begins at 0. */
static void replicas_stay(void **state)
{
    (void)state;
    struct hr_train_options options;
    hr_train_defaults(&options);
    options.sync_every = 1;
    options.moving_rate = 0.5;
    for (size_t ends = 0; ends < 2; ends++) {
        open(&hr_strategy_elastic_averaging, &options, ends);
        assert_int_equal(script_read(&script, 0).index, 0);
        script_give(&script, 0, 2);
        assert_int_equal(script_read(&script, 0).index, 1); /* c = -1, and x */
        assert_int_equal(script_read(&script, 1).index, 2);
        script_give(&script, 0, 0);
        assert_int_equal(script_read(&script, 0).kind, HR_TASK_CUT);
        script_give(&script, 1, 4);                                  /* x = -4 */
        assert_int_equal(script_read(&script, 1).kind, HR_TASK_CUT); /* both move by 1.5 */
        cut();
        CHECK_NEAR((double)script.shared.weights[0][0], ends ? -2.5 : -1, 1e-6, 0);
        CHECK_NEAR((double)script.shared.weights[1][0], -2.5, 1e-6, 0);
        CHECK_NEAR((double)script.shared.snapshot.weights[0], -2.5, 1e-6, 0);
        script_close(&script);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_count_on),
        cmocka_unit_test(hogwild_counts_on),
        cmocka_unit_test(replicas_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

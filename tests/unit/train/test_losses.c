/* Runs that outlive their workers: every strategy goes on, and every sample is accounted for. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/runs.h"

static struct hr_train_options options_of(const char *strategy, const char *on_loss,
                                          const char *inject)
{
    struct hr_train_options options = run_options(strategy, 3);
    snprintf(options.on_loss, sizeof options.on_loss, "%s", on_loss);
    snprintf(options.inject, sizeof options.inject, "%s", inject);
    snprintf(options.compute_time, sizeof options.compute_time, "2ms"); /* all get batches */
    options.epochs = 1;
    return options;
}

static void a_lost_worker_of_hogwild_is_told(void **state)
{
    (void)state;
    const struct hr_train_options options = options_of("hogwild", "continue", "kill:1@step=0");
    struct hr_run_result result = run_train(&options);
    assert_int_equal(result.nlosses, 1);
    assert_int_equal(result.losses[0].rank, 1);
    assert_int_equal(result.losses[0].step, 0);
    assert_false(result.losses[0].server);
    assert_false(result.losses[0].back);
    assert_int_equal(result.restarts, 0);
    hr_run_result_free(&result);
}

static void a_lost_worker_comes_back(void **state)
{
    (void)state;
    const struct hr_train_options options = options_of("hogwild", "restart", "kill:1@step=0");
    struct hr_run_result result = run_train(&options);
    assert_int_equal(result.nlosses, 1);
    assert_true(result.losses[0].back);
    assert_int_equal(result.restarts, 1);
    hr_run_result_free(&result);
}

static void without_the_option_a_loss_ends_the_run(void **state)
{
    (void)state;
    struct hr_run_result result;
    const struct hr_train_options options = options_of("hogwild", "stop", "kill:1@step=0");
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_LOST);
}

static void the_last_worker_ends_it_too(void **state)
{
    (void)state;
    struct hr_run_result result;
    const struct hr_train_options options =
        options_of("hogwild", "continue", "kill:0@step=0,kill:1@step=1,kill:2@step=0");
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_LOST);
}

static void each_loss_has_its_own_account(void **state)
{
    (void)state;
    static const char *const clocks[] = {"real", "virtual"};
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        struct hr_train_options options =
            options_of("ps-async", "restart", "kill:1@step=3,kill:1@step=8");
        snprintf(options.clock, sizeof options.clock, "%s", clocks[i]);
        snprintf(options.lost_batch, sizeof options.lost_batch, "count");
        struct hr_run_result result = run_train(&options);
        assert_int_equal(result.nlosses, 2);
        assert_int_equal(result.losses[0].lost_samples, options.batch_size);
        assert_int_equal(result.losses[1].lost_samples, options.batch_size);
        hr_run_result_free(&result);
    }
}

/* Evaluations are no training: until its loss it was there, and absent from then on. */
static void a_loss_is_told_in_time_of_training(void **state)
{
    (void)state;
    struct hr_train_options options = options_of("ps-async", "continue", "kill:1@step=8");
    options.epoch_size = 96;
    options.epochs = 20;
    struct hr_run_result result = run_train(&options);
    assert_int_equal(result.nlosses, 1);
    const struct hr_worker_time *time = &result.worker_time[1];
    const double there = time->load_s + time->compute_s + time->communicate_s + time->wait_s;
    assert_true(there > 0 && fabs(there - result.losses[0].seconds) < 1e-9);
    assert_true(result.losses[0].seconds < result.seconds);
    hr_run_result_free(&result);
}

/* The second time each comes back only after a pause: for a while there is no worker at all. */
static void all_may_be_away_at_once(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce", "ps-sync", "ps-async", "gossip"};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct hr_train_options options = options_of(
            strategies[i], "restart", "kill:0@step=2,kill:1@step=2,kill:0@step=4,kill:1@step=4");
        options.workers = 2;
        options.max_restarts = 8;
        options.epochs = 2;
        struct hr_run_result result = run_train(&options);
        assert_int_equal(result.nlosses, 4);
        assert_int_equal(result.restarts, 4);
        hr_run_result_free(&result);
    }
}

/* Worker 0 has used the last of the restarts, and is still away. */
static void one_who_comes_back_is_waited_for(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce", "ps-sync", "ps-async", "gossip"};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct hr_train_options options =
            options_of(strategies[i], "restart", "kill:0@step=2,kill:0@step=4,kill:1@step=5");
        options.workers = 2;
        options.max_restarts = 2;
        options.epochs = 2;
        struct hr_run_result result = run_train(&options);
        assert_int_equal(result.nlosses, 3);
        assert_int_equal(result.restarts, 2);
        assert_true(result.losses[1].back && !result.losses[2].back);
        hr_run_result_free(&result);
    }
}

/* Who is left shares the same micro-shards: the bits are those of a run without losses. Three of
 * four cannot: one of them sits out, the third from where all are, until another is lost; then it
 * is revoked as all others. */
static void repro_gives_the_same_bits_whoever_is_lost(void **state)
{
    (void)state;
    static const char *const injects[] = {"", "kill:1@step=9",
                                          "kill:0@step=9,kill:2@step=15,kill:3@step=20",
                                          "kill:0@step=9,kill:2@step=15,kill:1@step=20"};
    static const char *const strategies[] = {"allreduce", "ps-sync"};
    char digest[33] = "";
    for (size_t i = 0; i < 2 * sizeof injects / sizeof *injects; i++) {
        struct hr_train_options options = options_of(strategies[i % 2], "continue", injects[i / 2]);
        options.workers = 4;
        options.epochs = 2; /* who sits out makes no steps */
        options.global_batch_size = 64;
        snprintf(options.reduce, sizeof options.reduce, "repro");
        struct hr_run_result result = run_train(&options);
        assert_int_equal(result.nlosses, i / 2 < 2 ? i / 2 : 3);
        if (i == 0)
            memcpy(digest, result.weights_digest, sizeof digest);
        assert_string_equal(result.weights_digest, digest);
        hr_run_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_worker_of_hogwild_is_told),
        cmocka_unit_test(a_lost_worker_comes_back),
        cmocka_unit_test(without_the_option_a_loss_ends_the_run),
        cmocka_unit_test(the_last_worker_ends_it_too),
        cmocka_unit_test(each_loss_has_its_own_account),
        cmocka_unit_test(a_loss_is_told_in_time_of_training),
        cmocka_unit_test(all_may_be_away_at_once),
        cmocka_unit_test(one_who_comes_back_is_waited_for),
        cmocka_unit_test(repro_gives_the_same_bits_whoever_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

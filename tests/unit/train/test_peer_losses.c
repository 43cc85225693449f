/* Runs of hogwild and gossip that outlive their workers: whatever dies, every sample is trained on
 * or counted, and where no order decides anything, threads and processes give the same bits. */
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/runs.h"

static struct hr_train_options options_of(const char *strategy, const char *launch,
                                          const char *on_loss, const char *inject)
{
    struct hr_train_options options = run_options(strategy, 4);
    snprintf(options.launch, sizeof options.launch, "%s", launch);
    snprintf(options.on_loss, sizeof options.on_loss, "%s", on_loss);
    snprintf(options.inject, sizeof options.inject, "%s", inject);
    options.epochs = 2;
    options.max_restarts = 9;
    return options;
}

static uint64_t lost_samples(const struct hr_run_result *result)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < result->nlosses; i++)
        sum += result->losses[i].lost_samples;
    return sum;
}

static uint64_t all_samples(void)
{
    return 2 * run_digits()->train.count;
}

static void check_hogwild(const char *launch, const char *on_loss, const char *lost_batch)
{
    for (size_t step = 0; step < 6; step++) {
        char inject[64];
        snprintf(inject, sizeof inject, "kill:1@step=%zu,kill:3@step=%zu", step, step / 2);
        struct hr_train_options options = options_of("hogwild", launch, on_loss, inject);
        snprintf(options.lost_batch, sizeof options.lost_batch, "%s", lost_batch);
        snprintf(options.compute_time, sizeof options.compute_time, "1ms"); /* all get batches */
        struct hr_run_result result = run_train(&options);
        const bool reissues = !strcmp(lost_batch, "reissue");
        assert_int_equal(result.nlosses, 2);
        assert_int_equal(result.samples + lost_samples(&result), all_samples());
        if (reissues)
            assert_int_equal(result.samples, all_samples());
        hr_run_result_free(&result);
    }
}

static void hogwild_accounts_for_every_sample(void **state)
{
    (void)state;
    check_hogwild("thread", "continue", "reissue");
    check_hogwild("thread", "continue", "count");
    check_hogwild("thread", "restart", "reissue");
    check_hogwild("process", "continue", "reissue");
    check_hogwild("process", "restart", "count");
}

static const char *const deaths[] = {"kill:1@step=0", "kill:0@step=1",
                                     "kill:3@step=2,kill:1@step=3", /* the ring falls apart */
                                     "kill:0@step=1,kill:1@step=1,kill:2@step=1"};

static void gossip_trains_on_every_sample(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof deaths / sizeof *deaths; i++) {
        struct hr_train_options options = options_of("gossip", "thread", "continue", deaths[i]);
        struct hr_run_result threads = run_train(&options);
        const uint64_t updates = threads.updates;
        assert_true(threads.nlosses > 0);
        assert_int_equal(lost_samples(&threads), 0);
        assert_int_equal(threads.samples, all_samples());
        snprintf(options.launch, sizeof options.launch, "process");
        CHECK_DIGEST(&options, threads.weights_digest);
        hr_run_result_free(&threads);
        options.inject[0] = '\0';
        threads = run_train(&options);
        assert_int_equal(threads.updates, updates); /* of the mean: one an index, whoever counts */
        hr_run_result_free(&threads);
    }
}

static void gossip_goes_on_with_who_comes_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof deaths / sizeof *deaths; i++) {
        struct hr_train_options options = options_of("gossip", "thread", "restart", deaths[i]);
        snprintf(options.compute_time, sizeof options.compute_time, "3ms");
        struct hr_run_result result = run_train(&options);
        for (size_t k = 0; k < result.nlosses; k++)
            assert_true(result.losses[k].back);
        assert_int_equal(result.restarts, result.nlosses);
        assert_int_equal(result.samples + lost_samples(&result), all_samples());
        hr_run_result_free(&result);
    }
}

/* What nobody has any more is trained on again, from the beginning or from the last cut. */
static void with_the_last_replica_all_go_back_to_the_cut(void **state)
{
    (void)state;
    static const char *const all[] = {
        "kill:0@step=1,kill:1@step=1,kill:2@step=1,kill:3@step=1",
        "kill:0@step=29,kill:1@step=29,kill:2@step=28,kill:3@step=29"};
    for (size_t i = 0; i < 4; i++) {
        struct hr_train_options options =
            options_of("gossip", i % 2 ? "process" : "thread", "restart", all[i / 2]);
        struct hr_run_result result = run_train(&options);
        assert_int_equal(result.nlosses, 4);
        assert_int_equal(result.samples + lost_samples(&result), all_samples());
        uint64_t again = 0;
        for (size_t k = 0; k < 4; k++)
            again += result.losses[k].again_samples;
        assert_true(again > 0);
        hr_run_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hogwild_accounts_for_every_sample),
        cmocka_unit_test(gossip_trains_on_every_sample),
        cmocka_unit_test(gossip_goes_on_with_who_comes_back),
        cmocka_unit_test(with_the_last_replica_all_go_back_to_the_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Pushes that are lost on purpose: they arrive at last, in order, and each is applied once. */
#include <stdio.h>
#include <string.h>

#include "hogring/replay.h"
#include "support/check.h"
#include "support/runs.h"

static const char *const served[] = {"ps-sync", "ps-async", "ssp", "elastic-averaging",
                                     "backup-workers"};
static const char *const ways[] = {"thread", "process", "explore:7", "virtual"};

enum { STRATEGIES = sizeof served / sizeof *served, WAYS = sizeof ways / sizeof *ways };
enum { SAMPLES = 192, BATCH = 4, STEP = 3 * BATCH }; /* of three workers */

static struct hr_train_options options_of(const char *strategy, const char *way, size_t servers)
{
    struct hr_train_options options = run_options(strategy, 3);
    snprintf(options.model, sizeof options.model, "flatten, dense 10");
    options.epoch_size = SAMPLES / 2;
    options.epochs = 2;
    options.batch_size = BATCH;
    options.servers = servers;
    options.sync_every = 2;
    options.backups = 0;
    if (!strncmp(way, "explore", 7))
        snprintf(options.schedule, sizeof options.schedule, "%s", way);
    else if (!strcmp(way, "virtual"))
        snprintf(options.clock, sizeof options.clock, "%s", way);
    else
        snprintf(options.launch, sizeof options.launch, "%s", way);
    return options;
}

static struct hr_run_result run_with(struct hr_train_options options, const char *inject)
{
    snprintf(options.inject, sizeof options.inject, "%s", inject);
    return run_train(&options);
}

/* In real time, under explore, with one server and with two. */
static void synchronous_weights_do_not_change(void **state)
{
    (void)state;
    for (size_t servers = 1; servers <= 2; servers++)
        for (size_t i = 0; i < WAYS; i++) {
            const struct hr_train_options options = options_of("ps-sync", ways[i], servers);
            struct hr_run_result whole = run_with(options, ""),
                                 lossy = run_with(options, "drop-push:p=0.3+1ms");
            assert_string_equal(whole.weights_digest, lossy.weights_digest);
            assert_int_equal(whole.resent + whole.duplicates, 0);
            assert_true(lossy.duplicates > 0 && lossy.resent > lossy.duplicates);
            hr_run_result_free(&whole);
            hr_run_result_free(&lossy);
        }
}

/* What is lost is drawn, whoever runs the ranks: of 3 (SAMPLES / STEP) pushes to each of two
 * servers p are sent twice, p^2 three times... */
static void as_many_are_sent_again_as_are_drawn(void **state)
{
    (void)state;
    uint64_t resent[WAYS], duplicates[WAYS];
    for (size_t i = 0; i < WAYS; i++) {
        struct hr_run_result result =
            run_with(options_of("ps-sync", ways[i], 2), "drop-push:p=0.3+1ms");
        resent[i] = result.resent;
        duplicates[i] = result.duplicates;
        hr_run_result_free(&result);
        assert_int_equal(resent[i], resent[0]);
        assert_int_equal(duplicates[i], duplicates[0]);
    }
    const double pushes = 2 * 3 * SAMPLES / STEP; /* each again 3/7 times, with variance 0.61 */
    CHECK_NEAR((double)resent[0], pushes * 3 / 7, 0, 5 * 0.79 * 9.8);
}

static void check_applied_once(const struct hr_run_result *result, bool shares)
{
    assert_true(result->resent > 0);
    assert_true(result->samples + result->dropped_samples <= SAMPLES);
    if (!shares) {
        assert_int_equal(result->samples, SAMPLES);
        assert_int_equal(result->updates, SAMPLES / BATCH);
    }
    if (!strcmp(result->launch, "events") && strcmp(result->clock, "virtual")) /* explored */
        return;
    const double all = result->load_s + result->compute_s + result->communicate_s + result->wait_s;
    CHECK_NEAR(all, (double)result->workers * result->seconds, 1e-9, 1e-8);
}

static void every_push_is_applied_once(void **state)
{
    (void)state;
    for (size_t s = 0; s < STRATEGIES; s++)
        for (size_t i = 0; i < WAYS; i++) {
            const bool shares =
                !strcmp(served[s], "backup-workers") || !strcmp(served[s], "ps-sync");
            const size_t servers = strcmp(served[s], "backup-workers") ? 2 : 1;
            struct hr_run_result result =
                run_with(options_of(served[s], ways[i], servers), "drop-push:p=0.5+1ms");
            check_applied_once(&result, shares);
            hr_run_result_free(&result);
        }
}

/* A slice for each part that was sent again: with one server, all parameters. */
static void what_is_sent_again_is_traffic(void **state)
{
    (void)state;
    const struct hr_train_options options = options_of("ps-async", "explore:3", 1);
    struct hr_run_result whole = run_with(options, ""),
                         lossy = run_with(options, "drop-push:p=0.3+1ms");
    assert_true(lossy.resent > 0);
    assert_int_equal(lossy.bytes_sent,
                     whole.bytes_sent + lossy.resent * whole.params * sizeof(float));
    hr_run_result_free(&whole);
    hr_run_result_free(&lossy);
}

/* A worker that waits to repeat a push serves its own shard, and dies as any other. */
static void shards_are_served_meanwhile(void **state)
{
    (void)state;
    for (size_t i = 0; i < WAYS; i++) {
        struct hr_train_options options = options_of("ps-async", ways[i], 3);
        snprintf(options.placement, sizeof options.placement, "colocated");
        struct hr_run_result result = run_with(options, "drop-push:p=0.5+1ms");
        check_applied_once(&result, false);
        hr_run_result_free(&result);
    }
}

/* In virtual time, where it is the same death again: worker 1's at some times waits to repeat. */
static void a_worker_dies_while_it_waits(void **state)
{
    (void)state;
    for (size_t s = 0; s < STRATEGIES; s++)
        for (size_t at = 1; at <= 20; at++) {
            struct hr_train_options options =
                options_of(served[s], "virtual", strcmp(served[s], "backup-workers") ? 2 : 1);
            char inject[64];
            snprintf(inject, sizeof inject, "drop-push:p=0.6+7ms,kill:1@time=%zums", 6 * at);
            snprintf(options.on_loss, sizeof options.on_loss, "%s",
                     at % 2 ? "restart" : "continue");
            struct hr_run_result a = run_with(options, inject), b = run_with(options, inject);
            assert_int_equal(a.nlosses, 1);
            assert_int_equal(a.samples + a.losses[0].lost_samples + a.dropped_samples, SAMPLES);
            assert_string_equal(a.weights_digest, b.weights_digest);
            assert_true(a.resent == b.resent && a.duplicates == b.duplicates);
            hr_run_result_free(&a);
            hr_run_result_free(&b);
        }
}

/* A trace has what was taken once, and its replay needs to lose nothing. */
static void a_replay_loses_nothing_and_has_the_same_bits(void **state)
{
    (void)state;
    char folder[64];
    run_folder_make(folder);
    for (size_t s = 0; s < STRATEGIES; s++) {
        struct hr_train_options options = options_of(served[s], "thread", 1);
        snprintf(options.record, sizeof options.record, "%s/trace", folder);
        struct hr_run_result recorded = run_with(options, "drop-push:p=0.5+1ms"), replayed;
        struct hr_replay *replay;
        CHECK_OK(hr_replay_open(options.record, &replay));
        CHECK_OK(hr_replay_run(replay, run_digits(), NULL, &replayed));
        hr_replay_close(replay);
        assert_string_equal(recorded.weights_digest, replayed.weights_digest);
        assert_true(recorded.resent > 0);
        assert_int_equal(replayed.resent, 0);
        hr_run_result_free(&recorded);
        hr_run_result_free(&replayed);
    }
    run_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synchronous_weights_do_not_change),
        cmocka_unit_test(as_many_are_sent_again_as_are_drawn),
        cmocka_unit_test(every_push_is_applied_once),
        cmocka_unit_test(what_is_sent_again_is_traffic),
        cmocka_unit_test(shards_are_served_meanwhile),
        cmocka_unit_test(a_worker_dies_while_it_waits),
        cmocka_unit_test(a_replay_loses_nothing_and_has_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

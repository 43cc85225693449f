/* Recorded runs that lose ranks, and go on: a replay has the same bits, and the same account. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "drive/record.h"
#include "support/ranks.h"
#include "support/traces.h"

static const char *const strategies[] = {
    "ps-async", "ssp", "elastic-averaging", "backup-workers", "ps-sync", "allreduce", "local-sgd"};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static const char *const served[] = {"ps-async", "ssp", "elastic-averaging", "backup-workers",
                                     "ps-sync"};
enum { SERVED = sizeof served / sizeof *served };

static bool has_servers(const char *strategy)
{
    return !strcmp(strategy, "ps-async") || !strcmp(strategy, "ssp") ||
           !strcmp(strategy, "elastic-averaging") || !strcmp(strategy, "ps-sync");
}

/* Does each worker compute at every step, however late it comes? */
static bool is_synchronous(const char *strategy)
{
    return !strcmp(strategy, "ps-sync") || !strcmp(strategy, "allreduce") ||
           !strcmp(strategy, "local-sgd");
}

static struct hr_train_options options_of(const char *strategy, const char *inject, size_t number)
{
    static const char *const how[] = {"restart", "continue", "restart"};
    struct hr_train_options options = run_options(strategy, 3);
    snprintf(options.model, sizeof options.model, "flatten, dense 10");
    snprintf(options.on_loss, sizeof options.on_loss, "%s", how[number % 3]);
    snprintf(options.lost_batch, sizeof options.lost_batch, "%s", number % 4 ? "reissue" : "count");
    snprintf(options.inject, sizeof options.inject, "%s", inject);
    snprintf(options.record, sizeof options.record, "%s", scratch("run.trace"));
    options.epochs = 2;
    options.epoch_size = 192;
    options.batch_size = 4;
    options.momentum = 0.9;
    options.max_restarts = 100;
    options.servers = has_servers(strategy) ? 2 : 1;
    return options;
}

/* Returns how many were lost. */
static size_t check_run(const struct hr_train_options *options)
{
    struct hr_run_result result;
    scratch_stderr_begin(); /* a launcher says each loss */
    CHECK_OK(hr_train(options, run_digits(), NULL, &result));
    check_replay_of(&result, "run.trace");
    scratch_stderr_end();
    const size_t n = result.nlosses;
    hr_run_result_free(&result);
    return n;
}

/* --- in all orders --- */

static void explored_deaths_are_replayed(void **state)
{
    (void)state;
    size_t lost = 0;
    for (size_t i = 0; i < check_count(24, 400); i++) {
        const char *strategy = strategies[i % STRATEGIES];
        struct hr_train_options options = options_of(strategy, "kill:any@p=0.006x3", i);
        snprintf(options.on_loss, sizeof options.on_loss, "restart");
        if (has_servers(strategy))
            strcat(options.inject, ",kill:server:any@p=0.002x2");
        snprintf(options.schedule, sizeof options.schedule, "explore:%zu", i);
        lost += check_run(&options);
    }
    assert_true(lost > 10);
}

/* A worker takes the server with it that it has, in all orders, and as threads or processes. */
static void deaths_of_workers_with_servers_are_replayed(void **state)
{
    (void)state;
    size_t lost = 0;
    for (size_t i = 0; i < check_count(20, 400); i++) {
        struct hr_train_options options =
            options_of(served[i / 2 % SERVED], i % 2 ? "kill:any@p=0.006x3" : "kill:0@step=5", i);
        snprintf(options.placement, sizeof options.placement, "colocated");
        if (i % 2)
            snprintf(options.schedule, sizeof options.schedule, "explore:%zu", i);
        else if (i / 2 >= SERVED && ranks_can_fork())
            snprintf(options.launch, sizeof options.launch, "process");
        lost += check_run(&options);
    }
    assert_true(lost > 10);
}

/* What is lost of a push is sent again: logs have it once. A worker that dies in between has sent
 * to some servers what others never had. */
static void deaths_between_pushes_that_are_lost_are_replayed(void **state)
{
    (void)state;
    size_t lost = 0;
    for (size_t i = 0; i < check_count(20, 400); i++) {
        const char *strategy = served[i % SERVED];
        struct hr_train_options options =
            options_of(strategy, "kill:any@p=0.006x3,drop-push:p=0.4", i);
        if (i % 2)
            strcat(options.inject, ",kill:server:any@p=0.002x2");
        snprintf(options.on_loss, sizeof options.on_loss, "restart");
        snprintf(options.schedule, sizeof options.schedule, "explore:%zu", i);
        lost += check_run(&options);
    }
    assert_true(lost > 10);
}

/* --- in virtual time --- */

/* Three kills, a restart and a stall. */
static void deaths_in_virtual_time_are_replayed(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3 * STRATEGIES; i++) {
        const char *strategy = strategies[i % STRATEGIES];
        struct hr_train_options options =
            options_of(strategy, "kill:2@step=5,kill:1@step=7,kill:2@step=9,stall:0@step=4+3ms", 0);
        if (has_servers(strategy) && i >= STRATEGIES)
            strcat(options.inject, ",kill:server:1@step=40");
        snprintf(options.clock, sizeof options.clock, "virtual");
        snprintf(options.compute_time, sizeof options.compute_time, "lognormal(1ms, 0.3)");
        options.seed = i;
        assert_true(check_run(&options) >= 3);
    }
}

/* --- in real time --- */

static void deaths_in_real_time(const char *launch)
{
    for (size_t i = 0; i < 3 * STRATEGIES; i++) {
        const char *strategy = strategies[i % STRATEGIES];
        struct hr_train_options options = options_of(strategy, "kill:2@step=5,kill:1@step=9", i);
        if (has_servers(strategy) && i >= STRATEGIES)
            strcat(options.inject, ",kill:server:1@step=60");
        if (has_servers(strategy) && i % 2)
            strcat(options.inject, ",drop-push:p=0.3+1ms");
        snprintf(options.compute_time, sizeof options.compute_time, "uniform(0.5ms, 1.5ms)");
        snprintf(options.launch, sizeof options.launch, "%s", launch);
        const size_t lost = check_run(&options);
        assert_true(lost >= 2 || !is_synchronous(strategy)); /* others may have computed all */
    }
}

static void threads_that_die_are_replayed(void **state)
{
    (void)state;
    deaths_in_real_time("thread");
}

static void processes_that_die_are_replayed(void **state)
{
    (void)state;
    if (ranks_can_fork())
        deaths_in_real_time("process");
}

/* --- a trace may say anything --- */

static uint32_t any_word(uint64_t number, uint32_t lane)
{
    return hr_random_block(check_seed(), HR_STREAM_TEST, number, lane).v[0];
}

/* Of the launcher's log; the run has three workers and two servers. */
static uint64_t edits;
static void something_else(struct hr_trace_entry *entries, size_t n)
{
    struct hr_trace_entry *entry = &entries[any_word(edits, 0) % n];
    const uint32_t by = any_word(edits, 2) % 5;
    switch (any_word(edits, 1) % 4) {
    case 0:
        entry->kind = by;
        break;
    case 1:
        entry->rank = by;
        break;
    case 2:
        entry->step += by - 2;
        break;
    default:
        entry->value += by - 2;
    }
}

static void a_kind_that_is_none(struct hr_trace_entry *entries, size_t n)
{
    entries[n / 2].kind = 40;
}

static void any_launchers_log_is_replayed_or_refused(void **state)
{
    (void)state;
    const struct trace_edit wrong_kind = {.change = a_kind_that_is_none, .owner = 2};
    struct hr_train_options options = options_of("ps-async", "kill:any@p=0.01x4", 0);
    strcat(options.inject, ",kill:server:any@p=0.004x2");
    snprintf(options.schedule, sizeof options.schedule, "explore:7");
    assert_true(check_run(&options) >= 4);
    trace_rewrite("run.trace", "wrong", &wrong_kind);
    trace_refused("wrong", HR_E_FORMAT, "the launcher's log has an entry of kind 40");
    for (edits = 0; edits < check_count(60, 3000); edits++) {
        const struct trace_edit edit = {.change = something_else, .owner = 2};
        struct hr_replay *replay = NULL;
        struct hr_run_result result;
        trace_rewrite("run.trace", "wrong", &edit);
        CHECK_OK(hr_replay_open(scratch("wrong"), &replay));
        scratch_stderr_begin();
        const enum hr_status status = hr_replay_run(replay, run_digits(), NULL, &result);
        scratch_stderr_end();
        assert_true(status == HR_OK || status == HR_E_FORMAT);
        if (status == HR_OK)
            hr_run_result_free(&result);
        hr_replay_close(replay);
    }
}

/* The first loss; servers are ranks 3 and 4. */
static void a_servers_loss_without_a_term(struct hr_trace_entry *entries, size_t n)
{
    size_t i = 0;
    while (i < n && entries[i].kind != HR_MEMBERSHIP_LOST)
        i++;
    assert_true(i < n);
    entries[i].rank = 4;
}

static void a_servers_loss_is_not_that_of_a_worker(void **state)
{
    (void)state;
    const struct trace_edit edit = {.change = a_servers_loss_without_a_term, .owner = 2};
    struct hr_train_options options = options_of("ps-async", "kill:1@step=3", 0);
    snprintf(options.schedule, sizeof options.schedule, "explore:7");
    assert_int_equal(check_run(&options), 1);
    trace_rewrite("run.trace", "wrong", &edit);
    trace_refused("wrong", HR_E_FORMAT, "the loss of rank 4");
}

static void what_is_said_of_losses_is_checked(void **state)
{
    (void)state;
    static const char *const edits_of[][3] = {
        {"\"on-loss\": \"restart\"", "\"on-loss\": 3", "expected \"on-loss\" to be a text"},
        {"\"on-loss\": \"restart\"", "\"on-loss\": \"hope\"", "--on-loss hope"},
        {"\"max-restarts\": 100", "\"max-restarts\": -1", "\"max-restarts\""},
        {"\"losses\"", "\"lasses\"", "has logs of 3 owners, expected 2"},
    };
    struct hr_train_options options = options_of("ps-async", "kill:1@step=3", 0);
    snprintf(options.schedule, sizeof options.schedule, "explore:7");
    assert_int_equal(check_run(&options), 1);
    for (size_t i = 0; i < sizeof edits_of / sizeof *edits_of; i++) {
        char *header = trace_header_with("run.trace", edits_of[i][0], edits_of[i][1]);
        const struct trace_edit edit = {.header = header};
        trace_rewrite("run.trace", "wrong", &edit);
        trace_refused("wrong", i == 1 ? HR_E_USAGE : HR_E_FORMAT, edits_of[i][2]);
        free(header);
    }
    char *trailer = trace_trailer_with("run.trace", "\"losses\"", "\"lasses\"");
    const struct trace_edit edit = {.trailer = trailer};
    trace_rewrite("run.trace", "wrong", &edit);
    scratch_stderr_begin();
    trace_refused("wrong", HR_E_FORMAT, "the trailer does not tell loss 0");
    scratch_stderr_end();
    free(trailer);
}

/* Traces without losses are of version 1, and of any build. */
static void an_earlier_builds_log_of_losses_is_refused(void **state)
{
    (void)state;
    static const char *const how[] = {"stop", "continue"};
    for (size_t i = 0; i < 2; i++) {
        struct hr_train_options options = options_of("ps-async", "", 0);
        const struct trace_edit edit = {.version = HR_TRACE_VERSION};
        struct hr_trace trace;
        char digest[33];
        snprintf(options.on_loss, sizeof options.on_loss, "%s", how[i]);
        options.epochs = 1;
        trace_record("run.trace", options, digest);
        CHECK_OK(hr_trace_open(scratch("run.trace"), &trace));
        assert_int_equal(trace.version, i ? HR_TRACE_VERSION_LOSSES : HR_TRACE_VERSION);
        hr_trace_fini(&trace);
        trace_rewrite("run.trace", "earlier", &edit);
        if (i == 0)
            CHECK_REPLAY("earlier", digest);
        else
            trace_refused("earlier", HR_E_FORMAT, "an earlier version of hogring made it");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(processes_that_die_are_replayed, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(deaths_in_virtual_time_are_replayed, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(threads_that_die_are_replayed, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(any_launchers_log_is_replayed_or_refused, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_servers_loss_is_not_that_of_a_worker, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(what_is_said_of_losses_is_checked, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(deaths_of_workers_with_servers_are_replayed, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(deaths_between_pushes_that_are_lost_are_replayed,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(an_earlier_builds_log_of_losses_is_refused, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(explored_deaths_are_replayed, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Counterfactuals of traces whose times were set by hand, so that results can be worked out; and
 * what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/server.h"
#include "support/traces.h"

enum { MS = 1000000 };

/* Gradients of worker r take 10 (r + 1) ms; an exchange is of four. */
static void set_times(struct hr_trace_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t ms = 10 * (entries[i].rank + 1);
        const uint64_t gradients = entries[i].kind == HR_PUSH       ? 1
                                   : entries[i].kind == HR_PUSHPULL ? 4
                                                                    : 0;
        entries[i].duration_ns = gradients * ms * MS;
    }
}

/* Of each worker the first 5 ms more, the last of worker 0's 40 is 100 ms. */
static void set_uneven_times(struct hr_trace_entry *entries, size_t n)
{
    set_times(entries, n);
    for (size_t i = 0; i < n; i++)
        if (entries[i].kind == HR_PUSH && entries[i].step == 1)
            entries[i].duration_ns += 5 * MS;
        else if (entries[i].kind == HR_PUSH && entries[i].step == 40)
            entries[i].duration_ns = 100 * MS;
}

/* A recorded run of 40 batches as the scratch file "t". */
static void record(const char *strategy, size_t workers,
                   void (*change)(struct hr_trace_entry *entries, size_t n))
{
    char digest[33];
    struct hr_train_options options = run_options(strategy, workers);
    options.max_steps = 40;
    options.epochs = 10;
    options.epoch_size = 40 * options.batch_size;
    options.sync_every = 4;
    snprintf(options.schedule, sizeof options.schedule, "explore:5"); /* all take part */
    trace_record("recorded", options, digest);
    trace_rewrite("recorded", "t", &(struct trace_edit){.change = change});
}

static struct hr_run_result ask(const char *what, double overhead)
{
    struct hr_replay *replay;
    struct hr_run_result result;
    CHECK_OK(hr_replay_open(scratch("t"), &replay));
    CHECK_OK(hr_replay_what_if(replay, what, overhead, run_digits(), NULL, &result));
    hr_replay_close(replay);
    return result;
}

static double seconds_with(const char *what, double overhead)
{
    struct hr_run_result result = ask(what, overhead);
    hr_run_result_free(&result);
    return result.seconds;
}

/* One worker, in its order; what is asked for besides costs it nothing. */
static void gradients_take_as_long_as_they_took(void **state)
{
    (void)state;
    record("ps-async", 1, set_uneven_times);
    CHECK_NEAR(seconds_with("", 0), 0.015 + 38 * 0.010 + 0.100, 1e-9, 0);
    CHECK_NEAR(seconds_with("", 0.001), 0.015 + 38 * 0.010 + 0.100 + 40 * 0.001, 1e-9, 0);
    CHECK_NEAR(seconds_with("staleness=2+servers=2", 0), 0.015 + 38 * 0.010 + 0.100, 1e-9, 0);
}

static void an_exchange_is_of_all_gradients_since_the_one_before(void **state)
{
    (void)state;
    record("elastic-averaging", 1, set_times);
    CHECK_NEAR(seconds_with("", 0), 40 * 0.010, 1e-9, 0);
}

/* Workers that take 10, 20 and 30 ms: the last straggles, and will take 20. Of two that take 10 and
 * 20 the median is 15. Whoever is ready first takes the next of 40 batches; of two, who has
 * computed longer. */
static void a_straggler_takes_as_long_as_the_median_worker(void **state)
{
    (void)state;
    record("ps-async", 3, set_times);
    CHECK_NEAR(seconds_with("", 0), 0.24, 1e-9, 0);
    CHECK_NEAR(seconds_with("straggler=none", 0), 0.2, 1e-9, 0);
    record("ps-async", 2, set_times);
    CHECK_NEAR(seconds_with("", 0), 0.28, 1e-9, 0);
    CHECK_NEAR(seconds_with("straggler=none", 0), 0.24, 1e-9, 0);
}

static void the_bound_and_the_servers_are_those_that_are_asked_for(void **state)
{
    (void)state;
    record("ps-async", 3, set_times);
    for (uint64_t bound = 1; bound <= 3; bound++) {
        char what[32];
        snprintf(what, sizeof what, "staleness=%llu+servers=2", (unsigned long long)bound);
        struct hr_run_result result = ask(what, 0);
        assert_int_equal(result.max_skew, bound);
        assert_int_equal(result.servers, 2);
        hr_run_result_free(&result);
    }
}

/* --- what is refused --- */

static void refuse(const char *name, const char *what, enum hr_status status, const char *message)
{
    struct hr_replay *replay;
    struct hr_run_result result;
    CHECK_OK(hr_replay_open(scratch(name), &replay));
    CHECK_FAILS(hr_replay_what_if(replay, what, 0, run_digits(), NULL, &result), status);
    CHECK_MESSAGE(message);
    hr_replay_close(replay);
}

static void a_change_is_called_by_its_whole_name(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "=3",
        "s=3",
        "stale=3",
        "stalenesses=3",
        "server=1",
        "links=1Gbps",
        "l=1Gbps",
        "link=",
        "link=1Gbps,0000000000000000000000000000000000000000000000000000000000us"};
    record("ps-async", 2, set_times);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse("t", wrong[i], HR_E_USAGE, "expected straggler=none, staleness=N");
}

static void a_log_of_other_workers_than_the_header_says_is_refused(void **state)
{
    (void)state;
    record("ps-async", 2, set_times);
    const struct trace_edit edit = {
        .header = trace_header_with("t", "\"workers\": 2", "\"workers\": 1000")};
    trace_rewrite("t", "wrong", &edit);
    refuse("wrong", "", HR_E_FORMAT, "is of 2 workers, expected 1000");
    free((char *)(uintptr_t)edit.header);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(gradients_take_as_long_as_they_took),
        TEST(an_exchange_is_of_all_gradients_since_the_one_before),
        TEST(a_straggler_takes_as_long_as_the_median_worker),
        TEST(the_bound_and_the_servers_are_those_that_are_asked_for),
        TEST(a_change_is_called_by_its_whole_name),
        TEST(a_log_of_other_workers_than_the_header_says_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

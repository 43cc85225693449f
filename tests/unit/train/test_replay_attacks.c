/* Traces that are damaged, of another run, or of another machine: refused in one clear line, and
 * never waited on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "products/ready.h"
#include "support/traces.h"
#include "options/train_options.h"

/* A recorded run as the scratch file "t". */
static int record_one(void **state)
{
    char digest[33];
    scratch_setup(state);
    struct hr_train_options options = run_options("ssp", 3);
    options.staleness = 1;
    options.servers = 2;
    snprintf(options.schedule, sizeof options.schedule, "explore:5"); /* all take part */
    options.epochs = 1;
    options.seed = 1;
    trace_record("t", options, digest);
    return 0;
}

static void a_trace_with_one_bit_changed_is_refused(void **state)
{
    (void)state;
    size_t bytes;
    free(scratch_read("t", &bytes));
    for (size_t at = 0; at < bytes; at += 1 + bytes / 97) {
        scratch_flip("t", at, at % 8);
        struct hr_replay *replay = NULL;
        CHECK_FAILS(hr_replay_open(scratch("t"), &replay), HR_E_FORMAT);
        assert_null(replay);
        scratch_flip("t", at, at % 8);
    }
}

/* --- signed again, so that only the content is wrong --- */

static void swap(struct hr_trace_entry *entries, size_t i, size_t j)
{
    const struct hr_trace_entry entry = entries[i];
    entries[i] = entries[j];
    entries[j] = entry;
}

/* A worker's push before the pull that it was computed from. */
static void push_before_pull(struct hr_trace_entry *entries, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (entries[i].rank == entries[0].rank) {
            swap(entries, 0, i);
            return;
        }
}

/* All of worker 0's entries first: further than ssp's bound lets it go. */
static void one_worker_first(struct hr_trace_entry *entries, size_t n)
{
    size_t next = 0;
    for (size_t i = 0; i < n; i++)
        if (entries[i].rank == 0)
            swap(entries, next++, i);
}

static void another_staleness(struct hr_trace_entry *entries, size_t n)
{
    entries[n / 2].value += 1000;
}

static void another_step(struct hr_trace_entry *entries, size_t n)
{
    entries[n / 2].step += 5;
}

static void another_kind(struct hr_trace_entry *entries, size_t n)
{
    entries[n / 2].kind = 77;
}

static void a_trace_in_another_order_is_refused_and_not_waited_on(void **state)
{
    (void)state;
    void (*const changes[])(struct hr_trace_entry *, size_t) = {
        push_before_pull, one_worker_first, another_staleness, another_step, another_kind};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        for (size_t owner = 0; owner < 2; owner++) {
            const struct trace_edit edit = {.change = changes[i], .owner = owner};
            trace_rewrite("t", "wrong", &edit);
            trace_refused("wrong", HR_E_FORMAT, "does not fit the run that it describes: owner");
        }
}

/* --- of hogwild --- */

static void tickets_exchanged(struct hr_trace_entry *entries, size_t n)
{
    for (size_t i = n / 2; i + 1 < n; i++)
        if (entries[i].kind == 4 && entries[i + 1].kind == 4) { /* pushes of two blocks */
            entries[i].value += 1000;
            return;
        }
}

static void a_batch_too_many(struct hr_trace_entry *entries, size_t n)
{
    entries[n - 1].kind = 0;
    entries[n - 1].value = 1 << 20;
}

static void a_log_of_hogwild_that_does_not_fit_is_refused_and_not_waited_on(void **state)
{
    (void)state;
    char digest[33];
    struct hr_train_options options = run_options("hogwild", 3);
    snprintf(options.record_block, sizeof options.record_block, "4K");
    snprintf(options.model, sizeof options.model, "flatten, dense 30, relu, dense 10");
    snprintf(options.schedule, sizeof options.schedule, "explore:3"); /* all take part */
    options.epochs = 1;
    trace_record("t", options, digest);
    CHECK_REPLAY("t", digest);
    void (*const changes[])(struct hr_trace_entry *, size_t) = {
        tickets_exchanged, a_batch_too_many, another_step, another_kind, push_before_pull};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const struct trace_edit edit = {.change = changes[i], .owner = 1};
        trace_rewrite("t", "wrong", &edit);
        trace_refused("wrong", HR_E_FORMAT, "does not fit the run that it describes");
    }
}

static void refuse_header(const char *old, const char *new, enum hr_status status, const char *text)
{
    const struct trace_edit edit = {.header = trace_header_with("t", old, new)};
    trace_rewrite("t", "wrong", &edit);
    trace_refused("wrong", status, text);
    free((char *)(uintptr_t)edit.header);
}

static void a_header_is_read_like_a_command_line(void **state)
{
    (void)state;
    refuse_header("{", "[", HR_E_FORMAT, "the header is not JSON");
    refuse_header("\"options\"", "\"opt\"", HR_E_FORMAT, "\"options\" is missing");
    refuse_header("\"staleness\"", "\"stale\"", HR_E_FORMAT, "option \"stale\" is not known");
    refuse_header("\"seed\"", "\"record\"", HR_E_FORMAT, "option \"record\" is not known");
    refuse_header("\"lr-gamma\"", "\"timeout\"", HR_E_FORMAT, "option \"timeout\" is not known");
    refuse_header("\"ssp\"", "3", HR_E_FORMAT, "option \"strategy\" has no fitting value");
    refuse_header("\"ssp\"", "\"012345678901234567890123456789012\"", HR_E_FORMAT,
                  "option \"strategy\" has no fitting value");
    refuse_header("\"ssp\"", "\"sps\"", HR_E_USAGE, "--strategy sps: there is no such strategy");
    refuse_header("\"workers\": 3", "\"workers\": 4", HR_E_FORMAT, "is of 3 ranks, expected 4");
    refuse_header("\"workers\": 3", "\"workers\": -3", HR_E_FORMAT, "option \"workers\"");
    refuse_header("\"workers\": 3", "\"workers\": 1000000", HR_E_USAGE, "--workers 1000000");
    refuse_header("\"servers\": 2", "\"servers\": 1", HR_E_FORMAT, "has logs of 2 owners");
    refuse_header("\"batch-size\": 16", "\"batch-size\": \"18446744073709551615\"", HR_E_USAGE,
                  "--batch-size");
    refuse_header("\"model\": \"flatten, dense 11", "\"model\": \"flatten, dense 0", HR_E_USAGE,
                  "dense 0");
    refuse_header("\"digest\": \"", "\"digest\": \"f", HR_E_FORMAT, "\"digest\"");
    refuse_header("\"begin\"", "\"end\"", HR_E_FORMAT, "\"index\"");
    refuse_header("\"machine\"", "\"mechanism\"", HR_E_FORMAT, "expected a \"machine\"");
    refuse_header("\"index\": 0", "\"index\": 1", HR_E_USAGE, "began at step 1 with weights");
    refuse_header("\"state\": \"", "\"state\": \"\", \"was\": \"", HR_E_USAGE,
                  "began at step 0 with weights");
    refuse_header("\"seed\": 1", "\"seed\": 2", HR_E_USAGE, "here it would begin at step 0");
}

/* It did not know what now is an option of data, or how saves were made. */
static void a_trace_of_an_earlier_build_is_replayed_where_it_can_be(void **state)
{
    (void)state;
    static const char *const there[] = {"\"validation-data\"", "\"pauses\""};
    char digest[33];
    struct hr_train_options options = run_options("ssp", 3);
    options.epochs = 1;
    for (size_t i = 0; i < 3; i++) {
        snprintf(options.strategy, sizeof options.strategy, "%s", i < 2 ? "ssp" : "ps-async");
        trace_record("t", options, digest);
        for (size_t k = 0; k < 2; k++) {
            const struct trace_edit edit = {.header = trace_header_with("t", there[k], "\"\"")};
            trace_rewrite("t", "earlier", &edit);
            if (i == 1 && k == 1)
                trace_refused("earlier", HR_E_FORMAT,
                              "(--checkpoint-every 5) changed a run of ssp");
            else
                CHECK_REPLAY("earlier", digest);
            free((char *)(uintptr_t)edit.header);
        }
        snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s",
                 scratch(i ? "others" : "saves"));
        options.checkpoint_every.steps = 5;
    }
}

static void a_trailer_is_checked(void **state)
{
    (void)state;
    static const char *const edits[][3] = {
        {"\"weights_digest\": \"", "\"weights_digest\": \"0", "\"weights_digest\""},
        {"\"index\": ", "\"index\": -", "\"index\" to be a whole number"},
    };
    for (size_t i = 0; i < 2; i++) {
        const struct trace_edit edit = {.trailer =
                                            trace_trailer_with("t", edits[i][0], edits[i][1])};
        trace_rewrite("t", "wrong", &edit);
        trace_refused("wrong", HR_E_FORMAT, edits[i][2]);
        free((char *)(uintptr_t)edit.trailer);
    }
}

/* The replay goes well, and what it found is told from what the trace says. */
static void another_digest_is_found(void **state)
{
    (void)state;
    struct hr_replay *replay;
    struct hr_run_result result;
    const struct trace_edit edit = {
        .trailer = trace_trailer_with("t", "\"weights_digest\": \"",
                                      "\"was\": \"\", \"weights_digest\": \"")};
    trace_rewrite("t", "same", &edit);
    CHECK_OK(hr_replay_open(scratch("same"), &replay));
    replay->weights_digest[0] ^= 1;
    CHECK_OK(hr_replay_run(replay, run_digits(), NULL, &result));
    assert_string_not_equal(result.weights_digest, result.recorded_digest);
    hr_run_result_free(&result);
    hr_replay_close(replay);
    free((char *)(uintptr_t)edit.trailer);
}

/* --- another machine, other data --- */

static void other_kernels_are_refused_unless_they_were_the_reference(void **state)
{
    (void)state;
    char isa[32];
    snprintf(isa, sizeof isa, "\"isa\": \"%s\"", hr_isa_name());
#ifndef HR_NO_BLAS
    refuse_header(isa, "\"isa\": \"v9\"", HR_E_USAGE, "whose isa was \"v9\"");
    char kernels[128];
    snprintf(kernels, sizeof kernels, "\"kernels\": \"%s", hr_kernels_name());
    refuse_header(kernels, "\"kernels\": \"ClosedBLAS", HR_E_USAGE,
                  "whose kernels were \"ClosedBLAS");
    refuse_header("\"gemm\": \"", "\"gemm\": \"nn 7, ", HR_E_USAGE, "whose gemm was \"nn 7");
#endif
    refuse_header("\"libm\": \"", "\"libm\": \"0", HR_E_USAGE, "whose libm was \"0");
    char digest[33];
    struct hr_train_options options = run_options("ps-async", 2);
    snprintf(options.kernels, sizeof options.kernels, "reference");
    trace_record("t", options, digest);
    const struct trace_edit edit = {.header = trace_header_with("t", isa, "\"isa\": \"v9\"")};
    trace_rewrite("t", "elsewhere", &edit);
    CHECK_REPLAY("elsewhere", digest);
    free((char *)(uintptr_t)edit.header);
}

static void other_data_are_refused(void **state)
{
    (void)state;
    struct hr_replay *replay;
    struct hr_run_result result;
    struct hr_dataset other = *run_digits();
    other.digest[0] ^= 1;
    CHECK_OK(hr_replay_open(scratch("t"), &replay));
    CHECK_FAILS(hr_replay_run(replay, &other, NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("was recorded on other data: their digest was");
    hr_replay_close(replay);
}

/* --- options there and back --- */

static void every_option_that_decides_survives_the_header(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("ssp", 7), back;
    options.seed = UINT64_MAX - 1;
    options.lr = 0.1 + 1e-17;
    options.weight_decay = 1.0 / 3;
    options.nesterov = true;
    snprintf(options.model, sizeof options.model, "flatten, dense 4");
    json_t *object = hr_train_options_json(&options);
    assert_non_null(object);
    hr_train_defaults(&back);
    CHECK_OK(hr_train_options_from_json(object, &back));
    json_decref(object);
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++) {
        const char *was = (char *)&options + row->offset, *is = (char *)&back + row->offset;
        if (row->use == HR_DECIDES && row->kind == HR_OPTION_TEXT)
            assert_string_equal(was, is);
        else if (row->use == HR_DECIDES)
            assert_memory_equal(was, is, row->size);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, record_one, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_trace_with_one_bit_changed_is_refused),
        TEST(a_trace_in_another_order_is_refused_and_not_waited_on),
        TEST(a_log_of_hogwild_that_does_not_fit_is_refused_and_not_waited_on),
        TEST(a_header_is_read_like_a_command_line),
        TEST(a_trace_of_an_earlier_build_is_replayed_where_it_can_be),
        TEST(a_trailer_is_checked),
        TEST(another_digest_is_found),
        TEST(other_kernels_are_refused_unless_they_were_the_reference),
        TEST(other_data_are_refused),
        TEST(every_option_that_decides_survives_the_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Options of callers: set by name, and in structs of programs older and newer than the library. */
#include <string.h>

#include "options/train_options.h"
#include "support/runs.h"

static void every_option_is_set_by_its_name(void **state)
{
    (void)state;
    struct hr_train_options options, defaults;
    const struct hr_option *row;
    hr_train_defaults(&defaults);
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++) {
        char usual[sizeof options.model];
        hr_train_defaults(&options);
        memset((char *)&options + row->offset, 0xff, row->size);
        hr_option_text(row, &defaults, usual, sizeof usual);
        if (row->kind == HR_OPTION_DURATION)
            strcat(usual, "s");
        if (!row->usual && !strcmp(usual, "0"))
            strcpy(usual, "1"); /* a 0 says nothing */
        if (!row->by_optimizer)
            CHECK_OK(hr_train_set(&options, row->name, usual));
    }
    CHECK_OK(hr_train_set(&options, "strategy", "ssp"));
    CHECK_OK(hr_train_set(&options, "staleness", "7"));
    CHECK_OK(hr_train_set(&options, "nesterov", "on"));
    CHECK_OK(hr_train_set(&options, "checkpoint-every", "30s"));
    CHECK_OK(hr_train_set(&options, "epoch-size", "none"));
    assert_true(options.epoch_size == 0);
    assert_string_equal(options.strategy, "ssp");
    assert_int_equal(options.staleness, 7);
    assert_true(options.nesterov);
    assert_true(options.checkpoint_every.seconds == 30);
}

static void refused(const char *name, const char *value, const char *text)
{
    struct hr_train_options options;
    hr_train_defaults(&options);
    assert_int_equal(hr_train_set(&options, name, value), HR_E_USAGE);
    assert_string_equal(hr_error_message(), text);
}

static void what_cannot_be_set_is_said(void **state)
{
    (void)state;
    refused("stalenes", "7", "--stalenes: unknown option; did you mean --staleness?");
    refused("staleness", "-7", "--staleness -7: expected a whole number, not negative");
    refused("clock", "reel", "--clock reel: expected real, virtual or explore:SEED");
    refused("json", "out.json",
            "--json: is of the command alone, and no field of struct hr_train_options");
}

/* The digest of a run whose options are a struct of so many bytes, and of nothing behind them. */
static void digest_of(size_t size, char digest[33])
{
    struct {
        struct hr_train_options options;
        char behind[4096];
    } memory, before;
    struct hr_train_options *options = &memory.options;
    struct hr_run_result result;
    memset(&memory, 0x5a, sizeof memory);
    hr_train_options_init(options, size);
    options->workers = 2;
    options->epochs = 1;
    before = memory;
    CHECK_OK(hr_train_check(options, run_digits()));
    CHECK_OK(hr_train(options, run_digits(), NULL, &result));
    assert_memory_equal(&memory, &before, sizeof memory);
    CHECK_OK(hr_train_complete(options));
    const char *bytes = (const char *)&memory;
    for (size_t i = size; i < sizeof memory; i++)
        assert_int_equal(bytes[i], 0x5a);
    assert_int_equal(options->size, size);
    assert_true(options->lr > 0); /* completed */
    memcpy(digest, result.weights_digest, 33);
    hr_run_result_free(&result);
}

static void shorter_and_longer_structs_are_taken(void **state)
{
    (void)state;
    char ours[33], theirs[33];
    digest_of(sizeof(struct hr_train_options), ours);
    digest_of(offsetof(struct hr_train_options, note), theirs);
    assert_string_equal(theirs, ours);
    digest_of(offsetof(struct hr_train_options, early_stop), theirs);
    assert_string_equal(theirs, ours);
    digest_of(sizeof(struct hr_train_options) + 64, theirs);
    assert_string_equal(theirs, ours);
}

static void no_size_and_unknown_fields_are_refused(void **state)
{
    (void)state;
    struct {
        struct hr_train_options options;
        char behind[64];
    } memory;
    struct hr_run_result result;
    memset(&memory, 0, sizeof memory);
    assert_int_equal(hr_train(&memory.options, run_digits(), NULL, &result), HR_E_USAGE);
    assert_string_equal(hr_error_message(), "struct hr_train_options: its size is 0; expected it "
                                            "filled by hr_train_defaults");
    hr_train_options_init(&memory.options, sizeof memory);
    memory.behind[5] = 1;
    assert_int_equal(hr_train_check(&memory.options, run_digits()), HR_E_USAGE);
    assert_non_null(strstr(hr_error_message(), "of an option that this library"));
    hr_train_options_init(&memory.options, offsetof(struct hr_train_options, note));
    assert_int_equal(hr_train_set(&memory.options, "note", "mine"), HR_E_USAGE);
    assert_non_null(strstr(hr_error_message(), "ends before it"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_is_set_by_its_name),
        cmocka_unit_test(what_cannot_be_set_is_said),
        cmocka_unit_test(shorter_and_longer_structs_are_taken),
        cmocka_unit_test(no_size_and_unknown_fields_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

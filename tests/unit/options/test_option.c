/* The tables of options: what every row promises. */
#include <stdio.h>
#include <string.h>

#include "options/command_line.h"
#include "support/check.h"

static void defaults_are_values_that_are_taken(void **state)
{
    (void)state;
    struct hr_train_options options;
    hr_train_defaults(&options);
    CHECK_OK(hr_train_complete(&options));
    CHECK_OK(hr_train_options_check(&options, false));
}

static void names_are_told_apart_by_every_command(void **state)
{
    (void)state;
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++) {
        assert_true(i < HR_CLI_OPTIONS);
        for (unsigned command = 1; command < HR_LIBRARY; command *= 2)
            if (hr_option_is_of(row, command))
                assert_int_equal(hr_cli_option_find(row->name, command), i);
    }
}

static void rows_of_data_say_its_defaults(void **state)
{
    (void)state;
    struct hr_data_options by_rows, defaults;
    const struct hr_option *row;
    hr_option_defaults(hr_data_lists, hr_data_nlists, &by_rows);
    hr_data_defaults(&defaults);
    for (size_t i = 0; (row = hr_data_option_at(i)) != NULL; i++)
        assert_true(hr_option_equal(row, &by_rows, &defaults));
}

/* Of paths only those that are read; no time, and no size in bytes. */
static void files_decide_no_outputs_and_no_limits(void **state)
{
    (void)state;
    static const char reads[] = " data test-data validation-data init-weights topology resume ";
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++) {
        char name[64];
        snprintf(name, sizeof name, " %s ", row->name);
        const bool path =
            row->metavar && (strstr(row->metavar, "FILE") || strstr(row->metavar, "DIR"));
        const bool limit = row->kind == HR_OPTION_SECONDS || row->kind == HR_OPTION_DURATION ||
                           row->kind == HR_OPTION_BYTES || row->kind == HR_OPTION_CONFIG;
        if ((limit || (path && !strstr(reads, name))) && hr_option_is_recipe(row, true))
            fail_msg("--%s: a stranger's file may decide it", row->name);
    }
    assert_true(hr_option_is_recipe(hr_train_option_find("lr"), false));
    assert_true(hr_option_is_recipe(hr_train_option_find("max-steps"), true));
    assert_false(hr_option_is_recipe(hr_train_option_find("max-steps"), false));
}

static void text_and_json_read_back(void **state)
{
    (void)state;
    struct hr_train_options was, is;
    const struct hr_option *row;
    hr_train_defaults(&was);
    was.lr = was.weight_decay = was.eps = 0.1 + 1e-17;
    was.seed = UINT64_MAX;
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++) {
        char text[sizeof was.model];
        memset(&is, 0xff, sizeof is);
        hr_option_text(row, &was, text, sizeof text);
        if (row->kind != HR_OPTION_DURATION) { /* a unit is asked for */
            assert_true(hr_option_store(row, &is, text));
            assert_true(hr_option_equal(row, &was, &is));
        }
        memset(&is, 0xff, sizeof is);
        json_t *value = hr_option_json(row, &was);
        assert_true(hr_option_from_json(row, &is, value));
        assert_true(hr_option_equal(row, &was, &is));
        json_decref(value);
    }
}

/* Steps, a time or epochs: each as text and as JSON. */
static void how_often_has_three_spellings(void **state)
{
    (void)state;
    static const char *const spelled[] = {"0", "100", "30s", "0.05s", "2epochs"};
    const struct hr_option *row = hr_train_option_find("checkpoint-every");
    struct hr_train_options options, again;
    char text[64];
    for (size_t i = 0; i < sizeof spelled / sizeof *spelled; i++) {
        assert_true(hr_option_store(row, &options, spelled[i]));
        hr_option_text(row, &options, text, sizeof text);
        assert_string_equal(text, spelled[i]);
        json_t *value = hr_option_json(row, &options);
        assert_true(json_is_integer(value) == (i < 2));
        assert_true(hr_option_from_json(row, &again, value));
        assert_true(hr_option_equal(row, &options, &again));
        json_decref(value);
    }
    assert_true(hr_option_store(row, &options, "5m"));
    assert_true(options.checkpoint_every.seconds == 300);
    assert_false(hr_option_store(row, &options, "0s"));
    assert_false(hr_option_store(row, &options, "0epochs"));
    assert_false(hr_option_store(row, &options, "epochs"));
    assert_false(hr_option_store(row, &options, "-1"));
}

static void refused(const char *option, const char *value, const char *text)
{
    struct hr_train_options options;
    const struct hr_option *row = hr_train_option_find(option);
    hr_train_defaults(&options);
    assert_true(hr_option_store(row, &options, value));
    assert_int_equal(hr_option_check(row, &options, false), HR_E_USAGE);
    assert_string_equal(hr_error_message(), text);
}

static void ranges_and_words_say_what_is_expected(void **state)
{
    (void)state;
    refused("momentum", "1.5", "--momentum 1.5: expected 0 to 1");
    refused("beta1", "1", "BETA1 of --optimizer adam 1: expected 0 to less than 1");
    refused("lr-step-epochs", "0", "EPOCHS of --lr-schedule step 0: expected more than 0");
    refused("reduce", "su", "--reduce su: expected sum or repro");
    refused("scale-lr", "linearly", "--scale-lr linearly: expected linear, sqrt or none");
}

/* The value of a parameter that its row takes, and that is not the default. */
static const char *another_value(const struct hr_option *row)
{
    static char word[32];
    if (row->kind == HR_OPTION_FLAG)
        return "on";
    if (row->words) {
        const char *last = strrchr(row->words, '|') + 1;
        snprintf(word, sizeof word, "%s", last);
        return word;
    }
    return row->kind == HR_OPTION_TEXT ? "4K" : row->kind == HR_OPTION_DURATION ? "2s" : "6";
}

static void a_parameter_is_said_behind_a_value(void **state)
{
    (void)state;
    const struct hr_option *row;
    size_t n = 0;
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++) {
        struct hr_train_options options, other;
        hr_train_defaults(&options);
        hr_train_defaults(&other);
        if (!row->parameter || row->part)
            continue;
        struct hr_option_name said = hr_option_said(row, another_value(row));
        char *value = strchr(said.text, ' ') + 1;
        value[-1] = '\0';
        if (!row->with[0].values) /* a number: "T[:S]:6" */
            memmove(value, strchr(value, ']') ? "2:6" : value, sizeof "2:6");
        if (row->kind == HR_OPTION_DURATION)
            snprintf(value, 8, "9s:2s");
        CHECK_OK(hr_train_set(&options, said.text + 2, value));
        CHECK_OK(hr_train_set(&other, row->name, another_value(row)));
        assert_true(hr_option_equal(row, &options, &other));
        n++;
    }
    assert_true(n > 20);
    struct hr_train_options options;
    hr_train_defaults(&options);
    assert_int_equal(hr_train_set(&options, "lr-schedule", "step:1,2,3"), HR_E_USAGE);
    assert_int_equal(hr_train_set(&options, "optimizer", "sgd:often"), HR_E_USAGE);
    assert_int_equal(hr_train_set(&options, "loss", "mse:1"), HR_E_USAGE);
    CHECK_OK(hr_train_set(&options, "lr-schedule", "step:5,0.2"));
    CHECK_OK(hr_train_set(&options, "lr-schedule", "step:,0.3"));
    assert_true(options.lr_step_epochs == 5 && options.lr_gamma == 0.3);
    CHECK_OK(hr_train_set(&options, "pipeline", "2,micro-batches=4,recompute"));
    CHECK_OK(hr_train_set(&options, "time-to", "accuracy=0.5"));
    assert_true(options.pipeline == 2 && options.micro_batches == 4 && options.recompute);
    assert_true(options.target_accuracy == 0.5);
    assert_int_equal(hr_train_set(&options, "expect", "accuracy=0.5"), HR_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_values_that_are_taken),
        cmocka_unit_test(names_are_told_apart_by_every_command),
        cmocka_unit_test(rows_of_data_say_its_defaults),
        cmocka_unit_test(files_decide_no_outputs_and_no_limits),
        cmocka_unit_test(text_and_json_read_back),
        cmocka_unit_test(how_often_has_three_spellings),
        cmocka_unit_test(a_parameter_is_said_behind_a_value),
        cmocka_unit_test(ranges_and_words_say_what_is_expected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

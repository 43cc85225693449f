/* Command lines: what is taken, and what is refused with which words. */
#include "options/command_line.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "options/metric.h"
#include "options/train_options.h"
#include "support/check.h"
#include "support/scratch.h"

enum { MOST_WORDS = 16 };

static struct hr_cli cli;

/* Words are set apart by blanks. */
static enum hr_status parse(enum hr_command_bit command, const char *line)
{
    static char text[1200];
    char *argv[MOST_WORDS + 1] = {text}, *rest = NULL;
    int argc = 0;
    snprintf(text, sizeof text, "hogring %s", line);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        assert_true(argc < MOST_WORDS);
        argv[argc++] = word;
    }
    hr_cli_defaults(&cli);
    optind = 0; /* getopt begins again */
    return hr_cli_parse(&cli, command, argc, argv);
}

static void wrong_lines_say_what_is_expected(void **state)
{
    (void)state;
    static const struct {
        enum hr_command_bit command;
        const char *line, *message;
    } wrong[] = {
        {HR_TRAIN, "--workers", "--workers: a value is missing (--workers N)"},
        {HR_TRAIN, "--concurrent=1", "--concurrent: unknown option"},
        {HR_COMPARE, "--concurrent=1", "--concurrent: takes no value"},
        {HR_COMPARE, "--quiet=yes", "--quiet: takes no value"},
        {HR_TRAIN, "-w 3", "-w: options begin with two dashes"},
        {HR_TRAIN, "--quiet -lr 0.1", "-lr: options begin with two dashes; did you mean --lr?"},
        {HR_TRAIN, "--workers 2 -bs=3", "-bs: options begin with two dashes (--help lists them)"},
        {HR_TRAIN, "-l -lr 0.1", "-l: options begin with two dashes"},
        {HR_TRAIN, "--quiet -l", "-l: options begin with two dashes"},
        {HR_TRAIN, "--wokers 3", "--wokers: unknown option; did you mean --workers?"},
        {HR_TRAIN, "--wokers=3", "--wokers: unknown option; did you mean --workers?"},
        {HR_TRAIN, "--xyzzy-of-nothing 3", "unknown option (--help lists them)"},
        {HR_TRAIN, "--workers many", "--workers many: expected a whole number, not negative"},
        {HR_TRAIN, "--workers -1", "--workers -1: expected a whole number"},
        {HR_TRAIN, "--workers 99999999999999999999", "expected a whole number, not negative"},
        {HR_TRAIN, "--lr fast", "--lr fast: expected a number, not negative"},
        {HR_TRAIN, "--lr=", "--lr \"\": expected RATE; without the option it is as by default"},
        {HR_TRAIN, "--checkpoint-dir=", "--checkpoint-dir \"\": expected DIR"},
        {HR_TRAIN, "--resume= --checkpoint-dir d", "--resume \"\": expected [DIR]"},
        {HR_TRAIN, "--config=", "--config \"\": expected FILE"},
        {HR_COMPARE, "--tune=", "--tune \"\": expected [NAME=VALUES]"},
        {HR_TRAIN, "--timeout soon", "--timeout soon: expected a time"},
        {HR_TRAIN, "--max-memory much", "--max-memory much: expected a size, as 512M or 16G"},
        {HR_TRAIN, "--max-memory 2000000G", "expected a size, as 512M or 16G"},
        {HR_TRAIN, "--max-memory 4KiBs", "--max-memory 4KiBs: expected a size"},
        {HR_TRAIN, "--max-memory -1", "--max-memory -1: expected a size"},
        {HR_TRAIN, "--checkpoint-every never", "expected steps, a time or epochs, as 100"},
        {HR_TRAIN, "--checkpoint-every 99999999999999999999999999999999epochs", "expected steps"},
        {HR_TRAIN, "--workers 3 digits", "\"digits\": found a word, expected options, which begin"},
        {HR_COMPARE, "allreduce", "\"allreduce\": found a word"},
        {HR_TRAIN, "--resume", "--resume: from where? name a folder, or give --checkpoint-dir"},
        {HR_TRAIN, "--resume --workers 2", "--resume: from where?"},
        {HR_TRAIN, "--config /nowhere.ini", "--config /nowhere.ini: cannot be opened"},
        {HR_TRAIN, "--inject nan:0@step=1 --inject nan:0@step=2",
         "--inject: given twice; expected one list, with commas between its entries"},
        {HR_COMPARE, "--strategies ssp --strategies=ssp", "--strategies: given twice"},
        {HR_TRAIN, "--expect 0.9", "--expect 0.9: expected METRIC=X"},
        {HR_TRAIN, "--expect f1=0.9,accuracy=0.5", "--expect f1=0.9: expected METRIC=X"},
        {HR_TRAIN, "--expect accuracy=", "--expect accuracy \"\": expected"},
        {HR_TRAIN, "--expect accuracy=high", "--expect accuracy=high: expected a number"},
        {HR_TRAIN, "--text ,,lines,", "--text ,,lines,: expected"},
        {HR_TRAIN, "--text line", "--text line: expected"},
        {HR_TRAIN, "--lines", "--lines: is said in another way: --text lines"},
        {HR_TRAIN, "--test-data a.csv", "--test-data a.csv: is said in another way: --test a.csv"},
        {HR_TRAIN, "--micro-batches 4",
         "--micro-batches 4: is said in another way: --pipeline K,micro-batches=4"},
        {HR_TRAIN, "--pipeline 2,mb=4",
         "(its parts: micro-batches=, schedule=, stages=, recompute)"},
        {HR_BENCH, "--pipeline 2 --pipeline 4", "--pipeline: given twice"},
        {HR_TRAIN, "--time-to loss=0", "--time-to loss=0: expected more than 0"},
        {HR_TRAIN, "--validation 0", "--validation 0: expected more than 0"},
        {HR_TRAIN, "--keep ,best=loss", "--keep ,best=loss: expected N before the ,"},
        {HR_TRAIN, "--max-steps 0", "--max-steps 0: expected at least 1"},
        {HR_TRAIN, "--max-memory 0", "--max-memory 0: expected more than 0"},
        {HR_TRAIN, "--checkpoint-every 0", "--checkpoint-every 0: expected more than 0"},
        {HR_TRAIN, "--strategy elastic-averaging:0",
         "ALPHA of --strategy elastic-averaging 0: expected more than 0"},
        {HR_TRAIN, "--lr-schedule step:", "--lr-schedule step:: expected EPOCHS behind the colon"},
        {HR_TRAIN, "--lr-schedule step:5,", "expected FACTOR behind the colon"},
        {HR_TRAIN, "--server-time 1ms",
         "--server-time 1ms: is said in another way: --servers time=1ms"},
        {HR_TRAIN, "--digest-every 5",
         "--digest-every 5: is said in another way: --json digests=5"},
        {HR_TRAIN, "--schedule explore:7",
         "--schedule explore:7: is said in another way: --clock explore:7"},
        {HR_COMPARE, "--seeds many", "--seeds many: expected a whole number"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (parse(wrong[i].command, wrong[i].line) != HR_E_USAGE &&
            !strstr(wrong[i].line, "--config"))
            fail_msg("%s: taken", wrong[i].line);
        CHECK_MESSAGE(wrong[i].message);
    }
}

static void right_lines_are_taken(void **state)
{
    (void)state;
    CHECK_OK(parse(HR_TRAIN, "--workers 3 --lr=0.5 --max-memory 2G --quiet --timeout 5s"));
    assert_int_equal(cli.train.workers, 3);
    assert_true(cli.train.lr == 0.5 && cli.quiet && cli.train.timeout == 5);
    assert_true(cli.max_memory == (uint64_t)2 << 30);
    CHECK_OK(parse(HR_TRAIN, "--workers 3 --workers 4")); /* the last one counts */
    assert_int_equal(cli.train.workers, 4);
    CHECK_OK(parse(HR_TRAIN, "--help"));
    assert_true(cli.help);
    CHECK_OK(parse(HR_TRAIN, "-h"));
    assert_true(cli.help);
    CHECK_OK(parse(HR_TRAIN, "--augment flip --augment none")); /* as if it had not been given */
    assert_string_equal(cli.train.augment, "");
    CHECK_OK(parse(HR_TRAIN, "--pipeline 2 --max-steps 3 --pipeline none --lr 0"));
    assert_true(cli.train.pipeline == 0 && cli.train.lr == 0);
    CHECK_OK(parse(HR_INSPECT, "a b c -- --d"));
    assert_int_equal(cli.npositional, 4);
    assert_string_equal(cli.positional[3], "--d");
}

/* What one option says goes to rows of their own, under whose names files have it. */
static void parts_are_cut(void **state)
{
    (void)state;
    CHECK_OK(parse(HR_TRAIN, "--expect accuracy=0.9,digest=ab --expect loss=2 --test 0.3"));
    assert_true(cli.expect[HR_METRIC_ACCURACY] == 0.9 && cli.expect[HR_METRIC_LOSS] == 2);
    assert_true(cli.expect[HR_METRIC_RMSE] < 0); /* 0 is one to be obeyed */
    assert_string_equal(cli.expect_digest, "ab");
    assert_true(cli.data_options.test_fraction == 0.3 && !cli.data_options.test_data[0]);
    assert_true(hr_cli_was_given(&cli, "expect") && hr_cli_was_given(&cli, "test-fraction"));
    assert_false(hr_cli_was_given(&cli, "expect-rmse") || hr_cli_was_given(&cli, "test-data"));
    CHECK_OK(parse(HR_TRAIN, "--test held,out.csv --timeline a,b.json,steps=5:7"));
    assert_string_equal(cli.data_options.test_data, "held,out.csv");
    assert_string_equal(cli.timeline, "a,b.json");
    assert_string_equal(cli.timeline_steps, "5:7");
    CHECK_OK(parse(HR_TRAIN, "--search staleness=1,4;confirm=5,real"));
    assert_string_equal(cli.search, "staleness=1,4");
    assert_string_equal(cli.confirm, "5,real");
    CHECK_OK(parse(HR_TRAIN, "--text lines,context=7 --init-weights a/b,replace-head"));
    assert_true(cli.data_options.lines && cli.data_options.context == 7);
    assert_true(cli.train.replace_head && hr_cli_was_given(&cli, "text"));
    assert_string_equal(cli.train.init_weights, "a/b");
    CHECK_OK(parse(HR_COMPARE, "--keep best=loss --log a.jsonl,every=9"));
    assert_true(cli.train.keep == 3 && !hr_cli_was_given(&cli, "keep") && !cli.naxes);
    assert_string_equal(cli.train.keep_best, "loss");
    assert_true(cli.log_every == 9 && !strcmp(cli.log, "a.jsonl"));
    CHECK_OK(parse(HR_COMPARE, "--keep 1,best=loss"));
    assert_true(cli.train.keep == 1 && !cli.naxes);
    CHECK_OK(hr_config_parse(&cli, HR_TRAIN, "f", "expect-rmse = 3\ntest = t.csv\n"));
    assert_true(cli.expect[HR_METRIC_RMSE] == 3 && hr_cli_was_given(&cli, "expect"));
    assert_string_equal(cli.data_options.test_data, "t.csv");
}

/* The last of several counts, whichever row it goes to. */
static void a_value_takes_the_place_of_its_alternatives(void **state)
{
    (void)state;
    CHECK_OK(parse(HR_TRAIN, "--clock virtual --clock explore:7"));
    assert_string_equal(cli.train.schedule, "explore:7");
    assert_string_equal(cli.train.clock, "real");
    CHECK_OK(parse(HR_TRAIN, "--clock explore:7 --clock virtual"));
    assert_string_equal(cli.train.schedule, "free");
    assert_string_equal(cli.train.clock, "virtual");
    assert_false(hr_cli_was_given(&cli, "schedule"));
    CHECK_OK(parse(HR_TRAIN, "--test held.csv --test 0.3"));
    assert_true(cli.data_options.test_fraction == 0.3 && !cli.data_options.test_data[0]);
    assert_false(hr_cli_was_given(&cli, "test-data"));
    CHECK_OK(parse(HR_TRAIN, "--validation 0.3 --validation held.csv"));
    assert_true(cli.train.validation_fraction == 0);
    assert_string_equal(cli.data_options.validation_data, "held.csv");
}

/* A folder behind it, or after "=", or that of the checkpoints. */
static void resume_has_three_spellings(void **state)
{
    (void)state;
    CHECK_OK(parse(HR_TRAIN, "--resume=a --checkpoint-dir d"));
    assert_string_equal(cli.train.resume, "a");
    CHECK_OK(parse(HR_TRAIN, "--resume b --workers 3"));
    assert_string_equal(cli.train.resume, "b");
    assert_int_equal(cli.train.workers, 3);
    CHECK_OK(parse(HR_TRAIN, "--resume --checkpoint-dir d"));
    assert_string_equal(cli.train.resume, "d");
    CHECK_OK(parse(HR_TRAIN, "--checkpoint-dir d --resume"));
    assert_string_equal(cli.train.resume, "d");
}

/* Nobody types the names of the rows behind colons: no command answers with one. */
static void what_stands_behind_a_colon_goes_where_its_option_goes(void **state)
{
    (void)state;
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++) {
        if (!row->parameter || row->part)
            continue;
        const struct hr_option *of = hr_train_option_find(row->with[0].option);
        for (unsigned bit = 1; bit && of->metavar && !row->typed; bit <<= 1) {
            char line[128];
            const char *values = row->with[0].values;
            if (!hr_option_is_of(of, bit))
                continue;
            snprintf(line, sizeof line, "--%s %.*s:1", of->name, (int)strcspn(values, "|"), values);
            if (parse((enum hr_command_bit)bit, line) != HR_OK &&
                strstr(hr_error_message(), "unknown option"))
                fail_msg("%s, command %#x: %s", line, bit, hr_error_message());
        }
    }
    CHECK_OK(parse(HR_FORECAST, "--optimizer adam:0.8,0.9"));
    assert_true(cli.train.beta1 == 0.8 && cli.train.beta2 == 0.9);
    CHECK_OK(parse(HR_DATA_PACK, "--task regress:none"));
    assert_string_equal(cli.train.target_scale, "none");
    CHECK_FAILS(parse(HR_COMPARE, "--placement dedicated:spread"), HR_E_USAGE);
    CHECK_MESSAGE("--placement dedicated:spread: expected dedicated, with nothing behind it");
    CHECK_OK(parse(HR_TRAIN, "--placement dedicated:spread"));
}

static void given_options_are_known_by_name(void **state)
{
    (void)state;
    CHECK_OK(parse(HR_DATA_PACK, "--out f a.csv"));
    assert_true(hr_cli_was_given(&cli, "out"));
    assert_false(hr_cli_was_given(&cli, "rows"));
    assert_string_equal(hr_cli_given_beyond(&cli, HR_DATA_INFO)->name, "out");
    assert_null(hr_cli_given_beyond(&cli, HR_DATA_PACK));
    hr_cli_mark_given(&cli, "rows");
    assert_true(hr_cli_was_given(&cli, "rows"));
    CHECK_FAILS(hr_cli_set(&cli, HR_TRAIN, "config", "f", "file: "), HR_E_USAGE);
    CHECK_MESSAGE("file: --config: not inside a configuration file");
}

static void epochs_of_early_stopping_are_counted(void **state)
{
    (void)state;
    static const char *const wrong[] = {"loss",       "loss,",    "loss,0",       "loss,x",
                                        "gain,3",     ",3",       "loss,3,",      "loss,3,-1",
                                        "loss,3,1,1", "accuracy", "accuracy,1,x", ","};
    struct hr_train_options options;
    struct hr_early_stop rule;
    hr_train_defaults(&options);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(options.early_stop, sizeof options.early_stop, "%s", wrong[i]);
        CHECK_FAILS(hr_check_early_stop(&options), HR_E_USAGE);
        CHECK_MESSAGE("expected METRIC,PATIENCE or METRIC,PATIENCE,MIN-DELTA");
        snprintf(options.keep_best, sizeof options.keep_best, "%s", wrong[i]);
        if (strcmp(wrong[i], "loss") != 0 && strcmp(wrong[i], "accuracy") != 0)
            CHECK_FAILS(hr_check_keep_best(&options), HR_E_USAGE);
    }
    CHECK_OK(hr_early_stop_parse("accuracy,3,0.5", &rule));
    assert_true(rule.asked && rule.metric == HR_METRIC_ACCURACY && rule.patience == 3 &&
                rule.min_delta == 0.5);
    assert_string_equal(hr_metric_kind(rule.metric)->name, "accuracy");
    CHECK_OK(hr_early_stop_parse("loss,1", &rule));
    assert_string_equal(hr_metric_kind(rule.metric)->name, "loss");
    CHECK_OK(hr_early_stop_parse("", &rule));
    assert_false(rule.asked);
    CHECK_OK(hr_keep_best_parse("accuracy", &rule));
    assert_true(rule.asked && rule.patience == SIZE_MAX);
    CHECK_OK(hr_keep_best_parse("", &rule));
    assert_false(rule.asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_lines_say_what_is_expected),
        cmocka_unit_test(right_lines_are_taken),
        cmocka_unit_test(parts_are_cut),
        cmocka_unit_test(a_value_takes_the_place_of_its_alternatives),
        cmocka_unit_test(resume_has_three_spellings),
        cmocka_unit_test(what_stands_behind_a_colon_goes_where_its_option_goes),
        cmocka_unit_test(given_options_are_known_by_name),
        cmocka_unit_test(epochs_of_early_stopping_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The table, word for word; banner and numbers for people. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/human.h"
#include "report/report.h"
#include "support/capture.h"
#include "support/check.h"
#include "support/sample_runs.h"

#define PM "\xc2\xb1"
#define LEGEND                                                                                     \
    "effective lr: mean lr x (1 + mean staleness), with --async-lr same:inverse times its mean "   \
    "share; momentum from asynchrony: predicted, 1 - 1 / (1 + mean staleness)"

static void expect_table(const struct hr_run_result *runs, size_t n, double target,
                         const char *want)
{
    struct capture capture;
    capture_begin(&capture);
    hr_table_print(
        capture.out, runs, n,
        &(struct hr_table_style){.target = {n ? hr_metric_of_run(runs) : HR_METRIC_LOSS, target},
                                 .details = true});
    char *text = capture_end(&capture);
    assert_string_equal(text, want);
    free(text);
}

static void use_locale(const char *all)
{
    setenv("LC_ALL", all, 1);
}

static void one_seed_gives_plain_numbers(void **state)
{
    (void)state;
    struct hr_run_result runs[] = {sample_run("allreduce", 1, 0.9731), sample_run("ssp", 1, 0.95)};
    runs[1].stale_updates = 4;
    runs[1].stale_sum = 5;
    runs[1].stale_max = 3;
    runs[1].stale[0] = runs[1].stale[3] = 1;
    runs[1].stale[1] = 2;
    runs[1].max_skew = 2;
    runs[1].asynchrony = (struct hr_asynchrony){0.1125, 0.9, 0.5556, 0.9556, false};
    runs[1].interrupted = true;
    runs[1].test_loss = NAN;
    runs[1].updates = 123456;
    runs[1].samples_per_s = 412345;
    /* clang-format off */
    expect_table(runs, 2, 0,
        "                        test    test   train"
            "                                     staleness   max                  time %\n"
        "strategy          accuracy %    loss    loss"
            "  seconds  samples/s  updates    lr   mean/max  lead  load/compute/comm/wait\n"
        "allreduce direct       97.31  0.2500  0.1250"
            "     1.50      9.80k      460  0.05          -     0              5/70/10/15\n"
        "ssp s=3*               95.00       -  0.1250"
            "     1.50       412k     123k  0.05     1.25/3     2              5/70/10/15\n"
        "max lead between two workers, in updates\n"
        "* interrupted before its end\n"
        "\n"
        "          staleness    staleness  most stale  effective  momentum: configured\n"
        "strategy       mean  p50/p99/max      worker         lr     /asynchrony/total\n"
        "ssp s=3*       1.25        1/3/3           -      0.113       0.90/0.56/0.956\n"
        LEGEND "\n");
    /* clang-format on */
}

/* Two seeds: the quantiles are those of all updates, the stalest worker that of any run, momentum
 * follows from the mean staleness beside it, and the samples are one. */
static void asynchrony_has_a_table_of_its_own(void **state)
{
    (void)state;
    static struct hr_run_result runs[3];
    struct hr_staleness parts[] = {
        {.updates = 10, .sum = 5}, {.updates = 0}, {.updates = 2, .sum = 3}};
    runs[0] = sample_run("ps-sync", 1, 0.9);
    for (size_t i = 1; i < 3; i++) {
        runs[i] = sample_run("hogwild", i, 0.9);
        runs[i].stale_updates = 12;
        runs[i].stale_sum = i == 1 ? 4 : 12; /* 1.33 and 2 in flight */
        runs[i].stale[0] = 11;
        runs[i].stale[i == 1 ? 8 : HR_RESULT_STALENESS_BUCKETS - 1] = 1;
        runs[i].stale_max = i == 1 ? 8 : 9000;
        runs[i].asynchrony = i == 1 ? (struct hr_asynchrony){0.05 * 4 / 3, 0.5, 0.25, 0.625, false}
                                    : (struct hr_asynchrony){0.1, 0.5, 0.5, 0.75, false};
        runs[i].watched_lines = 50;
        runs[i].watched_pairs = 400;
        runs[i].lost_pairs = i == 1 ? 0 : 8;
    }
    runs[2].nstale_workers = 3;
    runs[2].stale_parts = parts;
    struct capture capture;
    capture_begin(&capture);
    hr_table_print(capture.out, runs, 3, &(struct hr_table_style){.details = true});
    char *text = capture_end(&capture);
    const char *own = strstr(text, "\n\n");
    assert_non_null(own);
    /* clang-format off */
    assert_string_equal(own,
        "\n\n"
        "          staleness      staleness  most stale  effective"
            "  momentum: configured           lost\n"
        "strategy       mean    p50/p99/max      worker         lr"
            "     /asynchrony/total      updates %\n"
        "hogwild        0.67  0/>=4095/9000     2: 1.50     0.0833"
            "       0.50/0.40/0.700  1 [0.18, 5.4]\n"
        LEGEND
        "; lost updates: weights overwritten by another's update; a sample, 95 % interval\n");
    /* clang-format on */
    free(text);
}

static void a_loss_that_rose_is_marked_and_explained(void **state)
{
    (void)state;
    struct hr_run_result runs[] = {sample_run("allreduce", 1, 0.97), sample_run("ssp", 1, 0.1)};
    runs[1].first_samples = 64;
    runs[1].first_loss = 147.2;
    runs[1].train_loss = 176;
    /* clang-format off */
    expect_table(runs, 2, 0,
        "                        test    test      train"
            "                                     staleness                  time %\n"
        "strategy          accuracy %    loss       loss"
            "  seconds  samples/s  updates    lr   mean/max  load/compute/comm/wait\n"
        "allreduce direct       97.00  0.2500     0.1250"
            "     1.50      9.80k      460  0.05          -              5/70/10/15\n"
        "ssp s=3                10.00  0.2500  176.0000!"
            "     1.50      9.80k      460  0.05          -              5/70/10/15\n"
        "! ssp: the training loss ended at 176.0000, above the 2.3000 it began with; "
            "try first: a smaller --lr\n");
    /* clang-format on */
}

/* Percents of all four, of both runs of a row together. */
static void the_four_shares_of_time_are_of_their_sum(void **state)
{
    (void)state;
    struct hr_run_result runs[] = {sample_run("ssp", 1, 0.95), sample_run("ssp", 2, 0.95)};
    runs[0].load_s = 0.3;
    runs[1].wait_s = 3.3;
    struct capture capture;
    capture_begin(&capture);
    hr_table_print(capture.out, runs, 2, &(struct hr_table_style){.details = true});
    char *text = capture_end(&capture);
    assert_non_null(strstr(text, "  5/47/7/42\nmean")); /* 0.45, 4.2, 0.6, 3.75 of 9 s */
    free(text);
}

static void nobodys_time_is_a_dash(void **state)
{
    (void)state;
    struct hr_run_result run = sample_run("ssp", 1, 0.95);
    run.load_s = run.compute_s = run.communicate_s = run.wait_s = 0;
    struct capture capture;
    capture_begin(&capture);
    hr_table_print(capture.out, &run, 1, &(struct hr_table_style){.details = true});
    char *text = capture_end(&capture);
    assert_non_null(strstr(text, "       -\n"));
    free(text);
}

/* 0.5 s and 5300 samples before: 20000 in 2 s. */
static void a_resumed_run_is_shown_whole_and_says_what_is_of_this_run(void **state)
{
    (void)state;
    struct hr_run_result runs[] = {sample_run("ssp", 1, 0.95), sample_run("hogwild", 1, 0.95)};
    runs[0].resumed = runs[1].resumed = true;
    runs[0].resumed_step = runs[1].resumed_step = 40;
    runs[0].past_samples = 5300, runs[0].past_updates = 40, runs[0].past_seconds = 0.5;
    /* clang-format off */
    expect_table(runs, 2, 0,
        "                test    test   train"
            "                                     staleness                  time %\n"
        "strategy  accuracy %    loss    loss"
            "  seconds  samples/s  updates    lr   mean/max  load/compute/comm/wait\n"
        "ssp s=3        95.00  0.2500  0.1250"
            "     2.00      10.0k      500  0.05          -              5/70/10/15\n"
        "hogwild        95.00  0.2500  0.1250"
            "     1.50      9.80k      460  0.05          -              5/70/10/15\n"
        "ssp: resumed at step 40. Seconds, speed and updates are of the whole training (of this "
            "run: 1.50 s, 460 updates), waiting and staleness of this run.\n"
        "hogwild: resumed at step 40. All figures are of this run: what came before is not "
            "known.\n");
    /* clang-format on */
}

static void several_seeds_give_mean_and_deviation(void **state)
{
    (void)state;
    struct hr_run_result runs[] = {sample_run("allreduce", 1, 0.96), sample_run("hogwild", 1, 0.9),
                                   sample_run("allreduce", 2, 0.98), sample_run("hogwild", 2, 0.91),
                                   sample_run("allreduce", 3, 0.97)};
    runs[0].samples_per_s = 8800;
    runs[2].samples_per_s = 10800;
    runs[2].test_loss = 0.26;
    use_locale("C");
    /* clang-format off */
    expect_table(runs, 5, 0,
        "                           test            test  train"
            "                                         staleness                  time %\n"
        "strategy             accuracy %            loss   loss"
            "  seconds      samples/s  updates    lr   mean/max  load/compute/comm/wait\n"
        "allreduce direct  97.00 +- 1.00  0.253 +- 0.006  0.125"
            "     1.50  9.80 +- 1.00k      460  0.05          -              5/70/10/15\n"
        "hogwild           90.50 +- 0.71  0.250 +- 0.000  0.125"
            "     1.50  9.80 +- 0.00k      460  0.05          -              5/70/10/15\n"
        "mean +- standard deviation of 2 to 3 seeds\n");
    /* clang-format on */
}

static void a_target_adds_its_column(void **state)
{
    (void)state;
    struct hr_run_result runs[] = {
        sample_run("allreduce", 1, 0.96), sample_run("allreduce", 2, 0.98),
        sample_run("hogwild", 1, 0.9),    sample_run("hogwild", 2, 0.91),
        sample_run("ps-sync", 1, 0.9),    sample_run("ps-sync", 2, 0.9)};
    runs[0].target_seconds = 1;
    runs[1].target_seconds = 2;
    runs[3].target_seconds = 0.25;
    use_locale("de_DE.utf8");
    /* clang-format off */
    expect_table(runs, 6, 0.905,
        "                          test           test  train"
            "                                        staleness"
            "                  time %        seconds\n"
        "strategy            accuracy %           loss   loss"
            "  seconds     samples/s  updates    lr   mean/max"
            "  load/compute/comm/wait      to target\n"
        "allreduce direct  97.00 " PM " 1.41  0.250 " PM " 0.000  0.125"
            "     1.50  9.80 " PM " 0.00k      460  0.05          -"
            "              5/70/10/15           1.50\n"
        "hogwild           90.50 " PM " 0.71  0.250 " PM " 0.000  0.125"
            "     1.50  9.80 " PM " 0.00k      460  0.05          -"
            "              5/70/10/15  0.25 (1 of 2)\n"
        "ps-sync           90.00 " PM " 0.00  0.250 " PM " 0.000  0.125"
            "     1.50  9.80 " PM " 0.00k      460  0.05          -"
            "              5/70/10/15          never\n"
        "target: test accuracy 90.5 %; mean " PM " standard deviation of 2 seeds\n");
    /* clang-format on */
}

/* Nine rows of five seeds, as wide as 80 columns are. */
static void a_brief_table_is_of_one_screen(void **state)
{
    (void)state;
    struct hr_run_result runs[18];
    use_locale("C");
    for (size_t i = 0; i < 18; i++) {
        runs[i] = sample_run("allreduce", i % 2, 0.9 + 0.01 * (double)(i % 2));
        runs[i].lr = 0.01 * (double)(1 + i / 2);
    }
    struct capture capture;
    capture_begin(&capture);
    hr_table_print(capture.out, runs, 18, &(struct hr_table_style){.width = 80});
    char *text = capture_end(&capture);
    size_t lines = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1, lines++)
        assert_true(strcspn(line, "\n") <= 80 || !strncmp(line, "no room", 7));
    assert_true(lines <= 13);
    assert_non_null(strstr(text, "allreduce direct lr 0.09  90.50 +- 0.71  0.250"));
    free(text);
}

static void no_runs_print_nothing(void **state)
{
    (void)state;
    expect_table(NULL, 0, 0.5, "");
}

static void numbers_are_short(void **state)
{
    (void)state;
    static const struct {
        double x;
        const char *want;
    } cases[] = {{0, "0"},           {987, "987"},     {999.6, "1.00k"},  {1000, "1.00k"},
                 {41234.5, "41.2k"}, {99960, "100k"},  {412345, "412k"},  {999499, "999k"},
                 {999500, "1.00M"},  {1.5e6, "1.50M"}, {2.5e10, "25.0G"}, {12.345, "12.3"},
                 {NAN, "nan"}};
    char text[HR_HUMAN_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(hr_human_short(text, cases[i].x), cases[i].want);
    assert_string_equal(hr_human_count(text, 235146), "235,146");
    assert_string_equal(hr_human_count(text, 100), "100");
    assert_string_equal(hr_human_count(text, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(hr_human_wait(text, 3.6), "4 s");
    assert_string_equal(hr_human_wait(text, 200), "3 min 20 s");
    assert_string_equal(hr_human_wait(text, 7500), "2 h 5 min");
    assert_string_equal(hr_human_loss(text, 3e30), "3e+30");
}

static void the_first_locale_variable_that_is_set_decides(void **state)
{
    (void)state;
    setenv("LC_ALL", "", 1);
    setenv("LC_CTYPE", "en_US.UTF-8", 1);
    setenv("LANG", "C", 1);
    assert_true(hr_human_utf8());
    setenv("LC_ALL", "POSIX", 1);
    assert_false(hr_human_utf8());
}

static void short_times_keep_two_digits(void **state)
{
    (void)state;
    char text[HR_HUMAN_MAX];
    assert_string_equal(hr_human_seconds(text, 0), "0.00");
    assert_string_equal(hr_human_seconds(text, 0.0334), "0.033");
    assert_string_equal(hr_human_seconds(text, 0.099), "0.099");
    assert_string_equal(hr_human_seconds(text, 0.0997), "0.10");
    assert_string_equal(hr_human_seconds(text, 0.5), "0.50");
    assert_string_equal(hr_human_seconds(text, 12.34), "12.3");
}

/* Lines that are longer than `width`, without the names of what there was no room for. */
static size_t lines_beyond(const char *text, size_t width)
{
    size_t n = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        n += strcspn(line, "\n") > width && strncmp(line, "no room", 7) != 0 &&
             strncmp(line, "max lead", 8) != 0 && strncmp(line, "effective", 9) != 0;
    return n;
}

static char *table_in(const struct hr_run_result *runs, size_t n, size_t width)
{
    struct capture capture;
    capture_begin(&capture);
    hr_table_print(capture.out, runs, n,
                   &(struct hr_table_style){{HR_METRIC_ACCURACY, 0.9}, width, true});
    return capture_end(&capture);
}

/* Whatever the width, each column is either there or named. */
static void in_a_narrow_terminal_columns_go_by_their_weight(void **state)
{
    (void)state;
    use_locale("C");
    static const char *const heads[] = {"accuracy %",
                                        "train loss",
                                        "seconds",
                                        "samples/s",
                                        "updates",
                                        "lr",
                                        "max lead",
                                        "staleness mean/max",
                                        "time % load/compute/comm/wait"};
    struct hr_run_result run = sample_run("ssp", 1, 0.95);
    run.max_skew = 2;
    size_t before = 100;
    for (size_t width = 140; width >= 40; width--) {
        char *text = table_in(&run, 1, width);
        char *left_out = strstr(text, "no room for: ");
        size_t named = 0;
        assert_int_equal(lines_beyond(text, width), 0);
        for (size_t i = 0; left_out && i < sizeof heads / sizeof *heads; i++)
            named += strstr(left_out, heads[i]) != NULL;
        if (left_out && named == 1)
            assert_non_null(strstr(left_out, "room: lr (--wide)\n"));
        assert_true(strstr(text, "skew: most") == NULL || !left_out || !strstr(left_out, "skew ("));
        assert_true(before == 100 || named >= before);
        before = named;
        free(text);
    }
    assert_true(before >= 5);
    char *text = table_in(&run, 1, 0);
    assert_null(strstr(text, "no room for"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_times_keep_two_digits),
        cmocka_unit_test(one_seed_gives_plain_numbers),
        cmocka_unit_test(asynchrony_has_a_table_of_its_own),
        cmocka_unit_test(a_loss_that_rose_is_marked_and_explained),
        cmocka_unit_test(a_resumed_run_is_shown_whole_and_says_what_is_of_this_run),
        cmocka_unit_test(the_four_shares_of_time_are_of_their_sum),
        cmocka_unit_test(nobodys_time_is_a_dash),
        cmocka_unit_test(several_seeds_give_mean_and_deviation),
        cmocka_unit_test(a_target_adds_its_column),
        cmocka_unit_test(a_brief_table_is_of_one_screen),
        cmocka_unit_test(no_runs_print_nothing),
        cmocka_unit_test(numbers_are_short),
        cmocka_unit_test(the_first_locale_variable_that_is_set_decides),
        cmocka_unit_test(in_a_narrow_terminal_columns_go_by_their_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

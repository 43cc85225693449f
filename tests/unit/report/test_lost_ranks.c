/* Lost ranks below a table, word for word. */
#include <stdlib.h>

#include "report/report.h"
#include "support/capture.h"
#include "support/check.h"
#include "support/sample_runs.h"

static struct hr_loss losses[] = {
    {.rank = 2,
     .step = 1100,
     .seconds = 1.234,
     .pause_s = 0.0123,
     .lost_samples = 1,
     .again_samples = 1032,
     .partial = 1,
     .back = true,
     .how = "pid 4711 was killed by signal 9 (Killed) while waiting for weights"},
    {.rank = 1, .seconds = 0.25, .pause_s = -1, .how = "killed by --inject"},
    {.server = true, .rank = 0, .seconds = 100, .pause_s = 1.5, .lost_samples = 64, .how = "gone"},
    {.server = true, .rolled_back = true, .rank = 0, .seconds = 3, .pause_s = 1, .how = "gone"},
};

/* What stands below the table, from its mark on. */
static char *told(const struct hr_run_result *runs, size_t n, char **text)
{
    struct capture capture;
    capture_begin(&capture);
    hr_table_print(capture.out, runs, n, &(struct hr_table_style){.details = true});
    *text = capture_end(&capture);
    return strstr(*text, "\n~ ");
}

static void a_run_without_losses_says_nothing(void **state)
{
    (void)state;
    const struct hr_run_result run = sample_run("ssp", 1, 0.9);
    char *text;
    assert_null(told(&run, 1, &text));
    assert_null(strchr(text, '~'));
    free(text);
}

static void each_loss_is_a_sentence(void **state)
{
    (void)state;
    struct hr_run_result run = sample_run("ssp", 1, 0.9);
    run.losses = losses, run.nlosses = 4;
    char *text;
    const char *below = told(&run, 1, &text);
    assert_non_null(below);
    assert_string_equal(
        below, "\n~ lost workers or servers, and went on\n"
               "lost: worker 2 after 1,100 gradients, at 1.23 s (pid 4711 was killed by signal 9 "
               "(Killed) while waiting for weights); training went on after 12.3 ms; 1,032 "
               "samples handed out again; 1 sample lost; 1 push reached the weights in part; "
               "it came back\n"
               "lost: worker 1 before its first gradient, at 250 ms (killed by --inject); no "
               "update came after it\n"
               "lost: server 0 at 100 s (gone); training went on after 1.50 s; 64 samples lost\n"
               "lost: server 0 at 3.00 s (gone); training went on after 1.00 s; all went back to "
               "the last cut\n");
    assert_non_null(strstr(text, "\nssp s=3~  "));
    free(text);
}

static void strategies_and_seeds_are_named_and_rows_that_lost_none_are_no_match(void **state)
{
    (void)state;
    struct hr_run_result runs[] = {sample_run("ssp", 1, 0.9), sample_run("ssp", 2, 0.9),
                                   sample_run("allreduce", 1, 0.9)};
    runs[1].losses = losses + 1, runs[1].nlosses = 1;
    char *text;
    const char *below = told(runs, 3, &text);
    assert_non_null(below);
    assert_string_equal(
        below, "\n~ lost workers or servers, and went on; others lost fewer: not like for like\n"
               "lost by ssp, seed 2: worker 1 before its first gradient, at 250 ms (killed by "
               "--inject); no update came after it\n");
    assert_null(strstr(text, "direct~"));
    free(text);
}

static void of_many_losses_some_are_told_and_all_counted(void **state)
{
    (void)state;
    struct hr_loss many[14];
    struct hr_run_result run = sample_run("ssp", 1, 0.9);
    for (size_t i = 0; i < 14; i++)
        many[i] = losses[1];
    run.losses = many, run.nlosses = 14;
    char *text;
    const char *below = told(&run, 1, &text);
    assert_non_null(below);
    assert_non_null(strstr(below, "\n... and 4 more: --json has them all\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_without_losses_says_nothing),
        cmocka_unit_test(each_loss_is_a_sentence),
        cmocka_unit_test(strategies_and_seeds_are_named_and_rows_that_lost_none_are_no_match),
        cmocka_unit_test(of_many_losses_some_are_told_and_all_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a step is made of where a machine's workers push as one, below a table. */
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "support/capture.h"
#include "support/check.h"
#include "support/sample_runs.h"

static char *table_of(const struct hr_run_result *runs, size_t n)
{
    struct capture capture;
    capture_begin(&capture);
    hr_table_print(capture.out, runs, n, &(struct hr_table_style){.width = 80, .details = true});
    return capture_end(&capture);
}

static void parts_stand_below_the_table(void **state)
{
    (void)state;
    struct hr_run_result run = sample_run("ps-sync", 1, 0.5);
    run.node_step = (struct hr_node_step){2, 0.5, 4, 0.25, 0.125, 1, 0.0625, 2};
    char *text = table_of(&run, 1);
    assert_non_null(strstr(text, "ps-sync: of 7.94 s of a mean worker: load 0.5, compute 4, "
                                 "aggregate 0.25 (2 workers per machine), push 0.125, update 1, "
                                 "distribute 0.0625, rest 2\n"));
    free(text);
}

static void of_seeds_it_is_the_mean(void **state)
{
    (void)state;
    struct hr_run_result runs[] = {sample_run("ps-sync", 1, 0.5), sample_run("ps-sync", 2, 0.5)};
    runs[0].node_step = (struct hr_node_step){2, 1, 1, 1, 1, 1, 1, 1};
    runs[1].node_step = (struct hr_node_step){2, 3, 2, 1, 1, 1, 1, 0};
    char *text = table_of(runs, 2);
    assert_non_null(strstr(text, ": of 8 s of a mean worker: load 2, compute 1.5, aggregate 1 "));
    assert_non_null(strstr(text, "rest 0.5\n"));
    free(text);
}

static void nothing_is_said_where_each_pushes(void **state)
{
    (void)state;
    const struct hr_run_result run = sample_run("ps-sync", 1, 0.5);
    char *text = table_of(&run, 1);
    assert_null(strstr(text, "mean worker"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_stand_below_the_table),
        cmocka_unit_test(of_seeds_it_is_the_mean),
        cmocka_unit_test(nothing_is_said_where_each_pushes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

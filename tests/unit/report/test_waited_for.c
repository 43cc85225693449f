/* Who was waited for, below a table. */
#include <stdlib.h>

#include "report/report.h"
#include "support/capture.h"
#include "support/check.h"
#include "support/sample_runs.h"

static struct hr_waited_for costs[] = {
    {.cost_s = 0.5, .compute_s = 0.5},
    {.cost_s = 3, .load_s = 2, .compute_s = 1},
    {.cost_s = 0},
};

/* 3.5 of 20 seconds. */
static struct hr_run_result run_with(struct hr_waited_for *cost)
{
    struct hr_run_result run = sample_run("allreduce", 1, 0.5);
    run.load_s = 3, run.compute_s = 12, run.communicate_s = 1, run.wait_s = 4;
    run.nwaited = 3;
    run.waited_for = cost;
    for (size_t r = 0; r < run.nwaited; r++)
        run.waited_for_others_s += cost[r].cost_s;
    return run;
}

static bool say(struct hr_run_result *run, char text[HR_WAITED_FOR_MAX])
{
    struct hr_run_result *runs[] = {run};
    const struct hr_run_group group = {.label = "x", .n = 1, .run = (void *)runs};
    return hr_waited_for_say(&group, text);
}

static void who_cost_most_is_named(void **state)
{
    (void)state;
    char text[HR_WAITED_FOR_MAX];
    struct hr_run_result run = run_with(costs);
    assert_true(say(&run, text));
    assert_string_equal(text,
                        "rank 1 caused 86 % of all waiting (18 % of the workers' time), loading");
}

static void nobody_is_named_who_does_not_stand_out(void **state)
{
    (void)state;
    char text[HR_WAITED_FOR_MAX];
    struct hr_waited_for alike[] = {{.cost_s = 1}, {.cost_s = 1.5}, {.cost_s = 1}};
    struct hr_run_result run = run_with(alike);
    assert_false(say(&run, text));
    run = run_with(costs);
    run.compute_s = 100; /* it is little of the time */
    assert_false(say(&run, text));
    run.nwaited = 0;
    assert_false(say(&run, text));
}

static void of_backup_workers_the_dropped_are_counted(void **state)
{
    (void)state;
    char text[HR_WAITED_FOR_MAX];
    uint64_t dropped[] = {1, 0, 40};
    struct hr_run_result run = run_with(costs);
    run.ndropped_by = 3;
    run.dropped_by = dropped;
    assert_true(say(&run, text));
    assert_string_equal(text, "rank 2 came too late for 40 of 41 dropped gradients");
}

static void ranks_stand_below_a_table_of_any_width(void **state)
{
    (void)state;
    const struct hr_run_result run = run_with(costs);
    for (size_t width = 0; width <= 80; width += 80) {
        struct capture capture;
        capture_begin(&capture);
        hr_table_print(capture.out, &run, 1,
                       &(struct hr_table_style){.width = width, .details = true});
        char *text = capture_end(&capture);
        assert_non_null(strstr(text, ": rank 1 caused 86 % of all waiting"));
        check_has(text, "allreduce 1 3 2 1\n");
        assert_null(strstr(text, "allreduce             2"));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_cost_most_is_named),
        cmocka_unit_test(nobody_is_named_who_does_not_stand_out),
        cmocka_unit_test(of_backup_workers_the_dropped_are_counted),
        cmocka_unit_test(ranks_stand_below_a_table_of_any_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Who is waited for, told from phases, steps and times alone: nobody sleeps here. */
#include "launch/stall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "support/check.h"

/* A run of up to eight ranks, and what was said of it since the last check: lines that each end in
 * a newline; "+ " before one that says that a rank goes on. */
struct run {
    struct hr_stall stall;
    int64_t clock;
    char said[2000];
};

static const int64_t LOOK_NS = HR_NS_PER_SECOND / 20;

static void begin(struct run *run, size_t nranks, struct hr_wait_rules rules)
{
    memset(run, 0, sizeof *run);
    run->clock = 1000 * HR_NS_PER_SECOND;
    rules.warn_ns = rules.warn_ns ? rules.warn_ns : 10 * HR_NS_PER_SECOND;
    hr_stall_begin(&run->stall, &rules, nranks);
}

/* "i": it starts; "c40": computes step 40; "w40": communicates; "k40": is at a cut; "s": serves;
 * "-": is over; "x40": has failed in step 40. With "!" its process is stopped. Returns what is
 * behind it. */
static const char *read_view(const char *text, struct hr_rank_view *view)
{
    static const char letters[] = "icwskx-";
    static const enum hr_phase phases[] = {
        HR_PHASE_STARTING, HR_PHASE_COMPUTE, HR_PHASE_COMMUNICATE, HR_PHASE_SERVE,
        HR_PHASE_CUT,      HR_PHASE_COMPUTE, HR_PHASE_FINISHED};
    char *end;
    while (*text == ' ')
        text++;
    const char *letter = strchr(letters, *text);
    view->over = *text == '-' || *text == 'x';
    view->phase = phases[letter - letters];
    view->step = strtoull(text + 1, &end, 10);
    view->stopped = *end == '!';
    return end + view->stopped;
}

static void look(struct run *run, const char *ranks)
{
    struct hr_rank_view view[8] = {0};
    char line[900];
    enum hr_stall_word word;
    for (size_t r = 0; r < run->stall.waits.nranks; r++) {
        ranks = read_view(ranks, &view[r]);
        view[r].pid = 100 + (long)r;
    }
    hr_stall_see(&run->stall, run->clock, view);
    while ((word = hr_stall_next(&run->stall, line, sizeof line)) != HR_STALL_NOTHING) {
        const size_t used = strlen(run->said);
        snprintf(run->said + used, sizeof run->said - used, "%s%s\n",
                 word == HR_STALL_GOES_ON ? "+ " : "", line);
    }
}

/* So many seconds in which the ranks do this. */
static void pass(struct run *run, double seconds, const char *ranks)
{
    const int64_t end = run->clock + (int64_t)(seconds * (double)HR_NS_PER_SECOND);
    for (; run->clock < end; run->clock += LOOK_NS)
        look(run, ranks);
}

static void check_said(struct run *run, const char *expected)
{
    assert_string_equal(run->said, expected);
    run->said[0] = '\0';
}

#define COMPUTES(r, pid, step, time)                                                               \
    "rank " r " (pid " pid ") has been computing a gradient at step " step " for " time " s"

static const struct hr_wait_rules steps4 = {.workers = 4, .waits = HR_WAITS_FOR_STEP};

static void who_computes_while_the_others_wait_is_named_once(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 4, steps4);
    pass(&run, 1, "c40 c40 c40 c40");
    pass(&run, 9.9, "w40 w40 c40 w40");
    check_said(&run, "");
    pass(&run, 30, "w40 w40 c40 w40");
    check_said(&run, COMPUTES("2", "102", "40", "11.0") "; rank 0 and 2 more have waited up to "
                                                        "10.0 s for it (--timeout T:WARN)\n");
    pass(&run, 1, "c41 c41 w40 c41");
    check_said(&run, "+ rank 2 (pid 102) goes on after 40.9 s\n");
    pass(&run, 1, "w41 w41 w41 w41");
    check_said(&run, "");
}

/* Bounded staleness: rank 0 is ahead, and sleeps on while rank 1 catches up. */
static void who_moves_again_is_not_named_for_a_waiter_that_sleeps_on(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 2, (struct hr_wait_rules){.workers = 2, .waits = HR_WAITS_FOR_STEP});
    pass(&run, 15, "w7 c2");
    check_said(&run, COMPUTES("1", "101", "2", "10.0") "; rank 0 has waited 10.0 s for it "
                                                       "(--timeout T:WARN)\n");
    for (int step = 3; step <= 7; step++) {
        char both[16];
        snprintf(both, sizeof both, "w7 c%d", step);
        pass(&run, 0.1, both);
    }
    check_said(&run, "+ rank 1 (pid 101) goes on after 15.0 s\n");
    pass(&run, 20, "w7 c7"); /* and sleeps again */
    check_said(&run, COMPUTES("1", "101", "7", "9.6") "; rank 0 has waited 25.0 s for it "
                                                      "(--timeout T:WARN)\n");
}

static void gradients_that_are_long_for_all_are_no_stall(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 4, steps4);
    for (int epoch = 0; epoch < 5; epoch++) {
        pass(&run, 60, "c1 c1 c1 c1");
        pass(&run, 5, "w1 w1 c1 w1");
        pass(&run, 5, "w1 w1 w1 w1");
        pass(&run, 60, "c2 c2 c2 c2");
        pass(&run, 1, "w2 w2 w2 w2");
    }
    check_said(&run, "");
}

static void who_communicates_for_long_is_no_stall(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 4, steps4);
    pass(&run, 60, "w1 w1 w1 w1");
    pass(&run, 60, "k1 k1 k1 k1"); /* evaluating */
    pass(&run, 60, "c2 w1 w1 w1"); /* the last messages of step 1 are under way */
    check_said(&run, "");
    pass(&run, 60, "- - - -");
    pass(&run, 60, "x1 w1 w1 w1"); /* the launcher tells of it otherwise */
    check_said(&run, "");
}

static void who_is_slow_in_every_step_is_named_in_the_first(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 4, steps4);
    pass(&run, 15, "w1 w1 c1 w1");
    check_said(&run, COMPUTES("2", "102", "1", "10.0") "; rank 0 and 2 more have waited up to "
                                                       "10.0 s for it (--timeout T:WARN)\n");
    pass(&run, 15, "w2 w2 c2 w2");
    pass(&run, 15, "w3 w3 c3 w3");
    check_said(&run, "+ rank 2 (pid 102) goes on after 15.0 s\n");
    pass(&run, 1, "w4 w4 c4 w4");
    pass(&run, 11, "w5 w5 c5 w5");
    check_said(&run, COMPUTES("2", "102", "5", "10.0") "; rank 0 and 2 more have waited up to "
                                                       "10.0 s for it (--timeout T:WARN)\n");
}

static void several_are_named_in_one_line_and_others_when_they_join(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 8, (struct hr_wait_rules){.workers = 8, .waits = HR_WAITS_FOR_STEP});
    pass(&run, 11, "w7 c7 c7 c6 i c5 w7 w7");
    check_said(
        &run,
        COMPUTES("1", "101", "7", "10.0") ", " COMPUTES("2", "102", "7", "10.0") ", " COMPUTES(
            "3", "103", "6", "10.0") ", and 2 "
                                     "more; rank 0 and 2 more have waited up to 10.0 s for them "
                                     "(--timeout T:WARN)\n");
    pass(&run, 1, "w7 c7 c7 c6 c0 w5 c7 w7");
    check_said(&run, "+ rank 4 (pid 104) goes on after 11.0 s\n"
                     "+ rank 5 (pid 105) goes on after 11.0 s\n" COMPUTES(
                         "6", "106", "7", "0.1") "; rank 0 and 1 more have waited up to 11.1 s for "
                                                 "it (--timeout T:WARN)\n");
}

/* Local steps: it gets on, and the others wait for it all the same. */
static void who_is_behind_is_named_though_it_gets_on(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 2, (struct hr_wait_rules){.workers = 2, .waits = HR_WAITS_FOR_STEP});
    pass(&run, 4, "w8 c5");
    pass(&run, 4, "w8 c6");
    pass(&run, 4, "w8 c7");
    check_said(&run, COMPUTES("1", "101", "7", "2.0") "; rank 0 has waited 10.0 s for it "
                                                      "(--timeout T:WARN)\n");
}

/* --- other strategies --- */

static void who_waits_for_a_server_does_not_wait_for_who_computes(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 3, (struct hr_wait_rules){.workers = 2});
    pass(&run, 60, "w3 c4 s");
    check_said(&run, "");
    begin(&run, 2, (struct hr_wait_rules){.workers = 2, .owners = 1});
    pass(&run, 60, "c4 w3"); /* rank 0 owns the shard, and does not serve it while it computes */
    check_said(&run, COMPUTES("0", "100", "4", "10.0") "; rank 1 has waited 10.0 s for it "
                                                       "(--timeout T:WARN)\n");
    begin(&run, 2, (struct hr_wait_rules){.workers = 2, .owners = 1});
    pass(&run, 60, "w3 c4");
    check_said(&run, "");
}

/* Two workers, a server, and pipelines of three: ranks 3 and 4 are stages of worker 0, 5 and 6 of
 * worker 1. Stage 4 computes; its replica waits for it, and nobody else does. */
static void stages_wait_for_those_of_their_pipeline(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 7, (struct hr_wait_rules){.workers = 2, .first_stage = 3, .stages = 3});
    pass(&run, 5, "w3 c7 s c3 c3 w6 w6");
    pass(&run, 6, "w3 w8 s w3 c3 c8 w8");
    check_said(&run, COMPUTES("4", "104", "3", "10.0") "; rank 0 and 1 more have waited up to "
                                                       "10.0 s for it (--timeout T:WARN)\n");
}

static void at_a_cut_all_wait_for_who_computes(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 3, (struct hr_wait_rules){.workers = 3});
    pass(&run, 5, "k7 c9 c8");
    pass(&run, 6, "k7 c9 k8");
    check_said(&run, COMPUTES("1", "101", "9", "10.0") "; rank 0 and 1 more have waited up to "
                                                       "10.0 s for it (--timeout T:WARN)\n");
}

static void behind_a_gate_wait_is_for_who_has_computed_as_long(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 3, (struct hr_wait_rules){.workers = 3, .waits = HR_WAITS_FOR_SLOWEST});
    pass(&run, 5, "w9 c11 c3");
    pass(&run, 8, "w9 c12 c3"); /* rank 1 gets on: the gate waits for rank 2 */
    check_said(&run, COMPUTES("2", "102", "3", "10.0") "; rank 0 has waited 10.0 s for it "
                                                       "(--timeout T:WARN)\n");
}

static void a_server_waits_when_all_workers_compute(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 3, (struct hr_wait_rules){.workers = 2});
    pass(&run, 3, "c1 w0 s");
    pass(&run, 8, "c1 c2 s");
    check_said(&run, "");
    pass(&run, 8, "c1 c2 s");
    check_said(&run, COMPUTES("0", "100", "1", "13.0") ", " COMPUTES(
                         "1", "101", "2", "10.0") "; rank 2 has waited 10.0 s for them "
                                                  "(--timeout T:WARN)\n");
}

static void who_starts_is_waited_for_by_all(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 3, (struct hr_wait_rules){.workers = 2});
    pass(&run, 11, "w0 i s");
    check_said(&run, "rank 1 (pid 101) has been starting for 10.0 s; rank 0 has waited 10.0 s for "
                     "it (--timeout T:WARN)\n");
    begin(&run, 3, (struct hr_wait_rules){.workers = 2});
    pass(&run, 11, "w0 w0 i");
    check_said(&run, "rank 2 (pid 102) has been starting for 10.0 s; rank 0 and 1 more have waited "
                     "up to 10.0 s for it (--timeout T:WARN)\n");
    begin(&run, 2, (struct hr_wait_rules){.workers = 2});
    pass(&run, 60, "i i");
    check_said(&run, "");
}

/* --- stopped --- */

static void who_is_stopped_is_named_as_stopped(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 4, steps4);
    pass(&run, 60, "c40 c40 c40 c40");
    pass(&run, 5, "w40 w40 c40! w40");
    check_said(&run, "");
    pass(&run, 10, "w40 w40 c40! w40");
    check_said(&run,
               "rank 2 (pid 102) has been stopped for 10.0 s, while computing a gradient at "
               "step 40; rank 0 and 2 more have waited up to 10.0 s for it (--timeout T:WARN)\n");
    pass(&run, 5, "w40 w40 c40 w40");
    pass(&run, 5, "c41 c41 c41 c41");
    check_said(&run, "+ rank 2 (pid 102) goes on after 15.0 s\n");
}

static void who_is_stopped_again_is_named_again(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 2, (struct hr_wait_rules){.workers = 1});
    for (int time = 0; time < 2; time++) {
        pass(&run, 12, "c7 s!");
        check_said(&run, "rank 1 (pid 101) has been stopped for 10.0 s, while serving "
                         "(--timeout T:WARN)\n");
        pass(&run, 1, "c7 s");
        check_said(&run, "+ rank 1 (pid 101) goes on after 12.0 s\n");
    }
}

static void who_is_stopped_does_not_wait(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 2, (struct hr_wait_rules){.workers = 2, .waits = HR_WAITS_FOR_STEP});
    pass(&run, 12, "w1! w1");
    check_said(&run, "rank 0 (pid 100) has been stopped for 10.0 s, while communicating at step 1; "
                     "rank 1 has waited 10.0 s for it (--timeout T:WARN)\n");
    begin(&run, 2, (struct hr_wait_rules){.workers = 2, .waits = HR_WAITS_FOR_STEP});
    pass(&run, 9, "w1! c1!");
    check_said(&run, "");
}

/* --- time, and when nothing is said --- */

/* The whole run was stopped for an hour, or the launcher saved for so long. */
static void time_without_a_look_does_not_count(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 4, steps4);
    pass(&run, 5, "w40 w40 c40 w40");
    run.clock += 3600 * HR_NS_PER_SECOND;
    pass(&run, 4, "w40 w40 c40 w40");
    check_said(&run, "");
    pass(&run, 1, "w40 w40 c40 w40");
    check_said(&run, COMPUTES("2", "102", "40", "10.0") "; rank 0 and 2 more have waited up to "
                                                        "10.0 s for it (--timeout T:WARN)\n");
}

static void limit_is_off_where_a_timeout_comes_first(void **state)
{
    (void)state;
    assert_int_equal(hr_stall_limit_ns(10, 30), 10 * HR_NS_PER_SECOND);
    assert_int_equal(hr_stall_limit_ns(10, 0), 10 * HR_NS_PER_SECOND);
    assert_int_equal(hr_stall_limit_ns(10, 10), 0);
    assert_int_equal(hr_stall_limit_ns(10, 5), 0);
    assert_int_equal(hr_stall_limit_ns(0, 30), 0);
    assert_int_equal(hr_stall_limit_ns(0, 0), 0);
}

static void without_a_limit_nothing_is_said(void **state)
{
    struct run run;
    (void)state;
    begin(&run, 4, steps4);
    run.stall.waits.rules.warn_ns = 0;
    pass(&run, 60, "w40 w40 c40 w40!");
    check_said(&run, "");
}

/* Text has an end, wherever that falls. */
static void line_is_cut_where_there_is_no_room(void **state)
{
    struct run run;
    char text[20];
    struct hr_rank_view view[2] = {{.pid = 1, .phase = HR_PHASE_COMPUTE},
                                   {.pid = 2, .phase = HR_PHASE_CUT}};
    (void)state;
    begin(&run, 2, (struct hr_wait_rules){.workers = 2, .warn_ns = LOOK_NS});
    hr_stall_see(&run.stall, 1000, view);
    hr_stall_see(&run.stall, 1000 + 2 * LOOK_NS, view);
    hr_stall_see(&run.stall, 1000 + 4 * LOOK_NS, view);
    assert_int_equal(hr_stall_next(&run.stall, text, sizeof text), HR_STALL_WAITS);
    assert_string_equal(text, "rank 0 (pid 1) has ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_computes_while_the_others_wait_is_named_once),
        cmocka_unit_test(who_moves_again_is_not_named_for_a_waiter_that_sleeps_on),
        cmocka_unit_test(gradients_that_are_long_for_all_are_no_stall),
        cmocka_unit_test(who_communicates_for_long_is_no_stall),
        cmocka_unit_test(who_is_slow_in_every_step_is_named_in_the_first),
        cmocka_unit_test(several_are_named_in_one_line_and_others_when_they_join),
        cmocka_unit_test(who_is_behind_is_named_though_it_gets_on),
        cmocka_unit_test(who_waits_for_a_server_does_not_wait_for_who_computes),
        cmocka_unit_test(stages_wait_for_those_of_their_pipeline),
        cmocka_unit_test(at_a_cut_all_wait_for_who_computes),
        cmocka_unit_test(behind_a_gate_wait_is_for_who_has_computed_as_long),
        cmocka_unit_test(a_server_waits_when_all_workers_compute),
        cmocka_unit_test(who_starts_is_waited_for_by_all),
        cmocka_unit_test(who_is_stopped_is_named_as_stopped),
        cmocka_unit_test(who_is_stopped_again_is_named_again),
        cmocka_unit_test(who_is_stopped_does_not_wait),
        cmocka_unit_test(time_without_a_look_does_not_count),
        cmocka_unit_test(limit_is_off_where_a_timeout_comes_first),
        cmocka_unit_test(without_a_limit_nothing_is_said),
        cmocka_unit_test(line_is_cut_where_there_is_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

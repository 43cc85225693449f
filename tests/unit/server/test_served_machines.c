/* Parameter servers on several machines: where their order is fixed the same run as on one, to the
 * bit; else its bounds and totals. */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"
#include "support/multinode_runs.h"

static struct hr_train_options options_of(const char *strategy, size_t servers)
{
    struct hr_train_options o = run_options(strategy, 4);
    o.timeout = 5;
    o.servers = servers;
    snprintf(o.aggregate, sizeof o.aggregate, "none"); /* else: test_aggregated_machines.c */
    return o;
}

static void in_step_they_have_the_bits_of_one_machine(void **state)
{
    const struct hr_dataset *dataset = *state;
    for (size_t servers = 1; servers <= 4; servers++) {
        struct hr_train_options o = options_of("ps-sync", servers);
        if (servers == 4) /* as many as workers */
            snprintf(o.placement, sizeof o.placement, "colocated");
        const struct said alone = multinode_alone(&o, dataset);
        for (size_t machines = 2; machines <= 4; machines *= 2) {
            const struct said several = multinode_alike(machines, &o, dataset);
            multinode_check_equal(&several, &alone);
            assert_int_equal(several.bytes_sent, alone.bytes_sent);
        }
    }
}

static void where_they_are_changes_no_bit(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of("ps-sync", 3);
    const struct said alone = multinode_alone(&o, dataset);
    snprintf(o.server_placement, sizeof o.server_placement, "first");
    const struct said several = multinode_alike(2, &o, dataset);
    multinode_check_equal(&several, &alone);
    snprintf(o.placement, sizeof o.placement, "colocated");
    multinode_check_refused(
        &o, HR_E_USAGE,
        "--placement dedicated:first: is not supported with --placement colocated, "
        "where server s is worker s",
        dataset);
}

/* Servers rest: 3 threads on 2 processors. What has come from elsewhere is not left until somebody
 * looks, every 50 ms. Others may have the processors: the best of some runs. */
static void a_server_that_rests_keeps_no_machine_waiting(void **state)
{
    const struct hr_train_options o = options_of("ps-sync", 2);
    if (CHECK_SANITIZED)
        SKIP("a sanitizer takes its time");
    const double best = multinode_best_step(2, &o, *state, 0.025);
    if (best > 0.025)
        fail_msg("a step took %g ms", 1e3 * best);
}

/* Not the same twice; but every sample is counted once, and no bound is passed. */
static void what_they_take_as_it_comes_keeps_its_bounds(void **state)
{
    static const char *const strategies[] = {"ps-async", "ssp", "elastic-averaging"};
    const struct hr_dataset *dataset = *state;
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
        for (size_t machines = 2; machines <= 4; machines *= 2) {
            struct hr_train_options o = options_of(strategies[i], 3);
            o.epochs = 3;
            o.staleness = 2;
            o.sync_every = 3;
            if (i < 2) /* gradients that are stale want no momentum, or a smaller rate */
                o.momentum = 0;
            const struct said got = multinode_alike(machines, &o, dataset);
            assert_int_equal(got.samples, o.epochs * dataset->train.count);
            assert_int_equal(got.ncurve, o.epochs);
            assert_true(got.accuracy > 0.25);
            assert_true(strcmp(strategies[i], "ssp") || got.max_skew <= o.staleness);
            assert_true(got.updates && got.keys);
            assert_int_equal(got.stale_of_keys, got.keys * got.stale_updates);
        }
}

static void gradients_that_come_too_late_are_counted(void **state)
{
    const struct hr_dataset *dataset = *state;
    for (size_t machines = 2; machines <= 4; machines *= 2) {
        struct hr_train_options o = options_of("backup-workers", 1);
        o.epochs = 3;
        const struct said got = multinode_alike(machines, &o, dataset);
        assert_int_equal(got.samples + got.dropped_samples, o.epochs * dataset->train.count);
        assert_true(got.accuracy > 0.25);
    }
}

/* Saved on two machines in the middle of an epoch, where clocks go on. */
static void they_go_on_on_another_number_of_machines(void **state)
{
    static const char *const strategies[] = {"ssp", "elastic-averaging"};
    const struct hr_dataset *dataset = *state;
    for (size_t i = 0; i < 2; i++)
        for (size_t machines = 1; machines <= 4; machines *= 2) {
            struct hr_train_options o = options_of(strategies[i], 2);
            char folder[64];
            o.staleness = 1;
            run_folder_make(folder);
            snprintf(o.checkpoint_dir, sizeof o.checkpoint_dir, "%s", folder);
            o.max_steps = 70;
            multinode_alike(2, &o, dataset);
            o.max_steps = 0;
            snprintf(o.resume, sizeof o.resume, "%s", folder);
            const struct said rest = machines == 1 ? multinode_alone(&o, dataset)
                                                   : multinode_alike(machines, &o, dataset);
            assert_int_equal(rest.samples_of_all, o.epochs * dataset->train.count);
            assert_true(strcmp(strategies[i], "ssp") || rest.max_skew <= o.staleness);
            run_folder_remove(folder);
        }
}

/* Of workers and servers, or of workers alone, or with the leader and the first server. */
static void a_machine_that_is_lost_is_named_with_its_ranks(void **state)
{
    static const struct {
        const char *strategy;
        size_t machines, lost;
        const char *message;
    } cases[] = {{"ps-sync", 2, 1, "lost machine host-1 (ranks 2, 3, 5): "},
                 {"ps-async", 4, 3, "lost machine host-3 (rank 3): "},
                 {"ssp", 2, 0, "lost machine host-0 (ranks 0, 1, 4): "},
                 {"elastic-averaging", 2, 1, "lost machine host-1 (ranks 2, 3, 5): "}};
    const struct hr_dataset *dataset = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hr_train_options o = options_of(cases[i].strategy, 2);
        o.epochs = 2000;
        const struct said *said = multinode_lose(cases[i].machines, cases[i].lost, &o, dataset);
        for (size_t m = 0; m < cases[i].machines; m++) {
            if (m == cases[i].lost)
                continue;
            assert_int_equal(said[m].status, HR_E_LOST);
            if (strncmp(said[m].message, cases[i].message, strlen(cases[i].message)) != 0)
                fail_msg("%s: machine %zu: %s", cases[i].strategy, m, said[m].message);
        }
    }
}

static void lost_pushes_are_refused(void **state)
{
    struct hr_train_options o = options_of("ps-async", 2);
    snprintf(o.inject, sizeof o.inject, "drop-push:p=0.1");
    multinode_check_refused(&o, HR_E_USAGE,
                            "--inject drop-push: not on several machines: not there yet; expected "
                            "it on one",
                            *state);
}

static int begin(void **state)
{
    multinode_begin();
    *state = (void *)(uintptr_t)run_digits();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_step_they_have_the_bits_of_one_machine),
        cmocka_unit_test(where_they_are_changes_no_bit),
        cmocka_unit_test(a_server_that_rests_keeps_no_machine_waiting),
        cmocka_unit_test(what_they_take_as_it_comes_keeps_its_bounds),
        cmocka_unit_test(gradients_that_come_too_late_are_counted),
        cmocka_unit_test(they_go_on_on_another_number_of_machines),
        cmocka_unit_test(a_machine_that_is_lost_is_named_with_its_ranks),
        cmocka_unit_test(lost_pushes_are_refused),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}

/* Runs on several machines, which are forked processes joined by sockets: the same run as on one,
 * bit for bit. */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"
#include "support/multinode_runs.h"

static struct hr_train_options options_of(const char *strategy)
{
    struct hr_train_options o = run_options(strategy, 4);
    o.timeout = 30;
    return o;
}

static void sums_of_all_algorithms_have_the_bits_of_one_machine(void **state)
{
    static const char *const algorithms[] = {
        "auto",         "direct",           "ring",
        "tree",         "halving-doubling", "master-worker",
        "hierarchical", "one-shot",         "bidirectional-ring"};
    const struct hr_dataset *dataset = *state;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        struct hr_train_options o = options_of("allreduce");
        snprintf(o.algorithm, sizeof o.algorithm, "%s", algorithms[i]);
        const struct said alone = multinode_alone(&o, dataset);
        const struct said two = multinode_alike(2, &o, dataset);
        multinode_check_equal(&two, &alone);
        const struct said four = multinode_alike(4, &o, dataset);
        multinode_check_equal(&four, &alone);
    }
}

static void replicas_that_drift_have_the_bits_of_one_machine(void **state)
{
    const struct hr_dataset *dataset = *state;
    static const char *const graphs[] = {"ring", "complete"};
    struct hr_train_options o = options_of("local-sgd");
    o.sync_every = 3;
    struct said alone = multinode_alone(&o, dataset), two = multinode_alike(2, &o, dataset);
    multinode_check_equal(&two, &alone);
    o.max_steps = 7; /* in the middle of a period: the model is the mean */
    alone = multinode_alone(&o, dataset);
    two = multinode_alike(2, &o, dataset);
    multinode_check_equal(&two, &alone);
    two = multinode_alike(4, &o, dataset);
    multinode_check_equal(&two, &alone);
    o = options_of("gossip");
    for (size_t i = 0; i < 2; i++) {
        snprintf(o.gossip_graph, sizeof o.gossip_graph, "%s", graphs[i]);
        alone = multinode_alone(&o, dataset);
        two = multinode_alike(2, &o, dataset);
        multinode_check_equal(&two, &alone);
        two = multinode_alike(4, &o, dataset);
        multinode_check_equal(&two, &alone);
    }
}

/* Saved by machine 0 alone, on two machines; gone on from on four, and on one. */
static void a_run_goes_on_on_another_number_of_machines(void **state)
{
    static const char *const strategies[] = {"allreduce", "local-sgd", "gossip", "ps-sync"};
    const struct hr_dataset *dataset = *state;
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct hr_train_options o = options_of(strategies[i]);
        char folder[64];
        o.sync_every = 3;
        o.epochs = 3;
        const struct said whole = multinode_alone(&o, dataset);
        for (size_t machines = 1; machines <= 4; machines *= 2) {
            run_folder_make(folder);
            snprintf(o.checkpoint_dir, sizeof o.checkpoint_dir, "%s", folder);
            o.resume[0] = '\0';
            o.max_steps = 25; /* in the middle of an epoch, and of a period */
            multinode_alike(2, &o, dataset);
            o.max_steps = 0;
            snprintf(o.resume, sizeof o.resume, "%s", folder);
            const struct said rest = machines == 1 ? multinode_alone(&o, dataset)
                                                   : multinode_alike(machines, &o, dataset);
            assert_string_equal(rest.digest, whole.digest);
            run_folder_remove(folder);
        }
        o.checkpoint_dir[0] = o.resume[0] = '\0';
    }
}

/* --- what is refused, and what goes wrong --- */

static void what_does_not_work_is_refused_in_a_line(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of("allreduce");
    o.workers = 3;
    multinode_check_refused(
        &o, HR_E_USAGE,
        "--workers 3: cannot be dealt out to 2 machines evenly; expected a multiple of 2", dataset);
    o = options_of("allreduce");
    snprintf(o.on_loss, sizeof o.on_loss, "restart");
    multinode_check_refused(
        &o, HR_E_USAGE,
        "--on-loss restart: not on several machines: nobody but the launcher can start a process "
        "on another one; expected continue, or stop and --resume",
        dataset);
    o = options_of("ps-sync");
    snprintf(o.launch, sizeof o.launch, "process");
    multinode_check_refused(
        &o, HR_E_USAGE,
        "--launch process: not on several machines: there each has one process, whose threads are "
        "the ranks; expected --launch thread",
        dataset);
    o = options_of("allreduce");
    snprintf(o.clock, sizeof o.clock, "virtual");
    snprintf(o.on_loss, sizeof o.on_loss, "stop");
    multinode_check_refused(
        &o, HR_E_USAGE,
        "--clock virtual: not on several machines: one process runs all ranks; expected --clock "
        "real, or no mpirun",
        dataset);
    o = options_of("allreduce");
    snprintf(o.link, sizeof o.link, "1Gb/s,50us");
    snprintf(o.transport, sizeof o.transport, "copy");
    multinode_check_refused(
        &o, HR_E_USAGE,
        "--link 1Gb/s,50us: not on several machines: the links between machines are real ones; "
        "expected no mpirun",
        dataset);
}

static void machines_that_were_told_other_things_do_not_begin(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options one = options_of("allreduce"), other = one;
    const struct hr_train_options *all[MULTINODE_MOST] = {&one, &other};
    other.momentum = 0.5;
    const struct said *said = multinode_run(2, all, dataset);
    for (size_t m = 0; m < 2; m++) {
        assert_int_equal(said[m].status, HR_E_USAGE);
        assert_string_equal(said[m].message,
                            "host-0 and host-1 were told other options; expected the same command "
                            "line and the same --config on all machines");
    }
    other = one;
    snprintf(other.strategy, sizeof other.strategy, "no-such");
    said = multinode_run(2, all, dataset);
    assert_int_equal(said[0].status, HR_E_USAGE);
    assert_memory_equal(said[0].message, "host-1: --strategy no-such", 26);
    assert_memory_equal(said[1].message, "--strategy no-such", 18);
}

/* A run that fails fails everywhere alike, with the rank, and where it was. */
static void a_failure_is_every_machines(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of("allreduce");
    const struct hr_train_options *all[MULTINODE_MOST] = {&o, &o};
    snprintf(o.inject, sizeof o.inject, "nan:3@step=5");
    const struct said *said = multinode_run(2, all, dataset);
    for (size_t m = 0; m < 2; m++)
        assert_int_equal(said[m].status, HR_E_DIVERGED);
    assert_non_null(strstr(said[0].message, "rank 3 (on host-1), step 5: "));
    assert_non_null(strstr(said[1].message, "rank 3, step 5: "));
}

/* A bit that flips in one machine's weights is found by who compares, wherever that is. */
static void replicas_that_differ_are_found(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of("allreduce");
    const struct hr_train_options *all[MULTINODE_MOST] = {&o, &o};
    snprintf(o.inject, sizeof o.inject, "flip-bit:weights:3@step=5");
    const struct said *said = multinode_run(2, all, dataset);
    for (size_t m = 0; m < 2; m++) {
        assert_int_equal(said[m].status, HR_E_FAILED);
        assert_non_null(strstr(said[m].message, "replicas differ: parameter "));
    }
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
        cmocka_unit_test(replicas_that_drift_have_the_bits_of_one_machine),
        cmocka_unit_test(a_run_goes_on_on_another_number_of_machines),
        cmocka_unit_test(what_does_not_work_is_refused_in_a_line),
        cmocka_unit_test(machines_that_were_told_other_things_do_not_begin),
        cmocka_unit_test(a_failure_is_every_machines),
        cmocka_unit_test(replicas_that_differ_are_found),
        cmocka_unit_test(sums_of_all_algorithms_have_the_bits_of_one_machine),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}

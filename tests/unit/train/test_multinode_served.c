/* Parameter servers beside workers whose stages live on several machines: in step the same run as
 * on one, to the bit; else their bounds and totals. */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"
#include "support/multinode_runs.h"

#define SET(field, ...) snprintf(o.field, sizeof o.field, __VA_ARGS__)

/* Two stages a worker. */
static struct hr_train_options staged(const char *strategy, size_t workers, size_t servers)
{
    struct hr_train_options o = run_options(strategy, workers);
    SET(model, "flatten, dense 32, relu, dense 24, relu, dense 16, batchnorm, relu, dropout 0.3, "
               "dense 10");
    o.pipeline = 2;
    o.micro_batches = 4;
    o.servers = servers;
    o.epoch_size = 320;
    o.timeout = 30;
    return o;
}

static void check_on(size_t machines, const struct hr_train_options *o, const struct said *alone,
                     const struct hr_dataset *dataset)
{
    const struct said several = multinode_alike(machines, o, dataset);
    multinode_check_equal(&several, alone);
    assert_int_equal(several.bytes_sent, alone->bytes_sent);
}

/* On machines 2, 3, ... of the first worker's, and all on the first. */
static void in_step_they_have_the_bits_of_one_machine_and_of_allreduce(void **state)
{
    const struct hr_dataset *dataset = *state;
    for (size_t workers = 1; workers <= 2; workers++) {
        struct hr_train_options o = staged("allreduce", workers, 1);
        const struct said summed = multinode_alone(&o, dataset);
        for (size_t servers = 1; servers <= 3; servers++) {
            o = staged("ps-sync", workers, servers);
            const struct said alone = multinode_alone(&o, dataset);
            assert_string_equal(alone.digest, summed.digest);
            check_on(2 * workers, &o, &alone, dataset);
            SET(server_placement, "first");
            if (servers > 1)
                check_on(2 * workers, &o, &alone, dataset);
        }
    }
}

static void so_they_have_where_servers_live_in_workers(void **state)
{
    const struct hr_dataset *dataset = *state;
    for (size_t servers = 1; servers <= 2; servers++) {
        struct hr_train_options o = staged("ps-sync", 2, servers);
        SET(placement, "colocated");
        const struct said alone = multinode_alone(&o, dataset);
        check_on(4, &o, &alone, dataset);
    }
}

/* A tensor's norms are its server's, wherever that lives. */
static void so_they_have_with_norms_of_tensors(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = staged("ps-sync", 2, 3);
    SET(optimizer, "lamb");
    o.lr = 0.005;
    const struct said alone = multinode_alone(&o, dataset);
    check_on(4, &o, &alone, dataset);
}

/* Each stage shared by two ranks; four stages on two machines. */
static void whatever_the_grid(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = staged("ps-sync", 1, 2);
    o.tensor_parallel = 2;
    struct said alone = multinode_alone(&o, dataset);
    check_on(2, &o, &alone, dataset);
    o = staged("ps-sync", 1, 2);
    o.pipeline = 4;
    SET(pipeline_schedule, "zero-bubble");
    alone = multinode_alone(&o, dataset);
    check_on(2, &o, &alone, dataset);
    check_on(4, &o, &alone, dataset);
}

/* Not the same twice; but every sample is counted once, and no bound is passed. One worker's pushes
 * have one order: the bits of one machine. */
static void what_they_take_as_it_comes_keeps_its_bounds(void **state)
{
    static const char *const strategies[] = {"ps-async", "ssp", "elastic-averaging",
                                             "backup-workers"};
    const struct hr_dataset *dataset = *state;
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct hr_train_options o = staged(strategies[i], 2, 3);
        o.servers = i == 3 ? 1 : 3; /* backup-workers has one */
        o.staleness = 1;
        o.sync_every = 3;
        const struct said got = multinode_alike(4, &o, dataset);
        assert_int_equal(got.samples + got.dropped_samples, o.epochs * o.epoch_size);
        assert_int_equal(got.ncurve, o.epochs);
        assert_true(i != 1 || got.max_skew <= o.staleness);
        assert_int_equal(got.stale_of_keys, got.keys * got.stale_updates);
        if (i >= 2)
            continue;
        o = staged(strategies[i], 1, 2);
        const struct said alone = multinode_alone(&o, dataset);
        check_on(2, &o, &alone, dataset);
    }
}

static void what_was_recorded_is_replayed_on_one_machine(void **state)
{
    static const char *const strategies[] = {"ps-sync", "ps-async", "ssp"};
    const struct hr_dataset *dataset = *state;
    char folder[64];
    run_folder_make(folder);
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct hr_train_options o = staged(strategies[i], 2, 3);
        o.staleness = 1;
        SET(record, "%s/trace", folder);
        const struct said several = multinode_alike(4, &o, dataset);
        multinode_check_replay(o.record, &several, dataset);
    }
    run_folder_remove(folder);
}

/* Saved on two machines a worker, gone on from on one, and on as many. */
static void they_go_on_on_another_number_of_machines(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = staged("ps-sync", 2, 3);
    const struct said whole = multinode_alone(&o, dataset);
    for (size_t machines = 1; machines <= 4; machines *= 2) {
        char folder[64];
        run_folder_make(folder);
        SET(checkpoint_dir, "%s", folder);
        o.resume[0] = '\0';
        o.max_steps = 7;
        multinode_alike(4, &o, dataset);
        o.max_steps = 0;
        SET(resume, "%s", folder);
        const struct said rest =
            machines == 1 ? multinode_alone(&o, dataset) : multinode_alike(machines, &o, dataset);
        assert_string_equal(rest.digest, whole.digest);
        run_folder_remove(folder);
    }
}

/* With stages and a server, of which no worker lives there; or with the worker. */
static void a_machine_that_is_lost_is_named_with_its_ranks(void **state)
{
    static const char *const ranks[] = {"lost machine host-0 (ranks 0, 1): ",
                                        "lost machine host-1 (ranks 2, 3): "};
    const struct hr_dataset *dataset = *state;
    for (size_t lost = 0; lost < 2; lost++) {
        struct hr_train_options o = staged("ps-sync", 1, 2);
        o.epochs = 5000;
        const struct said *said = multinode_lose(2, lost, &o, dataset);
        assert_int_equal(said[!lost].status, HR_E_LOST);
        if (strncmp(said[!lost].message, ranks[lost], strlen(ranks[lost])) != 0)
            fail_msg("%s", said[!lost].message);
    }
}

/* A failure ends a machine, too, on which a server lives, and no worker. */
/* Worker 2 pushes for worker 3, and stands still: of the two nobody waits for a server. */
static void who_pushes_for_nobody_waits_for_its_machine(void **state)
{
    struct hr_train_options o = run_options("ps-sync", 4);
    const struct hr_train_options *all[] = {&o, &o};
    snprintf(o.aggregate, sizeof o.aggregate, "node");
    snprintf(o.inject, sizeof o.inject, "stall:2@step=5+30s");
    o.timeout = 1;
    const struct said *said = multinode_run(2, all, *state);
    assert_int_equal(said[1].status, HR_E_TIMEOUT);
    for (size_t m = 0; m < 2; m++)
        if (strstr(said[m].message, "for a server's reply"))
            fail_msg("%s", said[m].message);
}

static void a_failure_ends_them_all(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = staged("ps-async", 1, 2);
    const struct hr_train_options *all[MULTINODE_MOST] = {&o, &o};
    SET(inject, "nan:0@step=5");
    const struct said *said = multinode_run(2, all, dataset);
    for (size_t m = 0; m < 2; m++)
        assert_int_equal(said[m].status, HR_E_DIVERGED);
}

static void a_part_of_a_worker_pushes_for_nobody_else(void **state)
{
    struct hr_train_options o = staged("ps-sync", 1, 1);
    SET(aggregate, "node");
    multinode_check_refused(
        &o, HR_E_USAGE,
        "--aggregate node: each machine has one worker, or a part of one, whose "
        "gradient is its machine's; expected 2, 4, 8, ... on each",
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
        cmocka_unit_test(in_step_they_have_the_bits_of_one_machine_and_of_allreduce),
        cmocka_unit_test(so_they_have_with_norms_of_tensors),
        cmocka_unit_test(so_they_have_where_servers_live_in_workers),
        cmocka_unit_test(whatever_the_grid),
        cmocka_unit_test(what_they_take_as_it_comes_keeps_its_bounds),
        cmocka_unit_test(what_was_recorded_is_replayed_on_one_machine),
        cmocka_unit_test(they_go_on_on_another_number_of_machines),
        cmocka_unit_test(a_machine_that_is_lost_is_named_with_its_ranks),
        cmocka_unit_test(who_pushes_for_nobody_waits_for_its_machine),
        cmocka_unit_test(a_failure_ends_them_all),
        cmocka_unit_test(a_part_of_a_worker_pushes_for_nobody_else),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}

/* Workers that are several ranks, stages of a pipeline and shards of layers, on several machines:
 * the same run as on one, bit for bit. */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"
#include "support/multinode_runs.h"

static const char MLP[] = "flatten, dense 32, relu, dense 24, relu, dense 16, batchnorm, relu, "
                          "dropout 0.3, dense 10";

/* K stages, of T ranks each: T 1 is no team. */
static struct hr_train_options split(const char *strategy, size_t workers, size_t K, size_t T)
{
    struct hr_train_options o = run_options(strategy, workers);
    snprintf(o.model, sizeof o.model, "%s", MLP);
    o.pipeline = K;
    o.tensor_parallel = T > 1 ? T : 0;
    o.micro_batches = 4;
    o.epoch_size = 320;
    o.timeout = 30;
    return o;
}

static void check_on(size_t machines, const struct hr_train_options *o,
                     const struct hr_dataset *dataset)
{
    const struct said alone = multinode_alone(o, dataset),
                      several = multinode_alike(machines, o, dataset);
    multinode_check_equal(&several, &alone);
}

/* --- each worker on one machine --- */

static void whole_workers_have_the_bits_of_one_machine(void **state)
{
    static const char *const schedules[] = {"gpipe", "1f1b", "interleaved", "zero-bubble"};
    const struct hr_dataset *dataset = *state;
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        struct hr_train_options o = split("allreduce", 2, 2, 1 + i % 2);
        snprintf(o.pipeline_schedule, sizeof o.pipeline_schedule, "%s", schedules[i]);
        o.chunks = strcmp(schedules[i], "interleaved") ? 1 : 2;
        o.recompute = i == 0;
        check_on(2, &o, dataset);
    }
    struct hr_train_options o = split("allreduce", 4, 2, 1);
    snprintf(o.overlap, sizeof o.overlap, "on");
    check_on(4, &o, dataset);
    o = split("local-sgd", 4, 2, 1);
    o.sync_every = 3;
    check_on(2, &o, dataset);
}

static void shards_have_the_bits_of_one_machine(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = split("allreduce", 2, 0, 2);
    o.micro_batches = 0;
    check_on(2, &o, dataset);
}

/* Saved on two machines, gone on from on one; and the other way round, whatever the grid. */
static void a_split_run_goes_on_on_another_number_of_machines(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = split("allreduce", 2, 2, 1);
    const struct said whole = multinode_alone(&o, dataset);
    for (size_t machines = 1; machines <= 2; machines++) {
        char folder[64];
        run_folder_make(folder);
        snprintf(o.checkpoint_dir, sizeof o.checkpoint_dir, "%s", folder);
        o.resume[0] = '\0';
        o.max_steps = 7;
        if (machines == 1)
            multinode_alike(2, &o, dataset);
        else
            multinode_alone(&o, dataset);
        o.max_steps = 0;
        snprintf(o.resume, sizeof o.resume, "%s", folder);
        const struct said rest =
            machines == 1 ? multinode_alone(&o, dataset) : multinode_alike(2, &o, dataset);
        assert_string_equal(rest.digest, whole.digest);
        run_folder_remove(folder);
    }
}

/* --- a worker's stages on several machines --- */

static void stages_between_machines_have_the_bits_of_one(void **state)
{
    static const char *const schedules[] = {"gpipe", "1f1b", "interleaved", "zero-bubble"};
    const struct hr_dataset *dataset = *state;
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        const bool interleaved = !strcmp(schedules[i], "interleaved");
        struct hr_train_options o = split("allreduce", 1, 2, 1);
        snprintf(o.pipeline_schedule, sizeof o.pipeline_schedule, "%s", schedules[i]);
        o.chunks = interleaved ? 2 : 1;
        check_on(2, &o, dataset);
        o.pipeline = 4;
        o.recompute = i % 2;
        o.chunks = 1;
        if (!interleaved)
            check_on(i % 2 ? 2 : 4, &o, dataset);
    }
}

/* Two workers, whose first stages sum their gradients, on two machines each. */
static void workers_of_several_machines_sum_their_gradients(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = split("allreduce", 2, 2, 1);
    check_on(4, &o, dataset);
    snprintf(o.overlap, sizeof o.overlap, "on");
    snprintf(o.algorithm, sizeof o.algorithm, "ring");
    check_on(4, &o, dataset);
    o = split("local-sgd", 2, 2, 1);
    o.sync_every = 3;
    check_on(4, &o, dataset);
}

static void shards_of_stages_between_machines_too(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = split("allreduce", 1, 2, 2);
    check_on(2, &o, dataset);
    o.micro_batches = 1;
    snprintf(o.pipeline_schedule, sizeof o.pipeline_schedule, "zero-bubble");
    check_on(2, &o, dataset);
}

static void stages_go_on_on_another_number_of_machines(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = split("allreduce", 1, 2, 1);
    const struct said whole = multinode_alone(&o, dataset);
    for (size_t machines = 1; machines <= 2; machines++) {
        char folder[64];
        run_folder_make(folder);
        snprintf(o.checkpoint_dir, sizeof o.checkpoint_dir, "%s", folder);
        o.resume[0] = '\0';
        o.max_steps = 7;
        multinode_alike(2, &o, dataset);
        o.max_steps = 0;
        snprintf(o.resume, sizeof o.resume, "%s", folder);
        const struct said rest =
            machines == 1 ? multinode_alone(&o, dataset) : multinode_alike(2, &o, dataset);
        assert_string_equal(rest.digest, whole.digest);
        run_folder_remove(folder);
    }
}

/* A failure ends the machines, too, on which no worker lives. */
static void a_failure_ends_stages_elsewhere(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = split("allreduce", 1, 2, 1);
    const struct hr_train_options *all[MULTINODE_MOST] = {&o, &o};
    snprintf(o.inject, sizeof o.inject, "nan:0@step=5");
    const struct said *said = multinode_run(2, all, dataset);
    for (size_t m = 0; m < 2; m++)
        assert_int_equal(said[m].status, HR_E_DIVERGED);
}

static void what_cannot_be_dealt_out_is_refused(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = split("allreduce", 1, 0, 2);
    o.micro_batches = 0;
    multinode_check_refused(&o, HR_E_USAGE,
                            "--workers 1 of 1 stage: cannot be dealt out to 2 machines; expected a "
                            "multiple of 2 workers, or machines that share each worker's stages "
                            "evenly; the ranks of --tensor-parallel stay on one",
                            dataset);
    o = split("allreduce", 1, 3, 1);
    multinode_check_refused(
        &o, HR_E_USAGE,
        "--workers 1 of 3 stages: cannot be dealt out to 2 machines; expected a "
        "multiple of 2 workers, or machines that share each worker's stages "
        "evenly",
        dataset);
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
        cmocka_unit_test(whole_workers_have_the_bits_of_one_machine),
        cmocka_unit_test(shards_have_the_bits_of_one_machine),
        cmocka_unit_test(a_split_run_goes_on_on_another_number_of_machines),
        cmocka_unit_test(stages_between_machines_have_the_bits_of_one),
        cmocka_unit_test(workers_of_several_machines_sum_their_gradients),
        cmocka_unit_test(shards_of_stages_between_machines_too),
        cmocka_unit_test(stages_go_on_on_another_number_of_machines),
        cmocka_unit_test(a_failure_ends_stages_elsewhere),
        cmocka_unit_test(what_cannot_be_dealt_out_is_refused),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}

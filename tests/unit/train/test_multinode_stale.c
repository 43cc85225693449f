/* Pipelines that never drain, whose stages live on several machines: the updates, and the bits, of
 * one machine. */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"
#include "support/multinode_runs.h"

#define SET(field, ...) snprintf(o.field, sizeof o.field, __VA_ARGS__)

static const char *const schedules[] = {"pipedream", "unstashed"};

static struct hr_train_options stale(const char *schedule, size_t K)
{
    struct hr_train_options o = run_options("allreduce", 1);
    SET(model, "flatten, dense 32, relu, dense 24, relu, dense 16, batchnorm, relu, dropout 0.3, "
               "dense 10");
    SET(pipeline_schedule, "%s", schedule);
    o.pipeline = K;
    o.epoch_size = 500; /* its last minibatch is smaller */
    o.epochs = 3;
    o.timeout = 30;
    return o;
}

enum { GRADIENTS, FILLING, FORWARD, BACKWARD };

/* Staleness of stage 0's updates; of those of the others, which are told as well. */
static void note_staleness(const struct hr_run_result *result, struct said *said)
{
    const struct hr_pipeline_report *report = &result->pipeline;
    said->note[GRADIENTS] = (double)report->gradients;
    said->note[FILLING] = (double)report->filling;
    for (size_t k = 0; k < report->stages; k++) {
        said->note[FORWARD] += (double)(k + 1) * report->stage[k].stale_forward;
        said->note[BACKWARD] += (double)(k + 1) * report->stage[k].stale_backward;
    }
}

static void check_on(size_t machines, const struct hr_train_options *o, const struct said *alone,
                     const struct hr_dataset *dataset)
{
    const struct said several = multinode_alike(machines, o, dataset);
    multinode_check_equal(&several, alone);
    for (size_t i = GRADIENTS; i <= BACKWARD; i++)
        CHECK_NEAR(several.note[i], alone->note[i], 0, 0);
}

static void they_have_the_bits_of_one_machine(void **state)
{
    const struct hr_dataset *dataset = *state;
    for (size_t i = 0; i < 2; i++)
        for (size_t K = 2; K <= 4; K++) {
            struct hr_train_options o = stale(schedules[i], K);
            o.recompute = !i && K == 3;
            const struct said alone = multinode_alone(&o, dataset);
            assert_true(alone.note[GRADIENTS] > 0 && alone.note[FORWARD] > 0);
            for (size_t machines = 2; machines <= K; machines++)
                if (K % machines == 0)
                    check_on(machines, &o, &alone, dataset);
        }
}

/* More of its state than one array. */
static void whatever_the_optimizer(void **state)
{
    const struct hr_dataset *dataset = *state;
    static const char *const optimizers[] = {"adamw", "sgd"};
    for (size_t i = 0; i < 2; i++) {
        struct hr_train_options o = stale(schedules[i], 2);
        SET(optimizer, "%s", optimizers[i]);
        o.momentum = 0;
        o.lr = i ? 0.05 : 0.002;
        const struct said alone = multinode_alone(&o, dataset);
        check_on(2, &o, &alone, dataset);
    }
}

/* Saved at the end of an epoch, with all state, gone on from on two machines, four, and one. */
static void they_go_on_on_another_number_of_machines(void **state)
{
    const struct hr_dataset *dataset = *state;
    for (size_t i = 0; i < 2; i++) {
        struct hr_train_options o = stale(schedules[i], 4);
        SET(optimizer, "%s", i ? "sgd" : "adamw");
        o.lr = i ? 0.05 : 0.002;
        o.momentum = i ? 0.9 : 0;
        const struct said whole = multinode_alone(&o, dataset);
        for (size_t machines = 1; machines <= 4; machines *= 2) {
            char folder[64];
            run_folder_make(folder);
            SET(checkpoint_dir, "%s", folder);
            o.resume[0] = '\0';
            o.max_steps = 64; /* of 32 per epoch */
            multinode_alike(i ? 4 : 2, &o, dataset);
            o.max_steps = 0;
            SET(resume, "%s", folder);
            const struct said rest = machines == 1 ? multinode_alone(&o, dataset)
                                                   : multinode_alike(machines, &o, dataset);
            assert_string_equal(rest.digest, whole.digest);
            run_folder_remove(folder);
        }
    }
}

static void what_was_recorded_is_replayed_on_one_machine(void **state)
{
    const struct hr_dataset *dataset = *state;
    char folder[64];
    run_folder_make(folder);
    for (size_t i = 0; i < 2; i++) {
        struct hr_train_options o = stale(schedules[i], 2);
        SET(record, "%s/trace", folder);
        const struct said several = multinode_alike(2, &o, dataset);
        multinode_check_replay(o.record, &several, dataset);
    }
    run_folder_remove(folder);
}

/* Each stage looks at its gradient, so the failure is the other machine's, and all end. */
static void a_failure_ends_all(void **state)
{
    const struct hr_dataset *dataset = *state;
    for (size_t i = 0; i < 2; i++) {
        struct hr_train_options o = stale(schedules[i], 2);
        const struct hr_train_options *all[MULTINODE_MOST] = {&o, &o};
        o.lr = 1e6;
        const struct said *said = multinode_run(2, all, dataset);
        for (size_t m = 0; m < 2; m++) {
            if (said[m].status != HR_E_DIVERGED ||
                !strstr(said[m].message, "is not finite in epoch 1"))
                fail_msg("machine %zu: %s", m, said[m].message);
        }
    }
}

static void a_machine_that_is_lost_is_named(void **state)
{
    const struct hr_dataset *dataset = *state;
    for (size_t lost = 0; lost < 2; lost++) {
        struct hr_train_options o = stale(schedules[lost], 4);
        const char *message =
            lost ? "lost machine host-1 (ranks 2, 3): " : "lost machine host-0 (ranks 0, 1): ";
        o.epoch_size = 10 * 1000 * 1000;
        const struct said *said = multinode_lose(2, lost, &o, dataset);
        assert_int_equal(said[!lost].status, HR_E_LOST);
        if (strncmp(said[!lost].message, message, strlen(message)) != 0)
            fail_msg("%s", said[!lost].message);
    }
}

static int begin(void **state)
{
    static const struct multinode_hooks hooks = {.ended = note_staleness};
    multinode_begin();
    multinode_hook(&hooks);
    *state = (void *)(uintptr_t)run_digits();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_have_the_bits_of_one_machine),
        cmocka_unit_test(whatever_the_optimizer),
        cmocka_unit_test(they_go_on_on_another_number_of_machines),
        cmocka_unit_test(what_was_recorded_is_replayed_on_one_machine),
        cmocka_unit_test(a_failure_ends_all),
        cmocka_unit_test(a_machine_that_is_lost_is_named),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}

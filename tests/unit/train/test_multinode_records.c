/* What is told of runs on several machines: traces that are replayed on one, calibrations, who was
 * waited for, progress, what the machines are; and what they agree upon first. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "support/runs.h"
#include "support/multinode_runs.h"

static const struct multinode_hooks none;

static struct hr_train_options options_of(const char *strategy)
{
    struct hr_train_options o = run_options(strategy, 4);
    o.timeout = 10;
    return o;
}

static int unhook(void **state)
{
    (void)state;
    multinode_hook(&none);
    return 0;
}

/* --- traces --- */

static void a_run_of_several_machines_is_replayed_on_one(void **state)
{
    static const struct {
        const char *strategy, *placement;
        size_t servers; /* from the second one on some are on the other machine */
    } runs[] = {{"allreduce", "dedicated", 1},     {"local-sgd", "dedicated", 1},
                {"gossip", "dedicated", 1},        {"ps-sync", "dedicated", 2},
                {"ps-async", "dedicated", 3},      {"ssp", "dedicated", 2},
                {"ps-async", "colocated", 4},      {"elastic-averaging", "dedicated", 2},
                {"backup-workers", "dedicated", 1}};
    const struct hr_dataset *dataset = *state;
    char folder[64];
    run_folder_make(folder);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct hr_train_options o = options_of(runs[i].strategy);
        o.sync_every = 3;
        o.backups = 1;
        o.servers = runs[i].servers;
        snprintf(o.placement, sizeof o.placement, "%s", runs[i].placement);
        snprintf(o.record, sizeof o.record, "%s/trace", folder);
        const struct said two = multinode_alike(2, &o, dataset);
        assert_true(two.digest[0]);
        multinode_check_replay(o.record, &two, dataset);
    }
    run_folder_remove(folder);
}

/* --- calibrations --- */

/* Steps that the file at `path` is made of; 0: it is no calibration. */
static size_t steps_of(const char *path)
{
    char line[300];
    size_t steps = 0, found = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "# %zu steps of workers", &steps) == 1)
            found |= 1;
        if (!strncmp(line, "compute-time = ", 15))
            found |= 2;
    }
    fclose(file);
    return found == 3 ? steps : 0;
}

static void all_machines_steps_are_in_a_calibration(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of("allreduce");
    char folder[64];
    run_folder_make(folder);
    snprintf(o.calibrate, sizeof o.calibrate, "%s/model.ini", folder);
    multinode_alone(&o, dataset);
    const size_t alone = steps_of(o.calibrate);
    assert_true(alone > 0);
    multinode_alike(2, &o, dataset);
    assert_int_equal(steps_of(o.calibrate), alone);
    run_folder_remove(folder);
}

/* --- who was waited for --- */

static void note_costs(const struct hr_run_result *result, struct said *said)
{
    for (size_t r = 0; r < result->nwaited; r++)
        said->note[r] = result->waited_for[r].cost_s;
    said->note[7] = result->waited_for_others_s;
}

/* Worker 3, of the other machine, is slow to load: all wait for it, and for nobody as long, but
 * where a busy machine keeps somebody else, now and then. */
static void who_is_slow_is_blamed_on_another_machine_too(void **state)
{
    static const char *const strategies[] = {"allreduce", "gossip"};
    const struct multinode_hooks hooks = {.ended = note_costs};
    const struct hr_dataset *dataset = *state;
    multinode_hook(&hooks);
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct hr_train_options o = options_of(strategies[i]);
        o.epochs = 2;
        snprintf(o.inject, sizeof o.inject, "load:3+20ms");
        snprintf(o.gossip_graph, sizeof o.gossip_graph, "ring");
        bool blamed = false;
        for (int attempt = 0; attempt < 30 && !blamed; attempt++) {
            const struct said two = multinode_alike(2, &o, dataset);
            assert_true(two.note[7] > 0.3);
            blamed =
                two.note[3] > two.note[0] && two.note[3] > two.note[1] && two.note[3] > two.note[2];
        }
        assert_true(blamed);
    }
}

/* --- what an evaluation leaves --- */

static void note_fit(const struct hr_run_result *result, struct said *said)
{
    if (!result->ncurve) /* machine 0 has it */
        return;
    const struct hr_curve_point *last = &result->curve[result->ncurve - 1];
    said->note[0] = last->test_loss;
    said->note[1] = last->fit.rmse;
    said->note[2] = last->fit.mae;
    said->note[3] = last->fit.r2;
}

/* Of parts that were evaluated on other machines, too: in classes and in values. */
static void what_is_measured_is_that_of_one_machine(void **state)
{
    const struct multinode_hooks hooks = {.ended = note_fit};
    const struct hr_dataset *datasets[] = {*state, run_values()};
    multinode_hook(&hooks);
    for (size_t i = 0; i < 2; i++) {
        struct hr_train_options o = options_of("allreduce");
        snprintf(o.task, sizeof o.task, "%s", i ? "regress" : "classify");
        snprintf(o.model, sizeof o.model, "flatten, dense 11, relu, dense %d", i ? 2 : 10);
        const struct said alone = multinode_alone(&o, datasets[i]);
        for (size_t machines = 2; machines <= 4; machines += 2) {
            const struct said several = multinode_alike(machines, &o, datasets[i]);
            assert_memory_equal(several.note, alone.note, (i ? 4 : 3) * sizeof *alone.note);
        }
    }
}

/* --- progress --- */

static struct hr_progress latest;

static void on_progress(void *arg, const struct hr_progress *progress)
{
    (void)arg;
    if (latest.seconds <= 1) /* what was known when it is told to stop */
        latest = *progress;
}

static int stops_after_a_second(void *arg)
{
    (void)arg;
    return latest.seconds > 1;
}

static void note_progress(const struct hr_run_result *result, struct said *said)
{
    said->note[0] = (double)latest.samples;
    said->note[1] = (double)result->samples;
}

static const struct hr_observer second = {.progress = on_progress,
                                          .should_stop = stops_after_a_second};

/* In the middle of an epoch machine 0 knows more than what its own two workers have done. */
static void progress_is_of_all_machines(void **state)
{
    const struct multinode_hooks hooks = {.observer = &second, .ended = note_progress};
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of("allreduce");
    multinode_hook(&hooks);
    o.epoch_size = 10 * 1000 * 1000;
    snprintf(o.inject, sizeof o.inject, "load:*+2ms");
    double known = 0; /* others may have the processor when a word of it comes */
    for (int attempt = 0; attempt < 30 && !(known > 0.7); attempt++) {
        const struct said two = multinode_alike(2, &o, dataset);
        assert_true(two.note[1] > 0);
        known = fmax(known, two.note[0] / two.note[1]);
    }
    assert_true(known > 0.7);
}

/* --- what machines are --- */

static void note_machines(const struct hr_run_result *result, struct said *said)
{
    said->note[0] = (double)result->nmachines;
    for (size_t m = 0; m < result->nmachines; m++) {
        const struct hr_machine_report *machine = &result->machines[m];
        const bool clock = m == 0 ? machine->clock_error_s <= 0 : machine->clock_error_s > 0;
        said->note[1 + m] = (double)(100 * machine->first_worker + 10 * machine->workers) +
                            (clock && machine->processors > 0);
        snprintf(said->text, sizeof said->text, "%.31s %.15s", machine->host, machine->isa);
    }
}

static void the_result_says_what_the_machines_are(void **state)
{
    const struct multinode_hooks hooks = {.ended = note_machines};
    const struct hr_dataset *dataset = *state;
    const struct hr_train_options o = options_of("allreduce");
    char last[64];
    multinode_hook(&hooks);
    const struct said two = multinode_alike(2, &o, dataset);
    assert_int_equal(two.note[0], 2);
    assert_int_equal(two.note[1], 21);
    assert_int_equal(two.note[2], 221);
    snprintf(last, sizeof last, "host-1 %s", hr_isa_full_name());
    assert_string_equal(two.text, last);
    assert_int_equal(multinode_alone(&o, dataset).note[0], 0);
}

/* --- what they agree upon --- */

static void lower_machine_1(size_t machine)
{
    if (machine == 1)
        hr_isa_lower((enum hr_isa)(hr_isa() - 1));
}

static void lower_all(size_t machine)
{
    (void)machine;
    lower_machine_1(1);
}

static void note_kernels(const struct hr_run_result *result, struct said *said)
{
    snprintf(said->text, sizeof said->text, "%s", result->kernels);
}

static void all_use_the_lowest_instruction_set(void **state)
{
    const struct multinode_hooks one = {.begins = lower_machine_1, .ended = note_kernels},
                                 all = {.begins = lower_all, .ended = note_kernels};
    const struct hr_dataset *dataset = *state;
    const struct hr_train_options o = options_of("allreduce");
    if (hr_isa() == HR_ISA_PLAIN)
        SKIP("this processor has one set of vector kernels");
    multinode_hook(&one);
    const struct said two = multinode_alike(2, &o, dataset);
    multinode_hook(&all);
    const struct said alone = multinode_alone(&o, dataset);
    multinode_check_equal(&two, &alone);
    assert_string_equal(two.text, alone.text);
}

static void use_other_core(size_t machine)
{
    setenv("OPENBLAS_CORETYPE", machine ? "Nehalem" : "Prescott", 1);
}

static void other_kernels_are_refused_with_what_to_do(void **state)
{
    const struct multinode_hooks hooks = {.begins = use_other_core};
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of("allreduce");
    const struct hr_train_options *both[MULTINODE_MOST] = {&o, &o};
    if (!strcmp(o.kernels, "reference") || hr_isa() == HR_ISA_PLAIN)
        SKIP("this processor has one set of vector kernels");
    snprintf(o.kernels, sizeof o.kernels, "openblas");
    multinode_hook(&hooks);
    const struct said *said = multinode_run(2, both, dataset);
    for (size_t m = 0; m < 2; m++) {
        assert_int_equal(said[m].status, HR_E_USAGE);
        assert_non_null(strstr(said[m].message, "host-0 and host-1 would give other bits: their "
                                                "kernels differ, "));
        assert_non_null(strstr(said[m].message, "expected the same OpenBLAS and OPENBLAS_CORETYPE "
                                                "on all machines, or --kernels reference"));
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
        cmocka_unit_test_teardown(a_run_of_several_machines_is_replayed_on_one, unhook),
        cmocka_unit_test_teardown(all_machines_steps_are_in_a_calibration, unhook),
        cmocka_unit_test_teardown(who_is_slow_is_blamed_on_another_machine_too, unhook),
        cmocka_unit_test_teardown(what_is_measured_is_that_of_one_machine, unhook),
        cmocka_unit_test_teardown(progress_is_of_all_machines, unhook),
        cmocka_unit_test_teardown(the_result_says_what_the_machines_are, unhook),
        cmocka_unit_test_teardown(all_use_the_lowest_instruction_set, unhook),
        cmocka_unit_test_teardown(other_kernels_are_refused_with_what_to_do, unhook),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}

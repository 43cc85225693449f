/* Runs on several machines, which are forked processes joined by sockets: the same run as on one,
 * bit for bit. */
#include "train/run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "machines/machines.h"
#include "support/check.h"
#include "support/runs.h"
#include "support/wire_socket.h"

enum { MOST = 4 };

/* What a machine's process has to say, in memory that it shares with the test. */
struct said {
    enum hr_status status;
    char message[600];
    char digest[40];
    double accuracy, loss;
    uint64_t updates, samples;
    size_t ncurve;
};

static struct said *said; /* (MOST) */

static void machine_main(struct wire_mesh *mesh, size_t self, const struct hr_train_options *o,
                         const struct hr_dataset *dataset)
{
    struct hr_machines machines;
    struct hr_run_result result = {0};
    struct hr_wire *wire;
    struct said *mine = &said[self];
    alarm(100);
    mine->status = wire_socket_open(mesh, self, 7, 0, &wire);
    wire_mesh_keep(mesh, self);
    if (mine->status == HR_OK)
        mine->status = hr_machines_open(wire, &machines);
    if (mine->status == HR_OK) {
        const struct hr_train_call call = {.options = o, .dataset = dataset, .machines = &machines};
        mine->status = hr_train_call(&call, &result);
    }
    if (mine->status != HR_OK)
        snprintf(mine->message, sizeof mine->message, "%s", hr_error_message());
    snprintf(mine->digest, sizeof mine->digest, "%s", result.weights_digest);
    mine->accuracy = result.ncurve ? result.curve[result.ncurve - 1].test_accuracy : 0;
    mine->loss = result.ncurve ? result.curve[result.ncurve - 1].train_loss : 0;
    mine->updates = result.updates;
    mine->ncurve = result.ncurve;
    hr_run_result_free(&result);
    hr_machines_close(&machines);
    hr_wire_close(wire);
    _exit(0);
}

/* o[m]: what machine m was told. */
static void run_machines(size_t machines, const struct hr_train_options *const *o,
                         const struct hr_dataset *dataset)
{
    struct wire_mesh mesh;
    pid_t pid[MOST];
    memset(said, 0, MOST * sizeof *said);
    wire_mesh_open(&mesh, machines);
    for (size_t m = 0; m < machines; m++) {
        pid[m] = fork();
        assert_true(pid[m] >= 0);
        if (pid[m] == 0)
            machine_main(&mesh, m, o[m], dataset);
    }
    wire_mesh_close(&mesh);
    for (size_t m = 0; m < machines; m++) {
        int status;
        assert_int_equal(waitpid(pid[m], &status, 0), pid[m]);
        if (!WIFEXITED(status) || WEXITSTATUS(status))
            fail_msg("machine %zu ended with wait status %d", m, status);
    }
}

static struct said run_alike(size_t machines, const struct hr_train_options *options,
                             const struct hr_dataset *dataset)
{
    const struct hr_train_options *all[MOST] = {options, options, options, options};
    run_machines(machines, all, dataset);
    for (size_t m = 0; m < machines; m++)
        if (said[m].status != HR_OK)
            fail_msg("machine %zu: %s", m, said[m].message);
    for (size_t m = 1; m < machines; m++)
        assert_string_equal(said[m].digest, ""); /* the run's result is machine 0's */
    return said[0];
}

/* The same run on one machine. In a process of its own, too: threads are not forked. */
static struct said run_alone(const struct hr_train_options *options,
                             const struct hr_dataset *dataset)
{
    int status;
    memset(said, 0, MOST * sizeof *said);
    const pid_t pid = fork();
    if (pid == 0) {
        struct hr_run_result result = {0};
        alarm(100);
        said->status = hr_train(options, dataset, NULL, &result);
        snprintf(said->message, sizeof said->message, "%s", hr_error_message());
        snprintf(said->digest, sizeof said->digest, "%s", result.weights_digest);
        said->accuracy = result.ncurve ? result.curve[result.ncurve - 1].test_accuracy : 0;
        said->loss = result.ncurve ? result.curve[result.ncurve - 1].train_loss : 0;
        said->updates = result.updates;
        said->ncurve = result.ncurve;
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (said->status != HR_OK)
        fail_msg("alone: %s", said->message);
    return *said;
}

static struct hr_train_options options_of(const char *strategy)
{
    struct hr_train_options o = run_options(strategy, 4);
    o.timeout = 5;
    return o;
}

static void check_equal(const struct said *several, const struct said *alone)
{
    assert_string_equal(several->digest, alone->digest);
    assert_true(several->digest[0]);
    assert_true(several->accuracy >= alone->accuracy && several->accuracy <= alone->accuracy);
    assert_true(several->loss >= alone->loss && several->loss <= alone->loss);
    assert_int_equal(several->updates, alone->updates);
    assert_int_equal(several->ncurve, alone->ncurve);
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
        const struct said alone = run_alone(&o, dataset);
        const struct said two = run_alike(2, &o, dataset);
        check_equal(&two, &alone);
        const struct said four = run_alike(4, &o, dataset);
        check_equal(&four, &alone);
    }
}

static void replicas_that_drift_have_the_bits_of_one_machine(void **state)
{
    const struct hr_dataset *dataset = *state;
    static const char *const graphs[] = {"ring", "complete"};
    struct hr_train_options o = options_of("local-sgd");
    o.sync_every = 3;
    struct said alone = run_alone(&o, dataset), two = run_alike(2, &o, dataset);
    check_equal(&two, &alone);
    o.max_steps = 7; /* in the middle of a period: the model is the mean */
    alone = run_alone(&o, dataset);
    two = run_alike(2, &o, dataset);
    check_equal(&two, &alone);
    two = run_alike(4, &o, dataset);
    check_equal(&two, &alone);
    o = options_of("gossip");
    for (size_t i = 0; i < 2; i++) {
        snprintf(o.gossip_graph, sizeof o.gossip_graph, "%s", graphs[i]);
        alone = run_alone(&o, dataset);
        two = run_alike(2, &o, dataset);
        check_equal(&two, &alone);
        two = run_alike(4, &o, dataset);
        check_equal(&two, &alone);
    }
}

/* Saved by machine 0 alone, on two machines; gone on from on four, and on one. */
static void a_run_goes_on_on_another_number_of_machines(void **state)
{
    static const char *const strategies[] = {"allreduce", "local-sgd", "gossip"};
    const struct hr_dataset *dataset = *state;
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct hr_train_options o = options_of(strategies[i]);
        char folder[64];
        o.sync_every = 3;
        o.epochs = 3;
        const struct said whole = run_alone(&o, dataset);
        for (size_t machines = 1; machines <= 4; machines *= 2) {
            run_folder_make(folder);
            snprintf(o.checkpoint_dir, sizeof o.checkpoint_dir, "%s", folder);
            o.resume[0] = '\0';
            o.max_steps = 25; /* in the middle of an epoch, and of a period */
            run_alike(2, &o, dataset);
            o.max_steps = 0;
            snprintf(o.resume, sizeof o.resume, "%s", folder);
            const struct said rest =
                machines == 1 ? run_alone(&o, dataset) : run_alike(machines, &o, dataset);
            assert_string_equal(rest.digest, whole.digest);
            run_folder_remove(folder);
        }
        o.checkpoint_dir[0] = o.resume[0] = '\0';
    }
}

/* --- what is refused, and what goes wrong --- */

/* All machines fail alike; that one says it in these words. */
static void check_refused(struct hr_train_options o, enum hr_status status, const char *message,
                          const struct hr_dataset *dataset)
{
    const struct hr_train_options *all[MOST] = {&o, &o};
    run_machines(2, all, dataset);
    assert_string_equal(said[0].message, message);
    for (size_t m = 0; m < 2; m++)
        assert_int_equal(said[m].status, status);
}

static void what_does_not_work_is_refused_in_a_line(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of("hogwild");
    check_refused(o, HR_E_USAGE,
                  "hogwild: not there yet on several machines; workers share no weights there; "
                  "expected local-sgd, which averages them, or allreduce",
                  dataset);
    o = options_of("allreduce");
    o.workers = 3;
    check_refused(o, HR_E_USAGE,
                  "--workers 3: cannot be dealt out to 2 machines evenly; expected a multiple of 2",
                  dataset);
    o = options_of("allreduce");
    snprintf(o.launch, sizeof o.launch, "process");
    check_refused(o, HR_E_USAGE,
                  "--launch process: not there yet on several machines; expected thread", dataset);
    o = options_of("allreduce");
    snprintf(o.on_loss, sizeof o.on_loss, "continue");
    check_refused(o, HR_E_USAGE,
                  "--on-loss: not there yet on several machines; expected stop; --resume goes on "
                  "from the last checkpoint",
                  dataset);
    snprintf(o.clock, sizeof o.clock, "virtual");
    snprintf(o.on_loss, sizeof o.on_loss, "stop");
    check_refused(o, HR_E_USAGE,
                  "one process that plays all ranks: not there yet on several machines; expected "
                  "it on one, without mpirun",
                  dataset);
}

static void machines_that_were_told_other_things_do_not_begin(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options one = options_of("allreduce"), other = one;
    const struct hr_train_options *all[MOST] = {&one, &other};
    other.momentum = 0.5;
    run_machines(2, all, dataset);
    for (size_t m = 0; m < 2; m++) {
        assert_int_equal(said[m].status, HR_E_USAGE);
        assert_string_equal(said[m].message,
                            "host-0 and host-1 were told other options; expected the same command "
                            "line and the same --config on all machines");
    }
    other = one;
    snprintf(other.strategy, sizeof other.strategy, "no-such");
    run_machines(2, all, dataset);
    assert_int_equal(said[0].status, HR_E_USAGE);
    assert_memory_equal(said[0].message, "host-1: --strategy no-such", 26);
    assert_memory_equal(said[1].message, "--strategy no-such", 18);
}

/* A run that fails fails everywhere alike, with the rank, and where it was. */
static void a_failure_is_every_machines(void **state)
{
    const struct hr_dataset *dataset = *state;
    struct hr_train_options o = options_of("allreduce");
    const struct hr_train_options *all[MOST] = {&o, &o};
    snprintf(o.inject, sizeof o.inject, "nan:3@step=5");
    run_machines(2, all, dataset);
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
    const struct hr_train_options *all[MOST] = {&o, &o};
    snprintf(o.inject, sizeof o.inject, "flip-bit:weights:3@step=5");
    run_machines(2, all, dataset);
    for (size_t m = 0; m < 2; m++) {
        assert_int_equal(said[m].status, HR_E_FAILED);
        assert_non_null(strstr(said[m].message, "replicas differ: parameter "));
    }
}

static int begin(void **state)
{
    said =
        mmap(NULL, MOST * sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *state = (void *)(uintptr_t)run_digits();
    return said == MAP_FAILED ? -1 : 0;
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

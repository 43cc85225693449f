#include "support/multinode_runs.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hogring/replay.h"
#include "machines/machines.h"
#include "support/wire_socket.h"
#include "train/run.h"

static struct said *said; /* (MULTINODE_MOST) in memory that they share with the test */

static struct multinode_hooks hooks;

void multinode_hook(const struct multinode_hooks *theirs)
{
    hooks = *theirs;
}

void multinode_begin(void)
{
    if (check_count(0, 1) == 0) /* all machines share these processors: nobody spins */
        setenv("HOGRING_CPUS", "1", 1);
    said = mmap(NULL, MULTINODE_MOST * sizeof *said, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(said != MAP_FAILED);
}

static void say(struct said *mine, struct hr_run_result *result)
{
    if (mine->status != HR_OK)
        snprintf(mine->message, sizeof mine->message, "%s", hr_error_message());
    snprintf(mine->digest, sizeof mine->digest, "%s", result->weights_digest);
    mine->accuracy = result->ncurve ? result->curve[result->ncurve - 1].test_accuracy : 0;
    mine->loss = result->ncurve ? result->curve[result->ncurve - 1].train_loss : 0;
    mine->samples_of_all = result->ncurve ? result->curve[result->ncurve - 1].samples : 0;
    mine->updates = result->updates;
    mine->samples = result->samples;
    mine->dropped_samples = result->dropped_samples;
    mine->bytes_sent = result->bytes_sent;
    mine->max_skew = result->max_skew;
    mine->stale_updates = result->stale_updates;
    mine->keys = result->nstale_keys;
    for (size_t i = 0; i < result->nstale_keys; i++)
        mine->stale_of_keys += result->stale_parts[result->nstale_workers + i].updates;
    mine->handed_over = result->pipeline.bytes;
    mine->ncurve = result->ncurve;
    if (hooks.ended)
        hooks.ended(result, mine);
    hr_run_result_free(result);
}

static int dies_after = 3;

void multinode_dies_after(int tenths)
{
    dies_after = tenths;
}

/* A launcher asks ten times a second, when its ranks have started. */
static int die_soon(void *arg)
{
    int *asked = arg;
    if (++*asked == dies_after)
        raise(SIGKILL);
    return 0;
}

static void machine_main(struct wire_mesh *mesh, size_t self, bool dies,
                         const struct hr_train_options *o, const struct hr_dataset *dataset)
{
    int asked = 0;
    const struct hr_observer killer = {.arg = &asked, .should_stop = die_soon};
    struct hr_machines machines;
    struct hr_run_result result = {0};
    struct hr_wire *wire;
    struct said *mine = &said[self];
    alarm(250);
    if (hooks.begins)
        hooks.begins(self);
    mine->status = wire_socket_open(mesh, self, 7, 0, &wire);
    wire_mesh_keep(mesh, self);
    if (mine->status == HR_OK)
        mine->status = hr_machines_open(wire, &machines);
    const bool begun = mine->status == HR_OK; /* else nobody would hear a farewell */
    if (begun) {
        const struct hr_train_call call = {.options = o,
                                           .dataset = dataset,
                                           .observer = dies   ? &killer
                                                       : self ? NULL
                                                              : hooks.observer,
                                           .machines = &machines};
        mine->status = hr_train_call(&call, &result);
    }
    say(mine, &result);
    if (begun)
        hr_machines_close(&machines);
    hr_wire_close(wire);
    _exit(0);
}

enum { NOBODY = MULTINODE_MOST };

static const struct said *run(size_t machines, size_t lost, const struct hr_train_options *const *o,
                              const struct hr_dataset *dataset)
{
    struct wire_mesh mesh;
    pid_t pid[MULTINODE_MOST];
    memset(said, 0, MULTINODE_MOST * sizeof *said);
    wire_mesh_open(&mesh, machines);
    for (size_t m = 0; m < machines; m++) {
        pid[m] = fork();
        assert_true(pid[m] >= 0);
        if (pid[m] == 0)
            machine_main(&mesh, m, m == lost, o[m], dataset);
    }
    wire_mesh_close(&mesh);
    for (size_t m = 0; m < machines; m++) {
        int status;
        assert_int_equal(waitpid(pid[m], &status, 0), pid[m]);
        if (m == lost && hooks.may_end && WIFEXITED(status))
            continue;
        if (m == lost ? !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL
                      : !WIFEXITED(status) || WEXITSTATUS(status))
            fail_msg("machine %zu ended with wait status %d", m, status);
    }
    return said;
}

const struct said *multinode_run(size_t machines, const struct hr_train_options *const *o,
                                 const struct hr_dataset *dataset)
{
    return run(machines, NOBODY, o, dataset);
}

const struct said *multinode_lose(size_t machines, size_t lost, const struct hr_train_options *o,
                                  const struct hr_dataset *dataset)
{
    const struct hr_train_options *all[MULTINODE_MOST] = {o, o, o, o};
    return run(machines, lost, all, dataset);
}

struct said multinode_alike(size_t machines, const struct hr_train_options *options,
                            const struct hr_dataset *dataset)
{
    const struct hr_train_options *all[MULTINODE_MOST] = {options, options, options, options};
    multinode_run(machines, all, dataset);
    for (size_t m = 0; m < machines; m++)
        if (said[m].status != HR_OK)
            fail_msg("machine %zu: %s", m, said[m].message);
    for (size_t m = 1; m < machines; m++)
        assert_string_equal(said[m].digest, ""); /* the run's result is machine 0's */
    return said[0];
}

static void take_two_processors(size_t machine)
{
    cpu_set_t all, two;
    (void)machine;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&two);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &two);
    assert_int_equal(sched_setaffinity(0, sizeof two, &two), 0);
}

static void note_step(const struct hr_run_result *result, struct said *mine)
{
    mine->note[0] = result->steps ? result->seconds / (double)result->steps : 0;
}

double multinode_best_step(size_t machines, const struct hr_train_options *options,
                           const struct hr_dataset *dataset, double enough)
{
    enum { TRIES = 60 }; /* as many as a busy machine takes */
    double best = 1;
    multinode_hook(&(struct multinode_hooks){.begins = take_two_processors, .ended = note_step});
    for (size_t i = 0; i < TRIES && best > enough; i++) {
        const double step = multinode_alike(machines, options, dataset).note[0];
        best = step < best ? step : best;
    }
    multinode_hook(&(struct multinode_hooks){0});
    return best;
}

struct said multinode_alone(const struct hr_train_options *options,
                            const struct hr_dataset *dataset)
{
    int status;
    memset(said, 0, MULTINODE_MOST * sizeof *said);
    const pid_t pid = fork();
    if (pid == 0) {
        struct hr_run_result result = {0};
        alarm(250);
        if (hooks.begins)
            hooks.begins(0);
        said->status = hr_train(options, dataset, hooks.observer, &result);
        say(said, &result);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (said->status != HR_OK)
        fail_msg("alone: %s", said->message);
    return *said;
}

void multinode_check_equal(const struct said *several, const struct said *alone)
{
    assert_string_equal(several->digest, alone->digest);
    assert_true(several->digest[0]);
    assert_true(several->accuracy >= alone->accuracy && several->accuracy <= alone->accuracy);
    assert_true(several->loss >= alone->loss && several->loss <= alone->loss);
    assert_int_equal(several->updates, alone->updates);
    assert_int_equal(several->samples, alone->samples);
    assert_int_equal(several->handed_over, alone->handed_over);
    assert_int_equal(several->ncurve, alone->ncurve);
}

void multinode_check_refused(const struct hr_train_options *options, enum hr_status status,
                             const char *message, const struct hr_dataset *dataset)
{
    const struct hr_train_options *all[MULTINODE_MOST] = {options, options};
    multinode_run(2, all, dataset);
    assert_string_equal(said[0].message, message);
    for (size_t m = 0; m < 2; m++)
        assert_int_equal(said[m].status, status);
}

void multinode_check_replay(const char *path, const struct said *run,
                            const struct hr_dataset *dataset)
{
    int ended;
    const pid_t pid = fork();
    if (pid == 0) {
        struct hr_replay *replay = NULL;
        struct hr_run_result result = {0};
        alarm(250);
        enum hr_status status = hr_replay_open(path, &replay);
        if (status == HR_OK)
            status = hr_replay_run(replay, dataset, NULL, &result);
        if (status != HR_OK)
            fprintf(stderr, "%s\n", hr_error_message());
        _exit(status != HR_OK || strcmp(result.weights_digest, run->digest) != 0 ||
              strcmp(result.recorded_digest, run->digest) != 0);
    }
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_int_equal(ended, 0);
}

/* The ladder's rung "threads = processes". Runs with forked workers come first: the forking process
 * must not have used BLAS. */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"

struct rung {
    const char *strategy, *algorithm;
    size_t workers, servers;
};

static const struct rung rungs[] = {
    {"allreduce", "direct", 3, 1},
    {"allreduce", "ring", 3, 1},
    {"allreduce", "master-worker", 3, 1},
    {"ps-sync", "auto", 3, 1},
    {"ps-sync", "auto", 3, 2},
    {"ps-async", "auto", 1, 2},
    {"ssp", "auto", 1, 1},
    {"hogwild", "auto", 1, 1},
    {"local-sgd", "direct", 3, 1},
    {"gossip", "auto", 3, 1},
    {"backup-workers", "auto", 3, 1},
    {"elastic-averaging", "auto", 1, 2},
};

enum { NRUNGS = sizeof rungs / sizeof *rungs };

static char of_processes[NRUNGS][33];

static struct hr_train_options options_of(const struct rung *rung, const char *launch)
{
    struct hr_train_options options = run_options(rung->strategy, rung->workers);
    snprintf(options.algorithm, sizeof options.algorithm, "%s", rung->algorithm);
    snprintf(options.launch, sizeof options.launch, "%s", launch);
    options.servers = rung->servers;
    options.backups = 0;
    return options;
}

static int run_processes(void **state)
{
    (void)state;
    for (size_t i = 0; i < NRUNGS; i++) {
        const struct hr_train_options options = options_of(&rungs[i], "process");
        run_digest(&options, of_processes[i]);
    }
    return 0;
}

static void threads_give_the_bits_of_processes(void **state)
{
    (void)state;
    for (size_t i = 0; i < NRUNGS; i++) {
        const struct hr_train_options options = options_of(&rungs[i], "thread");
        CHECK_DIGEST(&options, of_processes[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_give_the_bits_of_processes)};
    return cmocka_run_group_tests(tests, run_processes, NULL);
}

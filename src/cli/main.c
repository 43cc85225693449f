/* hogring - the command: finds the subcommand and runs it. */
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/inputs.h"
#include "base/isa.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/pipe.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/multinode.h"
#include "machines/start.h"
#include "watch/watch.h"
#include "terminal/output.h"
#include "base/signals.h"
#include "products/ready.h"

/* Commands keep results on the stack, 150 KiB in one function; that of a thread is as large as the
 * limit, too. */
static enum hr_status check_stack(void)
{
    enum { LEAST_KIB = 512 };
    struct rlimit most;
    if (getrlimit(RLIMIT_STACK, &most) != 0 || most.rlim_cur == RLIM_INFINITY ||
        most.rlim_cur >= (rlim_t)LEAST_KIB << 10)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "the stack may have %llu KiB here (ulimit -s); expected at least %d: ulimit -s "
                   "8192 is usual",
                   (unsigned long long)most.rlim_cur >> 10, LEAST_KIB);
}

static int run_command(const struct hr_command *command, int argc, char **argv)
{
    static struct hr_cli cli;
    if (command->bit != HR_VERIFY) /* it reads what it wrote itself, and writes it anew */
        hr_inputs_remember();
    hr_cli_defaults(&cli);
    enum hr_status status = hr_cli_parse(&cli, command->bit, argc, argv);
    if (status == HR_OK)
        status = hr_cli_check(&cli, command->bit, "color");
    if (status != HR_OK) {
        hr_output_fold(false, false);
        return hr_cli_failed(status);
    }
    if (cli.help) {
        hr_help_print_command(stdout, command, false);
        return 0;
    }
    hr_output_fold(cli.wide, cli.details || !hr_cli_speaks(&cli));
    hr_output_colour(cli.color);
    hr_memory_limit_set(cli.max_memory);
    const double wait_ms = cli.train.timeout * 1000;
    hr_pipe_patience(wait_ms > 0 && wait_ms < INT_MAX ? (int)ceil(wait_ms) : INT_MAX);
    status = check_stack();
    if (status == HR_OK)
        status = hr_cli_machines_check(command->name, &cli, command == &hr_command_train);
    if (status == HR_OK)
        status = hr_outcome_check(&cli);
    if (status != HR_OK)
        return hr_cli_failed(status);
    return command->run(&cli);
}

/* HOGRING_PARENT=PID: the program that started this one, to be ended by SIGTERM when that is gone.
 * Programs that this one starts have another parent. */
static enum hr_status follow_parent(void)
{
    const char *text = getenv("HOGRING_PARENT");
    uint64_t pid;
    if (!text)
        return HR_OK;
    if (!hr_parse_count(text, &pid) || pid < 1 || pid > INT_MAX)
        return hr_fail(HR_E_USAGE, "HOGRING_PARENT=%s: expected the number of a process", text);
    unsetenv("HOGRING_PARENT");
    hr_signals_obey_parent();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if ((uint64_t)getppid() != pid) /* it was gone before */
        raise(SIGTERM);
    return HR_OK;
}

/* "", too: of a script's variable that is not set. */
static enum hr_status check_environment(void)
{
    const char *level = hr_isa_unknown(), *cpus = hr_cpus_unknown();
    const char *caches = hr_cpus_unknown_caches();
    if (level)
        return hr_fail(HR_E_USAGE, "HOGRING_ISA=%s: expected plain, v3, neon, v4, v4bf16 or v4amx",
                       level);
    if (cpus)
        return hr_fail(HR_E_USAGE, "HOGRING_CPUS=%s: expected a number of processors, 1 to %d",
                       cpus, HR_CPUS_MAX);
    if (caches)
        return hr_fail(HR_E_USAGE,
                       "HOGRING_CACHES=%s: expected sizes of caches, as 32K,512K or 32K,512K,8M",
                       caches);
    return follow_parent();
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        hr_help_print(stderr);
        return 2;
    }
    if (check_environment() != HR_OK)
        return hr_cli_failed(HR_E_USAGE);
    const char *name = argv[1];
    if (!strcmp(name, "--version")) {
        printf("hogring %s (%s, vector kernels %s)\n", HR_VERSION, hr_kernels_name(),
               hr_isa_name());
        return 0;
    }
    if (argc == 2 && (!strcmp(name, "--help") || !strcmp(name, "-h"))) {
        hr_help_print(stdout);
        return 0;
    }
    if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h"))
        return hr_help(argc - 2, argv + 2);
    const struct hr_command *command = hr_command_find(name);
    return command ? run_command(command, argc - 1, argv + 1) : hr_command_unknown(name, false);
}

int main(int argc, char **argv)
{
    hr_signals_catch();
    hr_output_begin();
    return hr_mpi_leave(hr_output_end(run(argc, argv)));
}

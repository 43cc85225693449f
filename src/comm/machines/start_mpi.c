/* MPI's beginning and end; compiled once a library.
 *
 * Beginning: MPI_Init_thread, a communicator of our own with MPI_ERRORS_RETURN, and every process's
 * host by one MPI_Iallgather, tested until a deadline. Everything later is point-to-point.
 *
 * End: MPI_Finalize is collective, and hangs where a process is gone. So all processes first take
 * leave of each other on the wire; whoever is not told farewell leaves without it. In MPICH 4.0.2
 * over UCX it hangs in 2 of 5 runs though all are there: one waits for the other's disconnect,
 * which sits in PMI's barrier. MPICH's mpirun does without it, and so do we; Open MPI's calls a
 * process improper that has not called it, and srun is not known: there a timer watches it. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "machines/pending_mpi.h"
#include "machines/start.h"
#include "machines/wire_mpi.h"

#ifdef OPEN_MPI
#define LIBRARY "Open MPI"
#else
#define LIBRARY "MPICH"
#endif

enum { BOOT = 40, VERSION = 64 };

/* Who a process is: equal on one host alone, whatever the hosts are called. */
struct place {
    char host[HR_WIRE_HOST], boot[BOOT];
};

static struct state {
    bool begun, is_hydra; /* is_hydra: MPICH's mpirun started it */
    int self, processes;
    MPI_Comm all; /* ours */
    struct place place[HR_WIRE_MACHINES];
    char version[VERSION]; /* "Open MPI 4.1.4" */
    volatile sig_atomic_t code;
} state;

HR_CHECKED static enum hr_status failed(int error, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    hr_mpi_text(error, text);
    return hr_fail(HR_E_LOST, "MPI: %s: %s", what, text);
}

/* "Open MPI v4.1.4, package: ..." and "MPICH Version:\t4.0.2\n..." as "NAME NUMBER". */
static void name_library(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const size_t digits = strcspn(text, "0123456789");
    text[digits + strspn(text + digits, "0123456789.")] = '\0';
    snprintf(state.version, sizeof state.version, "%s %.20s", LIBRARY, text + digits);
}

static void know_place(struct place *place)
{
    *place = (struct place){0};
    gethostname(place->host, sizeof place->host - 1);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file && fscanf(file, "%39s", place->boot) != 1)
        place->boot[0] = '\0';
    if (file)
        fclose(file);
}

static enum hr_status check_launch(const struct hr_mpi_launch *launch, int provided)
{
    if (provided < MPI_THREAD_SERIALIZED)
        return hr_fail(HR_E_USAGE, "%s gives no MPI_THREAD_SERIALIZED, which hogring needs",
                       state.version);
    if ((size_t)state.processes != launch->processes)
        return hr_fail(HR_E_USAGE,
                       "started by %s as one of %zu processes, but %s knows of %d: start %s",
                       launch->launcher, launch->processes, state.version, state.processes,
                       launch->program ? launch->program : "what the launcher speaks MPI to");
    if (state.processes > HR_WIRE_MACHINES)
        return hr_fail(HR_E_USAGE, "%d processes: expected at most %d, one a machine",
                       state.processes, HR_WIRE_MACHINES);
    return HR_OK;
}

/* Wait without blocking in MPI. */
static enum hr_status finish(MPI_Request *request, int64_t until, const char *what)
{
    for (int done = 0; !done;) {
        const int error = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (error != MPI_SUCCESS)
            return failed(error, what);
        if (!done && hr_clock_own_ns() > until)
            return hr_fail(HR_E_TIMEOUT, "%s: not all %d processes of the run have answered", what,
                           state.processes);
        if (!done)
            usleep(50);
    }
    return HR_OK;
}

static enum hr_status meet(int64_t until)
{
    MPI_Request request;
    struct place mine;
    know_place(&mine);
    int error = MPI_Comm_idup(MPI_COMM_WORLD, &state.all, &request);
    if (error != MPI_SUCCESS)
        return failed(error, "a communicator");
    HR_TRY(finish(&request, until, "a communicator"));
    MPI_Comm_set_errhandler(state.all, MPI_ERRORS_RETURN);
    error = MPI_Iallgather(&mine, sizeof mine, MPI_BYTE, state.place, sizeof mine, MPI_BYTE,
                           state.all, &request);
    if (error != MPI_SUCCESS)
        return failed(error, "names of hosts");
    return finish(&request, until, "names of hosts");
}

static enum hr_status check_hosts(const struct hr_mpi_launch *launch)
{
    for (int p = 0; p < state.processes; p++)
        for (int q = 0; q < p; q++)
            if (!memcmp(&state.place[p], &state.place[q], sizeof *state.place))
                return hr_fail(HR_E_USAGE,
                               "processes %d and %d are both on %s: one process a machine, its "
                               "workers are threads (%s: %s)",
                               q, p, state.place[p].host, launch->launcher, launch->one_each);
    return HR_OK;
}

/* Open MPI 4 sends its texts for people to mpirun, and waits until that has taken them, inside
 * MPI_Testsome. mpirun sleeps while it ends a run in which a machine was lost: a survivor on its
 * host would hang until it is killed, in the time that it has to save. So the first is told here,
 * by its name, and none is sent. The pointer is Open MPI's own hook (opal/util/show_help.h), which
 * version 5 has not. */
#ifdef OPEN_MPI
extern int (*opal_show_help)(const char *file, const char *topic, bool header, ...)
    __attribute__((weak));

static int show_help(const char *file, const char *topic, bool header, ...)
{
    static bool said;
    (void)header;
    if (!said)
        fprintf(stderr, "hogring: %s says: %s (%s)\n", state.version, topic, file);
    said = true;
    return 0;
}

static void keep_from_mpirun(void)
{
    if (strstr(state.version, " 4.") && &opal_show_help)
        opal_show_help = show_help;
}
#else
static void keep_from_mpirun(void)
{
}
#endif

static char nobody_came[160];

static void give_up(int number)
{
    const ssize_t written = write(STDERR_FILENO, nobody_came, strlen(nobody_came));
    (void)number, (void)written;
    _exit(hr_status_exit_code(HR_E_LOST));
}

/* It has no deadline of its own: where a process of the run never begins, the others would wait
 * for ever. */
static int init_in_time(int64_t timeout_ns, int *provided)
{
    const unsigned seconds = (unsigned)((timeout_ns + HR_NS_PER_SECOND - 1) / HR_NS_PER_SECOND);
    snprintf(nobody_came, sizeof nobody_came,
             "hogring: MPI_Init: not all machines have come within %u s; see what they have "
             "printed\n",
             seconds);
    void (*before)(int) = signal(SIGALRM, give_up);
    alarm(seconds);
    const int error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, provided);
    alarm(0);
    signal(SIGALRM, before);
    return error;
}

static enum hr_status begin(const struct hr_mpi_launch *launch, int64_t timeout_ns)
{
    int provided = MPI_THREAD_SINGLE, inside = 0;
    MPI_Initialized(&inside);
    if (!inside && init_in_time(timeout_ns, &provided) != MPI_SUCCESS)
        return hr_fail(HR_E_LOST, "MPI_Init failed");
    state.begun = true;
    state.is_hydra = launch->program && !strcmp(launch->program, "hogring-mpich");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &state.self);
    MPI_Comm_size(MPI_COMM_WORLD, &state.processes);
    name_library();
    HR_TRY(check_launch(launch, provided));
    keep_from_mpirun();
    HR_TRY(meet(hr_clock_own_ns() + timeout_ns));
    return check_hosts(launch);
}

static enum hr_status open_wire(const struct hr_mpi_launch *launch, int64_t timeout_ns,
                                struct hr_wire **wire)
{
    static char host[HR_WIRE_MACHINES][HR_WIRE_HOST];
    if (!state.begun)
        HR_TRY(begin(launch, timeout_ns));
    for (int p = 0; p < state.processes; p++)
        memcpy(host[p], state.place[p].host, sizeof *host);
    return hr_wire_mpi(&(struct hr_wire_mpi_options){.all = state.all,
                                                     .library = state.version,
                                                     .host = host,
                                                     .self = (size_t)state.self,
                                                     .machines = (size_t)state.processes},
                       wire);
}

static void leave_at_once(int number)
{
    (void)number;
    _exit(state.code);
}

static int leave(int code)
{
    int over = 0;
    if (!state.begun)
        return code;
    fflush(stdout);
    fflush(stderr);
    state.code = code;
    const bool finalizes = !strcmp(LIBRARY, "Open MPI") || !state.is_hydra;
    const int64_t patience = code ? HR_MPI_FAILED_S : HR_MPI_OTHERS_S;
    if (!hr_wire_mpi_farewell(hr_clock_own_ns() + patience * HR_NS_PER_SECOND) || !finalizes)
        _exit(code);
    signal(SIGALRM, leave_at_once);
    alarm(code ? HR_MPI_FINALIZE_S : HR_MPI_CALM_S);
    MPI_Finalized(&over);
    if (!over)
        MPI_Finalize();
    alarm(0);
    return code;
}

const struct hr_mpi_library hr_mpi_linked = {.name = LIBRARY, .open = open_wire, .leave = leave};

#include "machines/porter.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "machines/relay.h"
#include "machines/wire_socket.h"

enum { FAILED_S = 10 }; /* that it may take to end behind a run that has failed */

/* What the porter says first, once MPI has begun, or has not. */
struct hello {
    enum hr_status status;
    char message[600];
    size_t machines, self;
    char host[HR_WIRE_MACHINES][HR_WIRE_HOST];
};

/* Two ends of everything: the run's, and the porter's. */
struct ends {
    int control, near[HR_WIRE_MACHINES];
};

static struct state {
    pid_t pid; /* the porter's; 0: there is none */
    struct ends ends;
    struct hello hello;
} state;

/* --- sockets --- */

static void close_end(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
}

static void close_ends(struct ends *ends)
{
    close_end(&ends->control);
    for (size_t m = 0; m < HR_WIRE_MACHINES; m++)
        close_end(&ends->near[m]);
}

static bool make_pair(int type, int *one, int *other)
{
    int pair[2];
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    *one = pair[0];
    *other = pair[1];
    return true;
}

static enum hr_status make_ends(const struct hr_mpi_launch *launch, struct ends *run,
                                struct ends *porter)
{
    memset(run, -1, sizeof *run);
    memset(porter, -1, sizeof *porter);
    bool made = make_pair(SOCK_SEQPACKET, &run->control, &porter->control);
    for (size_t m = 0; made && m < launch->processes && m < HR_WIRE_MACHINES; m++)
        if (m != launch->process)
            made = make_pair(SOCK_STREAM | SOCK_NONBLOCK, &run->near[m], &porter->near[m]);
    if (made)
        return HR_OK;
    const enum hr_status status = hr_fail_errno(HR_E_FAILED, "sockets to the process with MPI");
    close_ends(run);
    close_ends(porter);
    return status;
}

/* --- the porter --- */

struct porter {
    struct ends *ends;
    int code; /* what the run has come to */
};

static void cut(void *arg, size_t machine)
{
    const struct porter *porter = arg;
    if (porter->ends->near[machine] >= 0)
        shutdown(porter->ends->near[machine], SHUT_RDWR);
}

/* The run says how it has ended, or is gone. */
static bool goes_on(void *arg)
{
    struct porter *porter = arg;
    int code;
    const ssize_t bytes = recv(porter->ends->control, &code, sizeof code, MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    porter->code = bytes == sizeof code ? code : 1;
    return false;
}

static void say_hello(struct ends *ends, enum hr_status status, const struct hr_wire *far)
{
    struct hello *hello = &state.hello;
    hello->status = status;
    if (status != HR_OK) {
        snprintf(hello->message, sizeof hello->message, "%s", hr_error_message());
    } else {
        hello->machines = far->machines;
        hello->self = far->self;
        memcpy(hello->host, far->host, far->machines * sizeof *hello->host);
    }
    if (send(ends->control, hello, sizeof *hello, MSG_NOSIGNAL) != (ssize_t)sizeof *hello)
        hello->status = HR_E_LOST; /* nobody is there any more */
}

/* The launcher of the run decides what a signal means, and so what becomes of the porter. */
static void be_quiet(pid_t run)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != run) /* it died before it could */
        _exit(1);
}

static _Noreturn void porter_main(struct ends *ends, int64_t timeout_ns, pid_t run)
{
    struct porter porter = {ends, 1};
    struct hr_wire *near = NULL, *far = NULL;
    be_quiet(run);
    enum hr_status status = hr_mpi_open(timeout_ns, &far);
    if (status == HR_OK)
        status = hr_wire_socket_open(
            &(struct hr_wire_socket_options){
                .machines = far->machines, .self = far->self, .host = far->host, .end = ends->near},
            &near);
    say_hello(ends, status, far);
    if (state.hello.status == HR_OK)
        status = hr_relay(&(struct hr_relay_options){near, far, cut, goes_on, &porter});
    hr_wire_close(near);
    close_ends(ends);
    hr_wire_close(far);
    _exit(hr_mpi_leave(status == HR_OK ? porter.code : 1));
}

/* --- the run --- */

static enum hr_status hear_hello(void)
{
    struct hello *hello = &state.hello;
    ssize_t bytes;
    do
        bytes = recv(state.ends.control, hello, sizeof *hello, 0);
    while (bytes < 0 && errno == EINTR);
    if (bytes != (ssize_t)sizeof *hello)
        return hr_fail(HR_E_LOST, "the process that begins MPI has ended before it could");
    return hello->status == HR_OK ? HR_OK : hr_fail(hello->status, "%s", hello->message);
}

enum hr_status hr_porter_open(int64_t timeout_ns, struct hr_wire **wire)
{
    struct hr_mpi_launch launch;
    struct ends porter;
    const pid_t run = getpid();
    *wire = NULL;
    if (!hr_mpi_launched(&launch))
        return hr_fail(HR_E_USAGE, "not started by mpirun or srun: there are no other machines");
    HR_ASSERT(!state.pid);
    HR_TRY(make_ends(&launch, &state.ends, &porter));
    fflush(NULL);
    state.pid = fork();
    if (state.pid == 0) {
        close_ends(&state.ends);
        porter_main(&porter, timeout_ns, run);
    }
    close_ends(&porter);
    if (state.pid < 0) {
        state.pid = 0;
        return hr_fail_errno(HR_E_NOMEM, "cannot fork the process with MPI");
    }
    HR_TRY(hear_hello());
    return hr_wire_socket_open(&(struct hr_wire_socket_options){.machines = state.hello.machines,
                                                                .self = state.hello.self,
                                                                .host = state.hello.host,
                                                                .end = state.ends.near},
                               wire);
}

/* It has deadlines of its own (start.h), but MPI may hang where a link is broken: then it is given
 * up, soon where the run has failed. */
static void wait_for_porter(bool failed)
{
    const int64_t patience = failed ? FAILED_S : HR_MPI_OTHERS_S + 2 * HR_MPI_CALM_S;
    const int64_t until = hr_clock_own_ns() + patience * HR_NS_PER_SECOND;
    while (waitpid(state.pid, NULL, WNOHANG) == 0) {
        if (hr_clock_own_ns() > until)
            kill(state.pid, SIGKILL);
        nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    }
}

int hr_porter_leave(int code)
{
    if (!state.pid)
        return hr_mpi_leave(code);
    fflush(stdout);
    fflush(stderr);
    const ssize_t sent = send(state.ends.control, &code, sizeof code, MSG_NOSIGNAL);
    close_ends(&state.ends); /* it sees that, too */
    (void)sent;
    wait_for_porter(code != 0);
    return code;
}

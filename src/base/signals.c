#include "base/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/clock.h"

/* --- what must not stay behind --- */

enum { MOST = 16, PATH_BYTES = 4096 };

static pthread_mutex_t leftovers_lock = PTHREAD_MUTEX_INITIALIZER;

/* owner is the pid that added it, 0: free. The handler, in any thread, does not lock: owner is set
 * behind path and taken back before it. */
static struct {
    atomic_int owner;
    char path[PATH_BYTES];
} leftovers[MOST];

void hr_leftover_add(const char *path)
{
    size_t i = 0;
    pthread_mutex_lock(&leftovers_lock);
    while (i < MOST && leftovers[i].owner == getpid())
        i++;
    if (i < MOST && strlen(path) < PATH_BYTES) {
        leftovers[i].owner = 0;
        snprintf(leftovers[i].path, PATH_BYTES, "%s", path);
        leftovers[i].owner = getpid();
    }
    pthread_mutex_unlock(&leftovers_lock);
}

void hr_leftover_forget(const char *path)
{
    pthread_mutex_lock(&leftovers_lock);
    for (size_t i = 0; i < MOST; i++)
        if (leftovers[i].owner == getpid() && !strcmp(leftovers[i].path, path))
            leftovers[i].owner = 0;
    pthread_mutex_unlock(&leftovers_lock);
}

void hr_leftovers_remove(void)
{
    for (size_t i = 0; i < MOST; i++)
        if (leftovers[i].owner == getpid())
            unlink(leftovers[i].path);
}

/* Seconds from a signal until the process leaves: who reads or measures has that long to end in its
 * own way, who has a run behind it time for the table, the JSON and the plot. */
enum { LEAVE_S = 1, REPORT_S = 10 };
enum { LOST_FILE = 3 }; /* the exit code */

/* timeout(1) signals its child, and then its group, of which the child is one: what comes so soon
 * behind one that counted is one with it. */
enum { ONE_SIGNAL_NS = 100000000 };

/* A handler runs in any thread: what it counts is not its reader's own. */
static atomic_int seen, first, running, ran, asked;
static atomic_llong seen_ns; /* when the last one that counted came; 0: none has */
static int answered;         /* what had come when the last run ended */
static int elsewhere;        /* an exit code */
static pid_t command;        /* not one of its children */
static bool bus_ignored;
static atomic_int buses;

static _Noreturn void leave(void)
{
    static const char words[] = "hogring: interrupted\n";
    hr_leftovers_remove();
    if (getpid() == command && write(STDERR_FILENO, words, sizeof words - 1) < 0)
        _exit(128 + first);
    _exit(128 + first);
}

/* By the machine's clock: the run's stands still while the run does. Of handlers that run at once,
 * in two threads or one within the other, one counts. */
static bool is_another(void)
{
    static atomic_int inside;
    const int64_t now = hr_clock_own_ns();
    const bool alone = inside++ == 0,
               counts = alone && (!seen_ns || now - seen_ns >= ONE_SIGNAL_NS);
    if (counts)
        seen_ns = now;
    inside--;
    return counts;
}

/* Sets flags, and sees to it that the command ends though nobody may watch them. The third time
 * nobody seems to. SIGXCPU comes every second, and to each process for itself: it is passed on to
 * the command, and counts once. */
static void on_signal(int number)
{
    if (number == SIGXCPU && getpid() != command)
        kill(getppid(), number);
    if (number == SIGXCPU && (seen || getpid() != command))
        return;
    if (!is_another())
        return;
    if (!seen)
        first = number;
    if (++seen >= 3)
        leave();
    alarm(ran ? REPORT_S : LEAVE_S);
}

static void on_ask(int number)
{
    (void)number;
    asked++;
}

static void on_alarm(int number)
{
    (void)number;
    if (!running)
        leave();
    alarm(LEAVE_S);
}

/* Of threads that meet a file that was cut the first says so, for all. Who was sent the signal dies
 * of it. */
static void on_bus(int number, siginfo_t *info, void *context)
{
    static const char cut[] =
        "hogring: a mapped data file is shorter than when it was opened, or its disk failed "
        "(SIGBUS); files are replaced by a new one (mv), never cut or rewritten in place\n";
    static const char sent[] = "hogring: SIGBUS was sent to it (kill)\n";
    const bool file = info->si_code == BUS_ADRERR || info->si_code == BUS_OBJERR;
    const bool leads = getpid() == command; /* else the launcher says how it ended */
    (void)context;
    if (info->si_code <= 0 && bus_ignored)
        return;
    while (buses++ > 0)
        pause();
    if (file && write(STDERR_FILENO, cut, sizeof cut - 1) < 0)
        _exit(LOST_FILE);
    if (info->si_code <= 0 && leads && write(STDERR_FILENO, sent, sizeof sent - 1) < 0)
        _exit(128 + number);
    if (leads)
        hr_leftovers_remove();
    if (file && leads)
        _exit(LOST_FILE);
    signal(number, SIG_DFL);
    raise(number); /* it comes when this returns */
}

/* What was ignored when we were started stays so (nohup; a shell's jobs in the background). */
static void catch_unless_ignored(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void hr_signals_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};
    struct sigaction before;
    sigset_t none;
    command = getpid();
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        catch_unless_ignored(numbers[i], on_signal);
    catch_unless_ignored(SIGUSR1, on_ask);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_alarm, .sa_flags = SA_RESTART}, NULL);
    sigaction(SIGBUS, &(struct sigaction){.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO}, &before);
    bus_ignored = before.sa_handler == SIG_IGN;
    /* A closed pipe and a file size limit are errors of write, not an end without words. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* else nobody could wait for a child's exit code */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void hr_signals_obey_parent(void)
{
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_RESTART}, NULL);
}

int hr_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&all, own[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

void hr_signals_run_begins(void)
{
    running = ran = 1;
}

void hr_signals_forget_asks(void)
{
    asked = 0;
}

void hr_signals_hold_asks(bool hold)
{
    sigset_t asks;
    sigemptyset(&asks);
    sigaddset(&asks, SIGUSR1);
    sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &asks, NULL);
}

void hr_signals_run_ended(void)
{
    running = 0;
    answered = seen;
    hr_signals_forget_asks();
    if (seen)
        alarm(REPORT_S);
}

int hr_signals_seen(void *unused)
{
    (void)unused;
    return seen;
}

unsigned hr_signals_saves_asked(void *unused)
{
    (void)unused;
    return (unsigned)asked;
}

enum hr_status hr_signals_check(void)
{
    return seen ? hr_fail(HR_E_INTERRUPTED, "interrupted") : HR_OK;
}

bool hr_signals_end_waits(void)
{
    return !running && seen > answered;
}

int hr_signals_exit_code(void)
{
    return seen ? 128 + first : elsewhere;
}

void hr_signals_came_elsewhere(int exit_code)
{
    elsewhere = exit_code;
}

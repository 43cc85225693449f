#include "base/signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "base/leftovers.h"

/* Seconds from a signal until the process leaves: who reads or measures has that long to end in its
 * own way, who has a run behind it time for the table, the JSON and the plot. */
enum { LEAVE_S = 1, REPORT_S = 10 };
enum { LOST_FILE = 3 }; /* the exit code */

/* A handler runs in any thread: what it counts is not its reader's own. */
static atomic_int seen, first, running, ran, asked;
static int answered;  /* what had come when the last run ended */
static int elsewhere; /* an exit code */
static pid_t command; /* not one of its children */

static _Noreturn void leave(void)
{
    static const char words[] = "hogring: interrupted\n";
    hr_leftovers_remove();
    if (getpid() == command && write(STDERR_FILENO, words, sizeof words - 1) < 0)
        _exit(128 + first);
    _exit(128 + first);
}

/* Sets flags, and sees to it that the command ends though nobody may watch them. The third time
 * nobody seems to. */
static void on_signal(int number)
{
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

/* Where the read is done again it raises the signal again, which then ends the process. */
static void on_bus(int number, siginfo_t *info, void *context)
{
    static const char words[] =
        "hogring: a mapped data file is shorter than when it was opened, or its disk failed "
        "(SIGBUS); files are replaced by a new one (mv), never cut or rewritten in place\n";
    (void)context;
    signal(number, SIG_DFL);
    if (info->si_code == BUS_ADRALN || write(STDERR_FILENO, words, sizeof words - 1) < 0)
        return;
    if (getpid() != command)
        return;
    hr_leftovers_remove();
    _exit(LOST_FILE);
}

void hr_signals_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    command = getpid();
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
    action.sa_handler = on_ask;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGBUS, &(struct sigaction){.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO}, NULL);
    /* A closed pipe and a file size limit are errors of write, not an end without words. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
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

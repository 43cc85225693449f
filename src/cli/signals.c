#include "cli/signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t seen, first;

/* Sets flags only; whoever watches does the rest. The third time nobody seems to. */
static void on_signal(int number)
{
    if (!seen)
        first = number;
    if (++seen >= 3)
        _exit(128 + number);
}

void hr_signals_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
    /* A closed pipe and a file size limit are errors of write, not an end without words. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

int hr_signals_seen(void *unused)
{
    (void)unused;
    return seen;
}

enum hr_status hr_signals_check(void)
{
    return seen ? hr_fail(HR_E_INTERRUPTED, "interrupted") : HR_OK;
}

int hr_signals_exit_code(void)
{
    return seen ? 128 + first : 0;
}

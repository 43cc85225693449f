/* signals.h - Ctrl-C: the first finishes the step and saves, the second leaves, the third is not
 * asked. */
#ifndef HR_CLI_SIGNALS_H
#define HR_CLI_SIGNALS_H

/* Count SIGINT, SIGTERM and SIGHUP from now on. */
void hr_signals_catch(void);

/* How often one came; an hr_observer.should_stop. */
int hr_signals_seen(void *unused);

/* 128 + the first signal that came (130, 143, ...), or 0. */
int hr_signals_exit_code(void);

#endif

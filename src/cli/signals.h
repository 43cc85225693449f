/* signals.h - Ctrl-C: the first finishes the step and saves, the second leaves, the third is not
 * asked. */
#ifndef HR_CLI_SIGNALS_H
#define HR_CLI_SIGNALS_H

#include "base/error.h"

/* Count SIGINT, SIGTERM and SIGHUP from now on. */
void hr_signals_catch(void);

/* How often one came; an hr_observer.should_stop. */
int hr_signals_seen(void *unused);

/* HR_E_INTERRUPTED when one came: for work in pieces, between two of them. */
HR_CHECKED enum hr_status hr_signals_check(void);

/* 128 + the first signal that came (130, 143, ...), or 0. */
int hr_signals_exit_code(void);

#endif

/* trace.h - what hogring inspect shows of a trace: what happened, in which order; text and JSON.
 *
 * Threads: none. Test: tests/cli/inspect_trace.bats */
#ifndef HR_VIEWS_TRACE_H
#define HR_VIEWS_TRACE_H

#include <stdbool.h>

#include "options/command_line.h"

/* Does the file begin as a trace does? */
bool hr_is_trace(const char *path);

/* Print what the trace holds, or write it as JSON. */
HR_CHECKED enum hr_status hr_inspect_trace(const struct hr_cli *cli, const char *path);

#endif

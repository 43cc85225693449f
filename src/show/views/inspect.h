/* inspect.h - what hogring inspect shows of a model, and of a trace.
 *
 * Threads: none. Test: tests/cli/inspect_trace.bats, tests/cli/models.bats */
#ifndef HR_VIEWS_INSPECT_H
#define HR_VIEWS_INSPECT_H

#include <stdbool.h>

#include "options/command_line.h"

/* Print the layers of the model that cli->positional[0] describes, for samples like --input, as a
 * table; write them to --json. */
HR_CHECKED enum hr_status hr_inspect_model(const struct hr_cli *cli);

/* --input, as "1x28x28". HR_E_USAGE. */
HR_CHECKED enum hr_status hr_inspect_parse_input(const char *text, struct hr_shape *out);

/* Does the file begin as a trace does? */
bool hr_is_trace(const char *path);

/* Print what the trace holds, or write it as JSON. */
HR_CHECKED enum hr_status hr_inspect_trace(const struct hr_cli *cli, const char *path);

#endif

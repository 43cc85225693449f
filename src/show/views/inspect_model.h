/* inspect_model.h - hogring inspect MODEL. */
#ifndef HR_VIEWS_INSPECT_MODEL_H
#define HR_VIEWS_INSPECT_MODEL_H

#include "options/command_line.h"

/* Print the layers of the model that cli->positional[0] describes, for samples like --input, as a
 * table; write them to --json. */
HR_CHECKED enum hr_status hr_inspect_model(const struct hr_cli *cli);

/* --input, as "1x28x28". HR_E_USAGE. */
HR_CHECKED enum hr_status hr_inspect_parse_input(const char *text, struct hr_shape *out);

#endif

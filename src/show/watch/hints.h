/* hints.h - lines on stderr about data that train worse than they could, or as something else. */
#ifndef HR_WATCH_HINTS_H
#define HR_WATCH_HINTS_H

#include "options/command_line.h"

/* Once, before training; without memory to look, nothing. */
void hr_hints_print(const struct hr_cli *cli, const struct hr_dataset *dataset);
/* Those about the files alone. */
void hr_hints_print_notes(const struct hr_dataset *dataset);
/* Which features floats cannot hold as they are, unless --normalize is given. */
void hr_hints_print_rounding(const struct hr_dataset *dataset);

#endif

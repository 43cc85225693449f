/* other_names.h - what other programs call an option, and what people look for that is not here.
 *
 * Threads: constants. Test: tests/unit/options/test_command_line.c, tests/cli/manual.bats
 */
#ifndef HR_OPTIONS_OTHER_NAMES_H
#define HR_OPTIONS_OTHER_NAMES_H

/* The option that is called so elsewhere: "learning-rate" is "lr". NULL: none. */
const char *hr_name_here(const char *name);

/* A sentence on why there is nothing of that name: "gpu". NULL: not known. */
const char *hr_why_not_here(const char *name);

#endif

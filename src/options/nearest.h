/* nearest.h - names that are not here: what was meant. Numbers are read by base/parse.h.
 *
 * Threads: constants and pure functions.
 * Test: tests/unit/options/test_command_line.c, tests/cli/manual.bats
 */
#ifndef HR_OPTIONS_NEAREST_H
#define HR_OPTIONS_NEAREST_H

#include <stdbool.h>

#include "base/parse.h"

/* Which of n names is nearest to `text`, or NULL when none is near (more than a third
 * must change). */
const char *hr_nearest(const char *text, const char *const *names, size_t n);

/* The option that is called so elsewhere: "learning-rate" is "lr". NULL: none. */
const char *hr_name_here(const char *name);

/* A sentence on why there is nothing of that name: "gpu". NULL: not known. */
const char *hr_why_not_here(const char *name);

/* An option of earlier versions: what takes its place; NULL: it was none. With that value: is it
 * what is done anyway, so that nothing is lost? */
const char *hr_instead_of_gone(const char *name);
bool hr_gone_says_nothing(const char *name, const char *value);

#endif

/* nearest.h - what the command line says, read: numbers as everywhere (base/parse.h), and names. */
#ifndef HR_OPTIONS_NEAREST_H
#define HR_OPTIONS_NEAREST_H

#include "base/parse.h"

/* Which of n names is nearest to `text`, or NULL when none is near (more than a third
 * must change). */
const char *hr_nearest(const char *text, const char *const *names, size_t n);

#endif

/* leftovers.h - files that must not stay behind when the process leaves from a signal handler.
 *
 * Threads: add and forget from any; remove from a handler, as the last thing but _exit.
 * Test:    tests/unit/base/test_leftovers.c
 */
#ifndef HR_BASE_LEFTOVERS_H
#define HR_BASE_LEFTOVERS_H

/* Remember path, a copy of it, for this process; its children answer for their own. Where too many
 * are remembered already, it is not. */
void hr_leftover_add(const char *path);

/* It is finished, or gone. */
void hr_leftover_forget(const char *path);

/* Remove what this process has added and not forgotten. Safe in a signal handler. */
void hr_leftovers_remove(void);

#endif

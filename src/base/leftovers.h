/* leftovers.h - files that must not stay behind when the process leaves from a signal handler.
 *
 * Threads: add and forget from any; remove from a handler, as the last thing but _exit.
 * Test:    tests/unit/base/test_leftovers.c
 */
#ifndef HR_BASE_LEFTOVERS_H
#define HR_BASE_LEFTOVERS_H

/* Remember a copy of path, for this process alone and not its children. When the list is full
 * nothing is remembered. */
void hr_leftover_add(const char *path);

/* It is finished, or gone. */
void hr_leftover_forget(const char *path);

/* Remove what this process has added and not forgotten. Safe in a signal handler. */
void hr_leftovers_remove(void);

#endif

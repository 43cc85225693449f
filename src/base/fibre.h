/* fibre.h - functions that wait without a thread of their own: each has a stack, and a wait
 * switches to another's.
 *
 *     HR_TRY(hr_fibres_open(n, 0, &fibres));
 *     hr_fibre_start(fibres, i, fn, arg);       fn(arg) will run
 *     hr_fibre_run(fibres, i, &status)          until it waits (true), or has returned (false)
 *     hr_fibre_wait();                          within fn, or what it calls: back to who runs it
 *     hr_fibre_drop(fibres, i);                 nothing of it happens any more
 *     hr_fibres_close(fibres);
 *
 * Order:     what the one does before a switch, the other sees after it.
 * Failing:   hr_fail within a fibre writes into a message of the fibre's own, whatever others fail
 *            with before it returns; when it does, hr_fibre_run has made it the caller's.
 * Nesting:   a fibre may run others; each waits to who runs it.
 * Dropped:   or closed in the middle, nothing in it returns: what only its frames own is lost. So
 *            let what it takes be known outside. It may be started anew, on the same stack.
 * Stacks:    of hr_fibres_open's bytes, for which 0 is 256 KiB, with a page below that nobody may
 *            touch; memory is taken as it is touched, and kept for who is started next. No thread
 *            computes on a fibre's stack but its own: kernels of deep frames may.
 * Modes:     rounding and denormals (fpenv.h) are the thread's, whichever fibre runs. They are not
 *            switched, as no function but fpenv.h's changes them: set them before the first fibre
 *            starts, and whoever changes them puts them back before it waits.
 * Errno:     and thread-local variables but the message are the thread's.
 * Cost:      some 2 ns a switch on x86-64 and aarch64; elsewhere, and where the processor guards
 *            return addresses (a shadow stack), by <ucontext.h>, 200 ns.
 * Threads:   all fibres of a set belong to the thread that opened it. Sanitizers are told.
 * Test:      tests/unit/base/test_fibre.c, test_fibre_ucontext.c
 */
#ifndef HR_BASE_FIBRE_H
#define HR_BASE_FIBRE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct hr_fibres;

typedef enum hr_status (*hr_fibre_fn)(void *arg);

/* n stacks. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_fibres_open(size_t n, size_t bytes, struct hr_fibres **out);
/* Harmless on NULL; not within one of them. */
void hr_fibres_close(struct hr_fibres *fibres);
/* What n of them take of a process's memory when all have run, their frames being small. */
size_t hr_fibres_bytes(size_t n);

/* It has not begun, has returned, or was dropped; else it is dropped. Runs nothing yet. */
void hr_fibre_start(struct hr_fibres *fibres, size_t i, hr_fibre_fn fn, void *arg);
/* Harmless on one that does not live; not on one that runs. */
void hr_fibre_drop(struct hr_fibres *fibres, size_t i);
/* Was it started, and has it neither returned nor been dropped? */
bool hr_fibre_lives(const struct hr_fibres *fibres, size_t i);

/* On one that lives. *status: what it has returned, if it has. */
bool hr_fibre_run(struct hr_fibres *fibres, size_t i, enum hr_status *status);
void hr_fibre_wait(void);

/* Of its stack, whole pages: for tests that put memory back to what it was. */
void *hr_fibre_stack(const struct hr_fibres *fibres, size_t i, size_t *bytes);

#endif

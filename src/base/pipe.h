/* pipe.h - files that may never answer: FIFOs, terminals, devices. No wait is without an end.
 *
 * Threads: different files may be used from different threads.
 * Errors:  HR_E_IO with path and cause, HR_E_FORMAT, HR_E_NOMEM.
 * Test:    tests/unit/base/test_pipe.c
 */
#ifndef HR_BASE_PIPE_H
#define HR_BASE_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The whole of a file of any kind, a FIFO that somebody writes to as well.
 *   cap    HR_E_FORMAT when there is more: /dev/zero has no end
 *   text   out: free() it; a 0 stands behind the last byte; untouched on error
 * HR_E_IO when its end has not come in time, HR_E_INTERRUPTED at a signal before. */
HR_CHECKED enum hr_status hr_pipe_read_all(const char *path, size_t cap, char **text,
                                           size_t *bytes);

/* Open an existing file that is not regular for writing, without blocking. HR_E_IO when nobody
 * reads from the FIFO in time, HR_E_INTERRUPTED at a signal before. The caller closes
 * fd. */
HR_CHECKED enum hr_status hr_pipe_open_write(const char *path, int *fd);

/* After EAGAIN: wait until fd, opened by the call above, can be written to. HR_E_IO as there. */
HR_CHECKED enum hr_status hr_pipe_wait_write(int fd, const char *path);

/* Wait for one of these events of poll on fd: true; or until hr_clock_ns() is end_ns: false. A
 * signal does not restart the wait. */
bool hr_pipe_wait(int fd, short events, int64_t end_ns);

/* The same, but for a signal that ends waits (signals.h): false. */
bool hr_pipe_wait_unless_signalled(int fd, short events, int64_t end_ns);

/* How long a wait may be, half a minute at first; INT_MAX: no limit. */
void hr_pipe_patience(int ms);

#endif

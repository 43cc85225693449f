/* status.h - what a fallible call returns, and the sentence that goes with it.
 *
 * Every fallible function of hogring returns an enum hr_status: 0 is success, all others are
 * negative. The call that fails also leaves one line of text (what, where, found, expected) for
 * the calling thread; hr_error_message() reads it.
 *
 * Threads: the message belongs to the thread; statuses are plain values.
 */
#ifndef HOGRING_STATUS_H
#define HOGRING_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* One list makes the enum, the names and the exit codes: X(name, value, exit code, text) */
#define HR_STATUS_LIST(X)                                                                          \
    X(HR_OK, 0, 0, "ok")                                                                           \
    X(HR_E_FAILED, -1, 1, "the run failed")                                                        \
    X(HR_E_DIVERGED, -2, 1, "training diverged")                                                   \
    X(HR_E_EXPECTATION, -3, 1, "an expectation was missed")                                        \
    X(HR_E_MISMATCH, -4, 1, "ranks called different collectives")                                  \
    X(HR_E_USAGE, -5, 2, "wrong use")                                                              \
    X(HR_E_FORMAT, -6, 3, "a file is not in the format it should have")                            \
    X(HR_E_IO, -7, 3, "input or output failed")                                                    \
    X(HR_E_NOMEM, -8, 3, "out of memory")                                                          \
    X(HR_E_SHM, -9, 3, "shared memory is not to be had")                                           \
    X(HR_E_LOST, -10, 4, "a rank was lost")                                                        \
    X(HR_E_TIMEOUT, -11, 4, "a wait passed its deadline")                                          \
    X(HR_E_ABORTED, -12, 1, "another rank failed first")                                           \
    X(HR_E_INTERRUPTED, -13, 130, "interrupted")                                                   \
    X(HR_E_KERNELS, -14, 3, "the matrix products cannot be trusted")                               \
    X(HR_E_REVOKED, -15, 1, "a rank was lost: waits were revoked")                                 \
    X(HR_E_GONE, -16, 4, "this rank left the run as if it had died")

enum hr_status {
#define HR_STATUS_ENUM(name, value, exit_code, text) name = value,
    HR_STATUS_LIST(HR_STATUS_ENUM)
#undef HR_STATUS_ENUM
};

/* The text of a status; never NULL, static storage. */
const char *hr_status_str(enum hr_status status);

/* The exit code that the command documents for a status (0..4, 130). */
int hr_status_exit_code(enum hr_status status);

/* The calling thread's last error, one line without a newline; "" when there was none. Valid until
 * this thread's next failing call. */
const char *hr_error_message(void);

#ifdef __cplusplus
}
#endif
#endif

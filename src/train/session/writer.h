/* writer.h - one piece of work at a time, done by a thread of the launcher while ranks go on: a
 * checkpoint is written.
 *
 *     hr_writer_start(&writer, write, arg, bell);     returns at once; rings when it is done
 *     if (hr_writer_is_done(&writer))                 or at any time, to wait for it
 *         status = hr_writer_finish(&writer);
 *
 * The thread is there only while it writes, and takes no signals. Nothing is forked meanwhile: who
 * has to fork waits until hr_writer_is_busy is false. The wait of hr_writer_finish is one for the
 * disk, as write(2) itself, and has no deadline.
 *
 * Threads: all calls are the launcher's.
 * Test:    tests/unit/session/test_writer.c
 */
#ifndef HR_SESSION_WRITER_H
#define HR_SESSION_WRITER_H

#include <pthread.h>

#include "base/error.h"
#include "shm/wait.h"

struct hr_writer {
    enum hr_status (*write)(void *arg);
    void *arg;
    struct hr_bell *bell;
    bool busy;     /* started, and not finished */
    bool threaded; /* there is a thread to join */
    pthread_t thread;
    struct hr_atom32 done; /* partner: hr_writer_is_done */
    /* The thread's, until it is done: */
    enum hr_status status;
    char message[512];
    int64_t took_ns;
};

/* It is not busy. Where no thread is to be had, the caller writes by itself. */
void hr_writer_start(struct hr_writer *writer, enum hr_status (*write)(void *arg), void *arg,
                     struct hr_bell *bell);

/* Started, and not finished? */
bool hr_writer_is_busy(const struct hr_writer *writer);
/* Busy, and finish would not wait? */
bool hr_writer_is_done(const struct hr_writer *writer);

/* Wait until it is done; what `write` has returned, with its message. */
HR_CHECKED enum hr_status hr_writer_finish(struct hr_writer *writer);

#endif

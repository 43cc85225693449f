/* serial.h - one process runs all ranks: the common part of the drivers that do so.
 *
 *   worker r's acts:  its span (strategy/rank.h), on a stack of its own, from one place where it
 *                     may have to wait to the next: ask; look, until what it awaits is there; hand
 *                     in, when its gradient is computed; a lost push, again; arrive; at the cut
 *   shard s's acts:   take worker w's oldest message (when enabled; colocated: and worker s waits)
 *   a rank's death:   nothing of it happens any more; what it has sent stays under way. When that
 *                     is noticed the launcher knows, and with it all others. It comes back: it was
 *                     started again, and takes part as soon as those do who come back
 *
 *   A loss that is an input (drive/losses.h): shards take it in turn, like a message;
 *   the active workers change when all who live are at a cut. Else nothing happens any more until
 *   all who are lost are known to be, and those who come back are there (hr_serial_term_is_over):
 *   then a new term begins from the last cut.
 *
 * Drivers (drive_explore.c, drive_virtual.c, drive_replay.c) differ only in whose turn it is.
 * Effects happen in the driver's thread; gradients, which are pure, may be computed ahead by other
 * threads (gradient_pool.h), between accept and offer, and never on a life's stack.
 *
 * Threads: a serial run belongs to one thread.
 * Test:    tests/unit/serial/test_explored_losses.c
 */
#ifndef HR_SERIAL_SERIAL_H
#define HR_SERIAL_SERIAL_H

#include "base/fibre.h"
#include "drive/driver.h"
#include "serial/gradient_pool.h"
#include "server/server.h"
#include "strategy/rank.h"
#include "worker/worker.h"

/* A worker's life, on its fibre. */
struct hr_serial_life {
    struct hr_rank rank; /* first. It waits for its next turn at rank.where. Where serial->state is
                            another, a loss or a cut has put it there: it begins anew */
    bool begins;         /* it has its first turn already */
    bool idle;           /* it has looked, and is not ready */
};

/* A rank's, for losses. */
struct hr_serial_rank {
    bool up; /* it has private memory */
    struct hr_gradient_counters
        before;                   /* its counters, when its gradient was submitted to the pool; */
    struct hr_last_gradient last; /* its last gradient then, */
    uint64_t step;                /* and the number of that */
    int64_t offered_ns;           /* when it handed in its last gradient */
    uint32_t losses_seen;
    uint64_t taken;  /* a server: inputs */
    bool unreported; /* a step of its, which is perhaps in a save that is held, was not told then */
};

struct hr_serial {
    struct hr_drive *drive;
    struct hr_shared_state *shared;
    struct hr_train_worker *worker; /* (workers) owned */
    struct hr_shard *shard;         /* (owners) owned */
    enum hr_stand *state;           /* (workers, then owners) owned; of owners: HR_WANTS, HR_DEAD,
                                       HR_LOST, HR_QUIESCENT */
    struct hr_serial_rank *ranks;   /* (workers, then owners) owned */
    struct hr_task *task;           /* (workers) owned: the current ones */
    struct hr_fibres *fibres;       /* (workers) owned */
    struct hr_serial_life *life;    /* (workers) owned */
    struct hr_pool *pool;           /* owned */
    int64_t ticked_ns;
    uint64_t next_save; /* the index at which a pause is due, at the earliest */
};

/* Its workers and servers. */
static inline size_t hr_serial_ranks(const struct hr_serial *serial)
{
    return serial->shared->workers + serial->shared->servers;
}

/* A look either advances a collective by at least one row of its plan or does nothing. Plans have
 * fewer rows than this, so after as many idle looks a worker the run is stuck. */
enum { HR_SERIAL_IDLE_LOOKS = 4 * HR_MAX_RANKS };

/* What it takes, but for what ranks take where they wait, too. */
size_t hr_serial_bytes(const struct hr_shared_state *shared);

/* Start all ranks, and the threads that compute (this one among them). */
HR_CHECKED enum hr_status hr_serial_start(struct hr_serial *serial, struct hr_drive *drive);
void hr_serial_stop(struct hr_serial *serial);

/* Would an act of worker `rank` do anything? (A look may not.) */
bool hr_serial_may_act(struct hr_serial *serial, size_t rank);

/* One act of worker `rank`. *idle: nothing happened, it is not ready. */
HR_CHECKED enum hr_status hr_serial_act(struct hr_serial *serial, size_t rank, bool *idle);

/* Submit the gradient of a worker that has a batch to the pool, to be computed in the order of
 * `due` (the caller's choice) or when the worker acts. */
HR_CHECKED enum hr_status hr_serial_compute(struct hr_serial *serial, size_t rank, int64_t due);

/* Have that done: the gradient of a worker that has a batch. */
HR_CHECKED enum hr_status hr_serial_finish_gradient(struct hr_serial *serial, size_t rank);

/* May shard `shard` take messages? Colocated: only while its worker waits. */
bool hr_serial_may_take(const struct hr_serial *serial, size_t shard);

/* Shard `shard` takes the oldest message of `worker`, which is enabled. */
void hr_serial_take(struct hr_serial *serial, size_t shard, size_t worker);

/* Call the launcher's tick ten times per second: progress, requests to stop. */
HR_CHECKED enum hr_status hr_serial_tick(struct hr_serial *serial);

/* Does the rank live: is it neither dead nor lost? */
static inline bool hr_serial_lives(const struct hr_serial *serial, size_t rank)
{
    return serial->state[rank] != HR_DEAD && serial->state[rank] != HR_LOST;
}

/* Does --inject kill a worker before the gradient that it is about to compute, or while it does? A
 * server before its next input? */
bool hr_serial_is_killed(const struct hr_serial *serial, size_t rank);

/* A rank that lives dies. HR_E_LOST: the run outlives no losses. */
HR_CHECKED enum hr_status hr_serial_die(struct hr_serial *serial, size_t rank);
/* A dead rank is known to be. HR_E_LOST: the run cannot go on without it. */
HR_CHECKED enum hr_status hr_serial_notice(struct hr_serial *serial, size_t rank);
/* May a lost rank be started again, and would it be ready? Where nothing takes time: at once, else
 * from again_ns of losses.h on. */
bool hr_serial_may_come_back(struct hr_serial *serial, size_t rank);
HR_CHECKED enum hr_status hr_serial_come_back(struct hr_serial *serial, size_t rank);

/* Has a loss ended the term, and may a new one begin? Then, and also at a cut, when the roster has
 * changed, it does. */
bool hr_serial_term_is_over(const struct hr_serial *serial);
HR_CHECKED enum hr_status hr_serial_begin_term(struct hr_serial *serial);

/* Are all workers at a cut, but for those who are lost, and known to be? */
bool hr_serial_at_cut(const struct hr_serial *serial);

/* Then: the steps of session/cut.h, one rank after another where threads have barriers. */
HR_CHECKED enum hr_status hr_serial_cut(struct hr_serial *serial);

/* A save of an asynchronous run where one process runs all ranks: a pause between
 * two events, which changes nothing (strategy/pause.h).
 *
 *   When    a multiple of --checkpoint-every batches has been handed out, or a save is asked for
 *           (strategy/batch_schedule.h), and the epoch's last batch has not: there a cut follows,
 *           which saves. Not while losses wait to be taken, nor where waits
 *           are revoked: then at the first event behind it. The checkpoint's step is the number of
 *           batches that have been handed out, less that of a step in hand (backup-workers).
 *
 *   Told    a worker's step is told when it has its next batch: until all whose step may be in the
 *           copy have told of it, the copy is held (session/launcher.h).
 *
 * Threads: a serial run's.
 * Test:    tests/unit/serial/test_pause.c, test_pause_steps.c
 */

/* Between two events: save, where that is due. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_serial_pause(struct hr_serial *serial);

#endif

/* serve.h - ranks beside the workers in real time: a parameter server's shard, which waits for
 * inputs and takes them, or rests, and whoever waits for it serves; and a stage of a pipeline.
 *
 * Threads: of its rank; colocated, of the worker that owns it; of a shard that rests, as said
 * there.
 */
#ifndef HR_DRIVE_SERVE_H
#define HR_DRIVE_SERVE_H

#include "drive/driver.h"
#include "drive/quiesce.h"
#include "observe/spans.h"
#include "server/server.h"
#include "trace/trace.h"

struct hr_server {
    const struct hr_drive *drive;
    struct hr_shard shard;
    unsigned char enabled[HR_MAX_RANKS]; /* (workers) */
    struct hr_waiter waiter;
    struct hr_quiesce quiesce;
    uint64_t taken;        /* inputs, while it does nothing else */
    uint64_t inputs;       /* all */
    int64_t began_ns;      /* of a rank that does nothing else; else 0 */
    struct hr_spans spans; /* of such a one */
};

HR_CHECKED enum hr_status hr_server_open(struct hr_server *server, const struct hr_drive *drive,
                                         size_t shard);
/* All were revoked: begin again from the snapshot. */
HR_CHECKED enum hr_status hr_server_restart(struct hr_server *server);
/* Harmless on a zeroed one. */
void hr_server_close(struct hr_server *server);

/* What the worker that owns it waits for. Drain the shard, then look; the time is booked for the
 * worker. (hr_ready_fn) */
struct hr_wanted {
    struct hr_server *server;
    hr_ready_fn ready;
    void *arg;
};
bool hr_serve_then_look(void *wanted);

/* Until all workers are done. HR_E_GONE: it was told to die. */
HR_CHECKED enum hr_status hr_serve(struct hr_server *server);

/* A wait passed its deadline: name a rank that is computing, or sleeping for --inject, which is the
 * usual cause. */
enum hr_status hr_say_for_whom(const struct hr_shared_state *shared, size_t rank,
                               enum hr_status status);

/* A rank beside the workers: a server's shard; or a stage of a worker's pipeline, which does its
 * part of every gradient until the worker has ended. */
HR_CHECKED enum hr_status hr_serve_beside(const struct hr_drive *drive, size_t rank);

/* --- shards that rest: whoever waits for a reply takes what it has sent ---
 *
 *   Story    where ranks are threads, and more than the processors, a server that wakes up for each
 *            push takes the processor of a worker that computes, and the gradient goes through
 *            another processor's caches. So its thread sleeps, and a worker that waits takes hold
 *            of the shard and serves its own messages: its gradient and its weights are near, and
 *            while nobody else wants the shard nobody sleeps and nobody is woken.
 *   Hold     one word a shard, [turn | wanted | held]. One thread holds it at a time, and is then
 *            the shard's owner: effects are those of server_shard.c, and never wait. Who finds it
 *            held says that it wanted it (the same word, so one of the two sees the other), and
 *            waits. Who lets go looks once more if it was wanted, and rings the bells of those who
 *            may go on. The turn moves when something was taken: until then a worker whose message
 *            may not be taken yet (a gate, the gradients of others) need not look again.
 *   Machines what workers of another machine have sent is taken by whoever holds the shard; its own
 *            thread wakes up when such a message comes.
 *   Crowded  more workers than processors: who holds the shard serves everybody, since those who
 *            wait have no processor. Else each serves itself, beside those who compute.
 *   Not for  processes, whose shards are private memory; nor for replicas, runs that outlive
 *            losses, are calibrated or watched step by step, pipelines, servers that die on
 *            purpose: there each server is a busy rank.
 *   Source   Hendler, Incze, Shavit, Tzafrir, "Flat Combining and the Synchronization-Parallelism
 *            Tradeoff", SPAA 2010, whose combiner is the crowded case.
 *   Test     tests/unit/drive/test_resting.c */
struct hr_resting;

/* Do the servers of this run rest? */
bool hr_resting_would(const struct hr_drive *drive);

/* Before ranks start: if they do, job->waits.spin_ns and yield_ns become those of the workers
 * alone, and messages wake no server. *out: NULL where they do not. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_resting_open(struct hr_drive *drive, struct hr_resting **out);
/* After all ranks have ended. Harmless on NULL. */
void hr_resting_close(struct hr_resting *resting);

/* A worker that waits until ready(arg), in one wait. hr_resting_ask begins it. */
struct hr_resting_asker {
    struct hr_resting *resting;
    size_t rank;
    struct hr_account *account; /* its own: who serves, spends the time */
    const uint64_t *sent;       /* its requests so far: `ready` may send some, which are served */
    hr_ready_fn ready;
    void *arg;
    uint64_t had_sent;
    uint32_t seen[HR_MAX_RANKS]; /* (shards) the turn when it looked last */
};
void hr_resting_ask(struct hr_resting_asker *asker);
/* Serve, then look. (hr_ready_fn) */
bool hr_resting_serve_then_look(void *asker);

#endif

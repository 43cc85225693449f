/* resting.h - shards that rest: whoever waits for a reply takes what it has sent.
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
 *
 * Threads: workers' and servers', as said at each. Test: tests/unit/drive/test_resting.c
 */
#ifndef HR_DRIVE_RESTING_H
#define HR_DRIVE_RESTING_H

#include "drive/serve.h"

struct hr_resting;

/* Do the servers of this run rest? */
bool hr_resting_would(const struct hr_drive *drive);

/* Before ranks start: if they do, job->spin_ns and yield_ns become those of the workers
 * alone, and messages wake no server. *out: NULL where they do not. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_resting_open(struct hr_drive *drive, struct hr_resting **out);
/* After all ranks have ended. Harmless on NULL. */
void hr_resting_close(struct hr_resting *resting);

/* A server's rank, whose shard was opened: hand it to whoever waits, until all workers are done.
 * Nobody uses it any more when this returns. */
HR_CHECKED enum hr_status hr_resting_lend(struct hr_resting *resting, struct hr_server *server);

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

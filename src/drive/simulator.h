/* simulator.h - a run in virtual time: who computes until when, what is under way, what comes next.
 *
 *   Worker   accepts at t: its gradient takes until t + d, d from a model (conditions.h). The pool
 *            really computes it at any moment before that: d is the lookahead.
 *   Message  is seen when it arrives, at a time that the links decide (message_queue.h).
 *   Shard    takes messages that have arrived, one by one, first come first served among those
 *            it may take; it is busy for --server-time, at whose end come effect and reply.
 *   Colocated  a shard takes nothing while its worker computes. When the worker begins to wait, the
 *            shard takes what has arrived and what arrives from then on; the worker continues
 *            when its replies are there and its shard has nothing left that it may take.
 *   Sum      of all replicas: made when the last has come, seen when the links have carried it.
 *
 * Nothing here looks at the machine's clock, so the run is the same again, bit for bit, on any
 * number of processors. Evaluations and checkpoints take no virtual time.
 *
 * Files:   simulator.c        memory, events
 *          virtual_traffic.c  messages and sums on their way
 *          virtual_ranks.c    what shards and workers do when something has come
 *          drive_virtual.c    one event after the other
 *
 * Threads: a simulator belongs to one.
 * Test:    tests/unit/train/test_virtual.c
 */
#ifndef HR_DRIVE_SIMULATOR_H
#define HR_DRIVE_SIMULATOR_H

#include "group/local_group.h"
#include "netsim/events.h"
#include "drive/message_queue.h"
#include "drive/play.h"
#include "drive/virtual_account.h"
#include "drive/virtual_inbox.h"

enum hr_event_kind {
    HR_EVENT_COMPUTED,  /* a worker's gradient */
    HR_EVENT_ARRIVED,   /* a worker's message, at a shard */
    HR_EVENT_REPLIED,   /* a shard's, at a worker */
    HR_EVENT_SERVED,    /* a shard has taken its message */
    HR_EVENT_SUMMED,    /* all workers' buffers */
    HR_EVENT_FREED,     /* a link: others may leave */
    HR_EVENT_DELIVERED, /* a message of worker `shard`, at worker `worker` */
};

/* What happens, as the heap has it: kind, worker and shard in one word. */
static inline uint64_t hr_event_pack(enum hr_event_kind kind, size_t worker, size_t shard)
{
    return (uint64_t)kind | (uint64_t)worker << 4 | (uint64_t)shard << 16;
}

struct hr_happening {
    enum hr_event_kind kind;
    size_t worker, shard;
};

static inline struct hr_happening hr_event_unpack(uint64_t what)
{
    return (struct hr_happening){(enum hr_event_kind)(what & 15), what >> 4 & 0xfff,
                                 what >> 16 & 0xfff};
}

/* A shard. */
struct hr_virtual_station {
    struct hr_virtual_inbox inbox; /* room for (workers * HR_SERVER_SLOTS) */
    bool busy;
    size_t serving;
    uint64_t served;
};

/* A worker. */
struct hr_virtual_seat {
    struct hr_virtual_account account;
    size_t coming;   /* messages of shards on their way to it */
    int64_t took_ps; /* its gradient, with stalls and loading */
};

struct hr_simulator {
    struct hr_play play;
    struct hr_events events;
    struct hr_message_queue messages;
    struct hr_virtual_station *station;          /* (servers) owned, with what they point to */
    struct hr_virtual_seat *seat;                /* (workers) owned */
    int64_t *moving_ps;                          /* (workers, max(servers, 1) + 1) owned */
    uint32_t *queue;                             /* owned */
    unsigned char enabled[HR_LOCAL_GROUP_RANKS]; /* (workers) */
    const int64_t *sum_moving_ps; /* (workers) of the sum under way, borrowed; or NULL */
    enum hr_status status;        /* first error of a callback */
};

/* Memory for its stations and seats, and the network's. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_simulator_open(struct hr_simulator *sim, const struct hr_drive *drive);
/* Harmless on one that is zeroed but for play.drive. */
void hr_simulator_close(struct hr_simulator *sim);

static inline int64_t hr_simulator_now(const struct hr_simulator *sim)
{
    return sim->play.drive->now_ps;
}

/* Something will happen then. HR_E_USAGE: later than the heap can say; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_simulator_push(struct hr_simulator *sim, int64_t time_ps,
                                            uint64_t what);

/* Book the time of worker `rank` until now. */
static inline void hr_simulator_settle(struct hr_simulator *sim, size_t rank)
{
    hr_virtual_settle(&sim->seat[rank].account, hr_simulator_now(sim));
}

#endif

/* simulator.h - a run in virtual time: who computes until when, what is under way, what comes next.
 *
 *   Worker   accepts at t: its gradient takes until t + d, d from a model (conditions.h). The pool
 *            really computes it at any moment before that: d is the lookahead.
 *   Message  is seen when it arrives, at a time that the links decide (message_queue.h).
 *   Part     (--overlap on) of a push: goes to the links when its layers' backward ends, the
 *            gradient's time being cut by multiply-adds (nn/model.h). No server
 *            takes it; the push, with what is left, follows it on the same way, and is taken.
 *   Shard    takes messages that have arrived, one by one, first come first served among those
 *            it may take; it is busy for --servers time=, at whose end come effect and reply.
 *   Colocated  a shard takes nothing while its worker computes. When the worker begins to wait, the
 *            shard takes what has arrived and what arrives from then on; the worker continues
 *            when its replies are there and its shard has nothing left that it may take.
 *   Loss     (--inject drop-push) of a push: the message takes no link and never comes, or it comes
 *            and the answer, which takes no link either, does not. The worker waits for the
 *            deadline, and for another one if a copy is still under way or lies with its server.
 *   Sum      of all replicas: made when the last has come, seen when the links have carried it.
 *   Death    (--inject kill) of a rank: it computes and takes nothing more. What a worker has sent
 *            arrives. It is noticed HR_NOTICE_PS later, and not before its last message is there:
 *            drive_virtual.c. Events of a life that is over, or of a term, are dropped.
 *
 * Nothing here looks at the machine's clock, so the run is the same again, bit for bit, on any
 * number of processors. Evaluations and checkpoints take no virtual time.
 *
 * Files:   simulator.c        memory, events, messages and sums on their way
 *          drive_virtual.c    what shards and workers do when something has come; deaths
 *
 * Threads: a simulator belongs to one.
 * Test:    tests/unit/train/test_virtual.c, tests/unit/train/test_virtual_losses.c,
 *          tests/unit/virtual/test_virtual_deaths.c, tests/unit/virtual/test_simulator.c
 */
#ifndef HR_VIRTUAL_SIMULATOR_H
#define HR_VIRTUAL_SIMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/account.h"
#include "group/local_group.h"
#include "netsim/events.h"
#include "nn/model.h"
#include "observe/spans.h"
#include "serial/serial.h"
#include "server/server.h"
#include "virtual/message_queue.h"

/* How a worker spent its virtual time.
 *
 * Between two gradients a worker communicates while a message of its is under way, and otherwise
 * waits. Of the shards only the slowest counts, since their replies travel at the same time.
 * Messages between workers count while any is under way. The owner of a shard also communicates
 * while that takes messages: it counts as one more shard.
 *
 * Threads: none.
 * Test: tests/unit/train/test_virtual.c
 */
struct hr_virtual_account {
    struct hr_account *account;      /* borrowed: in nanoseconds */
    int64_t since_ps;                /* up to when its time is accounted for */
    int64_t spent_ps[HR_ACTIVITIES]; /* its account */
    size_t under_way;                /* messages between it and other workers */
    int64_t looked_ps;               /* up to when they are counted in moving_ps */
    int64_t *moving_ps;              /* (nmoving) how long its messages were under way; borrowed */
    size_t nmoving;                  /* shards, at least 1; and one more for its own */
};

/* It takes part from now on; no message of its is under way. */
void hr_virtual_begin(struct hr_virtual_account *account, int64_t now_ps);
void hr_virtual_spend(struct hr_virtual_account *account, enum hr_activity activity, int64_t ps);

/* Messages that have arrived at a shard in virtual time, in order.
 *
 * Only their senders are kept here; the messages themselves are in the shard's rings.
 */
struct hr_virtual_inbox {
    uint32_t *sender; /* (room) borrowed */
    size_t n;
};

static inline void hr_virtual_inbox_add(struct hr_virtual_inbox *inbox, size_t sender)
{
    inbox->sender[inbox->n++] = (uint32_t)sender;
}

/* Remove the first message of a sender that is enabled; false when there is none. */
static inline bool hr_virtual_inbox_next(struct hr_virtual_inbox *inbox,
                                         const unsigned char *enabled, size_t *sender)
{
    for (size_t i = 0; i < inbox->n; i++) {
        if (!enabled[inbox->sender[i]])
            continue;
        *sender = inbox->sender[i];
        inbox->n--;
        memmove(inbox->sender + i, inbox->sender + i + 1, (inbox->n - i) * sizeof *inbox->sender);
        return true;
    }
    return false;
}

static inline bool hr_virtual_inbox_has(const struct hr_virtual_inbox *inbox, size_t sender)
{
    for (size_t i = 0; i < inbox->n; i++)
        if (inbox->sender[i] == sender)
            return true;
    return false;
}

/* Remove all messages of that sender. */
static inline void hr_virtual_inbox_drop(struct hr_virtual_inbox *inbox, size_t sender)
{
    size_t n = 0;
    for (size_t i = 0; i < inbox->n; i++)
        if (inbox->sender[i] != sender)
            inbox->sender[n++] = inbox->sender[i];
    inbox->n = n;
}

enum hr_event_kind {
    HR_EVENT_COMPUTED,  /* a worker's gradient */
    HR_EVENT_ARRIVED,   /* a worker's message, at a shard */
    HR_EVENT_LANDED,    /* the same of a part of a push */
    HR_EVENT_REPLIED,   /* a shard's, at a worker */
    HR_EVENT_SERVED,    /* a shard has taken its message */
    HR_EVENT_SUMMED,    /* all workers' buffers */
    HR_EVENT_FREED,     /* a link: others may leave */
    HR_EVENT_DELIVERED, /* a message of worker `shard`, at worker `worker` */
    HR_EVENT_DEADLINE,  /* a worker may send again what was lost of its push */
    HR_EVENT_FINAL,     /* the gradient of its layers from the `shard`-th part on */
    HR_EVENT_DIES,      /* rank `worker`, at a time that --inject names */
    HR_EVENT_NOTICED,   /* its death */
    HR_EVENT_AGAIN,     /* it may be started again; or all are quiescent whose term is over */
};

/* How long nobody knows of a death. */
#define HR_NOTICE_PS INT64_C(3000000000)

/* What happens, as the heap has it: all of it in one word (hr_simulator_event). */
struct hr_happening {
    enum hr_event_kind kind;
    size_t worker, shard;
    uint32_t stamp; /* the worker's life, or the term, in which it began */
};

static inline struct hr_happening hr_event_unpack(uint64_t what)
{
    return (struct hr_happening){(enum hr_event_kind)(what & 15), what >> 4 & 0xfff,
                                 what >> 16 & 0xfff, (uint32_t)(what >> 32)};
}

/* A shard. */
struct hr_virtual_station {
    struct hr_virtual_inbox inbox; /* (hr_simulator_inbox_room) */
    bool busy;
    int64_t began_ps; /* with the message that it serves */
    size_t serving;
    uint64_t served;
};

/* A worker. */
struct hr_virtual_worker {
    struct hr_virtual_account account;
    size_t coming;                         /* messages of shards on their way to it */
    size_t sent;                           /* its own on their way */
    int64_t stall_ps, load_ps, compute_ps; /* its gradient takes all of them */
    bool repeats;                          /* at a deadline that is set: a push was lost */
    bool absent;                           /* dead, lost, or not active: its time is nobody's */
    bool overdue;  /* its death is noticed when its last message has arrived */
    uint32_t life; /* counts its deaths, its returns, and terms */
};

struct hr_simulator {
    struct hr_serial serial;
    struct hr_events events;
    struct hr_message_queue messages;
    struct hr_virtual_station *station; /* (owners) owned, with what they point to */
    struct hr_virtual_worker *worker;   /* (workers) owned */
    struct hr_spans *spans;             /* (workers, owners) owned; NULL: nobody looks on */
    int64_t *moving_ps;                 /* (workers, max(servers, 1) + 1) owned */
    uint32_t *queue;                    /* owned */
    struct hr_model_final *part;        /* (nparts) owned: of a push, what goes ahead */
    size_t nparts;
    unsigned char enabled[HR_LOCAL_GROUP_RANKS]; /* (workers) */
    uint32_t term;
    int64_t quiescent_ps; /* where a loss has ended the term: since when all who live are so */
    const int64_t *sum_moving_ps; /* (active workers) of the sum under way, borrowed; or NULL */
    enum hr_status status;        /* first error of a callback */
};

static inline size_t hr_simulator_inbox_room(const struct hr_shared_state *shared)
{
    return shared->workers * hr_server_slots(shared);
}

/* Memory for its stations and workers, and the network's. HR_E_NOMEM; what it will be, but for the
 * network and for events, which grow. */
size_t hr_simulator_bytes(const struct hr_shared_state *shared);
HR_CHECKED enum hr_status hr_simulator_open(struct hr_simulator *sim, const struct hr_drive *drive);
/* Harmless on one that is zeroed but for serial.drive. */
void hr_simulator_close(struct hr_simulator *sim);

static inline int64_t hr_simulator_now(const struct hr_simulator *sim)
{
    return sim->serial.drive->now_ps;
}

/* An event of the present term, and of the worker's present life. */
uint64_t hr_simulator_event(const struct hr_simulator *sim, enum hr_event_kind kind, size_t worker,
                            size_t shard);
/* Is the life or the term over in which it began, or the shard gone that was to be done? */
bool hr_simulator_is_over(const struct hr_simulator *sim, const struct hr_happening *what);
/* It will happen then. HR_E_USAGE: later than the heap can say; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_simulator_push(struct hr_simulator *sim, int64_t time_ps,
                                            uint64_t what);

/* Of worker or server `rank`; NULL: nobody looks on. */
struct hr_spans *hr_simulator_spans(const struct hr_simulator *sim, size_t rank);

/* Book the time of worker `rank` until now, if it is there. */
void hr_simulator_settle(struct hr_simulator *sim, size_t rank);

/* Worker `rank`, if it lives, waits for the others of an exchange no more. */
void hr_simulator_leave_exchange(struct hr_simulator *sim, size_t rank);

/* A rank that lives dies now. HR_E_LOST: the run outlives no losses. */
HR_CHECKED enum hr_status hr_simulator_die(struct hr_simulator *sim, size_t rank);

/* --- messages and sums on their way, in virtual time --- */

/* From now on all that ranks send takes its time. */
void hr_virtual_traffic_begin(struct hr_simulator *sim);
/* Send all messages whose links are free. */
HR_CHECKED enum hr_status hr_virtual_depart(struct hr_simulator *sim);
/* A message of worker `from` has come to worker `to`. */
void hr_virtual_deliver(struct hr_simulator *sim, size_t from, size_t to);
/* The sum under way has come to all. */
void hr_virtual_release(struct hr_simulator *sim);

#endif

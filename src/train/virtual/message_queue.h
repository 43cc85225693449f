/* message_queue.h - how long messages and all-reduces take in virtual time.
 *
 * Model:     netsim/links.h: a message holds all links of its way at once (cut-through).
 *            It leaves as soon as all of them are free; of several that could leave, the one
 *            posted first does. A waiting message holds no link and blocks no other, as if every
 *            pair of ranks had a socket of its own. Between two ranks messages leave and arrive in
 *            order. An all-reduce takes as long as its plan over idle links (netsim/walk.h), from
 *            when the last rank has come: synchronous replicas send nothing else.
 * Colocated: a worker and the shard that it owns are one rank, and messages between them use no
 *            link; drive_virtual.c says when such a shard takes messages.
 * Unfair:    a link is not reserved for a message that waits for another link too. When links are
 *            always busy, messages with short ways may overtake one with a long way many times.
 * How:       a message waits in the line of the link of its way that is busy longest. When that
 *            link is free, the message leaves or moves to another line.
 * Without a topology everything arrives at once.
 * Threads:   none.
 * Test:      tests/unit/virtual/test_message_queue.c, against a twin that looks at all
 *            messages every time
 */
#ifndef HR_VIRTUAL_MESSAGE_QUEUE_H
#define HR_VIRTUAL_MESSAGE_QUEUE_H

#include "group/local_group.h"
#include "netsim/events.h"
#include "netsim/links.h"

struct hr_message_queue {
    const struct hr_topology *topology; /* borrowed; NULL: none */
    size_t group_size;                  /* of hierarchical */
    struct hr_links links;
    /* Times of all-reduces computed so far: one per bucket. */
    struct hr_walked {
        hr_plan_fn plan;
        size_t bytes, first;
        int64_t ps;
        int64_t *moving_ps; /* (ranks) owned */
    } * walked;             /* (nwalked) owned */
    size_t nwalked;
    struct hr_waiting *waiting; /* (nwaiting) messages that have not left, owned; 0 is none */
    size_t nwaiting, unused;    /* first of those that are free */
    uint64_t posted;
    struct hr_queue_line *line; /* (channels) owned */
    struct hr_events alarms;    /* when to look at which line */
    struct hr_events ready;     /* those to look at now, in order of posting */
};

/* A message between ranks. */
struct hr_parcel {
    size_t from, to;
    uint64_t bytes;
    uint64_t tag; /* the caller's */
};

/* A message that has left. */
struct hr_departure {
    bool left; /* false: none has */
    struct hr_passage passage;
    uint64_t tag;
};

/* Of these links; none where it has no nodes. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_message_queue_open(struct hr_message_queue *queue,
                                                const struct hr_topology *topology,
                                                size_t group_size);
/* Harmless on a zeroed one. */
void hr_message_queue_close(struct hr_message_queue *queue);

/* A message wants to leave. Then ask hr_message_queue_depart. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_message_queue_post(struct hr_message_queue *queue,
                                                const struct hr_parcel *parcel);
/* The next message that leaves now. Call it until none does: after every post, and at
 * passage.free_ps of every departure, in order of time. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_message_queue_depart(struct hr_message_queue *queue, int64_t now_ps,
                                                  struct hr_departure *out);

/* How long this sum takes among those ranks (n), the same as before since the last drop. moving_ps
 * (n): how long each of them has messages under way; borrowed; NULL: none has. */
HR_CHECKED enum hr_status hr_message_queue_all_reduce(struct hr_message_queue *queue,
                                                      const struct hr_local_group_sum *sum,
                                                      const uint16_t *rank, size_t n, int64_t *ps,
                                                      const int64_t **moving_ps);
/* Messages that have not left never will, and others will sum. What has left keeps its links. */
void hr_message_queue_drop(struct hr_message_queue *queue);

#endif

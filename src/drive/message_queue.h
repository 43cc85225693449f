/* message_queue.h - how long messages and all-reduces take in virtual time.
 *
 * Model:     netsim/links.h: a path of links is held whole and cut through. A message leaves as
 *            soon as all links of its way are free; of those that could leave, the one posted first
 *            does. One that waits holds nothing and stops nobody: as if every rank had a socket of
 *            its own to every other rank. Between the same two ranks, so, first posted is first to
 *            leave and first to arrive.
 *            An all-reduce takes what its plan takes over idle links (netsim/walk.h), from the
 *            moment at which the last rank has come: replicas in step have nothing else to send.
 * Colocated: a worker and the shard that it owns are one rank, and messages between them use no
 *            link; drive_virtual.c says when such a shard takes messages.
 * Unfair:    a link is not kept for a message that waits for another one too. Where links are busy
 *            without a pause, a long way may be overtaken by short ones again and again.
 * How:       one that waits does so in the line of one busy link of its way, the one that is busy
 *            longest; only when that is free is it looked at, and leaves or goes to another line.
 * Without a topology everything arrives at once.
 * Threads:   none.
 * Test:      tests/unit/drive/test_message_queue.c, against a twin that looks at all
 *            messages every time
 */
#ifndef HR_DRIVE_MESSAGE_QUEUE_H
#define HR_DRIVE_MESSAGE_QUEUE_H

#include "group/local_group.h"
#include "netsim/events.h"
#include "netsim/links.h"

struct hr_message_queue {
    const struct hr_topology *topology; /* borrowed; NULL: none */
    size_t group_size;                  /* of hierarchical */
    struct hr_links links;
    /* The all-reduces that were walked; there are as many as buckets. */
    struct hr_walked {
        const struct hr_algorithm *algorithm;
        size_t bytes, first;
        int64_t ps;
        int64_t *moving_ps; /* (ranks) owned */
    } * walked;             /* (nwalked) owned */
    size_t nwalked;
    struct hr_waiting *waiting; /* (nwaiting) messages that have not left, owned; 0 is none */
    size_t nwaiting, unused;    /* first of those that are free */
    uint64_t posted;
    struct hr_line *line;    /* (channels) owned */
    struct hr_events alarms; /* when to look at which line */
    struct hr_events ready;  /* those to look at now, in order of posting */
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
/* The next message that leaves now. Ask until none does: after every post, and at passage.free_ps
 * of every departure. Calls are in order of time. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_message_queue_depart(struct hr_message_queue *queue, int64_t now_ps,
                                                  struct hr_departure *out);

/* How long this sum takes among the first nranks ranks; and of that, how long something to or from
 * each of them is under way: moving_ps (nranks), the queue's own; NULL: nothing is. */
HR_CHECKED enum hr_status hr_message_queue_all_reduce(struct hr_message_queue *queue,
                                                      const struct hr_local_group_sum *sum,
                                                      size_t nranks, int64_t *ps,
                                                      const int64_t **moving_ps);

#endif

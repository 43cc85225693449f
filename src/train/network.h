/* network.h - how long messages and all-reduces take in virtual time.
 *
 * Model:     schedule/links.h, for messages: a path of links is held whole and cut through. An
 *            all-reduce takes what its plan takes over idle links (group/walk.h), from the moment
 *            at which the last rank has come: replicas in step have nothing else to send.
 * Without a topology everything arrives at once.
 * Threads:   none.
 */
#ifndef HR_TRAIN_NETWORK_H
#define HR_TRAIN_NETWORK_H

#include "group/hall.h"
#include "schedule/links.h"

struct hr_network {
    const struct hr_topology *topology; /* borrowed; NULL: none */
    size_t group_size;                  /* of hierarchical */
    struct hr_links links;
    /* The all-reduces that were walked; there are as many as buckets have sizes. */
    struct hr_walked {
        const struct hr_algorithm *algorithm;
        size_t bytes;
        int64_t ps;
    } * walked; /* (nwalked) owned */
    size_t nwalked;
    /* Messages that wait for the first link of their way. */
    struct hr_parcel *parcel; /* (nparcels) owned; 0 is none */
    size_t nparcels, unused;  /* first of those that are free */
    struct hr_outbox {
        uint32_t first, last;
        bool busy; /* one is passing */
    } * outbox;    /* (channels) owned */
};

/* A message between ranks. */
struct hr_parcel {
    size_t from, to; /* ranks */
    uint64_t bytes;
    uint64_t tag; /* the caller's */
    uint32_t next;
};

enum { HR_NO_CHANNEL = -1 };

/* A message that has left. */
struct hr_departure {
    bool left; /* false: none has */
    struct hr_passage passage;
    uint64_t tag;
    int channel; /* call hr_network_freed of it at passage.free_ps; or HR_NO_CHANNEL */
};

/* Of these links; none where it has no nodes. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_network_open(struct hr_network *network,
                                          const struct hr_topology *topology, size_t group_size);
/* Harmless on a zeroed one. */
void hr_network_close(struct hr_network *network);

/* Send between ranks, now: it leaves at once, or when those before it are through the first link of
 * its way; only then it asks for the rest of its way. Calls are in order of time. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_network_post(struct hr_network *network,
                                          const struct hr_parcel *parcel, int64_t now_ps,
                                          struct hr_departure *out);
/* The first link is free: the next message leaves, if one waits. */
void hr_network_freed(struct hr_network *network, int channel, int64_t now_ps,
                      struct hr_departure *out);

/* How long this sum takes among the first nranks ranks. */
HR_CHECKED enum hr_status hr_network_all_reduce(struct hr_network *network,
                                                const struct hr_hall_sum *sum, size_t nranks,
                                                int64_t *ps);

#endif

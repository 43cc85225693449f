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
};

/* Of these links; none where it has no nodes. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_network_open(struct hr_network *network,
                                          const struct hr_topology *topology, size_t group_size);
/* Harmless on a zeroed one. */
void hr_network_close(struct hr_network *network);

/* Send between ranks, now. Calls are in order of time. */
struct hr_passage hr_network_send(struct hr_network *network, size_t from, size_t to,
                                  int64_t now_ps, uint64_t bytes);

/* How long this sum takes among the first nranks ranks. */
HR_CHECKED enum hr_status hr_network_all_reduce(struct hr_network *network,
                                                const struct hr_hall_sum *sum, size_t nranks,
                                                int64_t *ps);

#endif

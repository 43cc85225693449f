/* hosts.h - on which machine each rank of a run lives.
 *
 * Without machines (a zeroed struct) all ranks live here. A rank that lives elsewhere has its place
 * in the segment here, too, which is carried to and fro (machines/bridge.h).
 */
#ifndef HR_SHM_HOSTS_H
#define HR_SHM_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HR_HOSTS_RANKS = 64 }; /* HR_MAX_RANKS */

struct hr_hosts {
    uint8_t machines;                /* 0 or 1: there is one */
    uint8_t self;                    /* the machine that we are on */
    uint8_t machine[HR_HOSTS_RANKS]; /* of each rank */
};

/* Is there more than one machine? */
static inline bool hr_hosts_are_many(const struct hr_hosts *hosts)
{
    return hosts->machines > 1;
}

/* Does that rank live here? */
static inline bool hr_hosts_here(const struct hr_hosts *hosts, size_t rank)
{
    return !hr_hosts_are_many(hosts) || hosts->machine[rank] == hosts->self;
}

/* Do these two live on one machine? */
static inline bool hr_hosts_same(const struct hr_hosts *hosts, size_t a, size_t b)
{
    return !hr_hosts_are_many(hosts) || hosts->machine[a] == hosts->machine[b];
}

/* The first `nranks` ranks are dealt out in equal contiguous runs; nranks is a multiple. */
static inline void hr_hosts_deal(struct hr_hosts *hosts, size_t nranks, size_t machines,
                                 size_t self)
{
    hosts->machines = (uint8_t)machines;
    hosts->self = (uint8_t)self;
    for (size_t rank = 0; rank < nranks; rank++)
        hosts->machine[rank] = (uint8_t)(rank / (nranks / machines));
}

/* Then ranks [first, first + n), behind those: one after the other, beginning with machine 0; or
 * all on that. */
static inline void hr_hosts_deal_behind(struct hr_hosts *hosts, size_t first, size_t n,
                                        bool on_first)
{
    for (size_t i = 0; i < n; i++)
        hosts->machine[first + i] = (uint8_t)(on_first ? 0 : i % hosts->machines);
}

/* Bytes of the segment that one rank writes, and that its machine sends to the others at some
 * barriers of all (machines/gather_barrier.h). */
struct hr_area {
    size_t offset, bytes;
    size_t writer;   /* a rank */
    uint32_t stages; /* bit s: it is sent at barriers of stage s */
    bool for_first;  /* machine 0 alone wants to know */
};

#endif

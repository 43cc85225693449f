/* rings.h - a topology's rank-to-rank links, decomposed into rings.
 *
 * Ring:      passes through every rank once and comes back; it has one or more lanes of each link
 *            that it uses, and no lane is used by two rings. Lanes may be left over.
 * Search:    depth first from rank 0, wide rings before narrow ones, neighbours by rank; it ends at
 *            the most bandwidth that the links could give (half of what the poorest rank has), or
 *            after a number of looks with the best so far. The same topology gives the same rings.
 * Threads:   none.
 * Test:      tests/unit/netsim/test_rings.c
 */
#ifndef HR_NETSIM_RINGS_H
#define HR_NETSIM_RINGS_H

#include "netsim/topology.h"
#include "netsim/walk.h"

enum { HR_RINGS_MAX = 32 };

struct hr_rings {
    size_t nranks, n;
    uint16_t *order; /* (HR_RINGS_MAX, nranks) ranks in the order of ring i; owned */
    size_t lanes[HR_RINGS_MAX];
    double bandwidth[HR_RINGS_MAX]; /* of a ring, all its lanes, one direction */
    double total;                   /* sum of bandwidth */
    bool complete;                  /* the search ended by itself: no decomposition has more */
};

/* Search, looking at no more than `looks` next ranks of a path. HR_E_FAILED when there is no ring,
 * and says why; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_rings_find(const struct hr_topology *topology, uint64_t looks,
                                        struct hr_rings *out);
void hr_rings_fini(struct hr_rings *rings);

/* Ranks of ring i in order. */
static inline const uint16_t *hr_rings_order(const struct hr_rings *rings, size_t i)
{
    return rings->order + i * rings->nranks;
}

/* Every ring of a topology carries what its bandwidth is of the total, on lanes of its own; the
 * whole is done when the slowest is. As hr_walk: fini *out, whose links are the topology's. */
HR_CHECKED enum hr_status hr_walk_rings(const struct hr_topology *topology,
                                        const struct hr_rings *rings, uint64_t bytes,
                                        struct hr_walk *out);

#endif

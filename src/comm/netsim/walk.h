/* walk.h - how long a plan takes over the links of a topology: its rows, walked on paper.
 *
 * Model:     every rank does its rows in order. A send does not wait: it joins the queue of the
 *            first link of its way, and enters when those before it are through
 *            (links.h); a row that receives waits until that peer's message has arrived, a
 *            drain until what the rank sent was taken. Computing is free. What happens at one time
 *            happens in the order of insertion, so a walk gives the same figures everywhere.
 * Ranks:     any number up to HR_WALK_RANKS, each at a node of the topology; none is run.
 * Units:     picoseconds; bytes of the whole buffer, as floats, cut into chunks as in a real run.
 * Threads:   none.
 * Test:      tests/unit/netsim/test_walk.c, test_laws.c
 */
#ifndef HR_NETSIM_WALK_H
#define HR_NETSIM_WALK_H

#include "netsim/links.h"
#include "netsim/topology.h"
#include "plan/plan.h"

enum { HR_WALK_RANKS = 2 * HR_TOPOLOGY_RANKS };

struct hr_walk_options {
    const struct hr_topology *topology;
    const uint16_t *node; /* (n) where each rank is */
    size_t n;
    hr_plan_fn plan;
    size_t root, group_size; /* handed to the plan */
    uint64_t bytes;
    size_t first; /* the flat index of the buffer's first float, where it is part of a whole */
    bool blocks;  /* the buffer is a block a rank, all equal, and chunks are blocks */
};

struct hr_walk {
    int64_t ps;       /* until the last rank has done its last row */
    size_t last_rank; /* that rank; of several the first */
    size_t nsteps;    /* of the plan's own story */
    int64_t *step_ps; /* (nsteps) when the last row of a step was done; owned */
    /* (n) how long messages to or from each rank were on their links, from entering the first until
     * arrival; the rest of the time it waited for others. Owned. */
    int64_t *moving_ps;
    uint64_t messages;
    uint64_t bytes;        /* sent by all ranks */
    struct hr_links links; /* what each channel carried; owned, the topology is borrowed */
};

/* Walk. HR_E_FAILED: the rows do not fit together (a rank waits for what nobody sends), or the time
 * is more than HR_PS_NEVER; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_walk(const struct hr_walk_options *options, struct hr_walk *out);

/* Harmless on a zeroed struct. */
void hr_walk_fini(struct hr_walk *walk);

/* === what the literature says that synchronisation costs, beside which a walk is put ===
 *
 * Words:     N bytes, P workers, B bytes/s of a link. */

/* The formula for an algorithm, or NULL where there is none.
 *   master-worker   2 (P - 1) N / B; P instead of P - 1 where the root is no worker
 *   ring, direct    2 (N / P) (P - 1) / B
 *   bidirectional-ring   half of that
 *   tree            log2(P) N / B */
const char *hr_law_formula(const char *algorithm);

/* Its value in seconds; NaN where there is none. `others`: workers besides the root. */
double hr_law_seconds(const char *algorithm, size_t workers, size_t others, double bytes,
                      double bandwidth);

/* How long the round takes with `workers` and `servers` around one switch, each on a link like
 * `link`. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_law_server_round(size_t workers, size_t servers, uint64_t bytes,
                                              const struct hr_link *link, int64_t *ps);

/* Slope of the line through n points, by least squares; n >= 2, x not all equal. */
double hr_law_slope(const double *x, const double *y, size_t n);

#endif

/* walk_rings.h - ring all-reduce over several rings at once, each with its share of the data. */
#ifndef HR_NETSIM_WALK_RINGS_H
#define HR_NETSIM_WALK_RINGS_H

#include "netsim/walk.h"
#include "netsim/rings.h"

/* Every ring of a topology carries what its bandwidth is of the total, on lanes of its own; the
 * whole is done when the slowest is. As hr_walk: fini *out, whose links are the topology's. */
HR_CHECKED enum hr_status hr_walk_rings(const struct hr_topology *topology,
                                        const struct hr_rings *rings, uint64_t bytes,
                                        struct hr_walk *out);

#endif

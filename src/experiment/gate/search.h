/* search.h - two binaries run a seed of a baseline again and again, with digests at ever fewer
 * steps of each other, until the first step is found where they part.
 *
 *   1. of all steps every 32nd part has its digests: equal at a, different at b
 *   2. as far as b, with every 32nd part of the steps between; until that is one step
 *
 * So a run of 10,000 steps takes three pairs of runs. Digests change no bit, so each pair is the
 * same two runs, only shorter.
 *
 * Threads: none. Test: tests/cli/gate.bats
 */
#ifndef HR_GATE_SEARCH_H
#define HR_GATE_SEARCH_H

#include "gate/child.h"
#include "gate/place.h"

struct hr_gate_search {
    const struct hr_gate_document *baseline;
    const struct hr_gate_child *older, *newer;
    const char *label, *seed;
};

/* Where the two part: place->known is false where they do not. HR_E_*: as hr_gate_child_run;
 * HR_E_FORMAT: a run of one has failed, or has no digests of steps. */
HR_CHECKED enum hr_status hr_gate_search_run(const struct hr_gate_search *search,
                                             struct hr_gate_place *place);

#endif

/* place.h - where two runs part: the first step, and of it the first part, whose digests differ.
 *
 * Of --json FILE,digests=N: digests of each tensor at the same steps of both. Steps that only one
 * of them has are passed over.
 *
 * Threads: pure functions. Test: tests/unit/gate/test_place.c
 */
#ifndef HR_GATE_PLACE_H
#define HR_GATE_PLACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gate/child.h"

struct hr_gate_place {
    bool known;           /* both have digests, and some differ */
    uint64_t equal_until; /* the last step before, where all are equal; 0: the beginning */
    uint64_t step;        /* the first where some differ */
    size_t compared;      /* steps that both have */
    size_t parts, differ; /* of that step: parts that both have, and those that differ */
    char first[128];      /* the first that differs, in the order of the model's file */
    char part[128];       /* the first that is no loss; "": only losses differ */
    /* Ranks that have something of their own ("worker.3.0.weight"), and those of which it differs.
     * Losses apart: of a rank whose loss differs, a forward pass does. */
    size_t own_ranks, own_differ, own_first;
    size_t loss_ranks, loss_differ, loss_first;
};

struct hr_gate_place hr_gate_place_of(const json_t *old_run, const json_t *new_run);

/* In a sentence or three; "" where it is not known. Returns text. */
const char *hr_gate_place_text(const struct hr_gate_place *place, char *text, size_t size);

/* --- searched: two binaries run a seed of a baseline again and again, with digests at ever fewer
 * steps of each other, until the first step is found where they part ---
 *
 *   1. of all steps every 32nd part has its digests: equal at a, different at b
 *   2. as far as b, with every 32nd part of the steps between; until that is one step
 *
 * So a run of 10,000 steps takes three pairs of runs. Digests change no bit, so each pair is the
 * same two runs, only shorter.
 * Test: tests/cli/gate.bats */

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

/* plan.h - a collective as data: for each rank, rows that say what it does, in order.
 *
 * Words: the buffer is cut into *chunks*, chunk c being the same elements on every rank. A row is
 * one action on one chunk, perhaps with one peer:
 *
 *     send  peer chunk   tell peer that my chunk may be read (and its chunk be written, see share)
 *     recv  peer chunk   wait until peer has sent that
 *     add   peer chunk   recv, then mine = mine + peer's, then acknowledge
 *     copy  peer chunk   recv, then mine = peer's, then acknowledge
 *     sum   - chunk      mine = T(n) over all ranks' chunks, read in place
 *     share - chunk      all ranks' = T(n) over all ranks' chunks, read and written in place
 *     drain - -          wait until peers have acknowledged all I sent: my buffer is mine again
 *
 * No row waits by itself: the executor (collective.c) goes as far as it can and says whether it
 * is done. So one plan serves threads, processes, seeded schedules and cost models.
 */
#ifndef HR_GROUP_PLAN_H
#define HR_GROUP_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum hr_action { HR_SEND, HR_RECV, HR_ADD, HR_COPY, HR_SUM, HR_SHARE, HR_DRAIN };

struct hr_row {
    uint16_t step; /* position in the algorithm's own story, for cost models and people */
    uint16_t peer;
    uint16_t chunk;
    uint8_t action; /* enum hr_action */
};

struct hr_plan {
    size_t nrows, capacity;
    size_t nchunks;      /* the buffer is cut into this many chunks */
    struct hr_row *rows; /* owned */
};

struct hr_algorithm {
    const char *name;  /* as on the command line */
    const char *order; /* of addition, in words */
    /* Append the rows of rank `rank` of `n` to an empty plan and set nchunks; `root` where it
     * matters. */
    enum hr_status (*plan)(struct hr_plan *plan, size_t rank, size_t n, size_t root);
    int meets; /* 1: has a hand-written fast path (meeting.h), bitwise equal to its plan */
};

/* All-reduce algorithms; each stands in a file of its own, allreduce_<name>.c. */
extern const struct hr_algorithm hr_allreduce_direct, hr_allreduce_ring, hr_allreduce_master_worker;
/* root's buffer to everybody. */
extern const struct hr_algorithm hr_broadcast_flat;

/* The all-reduce algorithm of that name. "auto" is direct: it is the fastest at every size here,
 * and never changes bits. HR_E_USAGE lists the names. */
HR_CHECKED enum hr_status hr_algorithm_find(const char *name, const struct hr_algorithm **out);

/* The i-th all-reduce algorithm, NULL past the end. */
const struct hr_algorithm *hr_algorithm_at(size_t i);

/* Append a row; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_plan_add(struct hr_plan *plan, size_t step, enum hr_action action,
                                      size_t peer, size_t chunk);
void hr_plan_fini(struct hr_plan *plan);

/* Where chunk `chunk` of `nchunks` begins in a buffer of `count` floats: a multiple of a line's 32
 * floats, so that no two owners write one line, or `count`. Chunks of small buffers may
 * be empty. */
size_t hr_chunk_begin(size_t count, size_t nchunks, size_t chunk);

#endif

/* direct.h - direct all-reduce where every rank has a processor: each sums its own chunk.
 *
 *   Story    1. a post says where this rank's part lies; wait for everybody's
 *            2. reduce the own chunk of all inputs; a second post says so; wait for everybody's
 *   In place the owner loads the n inputs and stores into the n outputs: nothing is copied.
 *   Staged   buffers that the others do not reach go through a stage in the segment, a piece at a
 *            time: a rank copies in what others own (the own chunk stays where it is), the owner
 *            leaves its sum on its stage, and everybody copies out what others own. A rank has two
 *            stages, used in turn: whoever begins the piece after next has seen everybody's
 *            first post of the next, given when this piece had been copied out.
 *   Cost     2 waits a piece. Bytes loaded and stored by a rank: in place 2 S; staged with two
 *            ranks 4 S, with many 6 S.
 *   Order    T(n), as the plan of direct.
 */
#ifndef HR_GROUP_DIRECT_H
#define HR_GROUP_DIRECT_H

#include <stdbool.h>
#include <stddef.h>

struct hr_method;

enum { HR_STAGE_BYTES = 128 << 10 }; /* a piece */

/* Shared memory for the stages of nranks ranks. */
size_t hr_stages_bytes(size_t nranks);

/* Progress of one all-reduce. */
struct hr_direct {
    unsigned char *stages; /* (2, nranks, HR_STAGE_BYTES); NULL: everything is in place */
    bool staged;           /* this one is */
    bool reduced;          /* own chunk of this piece is summed */
    size_t first, count;   /* elements of this piece */
    size_t pieces;         /* begun so far, in all */
};

extern const struct hr_method hr_by_direct;

#endif

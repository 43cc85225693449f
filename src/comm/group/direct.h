/* direct.h - direct all-reduce where every rank has a processor: each sums its own chunk.
 *
 *   Story    1. a post says where this rank's part lies; wait for everybody's
 *            2. reduce the own chunk of all inputs; a second post says so; wait for everybody's
 *   In place the owner loads the n inputs and stores into the n outputs: nothing is copied.
 *   Staged   buffers that the others do not reach go through a stage in the segment, piece by
 *            piece: a rank copies in what others own (the own chunk stays where it is), the owner
 *            stores its sum over what it has read, on everybody's stage, and each copies out of its
 *            own stage. So a line goes to the owner and back: sums left on the owner's stage took
 *            twice as long. Pieces overlap. In step k a rank copies out piece k - 2, copies in
 *            piece k, to the same stage, and sums its chunk of piece k - 1; then it posts, and
 *            waits for everybody's post.
 *   Lifetime a caller's buffer is touched by others, where they reach it (of threads, anywhere),
 *            between the two waits alone: not before its rank has called, nor after that rank has
 *            returned. A staged one is touched by its own rank only.
 *   Cost     waits: 2 in place, staged one a piece and one more. Bytes loaded and stored by a rank:
 *            in place 2 S; staged with two ranks 4 S, with many 6 S.
 *   Order    T(n), as the plan of direct.
 */
#ifndef HR_GROUP_DIRECT_H
#define HR_GROUP_DIRECT_H

#include <stdbool.h>
#include <stddef.h>

struct hr_method;

enum { HR_STAGE_BYTES = 64 << 10 }; /* a piece: four of them stay in L2 */

/* Shared memory for the stages of nranks ranks. */
size_t hr_stages_bytes(size_t nranks);

/* Progress of one all-reduce. */
struct hr_direct {
    unsigned char *stages; /* (2, nranks, HR_STAGE_BYTES); NULL: everything is in place */
    bool staged;           /* this one is */
    size_t step;           /* whose post we wait for */
    size_t pieces;
};

extern const struct hr_method hr_by_direct;

#endif

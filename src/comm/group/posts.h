/* posts.h - each rank posts a few bytes for all others: barrier, one-shot and direct all-reduce.
 *
 *   for each parity: [ slot 0 | slot 1 | ... ]      slot: bell, call, payload; writer: its rank
 *
 *   Story    a rank writes its call and its payload into its slot and rings the slot's bell; that
 *            publishes them. Then it waits until every other rank has done so, and reads theirs.
 *            One line travels from each to each; nobody waits twice.
 *   Parity   slots alternate, so that a rank which is one posting ahead does not overwrite what a
 *            slow one still reads. It cannot be two ahead: for the posting between it needs
 *            everybody's, who gave it when they had read the one before.
 *   Atomics  the count of a slot's bell is the number of postings made there. Ringing releases
 *            call and payload; hr_bell_count acquires them. Who waits for a rank parks on
 *            its slot's bell, so posting costs one read-modify-write on a line that is its own.
 */
#ifndef HR_GROUP_POSTS_H
#define HR_GROUP_POSTS_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/layout.h"
#include "shm/wait.h"

struct hr_member;
struct hr_method;

enum { HR_POST_BYTES = 4096 }; /* of payload, at most */

struct hr_post {
    alignas(HR_LINE) struct hr_bell bell;
    uint32_t unused;
    struct hr_call call;
    unsigned char payload[HR_POST_BYTES]; /* its first 32 bytes share the bell's line */
};

_Static_assert(offsetof(struct hr_post, payload) == 32, "small payloads travel with the bell");

/* Shared memory of posts, aligned to HR_LINE and zeroed. */
size_t hr_posts_bytes(size_t nranks);

/* One rank's view; private memory. */
struct hr_posts {
    struct hr_post *slots;
    size_t rank, nranks;
    uint64_t number; /* of postings made */
    size_t next;     /* the rank that is waited for; nranks: all are here */
};

extern const struct hr_method hr_by_one_shot;

/* === direct all-reduce where every rank has a processor: each sums its own chunk ===
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
 *   Order    T(n), as the plan of direct. */

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

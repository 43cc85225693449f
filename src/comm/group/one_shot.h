/* one_shot.h - each rank posts a few bytes for all others: barrier, and one-shot all-reduce.
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
#ifndef HR_GROUP_ONE_SHOT_H
#define HR_GROUP_ONE_SHOT_H

#include "plan/call.h"
#include "shm/wait.h"

struct hr_member;
struct hr_method;

enum { HR_POST_BYTES = 4096 }; /* of payload, at most */

struct hr_slot {
    alignas(HR_LINE) struct hr_bell bell;
    uint32_t unused;
    struct hr_call call;
    unsigned char payload[HR_POST_BYTES]; /* its first 32 bytes share the bell's line */
};

_Static_assert(offsetof(struct hr_slot, payload) == 32, "small payloads travel with the bell");

/* Shared memory of posts, aligned to HR_LINE and zeroed. */
size_t hr_posts_bytes(size_t nranks);

/* One rank's view; private memory. */
struct hr_posts {
    struct hr_slot *slots;
    size_t rank, nranks;
    uint64_t number; /* of postings made */
    size_t next;     /* the rank that is waited for; nranks: all are here */
};

/* Post a call with `bytes` of payload. Never waits. */
void hr_post(struct hr_posts *posts, const struct hr_call *call, const void *payload, size_t bytes);

/* Have all posted? Never waits. While it is false posts->next is a rank that has not. */
bool hr_posts_complete(struct hr_posts *posts);

/* The slot of `rank` for the latest posting: readable from when that rank has posted until this
 * rank posts twice more. */
const struct hr_slot *hr_post_of(const struct hr_posts *posts, size_t rank);

/* What to park on while it is not complete. */
struct hr_bell *hr_posts_bell(const struct hr_posts *posts);

/* Have all who posted called the same? If not, the member's status says so. */
bool hr_posts_agree(struct hr_member *member);

extern const struct hr_method hr_by_one_shot;

#endif

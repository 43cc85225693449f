/* notices.h - where ranks post a few bytes for all others: barrier, and one-shot all-reduce.
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
#ifndef HR_GROUP_NOTICES_H
#define HR_GROUP_NOTICES_H

#include "plan/call.h"
#include "shm/wait.h"

enum { HR_NOTICE_BYTES = 4096 }; /* of payload, at most */

struct hr_slot {
    alignas(HR_LINE) struct hr_bell bell;
    uint32_t unused;
    struct hr_call call;
    unsigned char payload[HR_NOTICE_BYTES]; /* its first 32 bytes share the bell's line */
};

_Static_assert(offsetof(struct hr_slot, payload) == 32, "small payloads travel with the bell");

/* Shared memory of notices, aligned to HR_LINE and zeroed. */
size_t hr_notices_bytes(size_t nranks);

/* One rank's view; private memory. */
struct hr_notices {
    struct hr_slot *slots;
    size_t rank, nranks;
    uint64_t number; /* of postings made */
    size_t next;     /* the rank that is waited for; nranks: all are here */
};

/* Post a call with `bytes` of payload. Never waits. */
void hr_notices_post(struct hr_notices *notices, const struct hr_call *call, const void *payload,
                     size_t bytes);

/* Have all posted? Never waits. While it is false notices->next is a rank that has not. */
bool hr_notices_complete(struct hr_notices *notices);

/* The slot of `rank` for the latest posting; readable when that rank has posted, until this rank's
 * next posting but one. */
const struct hr_slot *hr_notices_slot(const struct hr_notices *notices, size_t rank);

/* What to park on while it is not complete. */
struct hr_bell *hr_notices_bell(const struct hr_notices *notices);

#endif

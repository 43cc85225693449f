/* stream.h - getting bytes from one rank to another, in place or by payload (executor.h says how).
 * Both collectives and messages travel so.
 */
#ifndef HR_GROUP_STREAM_H
#define HR_GROUP_STREAM_H

#include "group/member.h"

enum { HR_STREAM_SLOTS = 8 };

/* Something on its way. */
struct hr_outgoing {
    const unsigned char *origin; /* where its pieces' offsets count from */
    struct hr_pieces pieces;
    size_t done; /* bytes of it that went so far, where it goes in several messages */
};

enum hr_push { HR_PUSH_LATER, HR_PUSHED_IN_PLACE, HR_PUSHED_PAYLOAD };

/* Push as much of it as the ring has room for. LATER: there is more to push. The messages carry
 * `call`. */
enum hr_push hr_stream_push(struct hr_member *member, struct hr_stream *stream, size_t peer,
                            const struct hr_call *call, struct hr_outgoing *outgoing);

struct hr_incoming {
    const unsigned char *data;
    size_t bytes;
    bool
        in_place; /* data is all of it, in its pieces in the sender's memory, or a piece of it; else
                      as much as a slot holds, contiguous */
};

/* What has come from `peer`, valid until released; false when nothing has, or when it is not of the
 * call `expected`: then *status says so. */
bool hr_stream_peek(struct hr_member *member, struct hr_stream *stream, size_t peer,
                    const struct hr_call *expected, struct hr_incoming *incoming,
                    enum hr_status *status);
/* What a message of a stream's ring speaks of: `bytes` bytes in its slot of payload, or at `offset`
 * of the segment. */
struct hr_carries {
    const void *slot; /* NULL: in place */
    size_t offset, bytes;
};
struct hr_carries hr_stream_carries(const struct hr_ring *ring, size_t slot_bytes,
                                    const struct hr_message *message);
void hr_stream_release(struct hr_member *member, struct hr_stream *stream, size_t peer);

#endif

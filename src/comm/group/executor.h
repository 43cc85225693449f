/* executor.h - walks a rank's plan over rings, as far as it can, and never waits.
 *
 * A *stream* is what one rank sends to another: a ring of messages, and perhaps as many slots of
 * payload. What a row sends travels in one of two ways, which the sender chooses and the message
 * tells:
 *     in place   one message says where the chunks lie in the segment; the receiver reads them
 *                there, and releases the message when it is done with them
 *     payload    messages each carry a piece in their slot, as many as are needed
 * Sends do not hold up the rows behind them: what does not fit into the ring yet is pushed on
 * with every later look. A rank whose stream is slowed down (netsim/links.h) stamps messages with
 * the time of their arrival, before which the receiver does not see them.
 */
#ifndef HR_GROUP_EXECUTOR_H
#define HR_GROUP_EXECUTOR_H

#include "plan/layout.h"
#include "shm/control.h"
#include "shm/ring.h"

struct hr_member;
struct hr_method;

struct hr_stream {
    struct hr_ring *ring;   /* NULL: there is none */
    unsigned char *payload; /* (slots, slot_bytes); NULL: everything is in place */
};

/* What was received for the next sum. */
struct hr_kept {
    uint16_t peer;
    bool in_place;
    const unsigned char *at; /* in place */
    size_t landed;           /* else: offset in the landing */
};

/* The latest plan of each operation is kept, since programs call the same again and again. */
struct hr_made_plan {
    bool made;
    const struct hr_algorithm *algorithm;
    struct hr_plan_for of;
    struct hr_plan plan;
};

struct hr_executor {
    struct hr_made_plan made[HR_OPERATIONS];
    struct hr_stream to[HR_MAX_RANKS], from[HR_MAX_RANKS];
    const struct hr_plan *plan;
    struct hr_layout layout;
    unsigned char *base[HR_BUFFERS]; /* where chunk 0 lies, or would lie */
    size_t row;
    size_t received; /* bytes of this row's message */
    /* The row, counted from 1, that is being sent to each peer; 0: none. */
    size_t sending[HR_MAX_RANKS], sent_bytes[HR_MAX_RANKS];
    size_t nsending;
    bool lent[HR_MAX_RANKS]; /* that peer still reads my memory in place */
    struct hr_kept kept[HR_MAX_RANKS];
    size_t nkept, landed_bytes;
    /* Private memory that grows to what was needed. */
    unsigned char *scratch, *landing;
    size_t scratch_bytes, landing_bytes;
};

void hr_executor_fini(struct hr_executor *executor);

extern const struct hr_method hr_by_plan;

/* --- streams: both collectives and messages travel so --- */

enum { HR_STREAM_SLOTS = 8 };

/* Something on its way. */
struct hr_outgoing {
    const unsigned char *origin; /* where its pieces' offsets count from */
    struct hr_pieces pieces;
    size_t done; /* bytes of it that went so far, where it goes in several messages */
};

enum hr_pushed { HR_PUSH_LATER, HR_PUSHED_IN_PLACE, HR_PUSHED_PAYLOAD };

/* Push as much of it as the ring has room for. LATER: there is more to push. The messages carry
 * `call`. */
enum hr_pushed hr_stream_push(struct hr_member *member, struct hr_stream *stream, size_t peer,
                              const struct hr_call *call, struct hr_outgoing *outgoing);

struct hr_incoming {
    const unsigned char *data;
    size_t bytes;
    /* data is all of it, in its pieces in the sender's memory, or a piece of it; else as much as a
     * slot holds, contiguous */
    bool in_place;
};

/* What has come from `peer`, valid until released; false when nothing has, or when it is not of the
 * call `expected`: then *status says so. */
bool hr_stream_peek(struct hr_member *member, struct hr_stream *stream, size_t peer,
                    const struct hr_call *expected, struct hr_incoming *incoming,
                    enum hr_status *status);
/* What goes with a message where it has to be carried: `bytes` bytes at `offset` of the segment. */
struct hr_cargo {
    size_t offset, bytes;
    bool slot; /* they belong to that slot of the ring alone: nobody else's lie there */
};
/* Of a message of a stream's ring: what lies in its slot of payload, or in place. */
struct hr_cargo hr_stream_cargo(const void *segment, const struct hr_ring *ring, size_t slot_bytes,
                                const struct hr_message *message);
void hr_stream_release(struct hr_member *member, struct hr_stream *stream, size_t peer);

#endif

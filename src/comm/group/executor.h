/* executor.h - walks a rank's plan over rings, as far as it can, and never waits.
 *
 * A *stream* is what one rank sends to another: a ring of messages, and perhaps as many slots of
 * payload. What a row sends travels in one of two ways, which the sender chooses and the message
 * tells:
 *     in place   one message says where the chunks lie in the segment; the receiver reads them
 *                there, and releases the message when it is done with them
 *     payload    messages each carry a piece in their slot, as many as are needed
 * Sends do not hold up the rows behind them: what does not fit into the ring yet is pushed on
 * with every later look. A rank whose stream is slowed down (wires.h) stamps messages with the time
 * of their arrival, before which the receiver does not see them.
 */
#ifndef HR_GROUP_EXECUTOR_H
#define HR_GROUP_EXECUTOR_H

#include "plan/call.h"
#include "shm/control.h"
#include "shm/ring.h"

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

struct hr_executor {
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

#endif

#include "group/stream.h"

#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "netsim/emulated_links.h"

/* The words of a message. */
enum { COUNT, ROOT, ADDRESS, BYTES, ARRIVES };

static const uint64_t BY_PAYLOAD = UINT64_MAX; /* instead of an address */

static unsigned char *payload_of(const struct hr_member *member, const struct hr_stream *stream,
                                 const struct hr_message *message)
{
    return stream->payload + (size_t)(message - stream->ring->slot) * member->options.slot_bytes;
}

static void commit(struct hr_member *member, struct hr_stream *stream, size_t peer,
                   const struct hr_call *call, struct hr_message *message, uint64_t address,
                   size_t bytes)
{
    const struct hr_wires *wires = member->place.wires;
    *message = (struct hr_message){
        .sequence = call->sequence,
        .kind = call->kind,
        .from = (uint32_t)member->rank,
        .word = {[COUNT] = call->count,
                 [ROOT] = call->root,
                 [ADDRESS] = address,
                 [BYTES] = bytes,
                 [ARRIVES] = wires ? hr_wires_send(wires, member->rank, peer, bytes) : 0},
    };
    hr_ring_commit_spsc(stream->ring);
    hr_bell_ring(hr_member_bell_of(member, peer));
}

static void gather(unsigned char *to, const struct hr_outgoing *outgoing, size_t bytes)
{
    struct hr_pieces piece = hr_pieces_part(&outgoing->pieces, outgoing->done, bytes);
    for (; piece.bytes; hr_pieces_next(&piece)) {
        memcpy(to, (const void *)((uintptr_t)outgoing->origin + piece.begin), piece.bytes);
        to += piece.bytes;
    }
}

static enum hr_push push_payload(struct hr_member *member, struct hr_stream *stream, size_t peer,
                                 const struct hr_call *call, struct hr_outgoing *outgoing)
{
    do {
        struct hr_message *message = hr_ring_try_reserve_spsc(stream->ring);
        if (!message)
            return HR_PUSH_LATER;
        hr_place_moves(&member->place);
        const size_t bytes =
            hr_min_size(member->options.slot_bytes, outgoing->pieces.left - outgoing->done);
        gather(payload_of(member, stream, message), outgoing, bytes);
        commit(member, stream, peer, call, message, BY_PAYLOAD, bytes);
        outgoing->done += bytes;
    } while (outgoing->done < outgoing->pieces.left);
    return HR_PUSHED_PAYLOAD;
}

/* From its first byte to its last. */
static bool all_reach(const struct hr_place *place, const struct hr_outgoing *outgoing)
{
    const struct hr_pieces *p = &outgoing->pieces;
    const size_t last = p->left ? hr_pieces_part(p, p->left - 1, 1).begin + 1 : p->begin;
    return hr_place_reaches(place, (const void *)((uintptr_t)outgoing->origin + p->begin),
                            last - p->begin);
}

/* One message; or to another machine one a piece, which is carried alone. */
static enum hr_push push_in_place(struct hr_member *member, struct hr_stream *stream, size_t peer,
                                  const struct hr_call *call, struct hr_outgoing *outgoing)
{
    const struct hr_pieces *all = &outgoing->pieces;
    const bool whole = hr_homes_together(&member->options.homes, member->rank, peer);
    do {
        struct hr_message *message = hr_ring_try_reserve_spsc(stream->ring);
        if (!message)
            return HR_PUSH_LATER;
        const size_t left = all->left - outgoing->done;
        const struct hr_pieces rest = hr_pieces_part(all, outgoing->done, left);
        const size_t bytes = whole ? left : rest.bytes;
        const uintptr_t data = (uintptr_t)outgoing->origin + (left ? rest.begin : all->begin);
        commit(member, stream, peer, call, message,
               (uint64_t)(data - (uintptr_t)member->place.segment), bytes);
        outgoing->done += bytes;
    } while (outgoing->done < all->left);
    return HR_PUSHED_IN_PLACE;
}

enum hr_push hr_stream_push(struct hr_member *member, struct hr_stream *stream, size_t peer,
                            const struct hr_call *call, struct hr_outgoing *outgoing)
{
    if (member->options.copies || !all_reach(&member->place, outgoing))
        return push_payload(member, stream, peer, call, outgoing);
    return push_in_place(member, stream, peer, call, outgoing);
}

struct hr_carries hr_stream_carries(const struct hr_ring *ring, size_t slot_bytes,
                                    const struct hr_message *message)
{
    const uintptr_t payload = (uintptr_t)ring + hr_ring_bytes(HR_STREAM_SLOTS) +
                              (size_t)(message - ring->slot) * slot_bytes;
    const bool slot = message->word[ADDRESS] == BY_PAYLOAD;
    return (struct hr_carries){.slot = slot ? (const void *)payload : NULL,
                               .offset = slot ? 0 : message->word[ADDRESS],
                               .bytes = message->word[BYTES]};
}

/* Emulated links: a message is there when its time has come. */
static bool has_arrived(struct hr_member *member, const struct hr_message *message)
{
    const int64_t arrives = (int64_t)message->word[ARRIVES];
    if (!arrives || hr_clock_ns() >= arrives)
        return true;
    member->place.waiter->alarm_ns = arrives;
    member->place.waiter->under_way = true;
    return false;
}

bool hr_stream_peek(struct hr_member *member, struct hr_stream *stream, size_t peer,
                    const struct hr_call *expected, struct hr_incoming *incoming,
                    enum hr_status *status)
{
    const struct hr_message *message = hr_ring_peek_spsc(stream->ring);
    if (!message || !has_arrived(member, message))
        return false;
    hr_place_moves(&member->place);
    /* The fingerprint travels with every message, and is compared with every one. */
    const struct hr_call theirs = {message->sequence, message->word[COUNT], message->kind,
                                   (uint32_t)message->word[ROOT]};
    if (HR_SAFETY && !hr_call_equal(&theirs, expected)) {
        *status = hr_member_mismatch(member, expected, peer, &theirs);
        return false;
    }
    incoming->in_place = message->word[ADDRESS] != BY_PAYLOAD;
    incoming->bytes = message->word[BYTES];
    incoming->data = incoming->in_place ? (const unsigned char *)((uintptr_t)member->place.segment +
                                                                  (uintptr_t)message->word[ADDRESS])
                                        : payload_of(member, stream, message);
    return true;
}

void hr_stream_release(struct hr_member *member, struct hr_stream *stream, size_t peer)
{
    hr_ring_release_spsc(stream->ring);
    hr_bell_ring(hr_member_bell_of(member, peer));
}

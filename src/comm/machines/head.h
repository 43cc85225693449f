/* head.h - the heads of what carriers send each other. For the files of src/machines alone.
 *
 *   [ base | of its kind | words | credits ]      at most HR_WIRE_HEAD bytes, all multiples of 8
 *
 * All machines run the same program on the same kind of processor (whoever starts a run sees to
 * it), so a head is structs as they lie.
 */
#ifndef HR_MACHINES_HEAD_H
#define HR_MACHINES_HEAD_H

#include "machines/carrier.h"

enum hr_head_kind {
    HR_HEAD_MESSAGE = 1, /* struct hr_head_message */
    HR_HEAD_LETTER,      /* struct hr_head_letter, note */
    HR_HEAD_BEAT,        /* body: lines */
    HR_HEAD_ABORT,       /* body: struct hr_failure */
    HR_HEAD_LEAVE,
    HR_HEAD_LEAVE_SEEN, /* it has come, and its sender may go */
    HR_HEAD_NOTHING     /* credits and words alone */
};

struct hr_head_base {
    uint8_t kind, credits, words;
    uint8_t last;    /* the last part of its body */
    uint32_t number; /* of lines, of a beat; of the step at which it failed, of an abort */
};

struct hr_head_message {
    uint32_t ring; /* its number in the order of hr_carrier_add_ring */
    uint32_t slot; /* struct hr_cargo */
    uint64_t ring_at, number, offset, bytes, part_at;
    struct hr_message message;
};

struct hr_head_letter {
    uint32_t channel, note_bytes;
    uint64_t bytes, part_at;
};

struct hr_head_credit {
    uint32_t ring, released; /* modulo 2^32 */
};

struct hr_head_words {
    uint32_t region, bytes;
    uint64_t version; /* then the words */
};

/* A head that is being made. */
struct hr_head {
    alignas(8) unsigned char at[HR_WIRE_HEAD];
    size_t bytes;
};

struct hr_head_base *hr_head_begin(struct hr_head *head, enum hr_head_kind kind);
/* Append; there is room (asserted). */
void hr_head_add(struct hr_head *head, const void *what, size_t bytes);
static inline size_t hr_head_room(const struct hr_head *head)
{
    return HR_WIRE_HEAD - head->bytes;
}

/* A head that is read. */
struct hr_head_reader {
    const unsigned char *at, *end;
};

/* The next `bytes` bytes; NULL: there are not so many. */
static inline const void *hr_head_take(struct hr_head_reader *reader, size_t bytes)
{
    const unsigned char *at = reader->at;
    if (bytes > (size_t)(reader->end - at))
        return NULL;
    reader->at += bytes;
    return at;
}

#endif

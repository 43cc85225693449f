/* What other machines send to a meeting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machines/meet_inside.h"

static void say_wrong(struct hr_meet *meet, size_t from, const char *what)
{
    const char *host = meet->options.wire->host[from];
    if (hr_atom32_load_relaxed(&meet->wrong)) /* our own word */
        return;
    snprintf(meet->why, sizeof meet->why, "%s sent %s", host, what);
    hr_atom32_store_release(&meet->wrong, 1); /* partner: the conductor */
    hr_bell_ring(&meet->words->bell);
}

static bool take_packet(struct hr_meet *meet, size_t from, size_t bytes, void **where)
{
    struct hr_meet_other *other = &meet->other[from];
    if (other->arriving)
        return false;
    if (bytes > other->room) {
        unsigned char *larger = realloc(other->packet, bytes);
        if (!larger) {
            say_wrong(meet, from, "more than there is memory for");
            return false;
        }
        other->packet = larger;
        other->room = bytes;
    }
    other->arriving = true;
    other->bytes = bytes;
    *where = other->packet;
    return true;
}

static bool place(void *arg, size_t from, const void *head, size_t head_bytes, size_t body_bytes,
                  void **where)
{
    struct hr_meet *meet = arg;
    struct hr_meet_note note;
    if (head_bytes != sizeof note) {
        say_wrong(meet, from, "no note of a meeting");
        return false;
    }
    memcpy(&note, head, sizeof note);
    if (note.kind != HR_MEET_RUN && note.kind != HR_MEET_PACK)
        return true;
    /* Partner: the conductor; behind its comparison. */
    if (note.meeting != hr_atom32_load_acquire(&meet->lands)) {
        say_wrong(meet, from, "changes of another meeting");
        return false;
    }
    if (note.kind == HR_MEET_PACK)
        return take_packet(meet, from, body_bytes, where);
    if (note.kind != HR_MEET_RUN || note.bytes != body_bytes ||
        !hr_twin_has(&meet->twin, note.offset, note.bytes)) {
        say_wrong(meet, from, "changes of what is not shared");
        return false;
    }
    *where = (unsigned char *)meet->options.segment + note.offset;
    return true;
}

static void arrived(void *arg, size_t from, const void *head, size_t head_bytes)
{
    struct hr_meet *meet = arg;
    struct hr_meet_other *other = &meet->other[from];
    struct hr_meet_note note;
    HR_ASSERT(head_bytes == sizeof note);
    memcpy(&note, head, sizeof note);
    switch ((enum hr_meet_kind)note.kind) {
    case HR_MEET_COME:
        hr_atom32_store_relaxed(&other->stage, note.stage); /* both published by came */
        hr_atom32_store_relaxed(&other->alone, note.alone);
        hr_atom32_store_release(&other->came, note.meeting);
        if (meet->options.led)
            hr_bell_ring(&meet->options.control->launcher_bell);
        break;
    case HR_MEET_RUN:
        hr_twin_keep(&meet->twin, note.offset, note.bytes);
        return;
    case HR_MEET_PACK:
        other->arriving = false;
        if (hr_twin_unpack(&meet->twin, other->packet, other->bytes) != HR_OK)
            say_wrong(meet, from, hr_error_message());
        return;
    case HR_MEET_END:
        hr_atom32_store_release(&other->ended, note.meeting);
        break;
    case HR_MEET_REST:
        hr_atom32_store_release(&other->rested, note.meeting);
        break;
    case HR_MEET_HAVE:
        hr_atom32_store_release(&other->has, note.meeting);
        break;
    case HR_MEET_PASS:
        hr_atom32_store_release(&meet->over, note.meeting);
        break;
    }
    hr_bell_ring(&meet->words->bell);
}

struct hr_wire_sink hr_meet_sink(struct hr_meet *meet)
{
    return (struct hr_wire_sink){meet, place, arrived};
}

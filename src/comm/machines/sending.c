/* Rings whose producer lives here: messages are sent, and released when that is done. */
#include "machines/inside.h"

static const unsigned char *body_of(const struct hr_carrier *carrier, const struct hr_cargo *cargo)
{
    return (const unsigned char *)carrier->options.segment + cargo->offset;
}

static void activate(struct hr_carrier *carrier, struct hr_sending *sending)
{
    if (!sending->active)
        carrier->active[carrier->nactive++] = sending;
    sending->active = true;
}

void hr_sending_stir(struct hr_carrier *carrier, size_t rank)
{
    for (struct hr_sending *s = carrier->sending_to[rank]; s; s = s->next)
        activate(carrier, s);
}

void hr_credit_arrived(struct hr_carrier *carrier, const struct hr_head_credit *credit)
{
    struct hr_sending *sending =
        credit->ring < carrier->nrings ? carrier->sending[credit->ring] : NULL;
    if (!sending) {
        hr_carrier_fail(carrier, HR_E_FAILED,
                        "a machine gives credit for ring %u, which is not ours", credit->ring);
        return;
    }
    sending->released += (uint32_t)(credit->released - (uint32_t)sending->released);
    activate(carrier, sending);
}

/* Give back what has been sent; true when there was something. */
static bool retire(struct hr_carrier *carrier, struct hr_sending *s)
{
    bool freed = false;
    for (; s->nparts && s->part[s->first].done; s->nparts--) {
        if (s->part[s->first].last) {
            hr_ring_release_spsc(s->ring);
            freed = true;
        }
        s->first = (s->first + 1) % HR_SENDING_PARTS;
    }
    if (freed) /* its producer may wait for room, or for all of it to be gone */
        hr_bell_ring(&carrier->options.control->rank[s->from].bell);
    return freed;
}

/* Send one part; false when there is none to send, or no room. */
static bool send_part(struct hr_carrier *carrier, struct hr_sending *s)
{
    const struct hr_message *message =
        s->taken - s->released <= s->ring->mask && s->nparts < HR_SENDING_PARTS
            ? hr_ring_peek_at_spsc(s->ring, s->taken)
            : NULL;
    if (!message)
        return false;
    hr_tracked_look(carrier); /* after the message was seen */
    if (!s->begun) {
        s->now = s->cargo ? s->cargo(s->arg, s->ring, message) : (struct hr_cargo){0};
        s->begun = true;
        s->sent = 0;
        HR_ASSERT(s->now.offset <= carrier->options.segment_bytes &&
                  s->now.bytes <= carrier->options.segment_bytes - s->now.offset);
    }
    const size_t left = s->now.bytes - s->sent, most = carrier->options.part_bytes,
                 bytes = left < most ? left : most;
    struct hr_head head;
    struct hr_part *part = &s->part[(s->first + s->nparts) % HR_SENDING_PARTS];
    if (!hr_tracked_ahead(carrier, s->machine))
        return false;
    hr_head_begin(&head, HR_HEAD_MESSAGE, carrier->term)->last = bytes == left;
    hr_head_add(&head,
                &(struct hr_head_message){s->number, s->now.slot,
                                          (uintptr_t)s->ring - (uintptr_t)carrier->options.segment,
                                          s->taken, s->now.offset, s->now.bytes, s->sent, *message},
                sizeof(struct hr_head_message));
    *part = (struct hr_part){.last = bytes == left};
    if (!hr_carrier_send(carrier, s->machine, &head, body_of(carrier, &s->now) + s->sent, bytes,
                         &part->done))
        return false;
    s->nparts++;
    s->sent += bytes;
    if (bytes == left) {
        s->taken++;
        s->begun = false;
    }
    return true;
}

/* A machine that is lost takes everything, and needs nothing. */
static void discard(struct hr_sending *s)
{
    for (; hr_ring_peek_at_spsc(s->ring, s->taken); s->taken++)
        hr_ring_release_spsc(s->ring);
}

static bool has_more(const struct hr_sending *s)
{
    return s->nparts ||
           (s->taken - s->released <= s->ring->mask && hr_ring_peek_at_spsc(s->ring, s->taken));
}

void hr_sending_go(struct hr_carrier *carrier)
{
    bool any = carrier->nactive != 0;
    while (any) { /* a part of each in turn */
        any = false;
        for (size_t i = 0; i < carrier->nactive; i++) {
            struct hr_sending *s = carrier->active[i];
            carrier->moved |= retire(carrier, s);
            if (carrier->machine[s->machine].gone && !s->nparts)
                discard(s);
            else if (!carrier->machine[s->machine].gone && carrier->stage == HR_TERM_RUNS)
                any |= send_part(carrier, s);
            carrier->moved |= retire(carrier, s); /* a small one is sent at once */
        }
        carrier->moved |= any;
    }
    for (size_t i = 0; i < carrier->nactive;) {
        struct hr_sending *s = carrier->active[i];
        s->active = has_more(s);
        if (s->active)
            i++;
        else
            carrier->active[i] = carrier->active[--carrier->nactive];
    }
}

/* One head after the other, each with the words and credits that are due. */
#include <stdarg.h>
#include <stdio.h>

#include "machines/inside.h"

/* Of words in one head that carries something else, too. */
enum { WORDS_BESIDE = 256 };

void hr_carrier_fail(struct hr_carrier *carrier, enum hr_status status, const char *format, ...)
{
    char text[sizeof carrier->failure.message];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hr_control_abort(carrier->options.control, HR_MAX_RANKS, status, text);
}

bool hr_carrier_send(struct hr_carrier *carrier, size_t to, struct hr_head *head, const void *body,
                     size_t bytes, bool *done)
{
    struct hr_head_base *base = (struct hr_head_base *)(void *)head->at;
    const unsigned char *words = head->at + head->bytes;
    base->words = base->bare ? 0 : (uint8_t)hr_tracked_pack(carrier, to, head);
    const void *credits = head->at + head->bytes;
    base->credits = base->bare ? 0 : (uint8_t)hr_landing_pack(carrier, to, head);
    if (!hr_wire_send(carrier->options.wire, to, head->at, head->bytes, body, bytes, done))
        return false;
    hr_tracked_packed(carrier, to, words, base->words);
    hr_landing_packed(carrier, to, credits, base->credits);
    carrier->carried.messages_sent++;
    carrier->carried.bytes_sent += head->bytes + bytes;
    return true;
}

bool hr_tracked_ahead(struct hr_carrier *carrier, size_t to)
{
    while (hr_tracked_due_bytes(carrier, to) > WORDS_BESIDE) {
        struct hr_head head;
        hr_head_begin(&head, HR_HEAD_NOTHING, carrier->term);
        if (!hr_carrier_send(carrier, to, &head, NULL, 0, NULL))
            return false;
    }
    return true;
}

/* A sender has half a ring left when it is told. */
void hr_credits_alone(struct hr_carrier *carrier)
{
    for (size_t m = 0; m < carrier->machines && carrier->stage == HR_TERM_RUNS; m++) {
        struct hr_machine *machine = &carrier->machine[m];
        bool now = false;
        for (size_t i = 0; i < machine->ndue && !now && hr_carrier_speaks_to(carrier, m); i++) {
            const struct hr_landing *l = machine->due[i];
            now = (hr_landing_released(l) - l->told) * 2 > l->ring->mask;
        }
        if (now) {
            struct hr_head head;
            hr_head_begin(&head, HR_HEAD_NOTHING, carrier->term);
            hr_carrier_send(carrier, m, &head, NULL, 0, NULL); /* else later */
        }
    }
}

/* --- credits: how many messages of a ring its consumer has released --- */

void hr_landing_stir(struct hr_carrier *carrier, size_t rank)
{
    for (struct hr_landing *l = carrier->landing_from[rank]; l; l = l->next) {
        struct hr_machine *machine = &carrier->machine[l->machine];
        if (l->due || hr_landing_released(l) == l->told)
            continue;
        machine->due[machine->ndue++] = l;
        l->due = true;
    }
}

size_t hr_landing_pack(struct hr_carrier *carrier, size_t to, struct hr_head *head)
{
    const struct hr_machine *machine = &carrier->machine[to];
    size_t n = 0;
    for (; n < machine->ndue && hr_head_room(head) >= sizeof(struct hr_head_credit); n++) {
        const struct hr_landing *l = machine->due[machine->ndue - 1 - n];
        const struct hr_head_credit credit = {l->number, (uint32_t)hr_landing_released(l)};
        hr_head_add(head, &credit, sizeof credit);
    }
    return n;
}

void hr_landing_packed(struct hr_carrier *carrier, size_t to, const struct hr_head_credit *credit,
                       size_t n)
{
    struct hr_machine *machine = &carrier->machine[to];
    for (; n--; credit++) {
        struct hr_landing *l = machine->due[--machine->ndue];
        l->due = false;
        l->told += (uint32_t)(credit->released - (uint32_t)l->told);
    }
}

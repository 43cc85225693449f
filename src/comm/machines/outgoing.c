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
    base->words = (uint8_t)hr_tracked_pack(carrier, to, head);
    const void *credits = head->at + head->bytes;
    base->credits = (uint8_t)hr_landing_pack(carrier, to, head);
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
        hr_head_begin(&head, HR_HEAD_NOTHING);
        if (!hr_carrier_send(carrier, to, &head, NULL, 0, NULL))
            return false;
    }
    return true;
}

/* A sender has half a ring left when it is told. */
void hr_credits_alone(struct hr_carrier *carrier)
{
    for (size_t m = 0; m < carrier->machines; m++) {
        struct hr_machine *machine = &carrier->machine[m];
        bool now = false;
        for (size_t i = 0; i < machine->ndue && !now && hr_carrier_speaks_to(carrier, m); i++) {
            const struct hr_landing *l = machine->due[i];
            now = (hr_landing_released(l) - l->told) * 2 > l->ring->mask;
        }
        if (now) {
            struct hr_head head;
            hr_head_begin(&head, HR_HEAD_NOTHING);
            hr_carrier_send(carrier, m, &head, NULL, 0, NULL); /* else later */
        }
    }
}

/* Letters: bytes for who listens on a channel. To a machine they go one after the other. */
#include <stdlib.h>
#include <string.h>

#include "machines/inside.h"

void hr_carrier_listen(struct hr_carrier *carrier, size_t channel, const struct hr_wire_sink *sink)
{
    HR_ASSERT(channel < HR_CARRIER_CHANNELS);
    pthread_mutex_lock(&carrier->lock);
    carrier->sink[channel] = *sink;
    pthread_mutex_unlock(&carrier->lock);
}

enum hr_status hr_carrier_post(struct hr_carrier *carrier, size_t to, size_t channel,
                               const void *note, size_t note_bytes, const void *body, size_t bytes,
                               struct hr_atom32 *done, struct hr_bell *bell)
{
    struct hr_letter *letter = calloc(1, sizeof *letter);
    if (!letter)
        return hr_fail(HR_E_NOMEM, "no memory for a letter to another machine");
    HR_ASSERT(note_bytes <= HR_LETTER_NOTE && note_bytes % 8 == 0 && to != carrier->self);
    letter->head = (struct hr_head_letter){(uint32_t)channel, (uint32_t)note_bytes, bytes, 0};
    memcpy(letter->note, note, note_bytes);
    letter->body = body;
    letter->done = done;
    letter->bell = bell;
    pthread_mutex_lock(&carrier->lock);
    letter->term = channel == HR_CHANNEL_OF_A_TERM ? carrier->term : 0;
    letter->bare = !letter->term || carrier->stage != HR_TERM_RUNS;
    struct hr_machine *machine = &carrier->machine[to];
    if (machine->first)
        machine->last->next = letter;
    else
        machine->first = letter;
    machine->last = letter;
    pthread_mutex_unlock(&carrier->lock);
    return HR_OK;
}

/* --- sending --- */

static bool send_part(struct hr_carrier *carrier, size_t to, struct hr_letter *letter)
{
    const size_t left = letter->head.bytes - letter->head.part_at,
                 most = carrier->options.part_bytes, bytes = left < most ? left : most;
    struct hr_head head;
    struct hr_part *part = &letter->part[(letter->first + letter->nparts) % HR_SENDING_PARTS];
    hr_tracked_look(carrier);
    if (letter->nparts == HR_SENDING_PARTS || (!letter->bare && !hr_tracked_ahead(carrier, to)))
        return false;
    struct hr_head_base *base = hr_head_begin(&head, HR_HEAD_LETTER, letter->term);
    base->last = bytes == left;
    base->bare = letter->bare;
    hr_head_add(&head, &letter->head, sizeof letter->head);
    hr_head_add(&head, letter->note, letter->head.note_bytes);
    if (!hr_carrier_send(carrier, to, &head,
                         (const void *)((uintptr_t)letter->body + letter->head.part_at), bytes,
                         &part->done))
        return false;
    letter->nparts++;
    letter->head.part_at += bytes;
    letter->all_sent = bytes == left;
    carrier->moved = true;
    return true;
}

static bool retire(struct hr_letter *letter)
{
    for (; letter->nparts && letter->part[letter->first].done; letter->nparts--)
        letter->first = (letter->first + 1) % HR_SENDING_PARTS;
    return letter->all_sent && !letter->nparts;
}

static void drop_first(struct hr_machine *machine)
{
    struct hr_letter *letter = machine->first;
    machine->first = letter->next;
    if (letter->done)
        hr_atom32_fetch_add_release(letter->done, 1); /* partner: who posted it */
    if (letter->bell)
        hr_bell_ring(letter->bell);
    if (!letter->nparts) /* else the wire of a lost machine may still say that they are done */
        free(letter);
}

void hr_letters_go(struct hr_carrier *carrier)
{
    for (size_t m = 0; m < carrier->machines; m++) {
        struct hr_machine *machine = &carrier->machine[m];
        for (struct hr_letter *l = machine->first; l && !machine->gone; l = l->next) {
            retire(l);
            while (!l->all_sent && send_part(carrier, m, l))
                retire(l);
            if (!l->all_sent)
                break;
        }
        while (machine->first && (retire(machine->first) || machine->gone))
            drop_first(machine);
    }
}

bool hr_letters_are_due(const struct hr_carrier *carrier)
{
    for (size_t m = 0; m < carrier->machines; m++)
        for (const struct hr_letter *l = carrier->machine[m].first; l; l = l->next)
            if (l->term && l->bare && !l->all_sent)
                return true;
    return false;
}

void hr_letters_drop(struct hr_carrier *carrier, size_t machine)
{
    while (carrier->machine[machine].first)
        drop_first(&carrier->machine[machine]);
}

/* --- coming --- */

bool hr_letters_place(struct hr_carrier *carrier, size_t from, const struct hr_head_letter *head,
                      const void *note, void **where)
{
    struct hr_machine *machine = &carrier->machine[from];
    const struct hr_wire_sink *sink =
        head->channel < HR_CARRIER_CHANNELS ? &carrier->sink[head->channel] : NULL;
    struct hr_coming *coming = &machine->letter[head->channel == HR_CHANNEL_OF_A_TERM];
    void *at = NULL;
    if (!sink || !sink->place || (coming->receiving && !head->part_at))
        return false; /* one at a time */
    if (!coming->receiving &&
        !sink->place(sink->arg, from, note, head->note_bytes, head->bytes, &at))
        return false;
    if (!coming->receiving)
        coming->where = at;
    coming->receiving = true;
    *where = (void *)((uintptr_t)coming->where + head->part_at);
    return true;
}

void hr_letters_arrived(struct hr_carrier *carrier, size_t from, const struct hr_head_letter *head,
                        const void *note, bool last)
{
    const struct hr_wire_sink *sink = &carrier->sink[head->channel];
    if (!last)
        return;
    carrier->machine[from].letter[head->channel == HR_CHANNEL_OF_A_TERM].receiving = false;
    sink->arrived(sink->arg, from, note, head->note_bytes);
}

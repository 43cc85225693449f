/* Rings whose consumer lives here: bytes land, messages are committed, credits go back.
 *
 *   Story    what has landed and is not released is remembered, machine by machine, in the order of
 *            its coming. Bytes that overlap with something remembered, or whose ring has something
 *            waiting, are put aside; they are copied to their place when nothing before them in
 *            the list overlaps any more. If they are what lies there they need not wait: the same
 *            memory was sent to several.
 *   Safety   whoever overwrites what it has sent would, on one machine, have waited until all had
 *            released it. So who waits for a release here, with other bytes, comes after it in
 *            every order of one machine, and nobody waits in a circle. Of the same bytes that is
 *            not true: a rank may keep its message until the others have theirs.
 */
#include <stdlib.h>
#include <string.h>

#include "machines/inside.h"

/* --- what has landed --- */

static bool is_over(const struct hr_landed *landed)
{
    return !landed->waits && landed->whole && hr_landing_released(landed->landing) > landed->number;
}

static void forget_released(struct hr_machine *machine)
{
    size_t kept = 0;
    for (size_t i = 0; i < machine->nlanded; i++)
        if (!is_over(&machine->landed[i]))
            machine->landed[kept++] = machine->landed[i];
    machine->nlanded = kept;
}

static bool overlap(const struct hr_landed *landed, size_t begin, size_t bytes)
{
    return begin < landed->begin + landed->bytes && landed->begin < begin + bytes;
}

/* Does something that is remembered lie where these bytes go? */
static bool is_taken(const struct hr_machine *machine, size_t begin, size_t bytes)
{
    for (size_t i = 0; i < machine->nlanded; i++)
        if (overlap(&machine->landed[i], begin, bytes))
            return true;
    return false;
}

static struct hr_landed *append(struct hr_machine *machine)
{
    if (machine->nlanded == machine->room) {
        const size_t room = machine->room ? 2 * machine->room : 16;
        struct hr_landed *larger = realloc(machine->landed, room * sizeof *larger);
        if (!larger)
            return NULL;
        machine->landed = larger;
        machine->room = room;
    }
    machine->landed[machine->nlanded] = (struct hr_landed){0};
    return &machine->landed[machine->nlanded++];
}

static void commit(struct hr_carrier *carrier, struct hr_landing *l,
                   const struct hr_message *message)
{
    struct hr_message *slot = hr_ring_try_reserve_spsc(l->ring);
    HR_ASSERT(slot); /* the sender has seen to it */
    *slot = *message;
    hr_ring_commit_spsc(l->ring);
    hr_bell_ring(&carrier->options.control->rank[l->to].bell);
}

/* --- coming --- */

static struct hr_landing *find(struct hr_carrier *carrier, size_t from,
                               const struct hr_head_message *head)
{
    struct hr_landing *l = head->ring < carrier->nrings ? carrier->landing[head->ring] : NULL;
    const struct hr_carrier_options *o = &carrier->options;
    const bool fits = l && l->machine == from &&
                      head->ring_at == (uintptr_t)l->ring - (uintptr_t)o->segment &&
                      head->number == l->expected && head->offset <= o->segment_bytes &&
                      head->bytes <= o->segment_bytes - head->offset;
    if (!fits)
        hr_carrier_fail(carrier, HR_E_FAILED,
                        "%s sent message %llu of ring %u, which is not what this machine expects: "
                        "the runs there and here are not the same",
                        o->wire->host[from], (unsigned long long)head->number, head->ring);
    return fits ? l : NULL;
}

/* Where the bytes of a message go that begins. */
static bool choose(struct hr_carrier *carrier, struct hr_machine *machine, struct hr_landing *l,
                   const struct hr_head_message *head)
{
    l->where = (unsigned char *)carrier->options.segment + head->offset;
    const bool apart = head->slot || !head->bytes; /* nothing overlaps with it */
    if (apart && !l->aside)
        return true;
    forget_released(machine);
    const bool waits = l->aside || is_taken(machine, head->offset, head->bytes);
    unsigned char *aside = waits && !apart ? malloc(head->bytes) : NULL;
    struct hr_landed *landed = waits && !apart && !aside ? NULL : append(machine);
    if (!landed) {
        free(aside);
        hr_carrier_fail(carrier, HR_E_NOMEM, "no memory for %llu bytes that have come from %s",
                        (unsigned long long)head->bytes, carrier->options.wire->host[l->machine]);
        return false;
    }
    *landed = (struct hr_landed){.landing = l,
                                 .number = head->number,
                                 .begin = apart ? 0 : head->offset,
                                 .bytes = apart ? 0 : head->bytes,
                                 .aside = aside,
                                 .waits = waits};
    l->aside += waits;
    carrier->carried.put_aside += aside != NULL;
    if (aside)
        l->where = aside;
    return true;
}

bool hr_landing_place(struct hr_carrier *carrier, size_t from, const struct hr_head_message *head,
                      bool last, void **where)
{
    struct hr_landing *l = find(carrier, from, head);
    if (!l)
        return false;
    if (!l->receiving && !choose(carrier, &carrier->machine[from], l, head))
        return false;
    *where = l->where + head->part_at;
    l->receiving = !last;
    l->expected += last;
    return true;
}

static struct hr_landed *remembered(struct hr_machine *machine, const struct hr_landing *l,
                                    uint64_t number)
{
    for (size_t i = machine->nlanded; i-- > 0;)
        if (machine->landed[i].landing == l && machine->landed[i].number == number)
            return &machine->landed[i];
    return NULL;
}

void hr_landing_arrived(struct hr_carrier *carrier, size_t from, const struct hr_head_message *head,
                        bool last)
{
    struct hr_landing *l = carrier->landing[head->ring];
    if (!last)
        return;
    struct hr_landed *landed = remembered(&carrier->machine[from], l, head->number);
    if (landed)
        landed->whole = true;
    if (landed && landed->waits)
        landed->message = head->message;
    else
        commit(carrier, l, &head->message);
}

/* --- from aside to its place --- */

static bool is_next(const struct hr_landed *landed)
{
    return landed->waits && landed->whole &&
           hr_ring_committed_spsc(landed->landing->ring) == landed->number;
}

/* Do the bytes that wait lie there already? Asked again when something has landed since. */
static bool lies_there(const struct hr_carrier *carrier, const struct hr_machine *machine,
                       struct hr_landed *landed)
{
    const unsigned char *there = (const unsigned char *)carrier->options.segment + landed->begin;
    if (!landed->aside)
        return true;
    if (landed->compared == machine->landings)
        return false;
    landed->compared = machine->landings;
    return memcmp(there, landed->aside, landed->bytes) == 0;
}

/* What a message that waits meets in its place. */
enum meets { MEETS_NOTHING, MEETS_BYTES, MEETS_ONE_TO_COME };

static enum meets what_it_meets(const struct hr_machine *machine, size_t n)
{
    enum meets meets = MEETS_NOTHING;
    for (size_t i = 0; i < n; i++) {
        const struct hr_landed *other = &machine->landed[i];
        if (!overlap(other, machine->landed[n].begin, machine->landed[n].bytes))
            continue;
        if (other->waits || !other->whole)
            return MEETS_ONE_TO_COME;
        meets = MEETS_BYTES;
    }
    return meets;
}

static void land(struct hr_carrier *carrier, struct hr_machine *machine, struct hr_landed *landed,
                 bool copies)
{
    machine->landings++;
    if (landed->aside && copies)
        memcpy((unsigned char *)carrier->options.segment + landed->begin, landed->aside,
               landed->bytes);
    free(landed->aside);
    landed->aside = NULL;
    landed->waits = false;
    landed->landing->aside--;
    commit(carrier, landed->landing, &landed->message);
    carrier->moved = true;
}

void hr_landing_go(struct hr_carrier *carrier)
{
    for (size_t m = 0; m < carrier->machines; m++) {
        struct hr_machine *machine = &carrier->machine[m];
        bool waits = false;
        for (size_t i = 0; i < machine->nlanded && !waits; i++)
            waits = machine->landed[i].waits;
        if (!waits)
            continue;
        forget_released(machine);
        for (size_t i = 0; i < machine->nlanded; i++) {
            struct hr_landed *landed = &machine->landed[i];
            const enum meets meets =
                is_next(landed) ? what_it_meets(machine, i) : MEETS_ONE_TO_COME;
            if (meets == MEETS_NOTHING ||
                (meets == MEETS_BYTES && lies_there(carrier, machine, landed)))
                land(carrier, machine, landed, meets == MEETS_NOTHING);
        }
    }
}

/* Which rings are carried: their order gives them their numbers. */
#include <stdlib.h>

#include "machines/inside.h"

/* What it was, where there is no memory: then *ok is false. */
static void *grown(void *array, size_t n, size_t bytes, bool *ok)
{
    void *larger = realloc(array, n * bytes);
    *ok &= larger != NULL;
    return larger ? larger : array;
}

/* Room for one more of everything, so that nothing has to grow later. */
static bool make_room(struct hr_carrier *carrier)
{
    const size_t n = carrier->nrings + 1;
    bool ok = true;
    carrier->sending = grown(carrier->sending, n, sizeof *carrier->sending, &ok);
    carrier->landing = grown(carrier->landing, n, sizeof *carrier->landing, &ok);
    carrier->active = grown(carrier->active, n, sizeof *carrier->active, &ok);
    for (size_t m = 0; m < carrier->machines; m++) {
        struct hr_machine *machine = &carrier->machine[m];
        machine->due = grown(machine->due, n, sizeof *machine->due, &ok);
    }
    return ok;
}

static bool add_sending(struct hr_carrier *carrier, const struct hr_sending *made)
{
    struct hr_sending *sending = malloc(sizeof *sending);
    if (!sending)
        return false;
    *sending = *made;
    sending->number = (uint32_t)carrier->nrings;
    sending->machine = carrier->options.homes.machine[made->to];
    sending->next = carrier->sending_to[made->to];
    carrier->sending_to[made->to] = sending;
    carrier->sending[carrier->nrings] = sending;
    return true;
}

static bool add_landing(struct hr_carrier *carrier, const struct hr_landing *made)
{
    struct hr_landing *landing = malloc(sizeof *landing);
    if (!landing)
        return false;
    *landing = *made;
    landing->number = (uint32_t)carrier->nrings;
    landing->machine = carrier->options.homes.machine[made->from];
    landing->next = carrier->landing_from[made->from];
    carrier->landing_from[made->from] = landing;
    carrier->landing[carrier->nrings] = landing;
    return true;
}

static bool add(struct hr_carrier *carrier, struct hr_ring *ring, size_t from, size_t to,
                hr_cargo_fn cargo, const void *arg)
{
    const struct hr_homes *homes = &carrier->options.homes;
    if (!make_room(carrier))
        return false;
    carrier->sending[carrier->nrings] = NULL;
    carrier->landing[carrier->nrings] = NULL;
    if (hr_homes_here(homes, from) && !hr_homes_here(homes, to) &&
        !add_sending(carrier, &(struct hr_sending){.ring = ring,
                                                   .from = (uint16_t)from,
                                                   .to = (uint16_t)to,
                                                   .cargo = cargo,
                                                   .arg = arg}))
        return false;
    if (!hr_homes_here(homes, from) && hr_homes_here(homes, to) &&
        !add_landing(carrier, &(struct hr_landing){
                                  .ring = ring, .from = (uint16_t)from, .to = (uint16_t)to}))
        return false;
    carrier->nrings++;
    return true;
}

enum hr_status hr_carrier_add_ring(struct hr_carrier *carrier, struct hr_ring *ring, size_t from,
                                   size_t to, hr_cargo_fn cargo, const void *arg)
{
    pthread_mutex_lock(&carrier->lock);
    const bool added = add(carrier, ring, from, to, cargo, arg);
    pthread_mutex_unlock(&carrier->lock);
    return added ? HR_OK : hr_fail(HR_E_NOMEM, "no memory to carry a ring between machines");
}

/* --- taken away --- */

size_t hr_carrier_rings(struct hr_carrier *carrier)
{
    pthread_mutex_lock(&carrier->lock);
    const size_t n = carrier->nrings;
    pthread_mutex_unlock(&carrier->lock);
    return n;
}

bool hr_carrier_halt(struct hr_carrier *carrier, size_t first)
{
    bool still = true;
    pthread_mutex_lock(&carrier->lock);
    carrier->halts = true;
    carrier->halted = first;
    for (size_t r = first; r < carrier->nrings; r++) {
        const struct hr_sending *s = carrier->sending[r];
        still &= !s || !s->nparts || carrier->machine[s->machine].gone;
    }
    pthread_mutex_unlock(&carrier->lock);
    return still;
}

/* Bytes aside of a machine that is lost are left: its wire may still write there. */
static void forget_landed(struct hr_machine *machine, size_t first)
{
    size_t kept = 0, due = 0;
    for (size_t i = 0; i < machine->nlanded; i++)
        if (machine->landed[i].landing->number < first)
            machine->landed[kept++] = machine->landed[i];
        else if (!machine->gone)
            free(machine->landed[i].aside);
    machine->nlanded = kept;
    for (size_t i = 0; i < machine->ndue; i++)
        if (machine->due[i]->number < first)
            machine->due[due++] = machine->due[i];
    machine->ndue = due;
}

static void unlink_rings(struct hr_carrier *carrier, size_t rank, size_t first)
{
    struct hr_sending **s = &carrier->sending_to[rank];
    struct hr_landing **l = &carrier->landing_from[rank];
    while (*s)
        if ((*s)->number < first)
            s = &(*s)->next;
        else
            *s = (*s)->next;
    while (*l)
        if ((*l)->number < first)
            l = &(*l)->next;
        else
            *l = (*l)->next;
}

void hr_carrier_forget(struct hr_carrier *carrier, size_t first)
{
    size_t active = 0;
    pthread_mutex_lock(&carrier->lock);
    for (size_t m = 0; m < carrier->machines; m++)
        forget_landed(&carrier->machine[m], first);
    for (size_t r = 0; r < HR_MAX_RANKS; r++)
        unlink_rings(carrier, r, first);
    for (size_t i = 0; i < carrier->nactive; i++)
        if (carrier->active[i]->number < first)
            carrier->active[active++] = carrier->active[i];
    carrier->nactive = active;
    for (size_t r = first; r < carrier->nrings; r++) {
        const struct hr_sending *s = carrier->sending[r];
        if (!s || !s->nparts) /* else its wire may still say that they are done */
            free(carrier->sending[r]);
        free(carrier->landing[r]);
    }
    carrier->nrings = first;
    carrier->halts = false;
    pthread_mutex_unlock(&carrier->lock);
}

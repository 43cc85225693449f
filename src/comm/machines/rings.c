/* Which rings are carried: their order gives them their numbers. */
#include <stdlib.h>
#include <string.h>

#include "group/executor.h"
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

/* --- of a group --- */

static struct hr_cargo cargo_of_group(const void *arg, const struct hr_ring *ring,
                                      const struct hr_message *message)
{
    const struct hr_carried_group *carried = arg;
    const struct hr_carries carries = hr_stream_carries(ring, carried->slot_bytes, message);
    if (!carries.bytes) /* and perhaps no address */
        return (struct hr_cargo){0};
    if (!carries.slot)
        return (struct hr_cargo){.offset = carries.offset, .bytes = carries.bytes};
    return (struct hr_cargo){.offset = (uintptr_t)carries.slot - (uintptr_t)carried->segment,
                             .bytes = carries.bytes,
                             .slot = true};
}

struct adding {
    struct hr_carrier *carrier;
    const struct hr_carried_group *carried;
    const struct hr_place *place;
};

static enum hr_status add_of_group(void *arg, size_t from, size_t to, struct hr_ring *ring)
{
    const struct adding *adding = arg;
    return hr_carrier_add_ring(adding->carrier, ring, hr_place_world_rank(adding->place, from),
                               hr_place_world_rank(adding->place, to), cargo_of_group,
                               adding->carried);
}

enum hr_status hr_carrier_add_group(struct hr_carrier *carrier, struct hr_carried_group *carried,
                                    const struct hr_group_options *options,
                                    const struct hr_place *place)
{
    struct adding adding = {carrier, carried, place};
    *carried = (struct hr_carried_group){place->segment, options->slot_bytes};
    return hr_group_each_ring_apart(options, place->group, add_of_group, &adding);
}

/* --- terms --- */

void hr_carrier_end_term(struct hr_carrier *carrier, uint32_t term)
{
    pthread_mutex_lock(&carrier->lock);
    carrier->term = term;
    carrier->stage = HR_TERM_ENDED;
    for (size_t m = 0; m < carrier->machines; m++)
        carrier->machine[m].letter[true].receiving = false;
    pthread_mutex_unlock(&carrier->lock);
}

/* Letters of no term may be: who reads them does not wait for us. */
static bool has_old_letters(const struct hr_carrier *carrier, const struct hr_machine *machine)
{
    const struct hr_letter *l = machine->first;
    while (l && !machine->gone && (!l->term || l->term == carrier->term))
        l = l->next;
    return l != NULL;
}

bool hr_carrier_is_still(void *arg)
{
    struct hr_carrier *carrier = arg;
    bool still = true;
    pthread_mutex_lock(&carrier->lock);
    for (size_t r = 0; r < carrier->nrings; r++) {
        const struct hr_sending *s = carrier->sending[r];
        still &= !s || !s->nparts || carrier->machine[s->machine].gone;
    }
    for (size_t m = 0; m < carrier->machines; m++)
        still &= !has_old_letters(carrier, &carrier->machine[m]) &&
                 (!carrier->machine[m].coming || carrier->machine[m].gone);
    pthread_mutex_unlock(&carrier->lock);
    return still;
}

/* Memory that the wire of a lost machine may still write to is left. */
static void forget_landed(struct hr_machine *machine)
{
    for (size_t i = 0; i < machine->nlanded && !machine->gone; i++)
        free(machine->landed[i].aside);
    machine->nlanded = machine->ndue = 0;
    memset(machine->knows, 0, sizeof machine->knows);
}

void hr_carrier_begin_term(struct hr_carrier *carrier, const struct hr_homes *homes)
{
    pthread_mutex_lock(&carrier->lock);
    for (size_t m = 0; m < carrier->machines; m++)
        forget_landed(&carrier->machine[m]);
    for (size_t r = 0; r < carrier->nrings; r++) {
        const struct hr_sending *s = carrier->sending[r];
        if (!s || !s->nparts) /* else its wire may still say that they are done */
            free(carrier->sending[r]);
        free(carrier->landing[r]);
    }
    memset(carrier->sending_to, 0, sizeof carrier->sending_to);
    memset(carrier->landing_from, 0, sizeof carrier->landing_from);
    carrier->nactive = carrier->nrings = carrier->ntracked = 0;
    carrier->options.homes = *homes;
    carrier->stage = HR_TERM_BEGINS;
    pthread_mutex_unlock(&carrier->lock);
}

void hr_carrier_run_term(struct hr_carrier *carrier)
{
    pthread_mutex_lock(&carrier->lock);
    carrier->stage = HR_TERM_READY;
    for (size_t r = 0; r < HR_MAX_RANKS; r++) {
        hr_sending_stir(carrier, r);
        hr_landing_stir(carrier, r);
    }
    pthread_mutex_unlock(&carrier->lock);
}

#include "machines/meet_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t hr_meet_words_bytes(void)
{
    return sizeof(struct hr_meet_words);
}

size_t hr_meet_bytes(const struct hr_area *area, size_t nareas)
{
    return sizeof(struct hr_meet) + hr_twin_bytes(area, nareas);
}

/* --- open, close --- */

enum hr_status hr_meet_open(const struct hr_meet_options *options, struct hr_meet **out)
{
    struct hr_meet *meet = calloc(1, sizeof *meet);
    if (!meet)
        return hr_fail(HR_E_NOMEM, "no memory for machines to meet");
    meet->options = *options;
    meet->words = options->words;
    for (size_t r = 0; r < options->nranks; r++)
        meet->here += hr_homes_here(&options->homes, r);
    HR_ASSERT(meet->here || options->led);
    const enum hr_status status =
        hr_twin_open(options->segment, options->area, options->nareas, &meet->twin);
    if (status != HR_OK) {
        hr_meet_close(meet);
        return status;
    }
    meet->sink = hr_meet_sink(meet);
    hr_carrier_listen(options->carrier, options->channel, &meet->sink);
    *out = meet;
    return HR_OK;
}

void hr_meet_close(struct hr_meet *meet)
{
    if (!meet)
        return;
    for (size_t m = 0; m < HR_WIRE_MACHINES; m++)
        free(meet->other[m].packet);
    for (size_t i = 0; i < 2; i++)
        free(meet->packet[i].bytes);
    hr_twin_close(&meet->twin);
    free(meet);
}

struct hr_met hr_meet_so_far(const struct hr_meet *meet)
{
    return (struct hr_met){hr_atom32_load_acquire(&meet->words->passed), meet->bytes};
}

/* --- the conductor --- */

static bool all_came(void *arg)
{
    const struct hr_gathering *at = arg;
    const struct hr_meet_options *o = &at->meet->options;
    for (size_t m = 0; m < o->homes.machines; m++)
        if (hr_meet_has(at->meet, m) && !hr_meet_is_past(&at->meet->other[m].came, at->meeting))
            return hr_meet_is_wrong(at->meet);
    return true;
}

static bool all_ended(void *arg)
{
    const struct hr_gathering *at = arg;
    const struct hr_meet_options *o = &at->meet->options;
    for (size_t m = 0; m < o->homes.machines; m++)
        if (hr_meet_has(at->meet, m) && !hr_meet_is_past(&at->meet->other[m].ended, at->meeting))
            return hr_meet_is_wrong(at->meet);
    /* Partner: the carrier. */
    return hr_atom32_load_acquire(&at->meet->done) == at->meet->posted ||
           hr_meet_is_wrong(at->meet);
}

static enum hr_status pack(struct hr_meet *meet, bool for_first)
{
    struct hr_meet_packet *packet = &meet->packet[for_first];
    packet->n = hr_twin_packed_bytes(&meet->twin, for_first);
    if (packet->n > packet->room) {
        unsigned char *larger = realloc(packet->bytes, packet->n);
        if (!larger)
            return hr_fail(HR_E_NOMEM, "no memory for %zu KiB of changes", packet->n / 1024);
        packet->bytes = larger;
        packet->room = packet->n;
    }
    if (packet->n)
        hr_twin_pack(&meet->twin, for_first, packet->bytes);
    return HR_OK;
}

static enum hr_status send_changes(struct hr_meet *meet, size_t to, uint32_t meeting)
{
    const struct hr_twin *twin = &meet->twin;
    const struct hr_meet_packet *packet = &meet->packet[to == 0];
    const struct hr_meet_note packed = {.kind = HR_MEET_PACK, .meeting = meeting};
    for (size_t i = 0; i < twin->nruns; i++) {
        const struct hr_changed_run *run = &twin->run[i];
        const struct hr_meet_note note = {HR_MEET_RUN, meeting, 0, 0, run->offset, run->bytes};
        if (hr_run_is_large(run) && (to == 0 || !run->for_first))
            HR_TRY(hr_meet_post(meet, to, &note, twin->segment + run->offset, run->bytes));
    }
    return packet->n ? hr_meet_post(meet, to, &packed, packet->bytes, packet->n) : HR_OK;
}

/* Do ranks that meet live there? */
static bool has_ranks(const struct hr_meet *meet, size_t machine)
{
    for (size_t r = 0; r < meet->options.nranks; r++)
        if (meet->options.homes.machine[r] == machine)
            return true;
    return false;
}

/* Where no rank meets, other ranks may be woken by those of other machines: these leave behind us.
 */
static bool leaves_behind_us(const struct hr_meet *meet, size_t machine)
{
    return !meet->here && has_ranks(meet, machine);
}

static enum hr_status send_ends(struct hr_meet *meet, uint32_t meeting, bool passed)
{
    const struct hr_meet_options *o = &meet->options;
    const struct hr_meet_note end = {HR_MEET_END, meeting, 0, 0, 0, 0};
    for (size_t m = 0; m < o->homes.machines; m++)
        if (hr_meet_has(meet, m) && leaves_behind_us(meet, m) == passed)
            HR_TRY(hr_meet_post(meet, m, &end, NULL, 0));
    return HR_OK;
}

static void keep_changes(const struct hr_meet *meet)
{
    const struct hr_twin *twin = &meet->twin;
    for (size_t i = 0; i < twin->nruns; i++)
        hr_twin_keep(twin, twin->run[i].offset, twin->run[i].bytes);
}

/* "node-b (ranks 2 to 3)" of those that are not there yet. */
static enum hr_status name_missing(const struct hr_meet *meet, bool come, uint32_t meeting,
                                   const char *what)
{
    const struct hr_meet_options *o = &meet->options;
    char waited[160], missing[300] = "";
    snprintf(waited, sizeof waited, "%s", hr_error_message());
    for (size_t m = 0; m < o->homes.machines; m++) {
        const size_t used = strlen(missing);
        size_t first = o->nranks, last = 0;
        if (!hr_meet_has(meet, m) ||
            hr_meet_is_past(come ? &meet->other[m].came : &meet->other[m].ended, meeting))
            continue;
        for (size_t r = 0; r < o->nranks; r++)
            if (o->homes.machine[r] == m) {
                first = first < r ? first : r;
                last = r;
            }
        snprintf(missing + used, sizeof missing - used, "%s%s (ranks %zu to %zu)", used ? ", " : "",
                 o->wire->host[m], first, last);
    }
    return hr_fail(HR_E_TIMEOUT, "%s: %s: not there: %s", waited, what,
                   missing[0] ? missing : "none, but what was sent is under way");
}

static enum hr_status gather(struct hr_meet *meet, struct hr_waiter *waiter, uint32_t meeting,
                             bool come, const char *what)
{
    struct hr_gathering at = {meet, meeting};
    const enum hr_status status =
        hr_wait_until(waiter, &meet->words->bell, come ? all_came : all_ended, &at,
                      come ? "all machines" : "what other machines have changed");
    if (hr_meet_is_wrong(meet))
        return hr_fail(HR_E_FAILED, "%s: %s", what, meet->why);
    return status == HR_E_TIMEOUT ? name_missing(meet, come, meeting, what) : status;
}

static enum hr_status check_stages(const struct hr_meet *meet, unsigned stage, const char *what)
{
    const struct hr_meet_options *o = &meet->options;
    for (size_t m = 0; m < o->homes.machines; m++) {
        const uint32_t theirs = hr_atom32_load_relaxed(&meet->other[m].stage); /* behind came */
        if (hr_meet_has(meet, m) && theirs != stage)
            return hr_fail(HR_E_MISMATCH, "%s: this machine meets at stage %u, %s at stage %u",
                           what, stage, o->wire->host[m], theirs);
    }
    return HR_OK;
}

static enum hr_status find_changes(struct hr_meet *meet, const struct hr_meeting *how)
{
    const size_t self = meet->options.homes.self;
    HR_TRY(how->repairs ? hr_twin_take(&meet->twin, self == 0, self == how->source)
                        : hr_twin_find(&meet->twin, how->stage));
    for (int for_first = 0; for_first < 2; for_first++)
        HR_TRY(pack(meet, for_first));
    return HR_OK;
}

static enum hr_status exchange(struct hr_meet *meet, struct hr_waiter *waiter, uint32_t meeting,
                               const struct hr_meeting *how)
{
    const struct hr_meet_options *o = &meet->options;
    const struct hr_meet_note come = {HR_MEET_COME, meeting, how->stage, how->alone, 0, 0};
    hr_atom32_store_release(&meet->lands, meeting); /* partner: place */
    for (size_t m = 0; m < o->homes.machines; m++)
        if (hr_meet_has(meet, m))
            HR_TRY(hr_meet_post(meet, m, &come, NULL, 0));
    HR_TRY(gather(meet, waiter, meeting, true, how->what));
    HR_TRY(check_stages(meet, how->stage, how->what));
    for (size_t m = 0; m < o->homes.machines; m++)
        if (hr_meet_has(meet, m))
            HR_TRY(send_changes(meet, m, meeting));
    HR_TRY(send_ends(meet, meeting, false));
    return gather(meet, waiter, meeting, false, how->what);
}

static enum hr_status conduct_one(struct hr_meet *meet, struct hr_waiter *waiter,
                                  const struct hr_meeting *how)
{
    const struct hr_meet_options *o = &meet->options;
    const uint32_t meeting = hr_atom32_load_relaxed(&meet->words->passed) + 1; /* our own word */
    if (how->rests)
        HR_TRY(hr_meet_come_to_rest(meet, waiter, meeting));
    HR_TRY(find_changes(meet, how));
    HR_TRY(exchange(meet, waiter, meeting, how));
    if (o->in_order)
        HR_TRY(hr_meet_agree(meet, waiter, meeting));
    keep_changes(meet);
    hr_atom32_store_release(&meet->words->passed, meeting); /* partner: ranks of this machine */
    HR_TRY(send_ends(meet, meeting, true));
    for (size_t r = 0; r < o->nranks; r++)
        if (hr_homes_here(&o->homes, r))
            hr_bell_ring(&o->control->rank[r].bell);
    return HR_OK;
}

static enum hr_status conduct(struct hr_meet *meet, struct hr_waiter *waiter, unsigned stage,
                              bool alone, const char *what)
{
    return conduct_one(meet, waiter,
                       &(struct hr_meeting){.stage = stage, .alone = alone, .what = what});
}

/* --- ranks --- */

static bool has_passed(void *arg)
{
    const struct hr_gathering *at = arg;
    return hr_meet_is_past(&at->meet->words->passed, at->meeting); /* partner: conduct */
}

/* Of the ranks here: "1, 3". */
static enum hr_status name_missing_here(const struct hr_meet *meet, uint32_t meeting,
                                        const char *what)
{
    const struct hr_meet_options *o = &meet->options;
    char waited[160], missing[200] = "";
    snprintf(waited, sizeof waited, "%s", hr_error_message());
    for (size_t r = 0; r < o->nranks; r++) {
        const size_t used = strlen(missing);
        if (hr_homes_here(&o->homes, r) && !hr_meet_is_past(&meet->words->came[r], meeting))
            snprintf(missing + used, sizeof missing - used, "%s%zu", used ? ", " : "", r);
    }
    if (!missing[0])
        return hr_fail(HR_E_TIMEOUT, "%s: %s: all of this machine are there", waited, what);
    return hr_fail(HR_E_TIMEOUT, "%s: %s: not there: rank %s", waited, what, missing);
}

enum hr_status hr_meet_at(struct hr_meet *meet, size_t rank, struct hr_waiter *waiter,
                          unsigned stage, const char *what)
{
    struct hr_meet_words *words = meet->words;
    struct hr_gathering at = {meet, hr_atom32_load_relaxed(&words->came[rank]) + 1}; /* our own */
    hr_atom32_store_release(&words->came[rank], at.meeting); /* partner: name_missing_here */
    /* Acquire: the last one sees what all have stored. Release: their stores. */
    const uint32_t arrived = hr_atom32_fetch_add_acq_rel(&words->arrived, 1) + 1;
    const bool is_last = arrived == (uint32_t)(at.meeting * meet->here);
    if (is_last && !meet->options.led)
        return conduct(meet, waiter, stage, false, what);
    if (is_last) {
        hr_atom32_store_relaxed(&words->stage, stage);      /* published by ready */
        hr_atom32_store_release(&words->ready, at.meeting); /* partner: is_due */
        hr_bell_ring(&meet->options.control->launcher_bell);
    }
    const enum hr_status status = hr_wait_until(waiter, &meet->options.control->rank[rank].bell,
                                                has_passed, &at, "all other ranks");
    return status == HR_E_TIMEOUT ? name_missing_here(meet, at.meeting, what) : status;
}

enum hr_status hr_meet_alone(struct hr_meet *meet, struct hr_waiter *waiter, unsigned stage,
                             const char *what)
{
    return conduct(meet, waiter, stage, true, what);
}

enum hr_status hr_meet_rest(struct hr_meet *meet, struct hr_waiter *waiter, unsigned stage,
                            const char *what)
{
    return conduct_one(
        meet, waiter,
        &(struct hr_meeting){.stage = stage, .alone = true, .rests = true, .what = what});
}

enum hr_status hr_meet_repair(struct hr_meet *meet, struct hr_waiter *waiter, unsigned stage,
                              size_t source, const char *what)
{
    return conduct_one(
        meet, waiter,
        &(struct hr_meeting){
            .stage = stage, .alone = true, .repairs = true, .source = source, .what = what});
}

/* --- the launcher, where it conducts --- */

/* Have all ranks of this machine come, or of another, where none of this one does? */
static bool is_due(const struct hr_meet *meet, uint32_t meeting, unsigned *stage)
{
    const struct hr_meet_options *o = &meet->options;
    if (meet->here && hr_meet_is_past(&meet->words->ready, meeting)) { /* partner: hr_meet_at */
        *stage = hr_atom32_load_relaxed(&meet->words->stage);
        return true;
    }
    for (size_t m = 0; !meet->here && m < o->homes.machines; m++) {
        const struct hr_meet_other *other = &meet->other[m];
        if (m == o->homes.self || !hr_meet_is_past(&other->came, meeting) ||
            hr_atom32_load_relaxed(&other->alone))
            continue;
        *stage = hr_atom32_load_relaxed(&other->stage);
        return true;
    }
    return false;
}

enum hr_status hr_meet_conduct(struct hr_meet *meet, struct hr_waiter *waiter, const char *what)
{
    unsigned stage;
    while (meet->options.led &&
           is_due(meet, hr_atom32_load_relaxed(&meet->words->passed) + 1, &stage))
        HR_TRY(conduct(meet, waiter, stage, false, what));
    return HR_OK;
}

/* Meetings that are over for all machines or for none, since machine 0 says so; see meet.h. */
#include "machines/meet_inside.h"

void hr_meet_drop(struct hr_meet *meet, size_t machine)
{
    meet->other[machine].gone = true;
}

void hr_meet_skip(struct hr_meet *meet, uint32_t meetings)
{
    struct hr_atom32 *passed = &meet->words->passed; /* our own word; no rank waits for it */
    hr_atom32_store_release(passed, hr_atom32_load_relaxed(passed) + meetings);
}

bool hr_meet_is_called(const struct hr_meet *meet, unsigned *stage)
{
    const uint32_t next = hr_atom32_load_relaxed(&meet->words->passed) + 1;
    for (size_t m = 0; m < meet->options.homes.machines; m++) {
        if (!hr_meet_has(meet, m) || !hr_meet_is_past(&meet->other[m].came, next))
            continue;
        *stage = hr_atom32_load_relaxed(&meet->other[m].stage); /* behind came */
        return true;
    }
    return false;
}

enum hr_status hr_meet_post(struct hr_meet *meet, size_t to, const struct hr_meet_note *note,
                            const void *body, size_t bytes)
{
    meet->posted += bytes > 0;
    meet->bytes += bytes;
    return hr_carrier_post(meet->options.carrier, to, meet->options.channel, note, sizeof *note,
                           body, bytes, bytes ? &meet->done : NULL,
                           bytes ? &meet->words->bell : NULL);
}

/* --- to rest --- */

static bool all_rest(void *arg)
{
    const struct hr_gathering *at = arg;
    const struct hr_meet *meet = at->meet;
    for (size_t m = 0; m < meet->options.homes.machines; m++)
        if (hr_meet_has(meet, m) && !hr_meet_is_past(&meet->other[m].rested, at->meeting))
            return hr_meet_is_wrong(meet);
    /* Partner: the carrier. What was posted to who is gone has been dropped. */
    return hr_atom32_load_acquire(&meet->done) == meet->posted || hr_meet_is_wrong(meet);
}

static enum hr_status wait_for(struct hr_meet *meet, struct hr_waiter *waiter, uint32_t meeting,
                               hr_ready_fn ready, const char *what)
{
    struct hr_gathering at = {meet, meeting};
    HR_TRY(hr_wait_until(waiter, &meet->words->bell, ready, &at, what));
    return hr_meet_is_wrong(meet) ? hr_fail(HR_E_FAILED, "%s: %s", what, meet->why) : HR_OK;
}

enum hr_status hr_meet_come_to_rest(struct hr_meet *meet, struct hr_waiter *waiter,
                                    uint32_t meeting)
{
    const struct hr_meet_note rest = {.kind = HR_MEET_REST, .meeting = meeting};
    for (size_t m = 0; m < meet->options.homes.machines; m++)
        if (hr_meet_has(meet, m))
            HR_TRY(hr_meet_post(meet, m, &rest, NULL, 0));
    return wait_for(meet, waiter, meeting, all_rest, "the other machines' ranks to rest");
}

/* --- over --- */

static bool all_have(void *arg)
{
    const struct hr_gathering *at = arg;
    const struct hr_meet *meet = at->meet;
    for (size_t m = 0; m < meet->options.homes.machines; m++)
        if (hr_meet_has(meet, m) && !hr_meet_is_past(&meet->other[m].has, at->meeting))
            return hr_meet_is_wrong(meet);
    return true;
}

static bool is_over(void *arg)
{
    const struct hr_gathering *at = arg;
    return hr_meet_is_past(&at->meet->over, at->meeting) || hr_meet_is_wrong(at->meet);
}

enum hr_status hr_meet_agree(struct hr_meet *meet, struct hr_waiter *waiter, uint32_t meeting)
{
    const struct hr_meet_note have = {.kind = HR_MEET_HAVE, .meeting = meeting},
                              pass = {.kind = HR_MEET_PASS, .meeting = meeting};
    if (meet->options.homes.self != 0) {
        HR_TRY(hr_meet_post(meet, 0, &have, NULL, 0));
        const enum hr_status status =
            wait_for(meet, waiter, meeting, is_over, "machine 0, which says that all have met");
        /* It may have said so before it said what recalls. */
        return status == HR_E_RECALLED && hr_meet_is_past(&meet->over, meeting) ? HR_OK : status;
    }
    HR_TRY(wait_for(meet, waiter, meeting, all_have, "all machines to have what others changed"));
    for (size_t m = 0; m < meet->options.homes.machines; m++)
        if (hr_meet_has(meet, m))
            HR_TRY(hr_meet_post(meet, m, &pass, NULL, 0));
    return HR_OK;
}

void hr_meet_keep_repaired(struct hr_meet *meet)
{
    const struct hr_twin *twin = &meet->twin;
    for (size_t i = 0; i < twin->nareas; i++)
        if (twin->area[i].repair == HR_REPAIR_FIRST)
            hr_twin_keep(twin, twin->area[i].offset, twin->area[i].bytes);
}

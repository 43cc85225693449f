/* meet.h - ranks of all machines come together, and then all have the same state.
 *
 *   ranks      come; the last one of its machine conducts (led: its launcher):
 *   conductor  finds what its machine has changed (twin.h)
 *              says that it has come                                   COME
 *              when all have: sends what was changed                   RUN ..., PACK, END
 *              when it has all of the others', and its own is sent:    lets its ranks go on
 *
 *   So a meeting is a barrier of all ranks behind which each machine's areas hold what any rank had
 *   stored before it: what is plain memory between barriers on one machine may be so on several.
 *   Where none of those who meet lives other ranks may, servers, that they wake: such a machine
 *   sends END, to machines where they live, when it has passed itself.
 *   Bytes land where they belong as they come, since by then everybody here is at rest and what we
 *   changed is known. Nobody leaves before all have come, and none waits for another to leave.
 *
 * In order  Where machines may be lost (in_order) machine 0 says when a meeting is over:
 *             others   have all of it                         HAVE
 *             machine 0  has, and so have all others: over    PASS
 *           So it is over for all or for none, before or behind whatever machine 0 says of a loss
 *           (drive/roll_call.h): then the one under way is void, for all, and a new term begins,
 *           with meetings of its own. What of a void one has come stays: who lives says it all once
 *           more, and then all have what machine 0 has (hr_meet_spread).
 *
 * Threads:  at by ranks; conduct, alone and close by the launcher. The carrier's pollers write what
 *           arrives.
 * Ordering: arrived (acq_rel, by each) carries ranks' stores to the conductor; COME goes behind
 *           its comparison; came and ended (release by a poller, acquire by the conductor) carry
 *           what has landed; passed (release) carries it to all ranks here.
 * Memory:   private: words of its ranks, which are threads; the twin, and two packets a machine.
 * Errors:   HR_E_TIMEOUT names who has not come; HR_E_ABORTED; HR_E_NOMEM; HR_E_FAILED: another
 *           machine meets elsewhere, or sends what is not shared.
 * Source:   barriers that carry diffs: Keleher et al., "TreadMarks", USENIX 1994.
 * Test:     tests/unit/machines/test_meet.c, test_meet_led.c
 */
#ifndef HR_MACHINES_MEET_H
#define HR_MACHINES_MEET_H

#include "machines/carrier.h"
#include "machines/twin.h"

struct hr_meet;

struct hr_meet_options {
    struct hr_carrier *carrier;
    const struct hr_wire *wire; /* the carrier's: for names */
    struct hr_homes homes;
    size_t nranks; /* ranks [0, nranks) meet */
    bool in_order; /* see above; then the launcher meets for all ranks, by hr_meet_alone */
    bool led;      /* the launcher conducts: where none of those who meet lives */
    struct hr_control *control;
    void *segment;
    const struct hr_area *area; /* (nareas), copied; the same on all machines */
    size_t nareas;
    size_t channel;
};

/* From now on all machines have the same in these areas. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_meet_open(const struct hr_meet_options *options, struct hr_meet **out);
/* Harmless on NULL. Nothing may arrive any more: the carrier is closed, or nobody polls. */
void hr_meet_close(struct hr_meet *meet);

/* Rank `rank` comes; when this returns all have, and have what they had stored.
 *   waiter  the rank's, which polls the carrier
 *   stage   where it meets, 0 .. 31: the same for all, and which areas are compared (twin.h)
 *   what    in words, for messages: "a cut" */
HR_CHECKED enum hr_status hr_meet_at(struct hr_meet *meet, size_t rank, struct hr_waiter *waiter,
                                     unsigned stage, const char *what);
/* Where the launcher conducts, whenever its bell has rung: the meeting that is due, if one is; then
 * it waits for the other machines. */
HR_CHECKED enum hr_status hr_meet_conduct(struct hr_meet *meet, struct hr_waiter *waiter,
                                          const char *what);
/* The same by machines' launchers, behind all ranks. */
HR_CHECKED enum hr_status hr_meet_alone(struct hr_meet *meet, struct hr_waiter *waiter,
                                        unsigned stage, const char *what);

/* --- in order; HR_E_RECALLED: the waiter was recalled before the meeting was over --- */

/* Go on without that machine. */
void hr_meet_drop(struct hr_meet *meet, size_t machine);
/* The one that may be under way is void: as hr_carrier_end_term. */
void hr_meet_end_term(struct hr_meet *meet);
/* Behind hr_carrier_is_still. */
void hr_meet_begin_term(struct hr_meet *meet, const struct hr_homes *homes);
/* Has another machine come to the next meeting? Then *stage is where. */
bool hr_meet_is_called(const struct hr_meet *meet, unsigned *stage);
/* As hr_meet_alone; then all have machine 0's bytes of all areas that are compared there. */
HR_CHECKED enum hr_status hr_meet_spread(struct hr_meet *meet, struct hr_waiter *waiter,
                                         unsigned stage, const char *what);

/* What a meeting takes beside the segment. */
size_t hr_meet_bytes(const struct hr_area *area, size_t nareas);

/* So far: meetings, and bytes that were sent in them. */
struct hr_met {
    uint64_t meetings, bytes;
};
struct hr_met hr_meet_so_far(const struct hr_meet *meet);

#endif

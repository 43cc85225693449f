/* gather_barrier.h - ranks of all machines come together, and then have what the others wrote.
 *
 *   ranks      come; the last one of its machine conducts (led: its launcher):
 *   conductor  says that it has come                                   COME
 *              when all have: sends what its ranks have written        AREA ..., PACK, END
 *              when it has all of the others', and its own is sent:    lets its ranks go on
 *
 *   What that is all machines know beforehand: areas of the segment, each with its writer, and at
 *   which stages it is sent. It is sent whether it has changed or not, to the same offset. What two
 *   machines send at one barrier does not overlap.
 *   Where none of those who meet lives other ranks may, servers, that they wake: such a machine
 *   sends END, to machines where they live, when it has passed itself.
 *   Bytes land where they belong as they come, since by then everybody here is quiescent. Nobody
 *   leaves before all have come, and none waits for another to leave.
 *   Small areas travel together, and land a word at a time: launchers look at some meanwhile.
 *
 * In order  Where machines may be lost (in_order) machine 0 says when a barrier is over:
 *             others   have all of it                         HAVE
 *             machine 0  has, and so have all others: over    PASS
 *           So it is over for all or for none, before or behind whatever machine 0 says of a loss
 *           (drive/losses_multinode.h): then the one under way is void, for all, and a new term
 *           begins, with barriers of its own. What of a void one has come stays.
 *
 * Threads:  at by ranks; conduct, alone and close by the launcher. The bridge's pollers write what
 *           arrives.
 * Ordering: arrived (acq_rel, by each) carries ranks' stores to the conductor; came and ended
 *           (release by a poller, acquire by the conductor) carry what has landed; passed (release)
 *           carries it to all ranks here.
 * Memory:   private: words of its ranks, which are threads; two packets, and one per machine.
 * Errors:   HR_E_TIMEOUT names who has not come; HR_E_ABORTED; HR_E_NOMEM; HR_E_FAILED: another
 *           machine is at another barrier, or sends what it does not share there.
 * Test:     tests/unit/machines/test_gather_barrier.c, test_gather_barrier_led.c
 */
#ifndef HR_MACHINES_GATHER_BARRIER_H
#define HR_MACHINES_GATHER_BARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "machines/bridge.h"
#include "shm/hosts.h"

struct hr_gather_barrier;

struct hr_gather_barrier_options {
    struct hr_bridge *bridge;
    const struct hr_wire *wire; /* the bridge's: for names */
    struct hr_hosts hosts;
    size_t nranks; /* ranks [0, nranks) meet */
    bool
        in_order; /* see above; then the launcher meets for all ranks, by hr_gather_barrier_alone */
    bool led;     /* the launcher conducts: where none of those who meet lives */
    struct hr_control *control;
    void *segment;
    const struct hr_area *area; /* (nareas) borrowed; the same on all machines */
    size_t nareas;
    size_t channel;
};

/* HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_gather_barrier_open(const struct hr_gather_barrier_options *options,
                                                 struct hr_gather_barrier **out);
/* Harmless on NULL. Nothing may arrive any more: the bridge is closed, or nobody polls. */
void hr_gather_barrier_close(struct hr_gather_barrier *barrier);

/* Rank `rank` comes; when this returns all have, and have what they had stored.
 *   waiter  the rank's, which polls the bridge
 *   stage   where it meets, 0 .. 31: the same for all, and which areas are sent
 *   what    in words, for messages: "a cut" */
HR_CHECKED enum hr_status hr_gather_barrier_at(struct hr_gather_barrier *barrier, size_t rank,
                                               struct hr_waiter *waiter, unsigned stage,
                                               const char *what);
/* Where the launcher conducts, whenever its bell has rung: the barrier that is due, if one is; then
 * it waits for the other machines. */
HR_CHECKED enum hr_status hr_gather_barrier_conduct(struct hr_gather_barrier *barrier,
                                                    struct hr_waiter *waiter, const char *what);
/* The same by machines' launchers, behind all ranks. */
HR_CHECKED enum hr_status hr_gather_barrier_alone(struct hr_gather_barrier *barrier,
                                                  struct hr_waiter *waiter, unsigned stage,
                                                  const char *what);

/* --- in order; HR_E_REVOKED: the waiter was revoked before the barrier was over --- */

/* Go on without that machine. */
void hr_gather_barrier_drop(struct hr_gather_barrier *barrier, size_t machine);
/* The one that may be under way is void: as hr_bridge_end_term. */
void hr_gather_barrier_end_term(struct hr_gather_barrier *barrier);
/* Behind hr_bridge_is_still. */
void hr_gather_barrier_begin_term(struct hr_gather_barrier *barrier, const struct hr_hosts *hosts);
/* Has another machine come to the next barrier? Then *stage is where. */
bool hr_gather_barrier_is_called(const struct hr_gather_barrier *barrier, unsigned *stage);
/* Between two barriers of a machine: what is sent from now on. Borrowed. */
void hr_gather_barrier_share(struct hr_gather_barrier *barrier, const struct hr_area *area,
                             size_t nareas);

/* So far: barriers, and bytes that were sent in them. */
struct hr_met {
    uint64_t barriers, bytes;
};
struct hr_met hr_gather_barrier_so_far(const struct hr_gather_barrier *barrier);

#endif

/* diff_barrier.h - ranks of all machines come together, and then all have the same state.
 *
 *   ranks      come; the last one of its machine conducts (led: its launcher):
 *   conductor  finds what its machine has changed (below)
 *              says that it has come                                   COME
 *              when all have: sends what was changed                   RUN ..., PACK, END
 *              when it has all of the others', and its own is sent:    lets its ranks go on
 *
 *   So it is a barrier of all ranks, behind which each machine's areas hold what any rank had
 *   stored before it: what is plain memory between barriers on one machine may be so on several.
 *   Where none of those who meet lives other ranks may, servers, that they wake: such a machine
 *   sends END, to machines where they live, when it has passed itself.
 *   Bytes land where they belong as they come, since by then everybody here is quiescent and what
 *   we changed is known. Nobody leaves before all have come, and none waits for another to leave.
 *
 * In order  Where machines may be lost (in_order) machine 0 says when a barrier is over:
 *             others   have all of it                         HAVE
 *             machine 0  has, and so have all others: over    PASS
 *           So it is over for all or for none, before or behind whatever machine 0 says of a loss
 *           (drive/losses_multinode.h): then the one under way is void, for all, and a new term
 *           begins, with barriers of its own. What of a void one has come stays: who lives says it
 *           all once more, and then all have what machine 0 has (hr_diff_barrier_spread).
 *
 * Threads:  at by ranks; conduct, alone and close by the launcher. The bridge's pollers write what
 *           arrives.
 * Ordering: arrived (acq_rel, by each) carries ranks' stores to the conductor; COME goes behind
 *           its comparison; came and ended (release by a poller, acquire by the conductor) carry
 *           what has landed; passed (release) carries it to all ranks here.
 * Memory:   private: words of its ranks, which are threads; the twin, and two packets a machine.
 * Errors:   HR_E_TIMEOUT names who has not come; HR_E_ABORTED; HR_E_NOMEM; HR_E_FAILED: another
 *           machine is at another barrier, or sends what is not shared.
 * Source:   barriers that carry diffs: Keleher et al., "TreadMarks", USENIX 1994.
 * Test:     tests/unit/machines/test_diff_barrier.c, test_diff_barrier_led.c, test_twin.c
 */
#ifndef HR_MACHINES_DIFF_BARRIER_H
#define HR_MACHINES_DIFF_BARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "machines/bridge.h"
#include "shm/hosts.h"

/* === which bytes of shared memory this machine has changed since the last barrier ===
 *
 *     segment  [....|== area ==|.....|== area ==|...]     what ranks write, quiescent now
 *     twin     [== area ==|== area ==]                 as all had it at the last barrier
 *
 *   Find      both are compared; a *run* is bytes that differ, one behind the other. What two
 *             machines have changed does not overlap, since every word has one writer between two
 *             barriers: so all machines' runs can be merged, in any order.
 *   Units     of an area: bytes that are looked at together, and belong to one writer together.
 *             Where one byte of a unit differs the whole unit is in the run. Units of 1 never
 *             carry a byte that was not changed; larger ones make fewer runs of arrays whose
 *             writers have large parts.
 *   Small     runs travel together, packed behind one another: (offset, bytes, the bytes, padded
 *             to 8)...; larger ones from where they are to where they belong.
 *
 * Memory:  a copy of all areas, and lists that grow to what was needed.
 * Threads: one at a time, but for keep and unpack, which may run beside each other and beside
 *          pack for bytes that do not overlap.
 * Source:  twins and diffs, and several writers of a page: Keleher et al., "TreadMarks", USENIX
 *          1994; Carter et al., "Munin", SOSP 1991. */

enum { HR_RUN_SMALL = 4096 };

/* Bytes that differ. */
struct hr_changed_run {
    size_t offset, bytes; /* of the segment */
    bool for_first;
};

struct hr_twin {
    unsigned char *segment;
    struct hr_area *area; /* (nareas) owned, by offset */
    size_t nareas;
    unsigned char *copy;        /* owned */
    size_t *at;                 /* (nareas) owned: where an area lies in the copy */
    struct hr_changed_run *run; /* (nruns, room) owned: as hr_twin_find left them */
    size_t nruns, room;
};

/* Of areas that do not overlap, and are in order: what a copy of them takes. */
size_t hr_twin_bytes(const struct hr_area *area, size_t nareas);

/* A twin of the areas as they are now. HR_E_NOMEM; close it also then. */
HR_CHECKED enum hr_status hr_twin_open(unsigned char *segment, const struct hr_area *area,
                                       size_t nareas, struct hr_twin *out);
void hr_twin_close(struct hr_twin *twin);

/* What was changed, at a barrier of this stage (0 .. 31). HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_twin_find(struct hr_twin *twin, unsigned stage);

/* What stands in the segment is what all machines have. The bytes lie in one area. */
void hr_twin_keep(const struct hr_twin *twin, size_t offset, size_t bytes);

/* --- small runs together --- */

/* Is it large enough to travel alone? */
static inline bool hr_run_is_large(const struct hr_changed_run *run)
{
    return run->bytes >= HR_RUN_SMALL;
}

/* Of the small runs found, with those for machine 0 alone or without: bytes when packed, and
 * packed. */
size_t hr_twin_packed_bytes(const struct hr_twin *twin, bool to_first);
void hr_twin_pack(const struct hr_twin *twin, bool to_first, unsigned char *to);
/* Write them into this segment, aligned to 8 bytes, a word at a time, and keep them. HR_E_FORMAT:
 * they are no runs of these areas; some may have been written. */
HR_CHECKED enum hr_status hr_twin_unpack(const struct hr_twin *twin, const unsigned char *packed,
                                         size_t bytes);

struct hr_diff_barrier;

struct hr_diff_barrier_options {
    struct hr_bridge *bridge;
    const struct hr_wire *wire; /* the bridge's: for names */
    struct hr_hosts hosts;
    size_t nranks; /* ranks [0, nranks) meet */
    bool in_order; /* see above; then the launcher meets for all ranks, by hr_diff_barrier_alone */
    bool led;      /* the launcher conducts: where none of those who meet lives */
    struct hr_control *control;
    void *segment;
    const struct hr_area *area; /* (nareas), copied; the same on all machines */
    size_t nareas;
    size_t channel;
};

/* From now on all machines have the same in these areas. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_diff_barrier_open(const struct hr_diff_barrier_options *options,
                                               struct hr_diff_barrier **out);
/* Harmless on NULL. Nothing may arrive any more: the bridge is closed, or nobody polls. */
void hr_diff_barrier_close(struct hr_diff_barrier *barrier);

/* Rank `rank` comes; when this returns all have, and have what they had stored.
 *   waiter  the rank's, which polls the bridge
 *   stage   where it meets, 0 .. 31: the same for all, and which areas are compared (below)
 *   what    in words, for messages: "a cut" */
HR_CHECKED enum hr_status hr_diff_barrier_at(struct hr_diff_barrier *barrier, size_t rank,
                                             struct hr_waiter *waiter, unsigned stage,
                                             const char *what);
/* Where the launcher conducts, whenever its bell has rung: the barrier that is due, if one is; then
 * it waits for the other machines. */
HR_CHECKED enum hr_status hr_diff_barrier_conduct(struct hr_diff_barrier *barrier,
                                                  struct hr_waiter *waiter, const char *what);
/* The same by machines' launchers, behind all ranks. */
HR_CHECKED enum hr_status hr_diff_barrier_alone(struct hr_diff_barrier *barrier,
                                                struct hr_waiter *waiter, unsigned stage,
                                                const char *what);

/* --- in order; HR_E_REVOKED: the waiter was revoked before the barrier was over --- */

/* Go on without that machine. */
void hr_diff_barrier_drop(struct hr_diff_barrier *barrier, size_t machine);
/* The one that may be under way is void: as hr_bridge_end_term. */
void hr_diff_barrier_end_term(struct hr_diff_barrier *barrier);
/* Behind hr_bridge_is_still. */
void hr_diff_barrier_begin_term(struct hr_diff_barrier *barrier, const struct hr_hosts *hosts);
/* Has another machine come to the next barrier? Then *stage is where. */
bool hr_diff_barrier_is_called(const struct hr_diff_barrier *barrier, unsigned *stage);
/* As hr_diff_barrier_alone; then all have machine 0's bytes of all areas that are compared there.
 */
HR_CHECKED enum hr_status hr_diff_barrier_spread(struct hr_diff_barrier *barrier,
                                                 struct hr_waiter *waiter, unsigned stage,
                                                 const char *what);

/* What a barrier takes beside the segment. */
size_t hr_diff_barrier_bytes(const struct hr_area *area, size_t nareas);

/* So far: barriers, and bytes that were sent in them. */
struct hr_met {
    uint64_t barriers, bytes;
};
struct hr_met hr_diff_barrier_so_far(const struct hr_diff_barrier *barrier);

#endif

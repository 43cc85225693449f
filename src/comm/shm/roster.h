/* roster.h - who takes part in a run that outlives the ranks it loses.
 *
 *   loss    the launcher has seen that rank r is gone: r's `lost` += 1
 *   return  it has started r again, and r is ready: r's `back` = its `lost`
 *   view    counts both
 *   revoke  counts those that nobody can go on without: everybody quiesces. A wait that
 *           watches a word (hr_waiter.revoke) ends with HR_E_REVOKED when it has changed.
 *   quiesce a rank has nothing under way and touches nothing that it shares. When all who live
 *           are quiescent, the launcher lets them go: `rounds` += 1. If the view has changed since
 *           the last time, it first puts in order what is shared, and a new *term* begins:
 *           `term` += 1.
 *
 *     rank r                            launcher
 *     quiescent = rounds + 1, ring      are all? (acquire)  put in order; rounds += 1 (release)
 *     wait until rounds has passed      ring all
 *
 * One rank decides when a term begins, and all who are quiescent learn it together: so nobody goes
 * on in a term that others have left.
 *
 * Threads: lost, back, view, revoke, rounds, over and term have one writer, the launcher; quiescent
 *          its rank, and after its death the launcher.
 * Source:  Bland et al., "Post-failure recovery of MPI communication capability" (ULFM), IJHPCA
 *          2013, for revoking waits; terms as in Raft (Ongaro, Ousterhout, USENIX ATC 2014), views
 *          as in viewstamped replication, but who decides is fixed: the launcher.
 * Test:    tests/unit/shm/test_roster.c
 */
#ifndef HR_SHM_ROSTER_H
#define HR_SHM_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/atom.h"

struct hr_control;

struct hr_roster {
    alignas(HR_LINE) struct hr_atom32 view; /* partner: who meets at a cut; shards */
    struct hr_atom32 revoke;                /* partner: every wait that can be revoked */
    struct hr_atom32 rounds;                /* partner: who is quiescent */
    struct hr_atom32 over;                  /* the run ends: nobody joins. Partner: who would */
    /* Published by `rounds`: */
    struct hr_atom32 term;
    struct hr_atom32 called; /* revokes that this term knows of */
    struct hr_atom32 begins; /* it begins where a cut was concluded, else within one or a span */
};

/* A rank's words that the launcher writes; in struct hr_rank_status. */
struct hr_presence {
    alignas(HR_LINE) struct hr_atom32 lost; /* partner: shards, which take it as an input */
    struct hr_atom32 back;
    struct hr_atom32 begins;  /* published by `back`: all others stand at the beginning of a span */
    struct hr_atom64 stopped; /* since when it is seen stopped; 0: it is not. Partner: doctor */
};

/* Are all revoked, and has no term begun since? */
bool hr_roster_is_revoked(const struct hr_control *control);
/* How often rank `rank` was lost; is it gone now? */
uint32_t hr_roster_lost(const struct hr_control *control, size_t rank);
bool hr_roster_is_gone(const struct hr_control *control, size_t rank);

/* --- the launcher's --- */

/* Rank `rank` is gone; revoke: nobody can go on without it. */
void hr_roster_lose(struct hr_control *control, size_t rank, bool revoke);
/* It was started again, and is ready. */
void hr_roster_welcome(struct hr_control *control, size_t rank);
/* The run ends: whoever is not welcome by now will not be. */
void hr_roster_end(struct hr_control *control);
/* Is rank `rank` quiescent, in this round? */
bool hr_roster_is_quiescent(const struct hr_control *control, size_t rank);
/* Let all who are quiescent go. */
void hr_roster_release(struct hr_control *control);
/* The same into a new term: what they share was put in order. called: revokes up to now. */
void hr_roster_begin_term(struct hr_control *control, uint32_t called, bool begins);

#endif

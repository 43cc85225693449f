/* record.h - --record: the trace of a run, written while it goes on (the file: trace/trace.h).
 *
 *     launcher   hr_record_begin       after the state is initialised, before ranks start
 *     owner      hr_shard_take_and_note: each input; of hogwild: hr_record_log
 *     launcher   hr_record_end, or hr_record_abandon
 *
 * Owners: a parameter server's shards, each with the inputs that it took (strategy.h, hr_taken), or
 * the workers of hogwild. Other runs have one owner that takes nothing: their configuration alone
 * decides the bits. When the run is not recorded, all calls do nothing.
 *
 * Of a run on several machines each has the logs of the owners that live there,
 * and machine 0 the file: what others have noted is brought to it when the run has ended.
 *
 * The launcher opens all logs, and closes them; their tails lie in the segment, so that what an
 * owner noted is there when it is not.
 */
#ifndef HR_DRIVE_RECORD_H
#define HR_DRIVE_RECORD_H

#include "drive/driver.h"
#include "machines/bridge.h"
#include "server/server.h"
#include "trace/trace.h"

HR_CHECKED enum hr_status hr_record_begin(struct hr_drive *drive);
/* After hr_result_fill. */
HR_CHECKED enum hr_status hr_record_end(struct hr_drive *drive);
/* Drop a trace that was not ended; harmless without one. */
void hr_record_abandon(struct hr_drive *drive);

/* Of the segment, for their tails (drive->record_tails). 0: nothing is recorded. */
size_t hr_record_bytes(const struct hr_drive *drive);

/* The log of one owner; NULL: nothing is recorded. */
struct hr_trace_log *hr_record_log(const struct hr_drive *drive, size_t owner);

/* --- on several machines: logs of owners that live elsewhere ---
 *
 *   machine 0   hr_record_listen   before the bridge starts
 *   others      hr_record_bring    when their ranks have ended, before the last barrier: messages
 *                                  come in their order, so behind it all logs have come
 *
 * Each log has its own order, and none of them is of two machines: so nothing is merged. What comes
 * is taken by who polls the bridge. Test: tests/unit/train/test_multinode_records.c */

/* Take the logs of other machines, which come on this channel. */
void hr_record_listen(struct hr_drive *drive, struct hr_bridge *bridge, size_t channel);
/* Send those of this one to machine 0; they stay until the bridge is closed. HR_E_IO: one could
 * not be written. */
HR_CHECKED enum hr_status hr_record_bring(struct hr_drive *drive, struct hr_bridge *bridge,
                                          size_t channel);

/* --- the launcher's log ---
 *
 * Of a run that outlives losses: who was lost and came back, which cuts all left, and which terms
 * began, each with where the ranks stood. It is the last owner
 * of such a trace; with the others' logs it decides the run's bits (--on-loss).
 *
 *     kind   rank    step                       value
 *     AT     server  0                          before LOST of a worker: requests of that life that
 *                                               had come to it, each counted once; before CUT
 *                                               and TERM: entries in its log
 *     LOST   worker  gradients it had computed  entries in its log, where it has one
 *     LOST   server  0                          entries in its log
 *     BACK   rank    0                          0
 *     CUT    0       0                          2 x its index + 1 where the run ends there
 *     TERM   0       samples that will be       the index it begins with: that of the last CUT
 *                    computed once more
 *     OVER   0       0                          0; nobody who is lost from here on is started again
 *
 *   All servers' AT stand before what they belong to. A term goes back to the last cut: nothing
 *   that logs have between the two is in the weights, and a replay skips it. Durations: of LOST
 *   and CUT, when, on the clock of the run, since it began.
 *
 * Why that is enough: what an owner takes, a loss and a return among it, stands in its own log. The
 * launcher acts only where all who live are quiescent, or (LOST, BACK) in a way that others learn
 * by an input of theirs. Test: tests/unit/train/test_replay_losses.c, test_replay_ends.c */
enum hr_membership_kind {
    HR_MEMBERSHIP_AT,
    HR_MEMBERSHIP_LOST,
    HR_MEMBERSHIP_BACK,
    HR_MEMBERSHIP_CUT,
    HR_MEMBERSHIP_TERM,
    HR_MEMBERSHIP_OVER
};

/* Written; nothing where the run is not recorded, or outlives no losses. */

/* Rank `rank` is gone, and its counters are whole; it is welcome again. */
void hr_record_lost(const struct hr_drive *drive, size_t rank);
void hr_record_back(const struct hr_drive *drive, size_t rank);
/* All are quiescent at a cut, and will leave it; halts: the run. */
void hr_record_cut(const struct hr_drive *drive, bool halts);
/* They have left the last one. */
void hr_record_over(const struct hr_drive *drive);
/* All were revoked, and a term has begun: so many samples will be computed once more. */
void hr_record_term(const struct hr_drive *drive, uint64_t index, uint64_t again);

/* Read. */

struct hr_membership_place {
    uint32_t rank;
    uint64_t value;
};

struct hr_membership_event {
    enum hr_membership_kind kind; /* LOST, BACK, CUT or TERM */
    uint32_t rank;
    uint64_t step, value;
    const struct hr_membership_place *at; /* (n) */
    size_t n;
};

struct hr_membership {
    struct hr_membership_event *event; /* (n) owned */
    size_t n, over;                    /* events; those before the end */
    struct hr_membership_place *place; /* owned */
};

/* The last owner's log. HR_E_FORMAT: what it says cannot be; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_membership_read(const struct hr_trace *trace,
                                             struct hr_membership *membership);
/* Harmless on a zeroed one. */
void hr_membership_free(struct hr_membership *membership);

#endif

/* replay_stand.h - how far each rank goes in a replay before something happens to it, or to all:
 * what the launcher's log (roll.h) says of where they stood.
 *
 *   Where a term goes on from batch k, nobody hands in its gradient of k; it may have computed it.
 *   Where a server's loss is an input, its log says all; else (strategy->recalls) the order in
 *   which it takes inputs changes no bit, and it takes any.
 *
 * Threads: a play's.
 */
#ifndef HR_PLAY_REPLAY_STAND_H
#define HR_PLAY_REPLAY_STAND_H

#include "play/play_losses.h"
#include "drive/roll.h"

struct hr_replay_stand {
    struct hr_play *play;
    struct hr_shared_state *shared; /* the play's */
    struct hr_trace_cursor *log;    /* of shards (servers), or of workers that have logs */
    struct hr_roll roll;
    size_t next;                   /* event */
    struct hr_replay_limit *limit; /* (workers, then owners) owned */
};

HR_CHECKED enum hr_status hr_stand_open(struct hr_replay_stand *stand);
/* Harmless on a zeroed one. */
void hr_stand_close(struct hr_replay_stand *stand);

/* The next event, and the next term, not behind a cut; NULL: there is none. */
const struct hr_roll_event *hr_stand_next(const struct hr_replay_stand *stand);
const struct hr_roll_event *hr_stand_term(const struct hr_replay_stand *stand);

/* May worker `rank` not go on: compute its next gradient, or end what all do together? May it
 * compute the gradient, but not hand it in? */
bool hr_stand_holds(struct hr_replay_stand *stand, size_t rank);
bool hr_stand_keeps(struct hr_replay_stand *stand, size_t rank);
/* Entries of its log that a worker repeats before it dies; 0: all. */
uint64_t hr_stand_entries(struct hr_replay_stand *stand, size_t rank);
/* May server `shard` take the next entry of its log? */
bool hr_stand_may_take(struct hr_replay_stand *stand, size_t shard);

/* Does a message between workers come, before its sender is lost? */
bool hr_stand_delivers(struct hr_replay_stand *stand, size_t from, size_t to);

/* Do all stand where that term says? May that rank be lost now? */
bool hr_stand_all(struct hr_replay_stand *stand, const struct hr_roll_event *term);
bool hr_stand_may_be_lost(struct hr_replay_stand *stand, const struct hr_roll_event *event);
/* The term begins: what servers had taken, and here could not, is skipped. */
void hr_stand_begin_term(struct hr_replay_stand *stand, const struct hr_roll_event *term);

#endif

/* replay_losses.h - a replay follows the launcher's log (roll.h): ranks are lost and come back, and
 * terms begin, where they did as seen from every owner.
 *
 *   LOST   of a worker: when it has computed as many gradients, and sent as many messages, as it
 *          had; so its last ones may still be taken. Then shards take the loss where their logs
 *          say. Of a server: when it has taken what it had.
 *   BACK   when all owners have taken the loss.
 *   CUT    when all are at it. Where that is the log says, not who asks to stop, or to save: all
 *          may have been asked, gone back to the last cut, and ended at an earlier one.
 *   TERM   when each rank stands where it stood. A worker that stood in the middle of something is
 *          held back from computing, or handing in, what it had not. Where all go back to the last
 *          cut it may be that they cannot stand so: a server that was killed had done something
 *          that it did not come to note. Then the term begins when nothing else can happen.
 *
 * In the recorded run each of these came after all that it waits for here: so none waits for ever.
 *
 * Threads: a play's.
 * Test:    tests/unit/train/test_replay_losses.c, test_replay_ends.c
 */
#ifndef HR_PLAY_REPLAY_LOSSES_H
#define HR_PLAY_REPLAY_LOSSES_H

#include "play/play_cut.h"
#include "drive/replay.h"
#include "play/replay_stand.h"

struct hr_replay_losses {
    struct hr_replay_stand stand;
    const struct hr_trace_texts *texts;
    size_t forced;     /* events before this one happen, wherever ranks stand */
    uint64_t rests[2]; /* of the schedule: the next cut, and the one behind it */
};

/* Before the play is started. Nothing where no losses are outlived. HR_E_FORMAT, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_replay_losses_open(struct hr_replay_losses *losses,
                                                struct hr_play *play, const struct hr_drive *drive,
                                                struct hr_trace_cursor *log);
/* Harmless on a zeroed one. */
void hr_replay_losses_close(struct hr_replay_losses *losses);

/* Let happen what may. */
HR_CHECKED enum hr_status hr_replay_losses_go_on(struct hr_replay_losses *losses, bool *moved);
/* The same where the run has left the recorded order: who is gone comes back. */
HR_CHECKED enum hr_status hr_replay_losses_leave(struct hr_replay_losses *losses, bool *moved);

/* Nothing else can happen. False: nor can the next event. */
bool hr_replay_force(struct hr_replay_losses *losses);

/* Is a cut next, and do all stand at it? Then: all leave it. */
bool hr_replay_at_cut(struct hr_replay_losses *losses);
HR_CHECKED enum hr_status hr_replay_cut(struct hr_replay_losses *losses);
/* The last cut has passed: who is lost after it. */
HR_CHECKED enum hr_status hr_replay_losses_end(struct hr_replay_losses *losses);

/* What the launcher's log waits for, in a text; "": nothing. */
void hr_replay_losses_awaited(const struct hr_replay_losses *losses, char *text, size_t size);

#endif

/* replay_losses.h - a replay follows the launcher's log (drive/record.h): ranks are lost and come
 * back, and terms begin, where they did as seen from every owner.
 *
 *   TERM   all went back to the last cut, so nothing that happened between is in the weights:
 *          behind that cut all that the log has up to TERM happens at once, before any rank does
 *          anything, and owners skip what their logs have of it.
 *   LOST   of a worker whose loss is an input: when it has computed as many gradients, and sent as
 *          many messages, as it had; so its last ones may still be taken. Then shards take the loss
 *          where their logs say.
 *   BACK   when all owners have taken the loss.
 *   CUT    when all are at it. Where that is the log says, not who asks to stop, or to save: all
 *          may have been asked, gone back to the last cut, and ended at an earlier one.
 *
 * In the recorded run each of these came after all that it waits for here: so none waits for ever.
 *
 * Threads: a play's.
 * Test:    tests/unit/train/test_replay_losses.c, test_replay_ends.c
 */
#ifndef HR_PLAY_REPLAY_LOSSES_H
#define HR_PLAY_REPLAY_LOSSES_H

#include "drive/replay.h"
#include "drive/record.h"
#include "play/play.h"

struct hr_replay_losses {
    struct hr_play *play;
    struct hr_shared_state *shared; /* the play's */
    struct hr_trace_cursor *log;    /* of shards (servers), or of workers that have logs */
    const struct hr_trace_texts *texts;
    struct hr_roll roll;
    bool follows;                  /* the log; else nothing is outlived, or the run has left it */
    size_t next;                   /* event */
    size_t forced;                 /* events before this one happen at once */
    struct hr_replay_limit *limit; /* (workers) owned */
    uint64_t rests[2];             /* of the schedule: the next cut, and the one behind it */
};

/* Before the play is started. Nothing where no losses are outlived. HR_E_FORMAT, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_replay_losses_open(struct hr_replay_losses *losses,
                                                struct hr_play *play, const struct hr_drive *drive,
                                                struct hr_trace_cursor *log);
/* Harmless on a zeroed one. */
void hr_replay_losses_close(struct hr_replay_losses *losses);

/* May worker `rank` not go on, since it is lost before? May it compute the gradient, but not hand
 * it in? */
bool hr_replay_holds(struct hr_replay_losses *losses, size_t rank);
bool hr_replay_keeps(struct hr_replay_losses *losses, size_t rank);
/* Entries of its log that a worker repeats before it dies; 0: all. */
uint64_t hr_replay_entries(struct hr_replay_losses *losses, size_t rank);

/* Let happen what may. */
HR_CHECKED enum hr_status hr_replay_losses_go_on(struct hr_replay_losses *losses, bool *moved);
/* The same where the run has left the recorded order: who is gone comes back. */
HR_CHECKED enum hr_status hr_replay_losses_leave(struct hr_replay_losses *losses, bool *moved);

/* Is a cut next, and do all stand at it? Then: all leave it. */
bool hr_replay_at_cut(struct hr_replay_losses *losses);
HR_CHECKED enum hr_status hr_replay_cut(struct hr_replay_losses *losses);
/* The last cut has passed: who is lost after it. */
HR_CHECKED enum hr_status hr_replay_losses_end(struct hr_replay_losses *losses);

/* What the launcher's log waits for, in a text; "": nothing. */
void hr_replay_losses_awaited(const struct hr_replay_losses *losses, char *text, size_t size);

#endif

/* replay.h - what a trace says of its run, and whether that can be repeated here.
 *
 * Here a trace is opened, and whether this machine and these data can give its bits is checked. The
 * driver is drive_replay.c: each owner follows its log. Header and trailer are JSON, written here
 * (when the run is recorded) and read here:
 *
 *     header   {"hogring": "0.1.0", "options": {...}, "data": {"name", "digest", "options": {...}},
 *               "machine": {...}, "model": "...", "params": n, "owners": "shards",
 *               "gossip_graph": digest of the links, where it is a file,
 *               "losses": {"on-loss", "lost-batch", "max-restarts"} where they are outlived,
 *               "begin": {"index": 0, "weights": digest, "state": digest}}
 *     trailer  {"index" of the end, "weights_digest", "interrupted", "updates", "samples",
 *               "seconds", "staleness": {"updates", "sum", "max"},
 *               "losses": [{"rank", "server", "how", "seconds", "pause_s", "step", ...}, ...] where
 *               they are outlived}
 *
 * A trace is not trusted: types, lengths and names are checked here, values where those of a
 * command line are (hr_train).
 */
#ifndef HR_DRIVE_REPLAY_H
#define HR_DRIVE_REPLAY_H

#include <jansson.h>

#include "drive/driver.h"
#include "hogring/replay.h"
#include "trace/trace.h"

/* Return new texts; free them. Write the header before the first rank starts. */
HR_CHECKED enum hr_status hr_trace_header_write(const struct hr_drive *drive, char **text);
HR_CHECKED enum hr_status hr_trace_trailer_write(const struct hr_drive *drive, char **text);

/* How many owners keep logs; the launcher is the last, where losses are outlived. */
size_t hr_record_owners(const struct hr_drive *drive);
/* Ranks in the log of that owner are below this. */
size_t hr_record_ranks(const struct hr_drive *drive, size_t owner);

/* Where the recorded run began. */
struct hr_trace_begin_state {
    uint64_t index;
    char weights[33], state[33];
};

/* What they say besides. */
struct json_t;
struct hr_trace_texts {
    struct json_t *machine; /* owned */
    struct json_t *losses;  /* owned; NULL: none are outlived */
    /* (nrequested_cuts) owned, growing: cuts that were asked for (SIGUSR1, time) */
    uint64_t *requested_cuts;
    size_t nrequested_cuts;
    struct hr_trace_begin_state begin;
    bool pauses;     /* no save was a cut: one of a replay may be anywhere */
    bool pure_saves; /* those that were cuts changed nothing */
};

/* Into the public fields of *replay (path is set), and *texts. HR_E_FORMAT, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_trace_text_read(const char *header, const char *trailer,
                                             struct hr_replay *replay,
                                             struct hr_trace_texts *texts);
/* Harmless on a zeroed one. */
void hr_trace_texts_free(struct hr_trace_texts *texts);
/* When loss `number` was noticed, how it came, its pause, and the samples that it cost, into *loss.
 * HR_E_FORMAT: it does not say. */
HR_CHECKED enum hr_status hr_trace_texts_loss(const struct hr_trace_texts *texts, size_t number,
                                              struct hr_loss *loss);

/* hr_replay.own */
struct hr_replay_own {
    struct hr_trace trace;
    struct hr_trace_texts texts;
};

static inline const struct hr_replay_own *hr_replay_own(const struct hr_replay *replay)
{
    return replay->own;
}

/* Will the run end before the recorded one did (--max-steps)? */
static inline bool hr_replay_is_cut_short(const struct hr_drive *drive)
{
    return drive->job->shared->schedule.end < drive->replay->end;
}

/* After the run is prepared: end its schedule where the recorded run ended, unless that outlives
 * losses: then it may have gone farther before. HR_E_FORMAT: the logs do not fit such a run. */
HR_CHECKED enum hr_status hr_replay_prepare(struct hr_drive *drive);
/* After the state is initialised: HR_E_USAGE when the recorded run began with another state. */
HR_CHECKED enum hr_status hr_replay_check_state(const struct hr_drive *drive);

#endif

/* trace_text.h - the header and the trailer of a run's trace: JSON, written here and read here.
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
#ifndef HR_DRIVE_TRACE_TEXT_H
#define HR_DRIVE_TRACE_TEXT_H

#include "hogring/replay.h"
#include "drive/driver.h"

/* Return new texts; free them. Write the header before the first rank starts. */
HR_CHECKED enum hr_status hr_trace_header_write(const struct hr_drive *drive, char **text);
HR_CHECKED enum hr_status hr_trace_trailer_write(const struct hr_drive *drive, char **text);

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
    uint64_t *rests;        /* (nrests) owned, growing: cuts that were asked for (SIGUSR1, time) */
    size_t nrests;
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

/* Where this run begins. */
void hr_trace_begin_state(const struct hr_drive *drive, struct hr_trace_begin_state *out);

#endif

/* trace_text.h - the header and the trailer of a run's trace: JSON, written here and read here.
 *
 *     header   {"hogring": "0.1.0", "options": {...}, "data": {"name", "digest", "options": {...}},
 *               "machine": {...}, "model": "...", "params": n, "owners": "shards",
 *               "gossip_graph": digest of the links, where it is a file,
 *               "begin": {"index": 0, "weights": digest, "state": digest}}
 *     trailer  {"index" of the end, "weights_digest", "interrupted", "updates", "samples",
 *               "seconds", "staleness": {"updates", "sum", "max"}}
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

/* Into the public fields of *replay (path is set), the machine (a new reference) and *begin.
 * HR_E_FORMAT, HR_E_NOMEM. */
struct json_t;
HR_CHECKED enum hr_status hr_trace_text_read(const char *header, const char *trailer,
                                             struct hr_replay *replay, struct json_t **machine,
                                             struct hr_trace_begin_state *begin);

/* Where this run begins. */
void hr_trace_begin_state(const struct hr_drive *drive, struct hr_trace_begin_state *out);

#endif

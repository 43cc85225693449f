/* traces.h - runs that are recorded into a scratch file and replayed from it. */
#ifndef HR_TESTS_SUPPORT_TRACES_H
#define HR_TESTS_SUPPORT_TRACES_H

#include "hogring/replay.h"
#include "trace/trace.h"
#include "support/runs.h"
#include "support/scratch.h"

/* Train with --record into the scratch file `name`; the weights digest into digest. */
void trace_record(const char *name, struct hr_train_options options, char digest[33]);

/* Replay the scratch file, which must go well, and compare with its own digest and with `want`. */
#define CHECK_REPLAY(name, want) check_replay_((name), (want), __FILE__, __LINE__)
void check_replay_(const char *name, const char *want, const char *file, int line);

/* Replay the scratch file: the account must be that of the recorded run, loss by loss. */
void check_replay_of(const struct hr_run_result *result, const char *name);

/* Opening or replaying the scratch file must fail so, with one line that holds the text. */
void trace_refused(const char *name, enum hr_status status, const char *text);

/* Write the scratch file `to` as `from` is, but for what `change` does to the n entries of an
 * owner, and for header and trailer, where one is not NULL. Its checksum is right. */
struct trace_edit {
    void (*change)(struct hr_trace_entry *entries, size_t n);
    size_t owner;
    const char *header, *trailer;
    uint32_t version; /* 0: its own */
};
void trace_rewrite(const char *from, const char *to, const struct trace_edit *edit);

/* The header or trailer of the scratch file, with the first `old` in it replaced; free it. */
char *trace_header_with(const char *name, const char *old, const char *new);
char *trace_trailer_with(const char *name, const char *old, const char *new);

#endif

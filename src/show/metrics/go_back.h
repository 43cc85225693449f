/* go_back.h - a log that is continued: its run goes on from a checkpoint, and what the log says of
 * later steps is overtaken.
 *
 * The lines that are overtaken are those of this run of later steps, and what stands behind its
 * last line "saving" of the checkpoint's step, but that it was "saved", and steps up to it that are
 * not made once more: what is told when a worker has its next batch may come behind a save that is
 * no cut. They are moved to the end of FILE.overtaken: nobody reads a step twice, and nothing is
 * gone. A last line that is torn (the machine lost power) goes there too. The file is replaced as a
 * whole, under its lock (appender.h).
 *
 * A run that begins anew (no checkpoint was saved before it was killed) goes back to step 0.
 *
 * A line begins {"run":NAME,"event":EVENT,"step":N: what else it holds is not looked at.
 *
 * Test: tests/unit/metrics/test_go_back.c
 */
#ifndef HR_METRICS_GO_BACK_H
#define HR_METRICS_GO_BACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct hr_gone_back {
    uint64_t lives; /* of this run so far */
    uint64_t lines; /* overtaken */
    uint64_t torn;  /* bytes of a last line that was cut off */
};

/* Where the run goes on. */
struct hr_go_back {
    const char *run;        /* its name, as JSON text in quotes */
    uint64_t step;          /* of the checkpoint */
    const uint64_t *redone; /* (nredone) steps up to it that are made once more */
    size_t nredone;
};

/* Is that step, which the checkpoint is behind, made once more? */
bool hr_go_back_redoes(const struct hr_go_back *to, uint64_t step);

/* HR_E_USAGE: the file is no log of hogring, or has later steps of this run but never saw it saved:
 * another's. HR_E_IO. No file: nothing is done. */
HR_CHECKED enum hr_status hr_log_go_back(const char *path, const struct hr_go_back *to,
                                         struct hr_gone_back *gone);

/* Does the log tell of this run (as above), and not of its end? Not where its last line is torn. */
HR_CHECKED enum hr_status hr_log_lacks_end(const char *path, const char *run, bool *lacks);

#endif

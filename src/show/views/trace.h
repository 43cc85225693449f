/* trace.h - what hogring inspect shows of a trace: what happened, in which order; text and JSON.
 *
 * Threads: none. Test: tests/cli/inspect_trace.bats */
#ifndef HR_VIEWS_TRACE_H
#define HR_VIEWS_TRACE_H

#include <jansson.h>
#include <stdbool.h>

#include "drive/roll.h"
#include "hogring/replay.h"
#include "options/command_line.h"
#include "trace/trace.h"

/* --- trace view --- */

/* What a trace tells of its run: who took what, how stale updates were, what the
 * workers did with their time.
 *
 * Source:    the logs; where they are silent, the trailer, which the run itself wrote: the workers'
 *            times, and the number of updates.
 * Losses:    where all begin anew, versions are counted anew, and what they took back does not
 *            count; whose gradients came too late, the log alone does not tell when there are fewer
 *            workers.
 * Logs:      allreduce and local-sgd have none: replicas go in step, no order decides anything. */

enum { HR_TRACE_KINDS = 13 };

struct hr_worker_view {
    uint64_t gradients;         /* it computed */
    uint64_t dropped;           /* of these, those that came too late */
    uint64_t exchanges;         /* with the center */
    double gradients_s;         /* they took, loading their batches included */
    struct hr_worker_time time; /* all it did with the run's time; from the trailer */
    uint64_t clock;             /* pushes and exchanges that count, in the log at hand */
    uint64_t read, index;       /* the version, and the batch, of its last pull there */
    uint64_t stale_sum, stale_max;
    uint64_t *staleness; /* (room) of each that counts, the largest over the shards; owned */
    size_t room;
};

struct hr_trace_view {
    const char *path;
    struct hr_trace trace;
    struct hr_replay *replay;
    json_t *trailer;
    bool logged;         /* there are logs that say what workers did */
    bool hogwild;        /* they are the workers' own */
    bool exchanges;      /* workers update replicas, and exchange with a center */
    bool drops;          /* gradients may come too late */
    bool counts;         /* each push is an update: staleness can be worked out */
    bool timed;          /* the trailer has the workers' times */
    size_t nowners;      /* of inputs */
    struct hr_roll roll; /* of a run that outlives losses: what its launcher noted; owned */
    size_t nworkers;
    struct hr_worker_view *worker;     /* (nworkers) owned */
    uint64_t (*kinds)[HR_TRACE_KINDS]; /* (owners) entries by kind; owned */
    uint64_t taken_back;               /* pushes, by terms; they count nowhere else */
    uint64_t pushes, differ;           /* that count, in all; whose recorded staleness is another */
    uint64_t step, in; /* backup-workers: the step in hand, gradients of it that are in */
    uint64_t histogram[HR_RESULT_STALENESS_BUCKETS];
    double seconds; /* of the recorded run */
};

/* On failure, too, close it. HR_E_IO, HR_E_FORMAT, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_trace_view_open(struct hr_trace_view *view, const char *path);
/* Harmless on a zeroed one. */
void hr_trace_view_close(struct hr_trace_view *view);

const char *hr_trace_view_kind(const struct hr_trace_view *view, size_t kind);

/* --- inspect trace --- */

/* Hogring inspect of a trace.  */

/* Does the file begin as a trace does? */
bool hr_is_trace(const char *path);

/* Print what the trace holds, or write it as JSON. */
HR_CHECKED enum hr_status hr_inspect_trace(const struct hr_cli *cli, const char *path);

#endif

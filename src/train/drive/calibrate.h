/* calibrate.h - --calibrate FILE: a real run is timed, and written as a model that hogring simulate
 * --config FILE reads.
 *
 * Measured (the last HR_SAMPLES_KEPT of each rank):
 *   compute   a worker's time from one batch to the next without idle waiting: its gradient and,
 *             without servers, its part of the update and of the exchange
 *             With a pipeline as long as one rank would take for the work of all stages, without
 *             forward passes that --pipeline K,recompute computes again: virtual time shares it out
 *   idle      how long it waited, in the same steps
 *   came      when it had done its part of each and began to wait
 *   served    how long a shard takes a PULL (copying its slice) and a PUSH (the update)
 *   noticed   time from sending a message until a rank that waits for it sees it
 *
 * Written, as a configuration file, whole or not at all:
 *   compute-time   the fitted lognormal where it is a good one (netsim/delay.h), else
 *                  trace:FILE.compute (found beside FILE), the durations themselves, all workers
 *                  together. Synchronous replicas without servers: plus the wait after the last
 *                  worker had come, which is the exchange and being woken
 *   inject         slow:RANKxF for workers whose median is more than 10 % off the others'; above,
 *                  their durations are divided by F
 *   server-time    the same for pulls and pushes together (FILE.server)
 *   link           half of the mean of `noticed` as latency: a message passes two wires, from a
 *                  worker to the switch and on to the server. Bulk data do not travel in shared
 *                  memory; copying them is in server-time, so the bandwidth is next to infinite.
 * and as # comments: the run, the machine, how many samples there are, how good the fits are.
 *
 * Threads:   a rank writes its own samples; they are read after all ranks have ended.
 */
#ifndef HR_DRIVE_CALIBRATE_H
#define HR_DRIVE_CALIBRATE_H

#include <stdalign.h>
#include <stdbool.h>

#include "base/error.h"
#include "shm/atom.h"

enum { HR_SAMPLES_KEPT = 4096 };

struct hr_drive;
struct hr_train_job;
struct hr_shard;

/* Durations; one writer. */
struct hr_durations {
    alignas(HR_LINE) uint64_t seen; /* in all; sample i is at i % HR_SAMPLES_KEPT */
    int64_t longer_ns;              /* compute: hr_staged_longer_ns, as it is in them */
    int64_t ns[HR_SAMPLES_KEPT];
};

/* In the segment; all NULL when nobody calibrates. */
struct hr_calibration {
    struct hr_durations *compute; /* (workers) */
    struct hr_durations *idle;    /* (workers) */
    struct hr_durations *came;    /* (workers) times, not durations */
    struct hr_durations *noticed; /* (nranks) */
    struct hr_durations *served;  /* (servers, HR_SENT_REPLY): pulls, pushes */
    struct hr_atom64 *sent; /* (workers, servers, HR_SENT_KINDS) when the last one was; writer:
                                   the sender */
};

enum hr_sent { HR_SENT_PULL, HR_SENT_PUSH, HR_SENT_REPLY, HR_SENT_KINDS };

/* HR_E_USAGE when the file cannot be a model's, HR_E_IO when it could not be written. */
HR_CHECKED enum hr_status hr_calibrate_check(const struct hr_train_job *job);

/* Bytes of the samples; 0 without --calibrate. Then: they begin at `memory`, zeroed. */
size_t hr_calibration_bytes(const struct hr_train_job *job);
void hr_calibration_place(struct hr_drive *drive, unsigned char *memory);

/* --- ranks; without --calibrate these return at once */

/* A worker has its replies. */
void hr_calibrate_replies(const struct hr_drive *drive, size_t rank);
/* Between two batches of a worker. */
struct hr_step_times {
    int64_t accepted_ns; /* start of the previous step; 0: none */
    int64_t came_ns;     /* end of its work */
    int64_t idle_ns;     /* time waited after that */
};
/* A worker begins a step or, with `cut`, rests. Returns the next call's accepted_ns; 0 at a cut. */
HR_CHECKED int64_t hr_calibrate_step(const struct hr_drive *drive, size_t rank,
                                     const struct hr_step_times *times, bool cut);
/* A shard waited from `since`, began with a message at `began`, and has finished it. */
void hr_calibrate_take(const struct hr_drive *drive, const struct hr_shard *shard, int64_t since,
                       int64_t began);

/* Write the model. HR_E_IO, HR_E_NOMEM; HR_E_FAILED when nothing was measured. */
HR_CHECKED enum hr_status hr_calibrate_write(const struct hr_drive *drive);

#endif

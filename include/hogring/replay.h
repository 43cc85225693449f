/* replay.h - a recorded run (hr_train_options.record) once more, to the same bits.
 *
 *     struct hr_replay *replay;
 *     struct hr_dataset dataset;
 *     struct hr_run_result result;
 *     if (hr_replay_open("run.trace", &replay) != HR_OK || ...)
 *     hr_dataset_open_with(replay->data, &replay->data_options, &dataset)
 *     hr_replay_run(replay, &dataset, NULL, &result)
 *     hr_replay_close(replay);
 *
 * A trace holds the run's configuration, what each owner took in which order, and the digest of the
 * weights that came out. One process plays all ranks and feeds each owner its own log; gradients
 * are computed by as many threads as there are processors, whatever the number of workers.
 *
 * Threads: as hr_train.
 */
#ifndef HOGRING_REPLAY_H
#define HOGRING_REPLAY_H

#include "hogring/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Made by hr_replay_open. Of the options a caller may change what decides no bits (checkpoint_dir,
 * keep, timeout, ...), where weights that the run began with stand now (init_weights, resume), and
 * max_steps; and has to give the update_rule again, where there was one. */
struct hr_replay {
    struct hr_train_options options;     /* of the recorded run */
    char data[256];                      /* its data's name ... */
    struct hr_data_options data_options; /* ... how it was opened ... */
    char data_digest[33];                /* ... and what it held */
    char weights_digest[33];             /* at the end of the recorded run */
    uint64_t end;                        /* index at which it ended */
    double seconds;                      /* that it trained for */
    char path[1024];                     /* of the trace */
    void *own;                           /* the rest of the trace */
};

/* Read a trace and check it. HR_E_IO, HR_E_FORMAT (torn, altered, or not what hogring writes),
 * HR_E_NOMEM; *out is written only on success. */
enum hr_status hr_replay_open(const char *path, struct hr_replay **out);
/* Harmless on NULL. */
void hr_replay_close(struct hr_replay *replay);

/* Train as recorded. HR_E_USAGE: other data, or a machine that cannot give the same bits (other
 * BLAS core, vector kernels or mathematical library), before anything is trained. HR_E_FORMAT: the
 * trace does not fit the run that its header describes. HR_OK says nothing about the digests:
 * result->weights_digest and result->recorded_digest (empty when the run was cut short by
 * max_steps or interrupted) are for the caller to compare. */
enum hr_status hr_replay_run(const struct hr_replay *replay, const struct hr_dataset *dataset,
                             const struct hr_observer *observer, struct hr_run_result *result);

/* What if? The recorded run in virtual time, with gradients that take as long as they took, and
 * something else. `what` is one of these, or several joined by +, or "" for the model by itself:
 *     straggler=none     workers whose median gradient took 1.25 times the median worker's take as
 *                        long as that
 *     staleness=N        ssp with this bound
 *     link=LINK          from each rank to a switch, as 10Gbps or 1GB/s,5us
 *     servers=S          so many shards
 *     overhead           what each gradient costs besides (messages, updates, taking turns on
 *                        processors), in seconds: hr_replay_overhead
 * HR_E_USAGE: something else, or a trace that says no times (of a run without servers). Order, and
 * so weights, follow from the times: those of "" are not those of the recorded run, which
 * hr_replay_run has. */
enum hr_status hr_replay_what_if(const struct hr_replay *replay, const char *what, double overhead,
                                 const struct hr_dataset *dataset,
                                 const struct hr_observer *observer, struct hr_run_result *result);

/* What a gradient of the recorded run cost besides, when the model without it took so long and made
 * so many updates. */
double hr_replay_overhead(const struct hr_replay *replay, const struct hr_run_result *model);

#ifdef __cplusplus
}
#endif
#endif

/* replay.h - repeats a recorded run (hr_train_options.record) to the same bits.
 *
 *     struct hr_replay *replay;
 *     struct hr_dataset dataset;
 *     struct hr_run_result result;
 *     if (hr_replay_open("run.trace", &replay) != HR_OK || ...)
 *     hr_dataset_open_with(replay->data, &replay->data_options, &dataset)
 *     hr_replay_run(replay, &dataset, NULL, &result)
 *     hr_replay_close(replay);
 *
 * A trace holds the run's configuration, each owner's inputs in order, and the digest of the final
 * weights. One process runs all ranks, and each owner follows its own log; gradients are computed
 * by as many threads as there are processors, whatever the number of workers.
 *
 * Threads: as hr_train.
 */
#ifndef HOGRING_REPLAY_H
#define HOGRING_REPLAY_H

#include "hogring/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Made by hr_replay_open. The caller may change options that change no bits (checkpoint_dir, keep,
 * timeout, ...), the path of initial weights (init_weights, resume), and max_steps; and must set
 * update_rule again if the run had one. */
struct hr_replay {
    char data[1024];                     /* its data's name ... */
    struct hr_data_options data_options; /* ... how it was opened ... */
    char data_digest[33];                /* ... and what it held */
    char graph_digest[17];               /* of the links in the file gossip:GRAPH, or "" */
    char weights_digest[33];             /* at the end of the recorded run */
    uint64_t end;                        /* index at which it ended */
    double seconds;                      /* how long it trained */
    char path[1024];                     /* of the trace */
    void *own;                           /* the rest of the trace */
    struct hr_train_options options;     /* of the recorded run */
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

/* The recorded run in virtual time, with gradients as long as recorded, and something changed.
 * `what` is one of these, or several joined by +, or "" for no change:
 *     straggler=none     workers whose median gradient took 1.25 times the median worker's take as
 *                        long as that
 *     staleness=N        ssp with this bound
 *     link=LINK          from each rank to a switch, as 10Gbps or 1GB/s,5us
 *     servers=S          so many shards
 *     kill=none          nobody is lost; else those who were are, at the same steps
 *     kill=R@N           worker R dies at its step N, too; kill=server:S@N: server S at its input N
 *     overhead           what each gradient costs besides (messages, updates, taking turns on
 *                        processors), in seconds: hr_replay_overhead
 * HR_E_USAGE: something else, or a trace without times (of a run without servers). Times decide
 * order, and so weights: those of "" differ from the recorded run's, which hr_replay_run gives. */
enum hr_status hr_replay_what_if(const struct hr_replay *replay, const char *what, double overhead,
                                 const struct hr_dataset *dataset,
                                 const struct hr_observer *observer, struct hr_run_result *result);

/* The overhead of a gradient in the recorded run; model: the result of "" with overhead 0. */
double hr_replay_overhead(const struct hr_replay *replay, const struct hr_run_result *model);

#ifdef __cplusplus
}
#endif
#endif

/* conditions.h - the conditions of a run: how long gradients and messages take, what goes wrong.
 *
 *                        virtual clock                        real clock
 *   --compute-time       how long a gradient takes            at least so long: the worker sleeps
 *                                                             (and makes up for waking late)
 *   --inject             stretches that, stalls, or loads     stretches what it took, or sleeps
 *                        for longer (ahead of nobody:         (in the prefetching thread, where
 *                        --prefetch hides nothing)            there is one)
 *                        nan, flip-bit: the same, as under explore and in replays
 *   --servers time=      how long a server takes a message    (refused)
 *                        (slow:stage: one stage of a pipeline)     (slow:stage: refused)
 *   --link, --topology   how fast messages pass               (train/prepare.c: all-reduce only)
 *
 * Durations are pure functions of (seed, rank, the rank's step): real and virtual runs of the same
 * options draw the same ones.
 *
 * Threads: const after open.
 */
#ifndef HR_WORKER_CONDITIONS_H
#define HR_WORKER_CONDITIONS_H

#include "netsim/delay.h"
#include "netsim/inject.h"
#include "netsim/topology.h"

struct hr_train_job;

/* How long each gradient of a recorded run took, in each worker's order; repeated from the start
 * when the run is longer. */
struct hr_recorded_times {
    size_t nranks;
    size_t *first;       /* (nranks + 1) those of rank r are ps [first[r], first[r + 1]) */
    int64_t *ps;         /* (first[nranks]) */
    int64_t overhead_ps; /* on top of each */
};

struct hr_conditions {
    bool has_compute; /* a model was given; else gradients take their real time */
    const struct hr_recorded_times *times; /* borrowed; instead of a model, or NULL */
    struct hr_delay compute;               /* of a gradient */
    struct hr_delay serve;                 /* of taking one message */
    struct hr_inject inject;
    struct hr_topology topology; /* virtual: ranks are workers, then servers, then the workers'
                                    other stages; of no nodes when messages pass at once */
};

/* Read job->options for a run of job->nranks, whose model is cut. HR_E_USAGE, HR_E_FORMAT, HR_E_IO,
 * HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_conditions_open(struct hr_train_job *job);
/* Harmless on zeroed ones. */
void hr_conditions_close(struct hr_conditions *conditions);

/* Do the conditions change how long a gradient takes? */
static inline bool hr_conditions_matter(const struct hr_conditions *conditions)
{
    return conditions->has_compute || conditions->inject.n > 0;
}

/* After the run, which ended at that time of its clock: warn of what was to happen at steps, inputs
 * and times that were never reached. */
void hr_conditions_warn(const struct hr_train_job *job, int64_t end_ps);

/* How long the gradient of step `step` of `rank` takes, or would take that rank alone, if it has a
 * pipeline of several; own_ps: without conditions. Stalls before it and injected loading time are
 * not included. */
int64_t hr_conditions_compute_ps(const struct hr_train_job *job, size_t rank, uint64_t step,
                                 int64_t own_ps);
/* How many times as long the stages of its pipeline take in that step: slow (stages) out. */
void hr_conditions_slow_stages(const struct hr_train_job *job, size_t rank, uint64_t step,
                               double *slow);
/* Does the worker die (--inject kill) before the gradient of that step, at that time of the run's
 * clock? As often as it is told to, however often it is lost for other reasons. */
bool hr_conditions_kill(const struct hr_train_job *job, size_t rank, uint64_t step, int64_t now_ps);
/* The same of a server before it takes that input. */
bool hr_conditions_kill_server(const struct hr_train_job *job, size_t shard, uint64_t input,
                               int64_t now_ps);
/* It does: one of the deaths that rank `rank` was told to die has happened. Said by the rank. */
void hr_conditions_killed(const struct hr_train_job *job, size_t rank);
/* Say so, and die: a process for good, a thread by returning HR_E_GONE. */
HR_CHECKED enum hr_status hr_conditions_die(const struct hr_train_job *job, size_t rank);

/* How long a shard is busy with its `number`th message. */
int64_t hr_conditions_serve_ps(const struct hr_train_job *job, size_t shard, uint64_t number);

/* --inject nan: which element of the gradient of that step becomes NaN; SIZE_MAX: none. */
size_t hr_conditions_nan_at(const struct hr_train_job *job, size_t rank, uint64_t step);
/* --inject flip-bit: flip a bit of the rank's weights (params), if one is to flip before that step.
 * Any bit of any weight, drawn from (seed, rank, step). */
void hr_conditions_flip_bit(const struct hr_train_job *job, size_t rank, uint64_t step,
                            float *weights);

#endif

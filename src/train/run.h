/* run.h - one training run: what the launcher prepares and the ranks share.
 *
 *   hr_train (run.c)     options -> sizes -> segment -> initial state -> driver -> result
 *   prepare.c            from options to the constants of a run
 *   input.c              a batch index -> the floats and labels of a worker's share
 *   prefetch.c           a thread that does that ahead of a worker
 *   trainee.c            a worker's own: gradients, its part of evaluations
 *   needs.c              what it all takes, before anything is taken
 *   recipe.c             the optimiser and the learning rate
 *   wiring.c             how gradients travel: transport, emulated links, buckets
 *   repro.c              gradients whose bits do not depend on the number of workers
 *   leader.h             who decides at a cut
 *   drive_threads.c      the driver for real time: ranks as threads or processes, which wait
 *   record.h, replay.h   a run's trace: written, and repeated
 *   drive_explore.c      the driver in which one thread plays all ranks, as pick() draws
 *   drive_virtual.c      the driver for virtual time: a heap of events
 *   conditions.c, network.c   how long all that takes in virtual time, and what goes wrong
 *   calibrate.c, calibrate_write.c   a real run is timed, and written down as conditions
 *   play.c               what drivers have in common that play all ranks in one process
 *   device.c             what computes: the memory that a gradient is made in
 *   announce.c           what the run is about to do, for the observer
 *   state.h              its tensors in a checkpoint, and back
 *   result.c             counters -> result
 *   asynchrony.c         effective step size and momentum; what to change when a run diverges
 *   account.c            the result's staleness by worker and by key
 *   task.c               labels that look like values are no classes
 *   evaluate.c           a checkpoint's model, apart from any run
 */
#ifndef HR_TRAIN_RUN_H
#define HR_TRAIN_RUN_H

#include <string.h>

#include "base/clock.h"
#include "base/needs.h"
#include "data/transform.h"
#include "group/local_group.h"
#include "launch/launch.h"
#include "hogring/train.h"
#include "nn/model.h"
#include "netsim/wires.h"
#include "strategy/strategy.h"
#include "train/calibrate.h"
#include "session/resume.h"
#include "train/conditions.h"
#include "session/launcher.h"
#include "session/save.h"
#include "train/device.h"
#include "train/leader.h"

/* Which driver runs it. */
enum hr_schedule { HR_SCHEDULE_FREE, HR_SCHEDULE_EXPLORE, HR_SCHEDULE_VIRTUAL, HR_SCHEDULE_REPLAY };

struct hr_run {
    const struct hr_train_options *options;
    const struct hr_dataset *dataset;
    struct hr_run_result *result;
    struct hr_model *model;
    struct hr_augment augment;
    struct hr_scaling scaling; /* of no channels without --normalize */
    const char *strategy_name;
    enum hr_launch launch;
    enum hr_schedule schedule;
    uint64_t explore_seed;
    struct hr_recorder *recorder;   /* owned; NULL: nothing is recorded (record.h) */
    const struct hr_replay *replay; /* what is replayed; NULL: nothing */
    int64_t now_ps;                 /* virtual time */
    struct hr_conditions conditions;
    struct hr_calibration calibration;
    struct hr_needs needs; /* what it takes */
    struct hr_local_group
        *local;    /* owned; the group, where one thread plays all ranks but for explore */
    size_t nranks; /* workers, then servers */
    size_t batch_size, global_batch;  /* of a worker (the largest share), and of all */
    size_t micro_shards;              /* of a global batch, under --reduce repro; else 0 */
    struct hr_train_options settled;  /* what options points to */
    struct hr_param_segment *tensors; /* (tensors) owned: what the optimiser knows of the model */
    struct hr_rule own_rule;          /* of options->update_rule; else unused */
    struct hr_shared_state shared;
    struct hr_segment control_segment, segment;
    struct hr_leader leader;
    struct hr_launcher launcher;
    struct hr_saver saver;
    struct hr_wires wires; /* emulated links; without ranks: there are none */
    int64_t spin_ns, yield_ns, timeout_ns;
    int64_t batches_saved; /* batchnorm's counter in a checkpoint */
    struct hr_resume resume;
    int64_t wall_began_ns; /* by the machine's clock */
};

/* A worker in training; private memory of its rank. */
struct hr_trainee {
    struct hr_run *run;
    struct hr_worker worker;
    struct hr_waiter waiter;
    struct hr_device *device;     /* borrowed: what computes its gradients */
    int64_t final_ns;             /* spent by the strategy in the middle of backward, in all */
    int64_t slept_ns;             /* of the batch in hand: loading that is slow on purpose */
    int64_t accepted_ns;          /* when it accepted what it has in hand, for --calibrate */
    int64_t late_ns;              /* behind its model, when it was woken last */
    struct hr_prefetch *prefetch; /* owned; NULL: every batch is decoded in place */
};

/* Does one process play all ranks? */
static inline bool hr_run_is_played(const struct hr_run *run)
{
    return run->schedule != HR_SCHEDULE_FREE;
}

/* Does a thread decode ahead of each worker? One thread that plays all ranks has nobody to decode
 * ahead of, and micro-shards are decoded one by one. */
static inline bool hr_run_prefetches(const struct hr_run *run)
{
    return run->options->prefetch && !hr_run_is_played(run) && !run->micro_shards;
}

/* Are parts of a gradient handed over while backward goes on? Not where micro-shards are added
 * first, nor in a local group, which one thread plays: gradients are computed by others. */
static inline bool hr_run_overlaps(const struct hr_run *run)
{
    return !strcmp(run->options->overlap, "on") && !run->micro_shards && !run->local;
}

/* The run's clock. */
static inline int64_t hr_run_now_ns(const struct hr_run *run)
{
    return run->schedule == HR_SCHEDULE_VIRTUAL ? run->now_ps / 1000 : hr_clock_ns();
}

/* --- trainee.c */
HR_CHECKED enum hr_status hr_trainee_start(struct hr_trainee *trainee, struct hr_run *run,
                                           size_t rank);
void hr_trainee_stop(struct hr_trainee *trainee);
/* Sleep until then, or until the run is asked to stop: nobody waits an hour for a slow worker. */
HR_CHECKED enum hr_status hr_trainee_sleep(const struct hr_trainee *trainee, int64_t until_ns,
                                           const char *what);
/* Compute on this device from now on. */
void hr_trainee_borrow(struct hr_trainee *trainee, struct hr_device *device);
/* In the middle of backward: grads [offset, params) are final. */
void hr_trainee_final(struct hr_trainee *trainee, size_t offset);
/* Gradient of this worker's share of the task's batch; HR_E_DIVERGED when the loss is
 * not finite. */
HR_CHECKED enum hr_status hr_trainee_gradient(struct hr_trainee *trainee,
                                              const struct hr_task *task);
/* Gather a piece of a batch and compute its gradient, the sum over its samples, into grads. */
struct hr_batch_result hr_trainee_differentiate(struct hr_trainee *trainee,
                                                const struct hr_batch *piece, float *grads);
/* Evaluate blocks rank, rank + workers, ... of the test split from the snapshot. */
void hr_trainee_evaluate(struct hr_trainee *trainee);
/* The cut is over: on to the next. */
void hr_trainee_leave_cut(struct hr_trainee *trainee);

/* --- prepare.c: what the options mean; the constants of the run. HR_E_USAGE, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_run_prepare(struct hr_run *run);

/* --- memory.c: what the ranks share, and its bytes, by name */
HR_CHECKED enum hr_status hr_memory_needs(struct hr_run *run, struct hr_needs *needs);
HR_CHECKED enum hr_status hr_memory_take(struct hr_run *run);

/* --- wiring.c: the group's options, and the wires' words in the segment */
HR_CHECKED enum hr_status hr_wiring_prepare(struct hr_run *run);

/* --- repro.c */
/* Check and settle --reduce. */
HR_CHECKED enum hr_status hr_repro_prepare(struct hr_run *run);
/* The worker's share of the global batch, shard by shard, into its grads. *samples out. */
struct hr_batch_result hr_repro_gradient(struct hr_trainee *trainee, const struct hr_batch *batch,
                                         size_t *samples);
/* Time by shards over time of whole shares; 0: not known. */
double hr_repro_cost(const struct hr_run *run);

/* --- drivers: run to the end */
HR_CHECKED enum hr_status hr_drive_threads(struct hr_run *run);
HR_CHECKED enum hr_status hr_drive_explore(struct hr_run *run);
HR_CHECKED enum hr_status hr_drive_virtual(struct hr_run *run);

/* --- announce.c */
void hr_announce(const struct hr_run *run);

/* --- result.c */
HR_CHECKED enum hr_status hr_result_fill(struct hr_run *run);

#endif

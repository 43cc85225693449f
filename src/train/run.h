/* run.h - one training run: what the launcher prepares and the ranks share.
 *
 *   hr_train (run.c)     options -> sizes -> segment -> initial state -> driver -> result
 *   input.c              a batch index -> the floats and labels of a worker's share
 *   prefetch.c           a thread that does that ahead of a worker
 *   trainee.c            a worker's own: gradients, its part of evaluations
 *   needs.c              what it all takes, before anything is taken
 *   recipe.c             the optimiser and the learning rate
 *   wiring.c             how gradients travel: transport, emulated links, buckets
 *   repro.c              gradients whose bits do not depend on the number of workers
 *   cut.c                what happens at a cut, in steps that a driver puts in order
 *   drive_threads.c      the driver for real time: ranks as threads or processes, which wait
 *   record.h, replay.h   a run's trace: written, and repeated
 *   drive_explore.c      the driver in which one thread plays all ranks, as pick() draws
 *   drive_virtual.c      the driver for virtual time: a heap of events
 *   conditions.c, network.c   how long all that takes in virtual time, and what goes wrong
 *   calibrate.c, calibrate_write.c   a real run is timed, and written down as conditions
 *   play.c               what drivers have in common that play all ranks in one process
 *   device.c             what computes: the memory that a gradient is made in
 *   launcher.c           progress, saving, requests to stop
 *   announce.c           what the run is about to do, for the observer
 *   save.c, resume.c     snapshot -> checkpoint, and back (saved.h)
 *   past.c               what was trained before: curve, counts, the epoch in hand
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
#include "checkpoint/claim.h"
#include "base/needs.h"
#include "data/transform.h"
#include "group/local_group.h"
#include "launch/launch.h"
#include "hogring/train.h"
#include "nn/model.h"
#include "netsim/wires.h"
#include "strategy/strategy.h"
#include "train/calibrate.h"
#include "session/class_names.h"
#include "train/conditions.h"
#include "train/device.h"

enum { HR_EVAL_BLOCK = 250 }; /* test samples evaluated at a time, whatever the number of workers */

struct hr_eval_cell {
    double loss_sum;
    uint64_t correct;
};

/* Which driver runs it. */
enum hr_schedule { HR_SCHEDULE_FREE, HR_SCHEDULE_EXPLORE, HR_SCHEDULE_VIRTUAL, HR_SCHEDULE_REPLAY };

enum { HR_STOP_NOT, HR_STOP_DONE, HR_STOP_INTERRUPTED }; /* values of dispenser->stop */

/* What the leader (worker 0) tells everybody about the cut in hand, and the launcher about
 * the run. */
struct hr_board {
    /* Written by the leader between the cut's first and second barrier. */
    alignas(HR_LINE) uint64_t index;
    bool evaluate, save, halt, interrupted;
    /* Written by the leader between the third and fourth. */
    alignas(HR_LINE) struct hr_atom64 ncurve; /* points written; partner: the launcher */
    struct hr_atom64 saves_asked;             /* partner: the launcher */
    int64_t train_ns, span_began_ns;          /* the training clock; the span in hand (cut.c) */
    struct hr_atom64 shown_ns;                /* train_ns, for progress */
    double epoch_loss;                        /* of the epoch in hand, at the cut */
    uint64_t epoch_samples, samples, updates;
    /* Written by the launcher. */
    alignas(HR_LINE) struct hr_atom64 saves_done; /* partner: workers before they arrive at a cut */
};

/* What the runs did that this one goes on from; of checkpoints that do not say it, nothing. */
struct hr_past {
    uint64_t samples, updates;
    double seconds; /* of training */
    size_t points;  /* of the curve */
};

struct hr_run {
    const struct hr_train_options *options;
    const struct hr_dataset *dataset;
    const struct hr_observer *observer;
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
    struct hr_board *board;
    struct hr_eval_cell *cells;   /* (neval) */
    struct hr_curve_point *curve; /* (curve_room) */
    size_t neval, curve_room;
    struct hr_wires wires; /* emulated links; without ranks: there are none */
    int64_t spin_ns, yield_ns, timeout_ns;
    /* Carried over from a checkpoint. */
    struct hr_past past;
    struct hr_claim claim;  /* of checkpoint_dir */
    bool in_epoch;          /* it broke off in the middle of an epoch of this size */
    uint64_t resumed_steps; /* what hr_run_step adds, modulo 2^64 */
    struct hr_class_view resumed_classes;
    /* The launcher's own. */
    size_t points_shown;
    uint64_t saves_seen;
    enum hr_status save_status;
    int64_t began_ns, wall_began_ns; /* by the run's clock, by the machine's */
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

/* --- cut.c: in this order, with a barrier of all workers after each line that says so
 *     hr_cut_may_arrive?  strategy->arrive  strategy->arrived?      barrier
 *     leader: hr_cut_decide;  all: strategy->export_part            barrier
 *     all: strategy->verify, hr_trainee_evaluate                    barrier
 *     leader: hr_cut_conclude                                       barrier
 *     all: hr_cut_leave                                             */
/* Has the launcher saved the snapshot before, so that it may be overwritten? (hr_ready_fn) */
bool hr_cut_may_arrive(void *run);
/* ended_ns: by the run's clock, when the last worker had come. The span that it ends began at
 * board->span_began_ns, which the driver sets when the first worker may begin. */
void hr_cut_decide(struct hr_run *run, int64_t ended_ns);
void hr_cut_conclude(struct hr_run *run);
void hr_cut_leave(struct hr_trainee *trainee);

/* --- launcher.c: progress, new curve points, saves, requests to stop */
HR_CHECKED enum hr_status hr_launcher_tick(void *run);

/* --- drivers: run to the end */
HR_CHECKED enum hr_status hr_drive_threads(struct hr_run *run);
HR_CHECKED enum hr_status hr_drive_explore(struct hr_run *run);
HR_CHECKED enum hr_status hr_drive_virtual(struct hr_run *run);

struct hr_checkpoint;
/* --- save.c; the rest of it: saved.h */
/* Steps since the first run began, at the cut in hand: the index, unless a run that this one goes
 * on from had steps of another size. They only ever grow: the newest checkpoint has the most. */
uint64_t hr_run_step(const struct hr_run *run);

/* --- announce.c */
void hr_announce(const struct hr_run *run);

/* --- result.c */
HR_CHECKED enum hr_status hr_result_fill(struct hr_run *run);

#endif

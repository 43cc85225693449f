/* run.h - one run of the sparse engine.
 *
 *   Why      a sparse step takes 200 ns. The dense engine's work for a step (tasks, pulls,
 *            gradients in arenas) takes longer, and copies all weights, which must not happen
 *            here. Everything around the steps is session/'s, for both engines.
 *   Files    problem    the data as rows of pairs           conflicts  how often rows meet
 *            weights.h  reading and updating the weights    worker     a rank's loop and its cuts
 *            hot.h      a worker's copies of the most frequent
 *            sgd, dual, factors   one solver each           objective  what an epoch's end measures
 *            lock       one update at a time
 *            resolve    options; run  memory, result        state      checkpoints
 *            tell       blocks, to who looks on
 *            evaluate   a checkpoint's weights on test rows generate   rows like RCV1's
 *            needs      what that memory is, beforehand
 *   Epoch    one permutation of the training rows (data/order.h), a function of (seed, epoch);
 *            worker w of n has its positions [w/n, (w+1)/n), in blocks that are each taken once; a
 *            worker that is done helps others. At its end all are quiescent at a cut
 *            (session/cut.h), and evaluate together in blocks of a fixed size, so that the same
 *            weights give the same figures for any number of workers. Meanwhile, and while the
 *            state is copied to be saved, the clock stands still, and no worker may change a
 *            weight.
 *   Index    of cuts and checkpoints: rows trained since the first run began
 *   Memory   an unnamed segment: [ cut | stop | lock | worker lines | group | cells | curve |
 *            alphas | weights | copies | feed ]; the rows are private memory that children inherit.
 *   Atomics  weights: Hogwild's relaxed loads and stores. alphas: plain; in an epoch a row is
 *            taken by one worker, and a barrier lies between epochs. claim: fetch-add by the worker
 *            that takes a block. trained: fetch-add by who is done with one. stop: the launcher
 *            (release), workers (acquire).
 *   Promise  one worker: the same bits from run to run, as thread and as process, stopped and
 *            resumed or not. More: no torn weight; an update that meets another between its load
 *            and its store is lost, and counted by sample. A step that is not a finite number stops
 *            the run before it is made.
 */
#ifndef HR_SPARSE_RUN_H
#define HR_SPARSE_RUN_H

#include "base/account.h"
#include "base/memory.h"
#include "data/held_out.h"
#include "group/group.h"
#include "launch/launch.h"
#include "observe/feed.h"
#include "options/budget.h"
#include "session/cut.h"
#include "session/launcher.h"
#include "session/save.h"
#include "sparse/problem.h"

enum {
    HR_SPARSE_BLOCK = 256,       /* rows between two looks at the stop and abort words */
    HR_SPARSE_EVAL_BLOCK = 1024, /* rows a cell of an evaluation */
    HR_SPARSE_LOOK_EVERY = 64,   /* writes of one row in so many are checked for lost updates */
    HR_SPARSE_HOT = 1024,        /* copies of weights that a worker may have (hot.h) */
    HR_SPARSE_HOT_ROWS = 64,     /* rows between two merges of them */
};

/* A lock for --strategy locked. */
struct hr_sparse_lock {
    alignas(HR_LINE) struct hr_atom64 taken; /* 1: taken; writers: all workers */
    struct hr_bell bell;
};

/* One worker's counters, on lines of their own. */
struct hr_sparse_tally {
    alignas(HR_LINE) struct hr_atom64 seen; /* rows; the launcher looks at it while we run */
    struct hr_atom64 claim;         /* blocks of this worker's shard taken so far, by any worker */
    uint64_t rows, updates, newton; /* newton: inner steps of this epoch (dual) */
    uint64_t lost, looked_at, merges;
    struct hr_account account; /* compute, and wait: no moment of the others can be told apart */
    int64_t began_ns, came_ns; /* may begin the next span; has ended the last one */
};

/* Rows in blocks of an evaluation, rounded up. */
static inline size_t hr_sparse_cells(size_t rows)
{
    return (rows + HR_SPARSE_EVAL_BLOCK - 1) / HR_SPARSE_EVAL_BLOCK;
}

/* The sums of one block of an evaluation. */
struct hr_sparse_cell {
    double loss;   /* of values: squared errors, as they are learned */
    uint64_t hits; /* margins above 0 */
    uint64_t pairs;
    double absolute;       /* of values: errors; */
    double value, squares; /* and what was to be predicted: its sum, and that of its squares */
};

struct hr_sparse_worker;

/* A solver: steps on rows order[0..n) of the training split, in that order. */
typedef enum hr_status (*hr_sparse_steps_fn)(struct hr_sparse_worker *worker, const uint32_t *order,
                                             size_t n);

struct hr_sparse_run {
    struct hr_train_options options;  /* resolved */
    struct hr_run_length length;      /* whole epochs */
    const struct hr_dataset *dataset; /* its test split: what is measured at cuts */
    struct hr_held_out held_out;      /* of which that is the data set, where anything validates; */
    const struct hr_dataset *whole;   /* then whose test split is read at the end; else NULL */
    struct hr_run_result *result;
    struct hr_sparse_problem problem;
    struct hr_target_scale scale; /* linear: of the training rows, or as the checkpoint has it */
    struct hr_needs needs;        /* what it takes */
    hr_sparse_steps_fn steps;
    bool dual, locked;
    size_t hot_copies; /* of each worker; 0 for a single one */
    bool stuck;        /* a thread did not end: nothing may be freed */
    enum hr_launch launch;
    struct hr_batch_schedule
        schedule; /* an index is a row; lr is of sgd, and asked once per epoch */
    struct hr_group_options group_options;
    struct hr_waiter waits; /* how ranks wait: each begins with a copy */
    size_t ncells[2];       /* of the training rows, of the test rows */
    struct hr_cuts cuts;
    struct hr_launcher launcher;
    int64_t cpu_began_ns; /* hr_clock_cpu_ns */
    struct hr_saver saver;

    struct hr_segment control_segment, segment;
    struct hr_control *control;
    struct hr_atom32 *stop; /* enum hr_stop; writer: the launcher */
    double *inner_eps;      /* dual: rows with smaller gradients are skipped; written at a cut */
    struct hr_sparse_lock *lock;
    struct hr_sparse_tally *tally; /* (workers) */
    void *group;
    struct hr_sparse_cell *cells; /* (ncells[0] + ncells[1]) */
    double (*alphas)[2];          /* dual: (training rows) */
    float *norms;                 /* dual: (training rows) |x|^2 */
    struct hr_atom32 *weights;    /* (params) linear models, in place order */
    struct hr_atom64 *factors;    /* (params / 2) mf, in pairs: the same memory */
    struct hr_best_weights best;  /* --early-stop; in the order of files */

    struct hr_feed feed;       /* of blocks; off: nobody looks on */
    struct hr_atom64 *trained; /* rows since the first run began; with a feed only */
    float *saved;              /* (params) the weights in the order of files, when they are saved */
    double blocks[HR_MAX_RANKS];
};

/* Positions of an epoch's order that are a worker's own: [first, end). */
struct hr_sparse_shard {
    size_t first, end;
};

static inline struct hr_sparse_shard hr_sparse_shard_of(const struct hr_sparse_run *run,
                                                        size_t worker)
{
    const size_t count = run->problem.train.count, workers = run->options.workers;
    return (struct hr_sparse_shard){count * worker / workers, count * (worker + 1) / workers};
}

/* One rank; its private memory. */
struct hr_sparse_worker {
    struct hr_sparse_run *run;
    size_t rank;
    struct hr_member member;
    struct hr_waiter waiter;
    struct hr_sparse_tally *tally;
    float rate;   /* of this epoch */
    size_t hot;   /* weights of which it keeps copies (hot.h) */
    bool reaches; /* weights are worth fetching ahead: they are shared, or large */
    double inner_eps;
    /* Where somebody looks on. */
    bool reports;
    double loss_sum;                  /* of the block in hand */
    struct hr_step_record unreported; /* the block before; samples 0: none */
    int64_t reported_ns[HR_ACTIVITIES], span_began_ns;
};

/* A rank, from start to end. */
HR_CHECKED enum hr_status hr_sparse_worker_main(void *run, size_t rank);

/* The solvers: they add to loss_sum what each row costs before its step, where `tells` is set. */
HR_CHECKED enum hr_status hr_sparse_sgd(struct hr_sparse_worker *worker, const uint32_t *order,
                                        size_t n);
HR_CHECKED enum hr_status hr_sparse_dual(struct hr_sparse_worker *worker, const uint32_t *order,
                                         size_t n);
HR_CHECKED enum hr_status hr_sparse_factorise(struct hr_sparse_worker *worker,
                                              const uint32_t *order, size_t n);

/* The state before the first step: alphas and the weights that go with them; random factors. */
void hr_sparse_dual_begin(struct hr_sparse_run *run);
void hr_sparse_factors_begin(struct hr_sparse_run *run);

/* r - mean - u.v; pair: an item and r - mean. */
float hr_sparse_rating_error(const struct hr_sparse_run *run, size_t user,
                             struct hr_sparse_pair pair);

/* The live weights, as they are now, in the order of files: by feature, or users first (params);
 * and back. All ranks are quiescent. */
void hr_sparse_copy_weights(const struct hr_sparse_run *run, float *out);
void hr_sparse_set_weights(const struct hr_sparse_run *run, const float *weights);

/* Where anything validates, what the final weights come to on the test set, by the
 * loops that hr_sparse_evaluate_checkpoint has. An interrupted run leaves it to the one that goes
 * on. */
HR_CHECKED enum hr_status hr_sparse_test(const struct hr_sparse_run *run,
                                         struct hr_run_result *result);

/* What the objective sums of a training row: margin is that of its class, or (linear) w.x. */
double hr_sparse_row_loss(const struct hr_sparse_problem *p, size_t row, double margin);

/* This rank's share of the cells. */
void hr_sparse_evaluate(const struct hr_sparse_worker *worker);
/* All cells and the weights, summed in order, into a point. Leader, all others quiescent. */
void hr_sparse_fold(const struct hr_sparse_run *run, struct hr_curve_point *point);

/* lock.c: with --strategy locked every update is between these two. */
HR_CHECKED enum hr_status hr_sparse_lock_take(struct hr_sparse_worker *worker);
void hr_sparse_lock_leave(struct hr_sparse_worker *worker);

#endif

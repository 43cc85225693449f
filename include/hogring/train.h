/* train.h - train a model with data-parallel workers, and report exactly what happened.
 *
 *     struct hr_train_options options;
 *     hr_train_defaults(&options);
 *     snprintf(options.strategy, sizeof options.strategy, "ssp");
 *     struct hr_run_result result;
 *     if (hr_train(&options, &dataset, NULL, &result) != HR_OK)
 *         fprintf(stderr, "%s\n", hr_error_message());
 *     hr_run_result_free(&result);
 *
 * With the same options all strategies (allreduce, ps-sync, ps-async, ssp, hogwild, local-sgd, ...)
 * train on the same samples from the same initial weights and are evaluated at the same places.
 * Synchronous ones give the same bits from run to run, as threads and as processes.
 *
 * Threads: one hr_train at a time a process; it starts the ranks itself. With HR_LAUNCH_PROCESS the
 * caller must not have used BLAS, or trained with threads_per_worker, in this process before.
 */
#ifndef HOGRING_TRAIN_H
#define HOGRING_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hogring/accounts.h"
#include "hogring/data.h"
#include "hogring/status.h"
#include "hogring/update_rule.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_BY_OPTIMIZER (-1.0)

struct hr_train_options {
    char strategy[32];
    char algorithm[32];      /* of all-reduce: auto, direct, ring, master-worker */
    char model[1024];        /* a built-in name (mlp, cnn, ...), layers, or a sparse model */
    char loss[16];           /* cross-entropy, bce, mse */
    double label_smoothing;  /* cross-entropy */
    char init_weights[1024]; /* a .safetensors file or a checkpoint; "": drawn from the seed */
    char launch[16];         /* thread, process */
    char schedule[32];       /* free; explore:SEED: one thread plays all ranks, in a drawn order */
    char kernels[16];        /* fast, reference */
    size_t workers;          /* 1 to 64; default: the processors allowed, at least 2 */
    size_t servers;     /* shards of parameter servers; 0: one, colocated one a worker up to 64 */
    char placement[16]; /* dedicated: each shard is a rank; colocated: worker s serves shard s */
    uint64_t staleness; /* of ssp, in clocks */
    size_t sync_every;  /* local-sgd, elastic-averaging: local steps between exchanges */
    bool adaptive_sync; /* local-sgd: fewer and fewer steps between them (AdaComm) */
    double moving_rate; /* elastic-averaging: alpha; 0: 0.9 / workers */
    char gossip_graph[1024];   /* gossip: ring, torus, hypercube, complete, or a file of links */
    size_t backups;            /* backup-workers: gradients of a step that are not waited for */
    char staleness_lr[16];     /* none, or inverse: asynchronous updates at lr / (1 + staleness) */
    double delay_compensation; /* lambda of DC-ASGD; 0: none */
    char clock[16];            /* real, virtual */
    char compute_time[256];    /* of a gradient: a model, as lognormal(10ms, 0.3); "": as it is */
    char inject[1024];         /* slow:3x2,stall:1@step=50+3s */
    char server_time[256];     /* virtual clock: of taking a message; a model */
    char topology[1024];       /* virtual clock: who is wired to whom */
    char calibrate[1024];      /* write a model of this run here, for --clock virtual; "": do not */
    char record[1024];         /* write a trace of the run here; "": do not */
    char record_block[16];     /* hogwild, recording: bytes that are read or updated at once */
    size_t batch_size;         /* samples a worker and step */
    size_t global_batch_size;  /* samples a step of all workers; 0: batch_size times workers */
    size_t accumulate;         /* minibatches of a worker that make one update together */
    char overlap[8];           /* on: gradients are summed in buckets while backward goes on; off */
    char bucket_size[16];      /* bytes that a bucket has at least: 256K, 1M */
    char transport[16];  /* zero-copy, or copy: gradients travel through the rings (allreduce) */
    char link[64];       /* emulated between any two workers, as 1GB/s,5us; needs copy; "": none */
    char task[16];       /* auto: refuse labels that look like values; classify: each is a class */
    char reduce[16];     /* sum, or repro: bits that do not depend on the number of workers */
    size_t micro_shards; /* of a global batch, under repro; a power of two */
    size_t threads_per_worker; /* that share a worker's computing; they change no bit */
    size_t epochs;
    size_t epoch_size;  /* samples an epoch; 0: those of the training split */
    char augment[64];   /* of training batches: "", flip, crop:PAD, or flip,crop:PAD */
    bool normalize;     /* (x - mean) / std of each channel, measured over the training split */
    size_t prefetch;    /* batches that a thread decodes ahead, for each worker; 0: none */
    char optimizer[32]; /* sgd, adagrad, adam, adamw, lars, lamb */
    /* The caller's own rule, borrowed, in place of `optimizer`, which keeps its default. Options of
     * the rate and clip_norm apply; NULL: none. */
    const struct hr_update_rule *update_rule;
    double lr, weight_decay, eps;    /* HR_BY_OPTIMIZER: the optimizer's default */
    double momentum;                 /* of sgd and lars */
    bool nesterov;                   /* sgd */
    double beta1, beta2;             /* of adam, adamw and lamb */
    double trust_coefficient;        /* of lars */
    double clip_norm;                /* largest norm of the mean gradient; 0: any */
    char lr_schedule[16];            /* constant, step, cosine, linear */
    double warmup_epochs;            /* the rate rises from 0 */
    double lr_step_epochs, lr_gamma; /* step: the rate is multiplied by gamma every so many */
    char scale_lr[16];               /* none, linear, sqrt: with the samples of one update ... */
    size_t base_batch_size;          /* ... over these; 0: the samples of one worker's batch */
    char async_lr[16];               /* same, or divide: lr / workers in asynchronous strategies */
    uint64_t seed;
    uint64_t max_steps;        /* 0: no limit; updates of the model */
    double max_seconds;        /* from the start of the run; 0: no limit */
    double timeout;            /* seconds that any wait may take; 0: no limit */
    double target_accuracy;    /* note when the test accuracy first reached it; 0: do not */
    char checkpoint_dir[1024]; /* "": save nothing */
    uint64_t checkpoint_every; /* steps; 0: at the ends of epochs */
    size_t keep;               /* newest checkpoints to keep; 0: all */
    bool overwrite;      /* remove another run's checkpoints in checkpoint_dir; else refuse them */
    char resume[1024];   /* a checkpoint or a folder of them; "": start anew */
    bool finished_ok;    /* resume: a finished run is not an error */
    size_t ranks_beside; /* ranks of other runs that share the processors (--concurrent) */
    char solver[16];     /* sparse models (hogring/sparse.h): auto, sgd, dual */
    double cost;         /* of sparse models: weight of the losses */
    size_t factors;      /* of mf */
    size_t hot_copies;   /* sparse sgd: frequent weights that each of several workers copies */
};

/* The documented defaults. */
void hr_train_defaults(struct hr_train_options *options);

/* Put the optimizer's defaults in place of HR_BY_OPTIMIZER, as hr_train does for itself.
 * HR_E_USAGE: there is no such optimizer. */
enum hr_status hr_train_complete(struct hr_train_options *options);

/* One point of a learning curve: an evaluation. */
struct hr_curve_point {
    uint64_t samples;
    double seconds; /* of training, without evaluation */
    double epoch;
    double train_loss; /* mean over the samples of the epoch so far, as they were trained on */
    double test_loss, test_accuracy;
};

/* In a resumed run steps, curve and target_seconds are of the whole training, past_* of the runs
 * before; all other counts and times are of this run alone. */
struct hr_run_result {
    char strategy[32], algorithm[32], launch[16], placement[16], order[96], kernels[64];
    char model[1024], optimizer[32];
    char manner[96];   /* as in struct hr_run_info */
    char setting[160]; /* other options in which it differs from runs compared with it; "" */
    size_t workers, servers, batch_size, global_batch, params;
    size_t threads_per_worker;
    size_t micro_shards; /* of a global batch; 0: gradients are not cut (reduce sum) */
    double repro_cost; /* time of gradients by micro-shards over that of whole ones; 0: not known */
    bool bounded;      /* workers are at most staleness_bound clocks apart */
    uint64_t seed, staleness_bound;
    uint64_t steps;   /* updates since the first run began */
    uint64_t updates; /* of the model in this run */
    uint64_t samples;
    bool resumed;
    uint64_t resumed_step;               /* at which this run went on */
    uint64_t past_samples, past_updates; /* 0: it began anew, or its checkpoint does not say */
    double past_seconds;
    char clock[16]; /* real, virtual: which `seconds` are these */
    double wall_s;  /* by the machine's clock, from the first step to the last */
    double seconds, samples_per_s;
    double train_loss, test_loss, test_accuracy; /* of the last evaluation */
    size_t classes;                              /* of the labels; 0: it predicts no classes */
    uint64_t first_samples; /* of gradients at the initial weights; 0: they were not random */
    double first_loss;      /* the sum of their losses, before anything was learned */
    char cure[120];         /* what to change first if the loss rose */
    double lr;              /* of the last update */
    double target_seconds;  /* when the target accuracy was reached; < 0: never */
    uint64_t stale_updates, stale_sum, stale_max;
    uint64_t
        stale[HR_RESULT_STALENESS_BUCKETS]; /* how many updates had that staleness; last: more */
    size_t nstale_workers, nstale_keys, nstale_counts; /* 0: nothing was counted */
    struct hr_staleness *stale_parts; /* owned: by worker (nstale_workers), then by key */
    uint64_t *stale_counts;           /* owned: their histograms */
    /* hogwild, a sample: watched lines of 16 weights, one a push; pairs of weights in them; and
     * pairs where another worker's update was overwritten. */
    uint64_t watched_lines, watched_pairs, lost_pairs;
    uint64_t dropped, dropped_samples; /* gradients that came too late (backup-workers) */
    size_t ndropped_by;                /* workers */
    uint64_t *dropped_by;              /* (ndropped_by) owned: of each worker */
    struct hr_asynchrony asynchrony;   /* NaN where no stale gradients were counted */
    uint64_t max_skew;    /* clocks between the fastest and the slowest worker, at most */
    size_t nworker_times; /* workers */
    struct hr_worker_time *worker_time; /* (nworker_times) owned */
    /* Summed over workers: workers x seconds in all. */
    double load_s, compute_s, communicate_s, wait_s;
    double forward_s, backward_s;            /* parts of compute_s; the rest of it is updating */
    uint64_t prefetch_hits, prefetch_misses; /* batches that were decoded ahead, or were not */
    uint64_t bytes_sent, bytes_received;     /* by workers */
    size_t ncurve;
    struct hr_curve_point *curve;  /* owned */
    struct hr_conflicts conflicts; /* of sparse models */
    char weights_digest[33];
    char recorded_digest[33], trace[1024]; /* of a run that was replayed, or recorded; "" */
    uint64_t trace_entries;                /* repeated */
    double record_cost; /* hogwild: time of a recorded step over that of a plain one; 0: unknown */
    char checkpoint[1100]; /* the last one saved; "" */
    bool interrupted;
};

void hr_run_result_free(struct hr_run_result *result);

/* What a run is about to do. */
struct hr_run_info {
    const char *strategy, *algorithm, *launch, *guarantee, *model, *kernels, *order;
    const char *optimizer;   /* name and settings: "adam, beta1 0.9, ..." */
    const char *manner;      /* the strategy's own options: "sync-every 8"; "": it has none */
    const char *times;       /* models of the times of gradients and messages; "": real times */
    const char *memory;      /* what it takes: "21 MiB: data 2.0 MiB, ..."; NULL: not known */
    const char *lr_schedule; /* what the rate does: "0.001 to begin with, linear to 0", ... */
    size_t workers, servers, processors, batch_size, global_batch, params;
    size_t threads_per_worker;
    size_t micro_shards; /* 0: reduce sum */
    double lr;           /* of the first update */
    size_t epochs;
    uint64_t steps; /* in the whole run */
    uint64_t first; /* step it begins at */
    uint64_t seed, staleness;
    bool synchronous, served, colocated, bounded;
    bool played;                          /* one process plays all ranks */
    bool shares_batch;                    /* a batch is shared by all workers, else one worker's */
    bool averages;                        /* workers' weights are averaged, not gradients summed */
    const struct hr_conflicts *conflicts; /* of sparse models; else NULL */
};

struct hr_progress {
    uint64_t samples, total; /* trained on so far, and in all */
    double epoch, seconds;
};

/* Callbacks; any may be NULL; all are called in the caller's thread. */
struct hr_observer {
    void *arg;
    void (*started)(void *arg, const struct hr_run_info *info);
    void (*progress)(void *arg, const struct hr_progress *progress); /* about ten times a second */
    void (*evaluated)(void *arg, const struct hr_curve_point *point);
    void (*saved)(void *arg, const char *path);
    /* 0: go on; 1: finish the step, save, return; 2: leave at once. */
    int (*should_stop)(void *arg);
};

/* Train. The memory needed is computed first: when there is not enough, HR_E_NOMEM lists it item by
 * item, and says which options would fit. HR_OK also when should_stop ended it
 * (result->interrupted). On error result is zeroed, except result->checkpoint, the last one
 * saved. */
enum hr_status hr_train(const struct hr_train_options *options, const struct hr_dataset *dataset,
                        const struct hr_observer *observer, struct hr_run_result *result);

/* Would hr_train take these options, and is there memory for them? HR_E_USAGE and HR_E_NOMEM say
 * what is wrong, before anything is trained. */
enum hr_status hr_train_check(const struct hr_train_options *options,
                              const struct hr_dataset *dataset);

#ifdef __cplusplus
}
#endif
#endif

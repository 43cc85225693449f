/* train.h - train a model with data-parallel workers, and report exactly what happened.
 *
 *     struct hr_train_options options;
 *     hr_train_defaults(&options);
 *     options.staleness = 3;
 *     struct hr_run_result result;
 *     if (hr_train_set(&options, "strategy", "ssp") != HR_OK)
 *         fprintf(stderr, "%s\n", hr_error_message());
 *     if (hr_train(&options, &dataset, NULL, &result) != HR_OK)
 *         fprintf(stderr, "%s\n", hr_error_message());
 *     hr_run_result_free(&result);
 *
 * With the same options all strategies (allreduce, ps-sync, ps-async, ssp, hogwild, local-sgd, ...)
 * train on the same samples from the same initial weights and are evaluated at the same places.
 * Synchronous ones give the same bits from run to run, as threads and as processes.
 *
 * A rank that is lost ends the run with HR_E_LOST, or (on_loss) the others go on: what became of it
 * and of its samples is in the result, hr_run_result.losses; samples, those lost and those dropped
 * are all that were to be trained on.
 *
 * Threads: one hr_train at a time a process; it starts the ranks itself. With HR_LAUNCH_PROCESS the
 * caller must not have used BLAS, or trained with threads_per_worker, in this process before.
 */
#ifndef HOGRING_TRAIN_H
#define HOGRING_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hogring/data.h"
#include "hogring/observer.h"
#include "hogring/run_result.h"
#include "hogring/status.h"
#include "hogring/update_rule.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_BY_OPTIMIZER (-1.0)

/* How often, by one of three; all 0: at the ends of epochs. */
struct hr_every {
    uint64_t steps, epochs;
    double seconds; /* of the run's clock */
};

/* Filled by hr_train_defaults, then changed by name (hr_train_set) or field by field. It grows at
 * its end alone: a program that was compiled with fewer fields goes on as with their defaults. */
struct hr_train_options {
    size_t size; /* of the struct as the caller was compiled with it: hr_train_defaults says it */
    char strategy[32];
    char algorithm[32];     /* of all-reduce: auto, direct, ring, master-worker */
    char model[1024];       /* a built-in name (mlp, cnn, ...), layers, or a sparse model */
    char loss[16];          /* cross-entropy, bce, mse, huber; auto: cross-entropy, of values mse */
    double huber_delta;     /* huber */
    char target_scale[16];  /* of values: standard: learned with mean 0, deviation 1; none */
    double label_smoothing; /* cross-entropy */
    char init_weights[1024]; /* a .safetensors file or a checkpoint; "": drawn from the seed */
    bool replace_head;       /* but for the last layer, which is drawn from the seed */
    char freeze[256];   /* globs over names of tensors, as "0.*,2.bias", that are not trained; "" */
    char launch[16];    /* thread, process */
    char schedule[32];  /* free; explore:SEED: one thread runs all ranks, in a drawn order */
    char kernels[16];   /* fast, direct, reference */
    char precision[16]; /* of a network: float32, bf16: what its products and activations are */
    size_t workers;     /* 1 to 64; default: the processors allowed, at least 2 */
    size_t servers;     /* shards of parameter servers; 0: one, colocated one per worker up to 64 */
    char placement[16]; /* dedicated: each shard is a rank; colocated: worker s serves shard s */
    char server_placement[16]; /* on several machines: spread over them; first: all on machine 0 */
    char aggregate[8];  /* ps-sync on several machines: node: a machine's workers push as one; none;
                          auto: node where it can be */
    uint64_t staleness; /* of ssp, in clocks */
    size_t sync_every;  /* local-sgd, diloco, elastic-averaging: local steps between exchanges */
    double outer_lr;    /* diloco: of the step made of them, */
    double outer_momentum;     /* and its Nesterov momentum */
    bool adaptive_sync;        /* local-sgd: fewer and fewer steps between them (AdaComm) */
    double moving_rate;        /* elastic-averaging: alpha; 0: 0.9 / workers */
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
    size_t batch_size;         /* samples per worker and step */
    size_t global_batch_size;  /* samples per step of all workers; 0: batch_size times workers */
    size_t accumulate;         /* minibatches of a worker that make one update together */
    size_t pipeline;           /* ranks that compute a worker's gradient, its stages; 0: itself */
    size_t micro_batches; /* that a worker's batch is cut into in a pipeline; 0: one per stage */
    char pipeline_schedule[16]; /* gpipe, 1f1b, interleaved, zero-bubble */
    char stages[256];           /* of a pipeline: auto, or layers of each part, as 3,2,4 */
    size_t chunks;              /* parts of the model that each stage has */
    bool recompute;             /* stages keep their input alone, and compute forward twice */
    size_t tensor_parallel;     /* ranks that share the layers of a worker, or of a stage; 0: one */
    size_t tensor_shards;       /* that layers are cut into; 0: tensor_parallel */
    char overlap[8];            /* on: gradients leave in buckets while backward goes on; off */
    char bucket_size[16];       /* bytes that a bucket has at least: 256K, 1M */
    char transport[16]; /* zero-copy; copy: gradients travel through the rings (allreduce); auto:
                           copy where link is given */
    char compress[32];  /* gradients on their way, or gossip's weights: bf16, fp16, int8, topk:1%,
                             powersgd:2; "": as they are */
    double consensus_step; /* gossip with compress: share of the way to neighbours' public copies;
                              0: 1, of topk the square root of its share */
    char link[64];         /* emulated between any two workers, as 1GB/s,5us; "": none */
    char task[16];         /* auto: refuse labels that look like values; classify: each is a class;
                             regress: they are values (the data set's targets) */
    char reduce[16];       /* sum, or repro: bits that do not depend on the number of workers */
    size_t micro_shards;   /* of a global batch, under repro; a power of two */
    size_t threads_per_worker; /* that share a worker's computing; they change no bit */
    size_t epochs;
    size_t epoch_size;          /* samples per epoch; 0: those of the training split */
    double validation_fraction; /* of the training samples, held out; what is measured meanwhile is
                                   measured on them, and the test set once, at the end; 0: none */
    char augment[64];           /* of training batches: "", flip, crop:PAD, or flip,crop:PAD */
    size_t shuffle_window;      /* neighbours that are shuffled with each other; 0: all samples */
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
    char budget[32];        /* the run's length in place of epochs: 500Ksamples, 20Kupdates, or
                                  60s of training; "": epochs */
    uint64_t max_steps;     /* 0: no limit; updates of the model */
    double max_seconds;     /* from the start of the run; 0: no limit */
    char early_stop[64];    /* METRIC,PATIENCE[,MIN-DELTA]: stop when as many evaluations have not
                                  improved the metric (loss, accuracy; of values rmse, mae,
                                  r2), and end with the weights of the best; "": do not */
    char on_loss[16];       /* of a rank: stop, continue, restart */
    char lost_batch[16];    /* of a lost worker: reissue, count */
    size_t max_restarts;    /* of lost ranks, in all */
    double timeout;         /* seconds that any wait may take; 0: no limit */
    double stall_warn;      /* seconds of a wait until stderr says for whom; 0: never */
    double target_accuracy; /* note when the test accuracy first reached it; 0: do not */
    double target_rmse;     /* of values: the same when the rmse first was no more; 0: do not */
    char checkpoint_dir[1024]; /* "": save nothing */
    struct hr_every checkpoint_every;
    uint64_t digest_every; /* steps: digests of all tensors there go into the result; 0: none */
    size_t keep;           /* newest checkpoints to keep; 0: all */
    char keep_best[16];    /* and the best one, by such a metric: `best`; "": do not */
    bool overwrite;      /* remove another run's checkpoints in checkpoint_dir; else refuse them */
    char resume[1024];   /* a checkpoint or a folder of them; "": start anew */
    bool finished_ok;    /* resume: a finished run is not an error */
    bool wants_answers;  /* the result says what each test sample was answered with */
    size_t ranks_beside; /* ranks of other runs that share the processors (--concurrent) */
    size_t event_order;  /* of times that are drawn: 0 and 1 are the same, 2 draws others */
    char solver[16];     /* sparse models (hogring/sparse.h): auto, sgd, dual */
    double cost;         /* of sparse models: weight of the losses */
    size_t factors;      /* of mf */
    size_t hot_copies;   /* sparse sgd: frequent weights that each of several workers copies */
    char note[256];      /* the caller's own words, kept beside the result; "": none */
    char class_weights[1024]; /* of a sample's loss: balanced (n / (classes * those of its class)),
                                 or one of each class, "1,5,1"; ""; all 1 */
    double target_loss;       /* note when the loss first was no more; 0: do not */
};

/* The documented defaults of a struct of so many bytes: by hr_train_defaults, which knows them. */
void hr_train_options_init(struct hr_train_options *options, size_t size);
static inline void hr_train_defaults(struct hr_train_options *options)
{
    hr_train_options_init(options, sizeof *options);
}

/* Set an option by its name in `hogring help train`, to a value as one would type it there:
 * "sync-every", "8"; of a switch, "on" or "off"; "none" where there may be none. HR_E_USAGE: no
 * field has that name, the value does not read as its kind does, or it is a 0 that says nothing;
 * what values mean together is for hr_train to check. */
enum hr_status hr_train_set(struct hr_train_options *options, const char *name, const char *value);

/* Put the optimizer's defaults in place of HR_BY_OPTIMIZER, as hr_train does for itself.
 * HR_E_USAGE: there is no such optimizer. */
enum hr_status hr_train_complete(struct hr_train_options *options);

/* Train. The memory needed is computed first: when there is not enough, HR_E_NOMEM lists it item by
 * item, and says which options would fit. HR_OK also when should_stop ended it
 * (result->interrupted). On error result is zeroed, except result->checkpoint, the last one
 * saved; and a thread whose gradient takes 10 s more is left to it, and goes on to use dataset.
 * HR_E_USAGE also where no call has filled the options (their size is none), or a program that was
 * compiled for a later hogring sets what this one does not know. */
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

/* observer.h - who looks on while a run goes on: what is told, and when.
 *
 *     static void on_step(void *arg, const struct hr_step_report *step) { ... }
 *     hr_train(&options, &dataset, &(struct hr_observer){.stepped = on_step}, &result);
 *
 * Threads: all calls come in the thread that called hr_train, between its begin and its end.
 */
#ifndef HOGRING_OBSERVER_H
#define HOGRING_OBSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hogring/run_result.h"
#include "hogring/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a run is about to do. */
struct hr_run_info {
    const char *strategy, *algorithm, *launch, *guarantee, *model, *kernels, *order;
    const char *optimizer; /* name and settings: "adam, beta1 0.9, ..." */
    const char *compress;  /* "topk:1% with error feedback: 3.8 KiB ..."; "": nothing is */
    const char *manner;    /* the strategy's own options: "sync-every 8"; "": it has none */
    const char *times;     /* models of the times of gradients and messages; "": real times */
    const char *task;      /* of values "regress: mse of price (mean 350, deviation 120)", of text
                              "text: the next of 256 tokens, ..."; NULL: classes */
    size_t tokens;         /* of a sample, of text; else 0 */
    const char *frozen;    /* what is not trained: "2 of 4 tensors: 1.weight, ..."; "": none */
    const char *server_hosts; /* on several machines: "2 on m0, 1 on m1"; else "" or NULL */
    const char *overlap;      /* "a push leaves in 3 parts, ..."; "": it is not asked for */
    const char *left_out; /* of what batchnorm measures: shares of one sample; "" or NULL: none */
    const char *pushes;   /* to servers on several machines: who pushes; else "" or NULL */
    const char *memory;   /* what it takes: "21 MiB: data 2.0 MiB, ..."; NULL: not known */
    const char *lr_schedule; /* what the rate does: "0.001 to begin with, linear to 0", ... */
    size_t workers, servers, processors, batch_size, global_batch, params;
    size_t frozen_params; /* of the params */
    size_t node_workers;  /* of a machine, who push as one; 0: each does */
    size_t threads_per_worker;
    size_t micro_shards;           /* 0: reduce sum */
    size_t stages, micro_batches;  /* of each worker's pipeline; 0: it has none, or never drains */
    const char *pipeline_schedule; /* and its schedule, */
    const struct hr_stage_report *stage; /* (stages) and what each stage has */
    struct hr_recompute_report recompute;
    size_t shards, team; /* of split layers, and ranks that share them; 0: none */
    const char *split;   /* which: "by columns 1; by rows 3, 5" */
    const struct hr_machine_report *machines; /* (nmachines) of a run on several; 0: there is one */
    size_t nmachines;
    double lr;                   /* of the first update */
    size_t epochs;               /* that it may begin; 0: not known, since its length is a time, */
    double length_s;             /* this one (--budget 60s); else 0 */
    double length;               /* in epochs: 2.5; 0: not known */
    size_t validation_samples;   /* 0: none */
    const char *validation_data; /* their file; "": held out of the training samples */
    uint64_t steps;              /* updates in the whole run, by its plan */
    uint64_t first;              /* those before it begins */
    bool resumed;                /* from a checkpoint, at step `begins` since the first run began */
    uint64_t begins;
    const uint64_t *redone; /* (nredone) steps up to `begins` that are made once more: they were in
                               somebody's hands when the checkpoint was saved */
    size_t nredone;
    uint64_t seed, staleness;
    bool synchronous, served, colocated, bounded;
    bool servers_rest;                    /* workers, who are threads, serve themselves */
    bool played;                          /* one process runs all ranks */
    bool shares_batch;                    /* a batch is shared by all workers, else one worker's */
    bool averages;                        /* workers' weights are averaged, not gradients summed */
    const struct hr_conflicts *conflicts; /* of sparse models; else NULL */
};

struct hr_progress {
    uint64_t samples, total; /* trained on so far, and in all */
    double epoch, seconds;
};

/* A worker's step: a gradient that it computed, and what became of it. */
struct hr_step_report {
    size_t worker;
    uint64_t step;    /* from 1, since the first run began: of a global batch, or of the worker's
                         minibatch, as batches are handed out */
    uint64_t epoch;   /* from 1 */
    uint64_t samples; /* handed out so far, this step's included, since the first run began */
    double seconds;   /* of training so far, without evaluation: as in struct hr_curve_point */
    size_t batch;     /* samples in this gradient */
    double loss;      /* mean over them */
    uint64_t rows;    /* of a sparse model's block: so many steps, and `step` is the last, as blocks
                         are done; 0: this is one step */
    double lr;        /* of its update; NaN: it has none (solver dual) */
    double norm;      /* of the mean gradient, before clipping; NaN: not known */
    int64_t staleness; /* of its update; < 0: it made none that is counted */
    bool dropped;      /* it came too late (backup-workers), and counts for nothing */
    double load_s, compute_s, communicate_s, wait_s; /* since the worker's report before */
};

/* A stretch of a rank's time, or a message of its. */
enum hr_span_kind {
    /* What a worker does: they follow one another without a gap in each span between two cuts, and
     * add up to the times of struct hr_worker_time. */
    HR_SPAN_LOAD,
    HR_SPAN_COMPUTE,
    HR_SPAN_COMMUNICATE,
    HR_SPAN_WAIT,
    HR_SPAN_STEP,  /* it begins at begin_ns, and ends where the next one, or a cut, begins */
    HR_SPAN_CUT,   /* evaluation and the like: no time of training */
    HR_SPAN_SERVE, /* a server of its own takes a message of worker `peer` */
    HR_SPAN_STAGE, /* another rank of a pipeline forwards, or backs, micro-batch `note` */
    HR_SPAN_SENT,  /* a message to rank `peer`, at begin_ns; `note`: its number, with its way */
    HR_SPAN_CAME,  /* it is taken from rank `peer` */
};

enum hr_span_part {
    HR_SPAN_WHOLE,
    HR_SPAN_FORWARD, /* of computing */
    HR_SPAN_BACKWARD,
    HR_SPAN_UPDATE,
    HR_SPAN_STALL, /* of waiting: on purpose */
};

enum { HR_SPAN_NOBODY = -1 };

struct hr_span_report {
    size_t rank; /* workers come first, then servers, then the other ranks of pipelines */
    enum hr_span_kind kind;
    enum hr_span_part part;
    uint64_t step;            /* index of the batch */
    int64_t begin_ns, end_ns; /* of the run's clock */
    int64_t peer;             /* waited for, served, or a message's other end */
    uint64_t note;            /* served: the message's kind */
};

/* Callbacks; any may be NULL; all are called in the caller's thread. */
struct hr_observer {
    void *arg;
    /* Before `started`, where all else is well. What is not HR_OK ends the run with it (its message
     * is set), before anything is trained. */
    enum hr_status (*admits)(void *arg, const struct hr_run_info *info);
    void (*started)(void *arg, const struct hr_run_info *info);
    void (*progress)(void *arg,
                     const struct hr_progress *progress); /* about ten times per second */
    void (*evaluated)(void *arg, const struct hr_curve_point *point);
    /* The state is copied, to be saved as this step; nothing that is told from now on is in it. */
    void (*saving)(void *arg, uint64_t step);
    /* All steps that are in it are told: it is about to be written. Who keeps a log has it complete
     * now: the run may be killed, and go on from there. */
    void (*writing)(void *arg);
    void (*saved)(void *arg, const char *path);
    /* Each step of each worker, before the evaluation that follows it, within a second: of a worker
     * in their order. Of sparse models, each block of rows. NULL: steps cost nothing. */
    void (*stepped)(void *arg, const struct hr_step_report *step);
    /* Stretches of time of all ranks, of batches from spans_from on and before spans_to: of a rank
     * in the order in which they ended, but for a step. NULL: they cost nothing. */
    void (*spanned)(void *arg, const struct hr_span_report *span);
    uint64_t spans_from, spans_to;
    /* A rank was lost, and the run goes on. What became of its samples is known at the end. */
    void (*lost)(void *arg, const struct hr_loss *loss);
    /* How often somebody has asked for a checkpoint (SIGUSR1): one is saved as soon as can be. */
    unsigned (*saves_asked)(void *arg);
    /* 0: go on; 1: finish the step, save, return; 2: leave at once. */
    int (*should_stop)(void *arg);
};

#ifdef __cplusplus
}
#endif

#endif

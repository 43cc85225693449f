/* run_result.h - what happened in a run: losses, accuracy, times, bytes, staleness, lost ranks.
 * hr_train and hr_replay_run fill it; free it with hr_run_result_free. Times are in seconds of the
 * run's clock, counts are exact. Threads: plain values.
 */
#ifndef HOGRING_RUN_RESULT_H
#define HOGRING_RUN_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hogring/accounts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How well values are predicted, in the targets' own units, of several targets the means over them;
 * or else how well classes are told apart, where accuracy alone would hide the rare ones.
 * NaN: not measured, or not defined (r2 where all samples have the same target, roc_auc of more
 * than two classes, or of one). */
struct hr_fit {
    union {
        double rmse;              /* root mean square error */
        double balanced_accuracy; /* the mean recall of the classes */
        double perplexity;        /* of text: e^loss */
    };
    union {
        double mae;           /* mean absolute error */
        double macro_f1;      /* the mean of the classes' f1 */
        double bits_per_byte; /* of text: the loss in bits, over the bytes that a token stands for;
                                 NaN where that is not known */
    };
    union {
        double r2;      /* 1 - squared errors / squared deviations from the samples' own mean */
        double roc_auc; /* of two classes, the area under the curve */
    };
};

/* One point of a learning curve: an evaluation. */
struct hr_curve_point {
    uint64_t samples;
    double seconds; /* of training, without evaluation */
    double epoch;
    double train_loss; /* mean over the samples of the epoch so far, as they were trained on */
    double test_loss, test_accuracy; /* NaN where it was measured on a validation split */
    bool validated;                  /* it was: validation_loss and validation_accuracy hold it */
    double validation_loss, validation_accuracy;
    bool values;       /* it predicts values: its accuracies are NaN */
    bool text;         /* it predicts tokens: the same */
    struct hr_fit fit; /* of the split that was measured; NaN of a sparse model of classes */
    uint64_t step;     /* since the first run began: all up to it are in what was measured; 0: of
                          a run before this one */
};

/* What was measured while training: on the validation split, or without one on the test set. */
static inline double hr_curve_loss(const struct hr_curve_point *point)
{
    return point->validated ? point->validation_loss : point->test_loss;
}

static inline double hr_curve_accuracy(const struct hr_curve_point *point)
{
    return point->validated ? point->validation_accuracy : point->test_accuracy;
}

/* A rank that was lost, and that the run outlived. */
struct hr_loss {
    bool server;
    size_t rank;    /* of the workers, or of the servers */
    uint64_t step;  /* gradients that a worker had computed */
    double seconds; /* on the run's clock, when it was noticed */
    double pause_s; /* from then until an update was applied that was offered later; < 0: none */
    uint64_t lost_samples;   /* never trained on, or gone with its replica */
    uint64_t again_samples;  /* handed out to others, or computed once more */
    uint64_t partial;        /* pushes of its that reached the weights in part */
    bool back;               /* it was started again, and took part again */
    bool rolled_back;        /* all went back to the last cut */
    char how[160], host[64]; /* host: where it lived, of several machines; else "" */
};

/* Of --early-stop and --keep best: which evaluation of the curve was the best. */
struct hr_best_evaluation {
    char metric[16];       /* loss, accuracy; "": nobody asked */
    double value, epoch;   /* NaN: no evaluation was a number */
    bool restored;         /* the weights are its weights, and so are the run's losses */
    bool stopped;          /* --early-stop ended the run */
    double ended;          /* the epoch at which it ended */
    char checkpoint[1100]; /* `best` of the folder; "" without --keep best=METRIC */
};

/* A stage of the workers' pipelines: the k-th of each. Sums over all workers. */
struct hr_stage_report {
    char layers[96];       /* of the model's text: "0 to 2", "0 to 2, 5 to 6" */
    size_t params;         /* of one worker's */
    double madds_share;    /* of the multiply-adds of a gradient */
    double busy_s, wait_s; /* within steps; wait_s NaN: one process ran all ranks */
    uint64_t bytes;        /* handed over to other stages */
    size_t peak;           /* most micro-batches (of chunks) that it kept at once */
    double again_s;        /* of busy_s: forward passes computed again */
    /* Of a pipeline that never drains: how many of the stage's own updates lay between the read of
     * the weights that its forward, and backward, took and the update by their gradient; means over
     * all gradients but those while it filled. And how many versions of its weights that takes. */
    double stale_forward, stale_backward;
    size_t versions;
};

/* Forward passes that stages compute again instead of keeping what they gave; all of one worker. */
struct hr_recompute_report {
    bool on;
    size_t bytes, bytes_without; /* that the stages' activations take, and would without it */
    double share;                /* of the multiply-adds of a gradient, on top of them */
};

/* What a stage did, and when. */
struct hr_stage_span {
    size_t stage, micro_batch, chunk;
    char work; /* F forward; B backward, or D for the data and W for the weights */
    double start_s, end_s;
};

struct hr_pipeline_report {
    size_t stages, micro_batches, chunks; /* stages 0: the run has no pipeline */
    char schedule[16];
    double bubble;                 /* idle / (stages x span of steps), measured; NaN: not known */
    double formula;                /* the same by the schedule's paper */
    uint64_t bytes;                /* between stages */
    bool never_drains;             /* but at cuts; then: */
    uint64_t gradients, filling;   /* of all workers, and those of them while the pipeline filled */
    struct hr_stage_report *stage; /* (stages) owned */
    size_t nspans;
    /* (nspans) owned: worker 0's last step; in virtual time, a step like its first; none where one
     * process ran all ranks, or of many actions. */
    struct hr_stage_span *span;
    struct hr_recompute_report recompute;
    double without_s; /* with it: what compute_s would be without, in virtual time; else NaN */
};

/* A layer of a model whose layers are split. */
struct hr_tensor_layer {
    char path[64], text[64]; /* "3", "dense 128" */
    const char *cut;         /* "by columns", "by rows", "by channels", "by heads", "not" */
};

struct hr_tensor_report {
    size_t shards, ranks; /* 0: the run's layers are not split */
    uint64_t bytes;       /* that ranks have read of what others of their team wrote; all workers */
    size_t nlayers;
    struct hr_tensor_layer *layer; /* (nlayers) owned */
};

/* What saving took, of the machine's time. */
struct hr_saves {
    uint64_t written, failed;
    double rest_s;  /* ranks rested at cuts that were there for a save alone, on the run's clock */
    double copy_s;  /* the state was copied; */
    double write_s; /* and written, in either case beside training */
};

/* In a resumed run steps, curve and target_seconds are of the whole training, past_* of the runs
 * before; all other counts and times are of this run alone. */
struct hr_run_result {
    char strategy[32], algorithm[32], launch[16], placement[16], order[96], kernels[64];
    char model[1024], optimizer[32], precision[16]; /* float32, bf16; "": of sparse models */
    char loss[64];     /* the function, as "cross-entropy:0.1": losses of one unit have one */
    char manner[96];   /* as in struct hr_run_info */
    char setting[160]; /* other options in which it differs from runs compared with it; "" */
    size_t workers, servers, batch_size, global_batch, params;
    size_t frozen_params; /* of the params: not trained (--freeze) */
    size_t threads_per_worker;
    size_t micro_shards; /* of a global batch; 0: gradients are not cut (reduce sum) */
    double repro_cost; /* time of gradients by micro-shards over that of whole ones; 0: not known */
    bool bounded;      /* workers are at most staleness_bound clocks apart */
    uint64_t seed, staleness_bound;
    size_t event_order; /* of several orders of events with one seed, from 1; 0: there is one */
    size_t fold, folds; /* of a cross-validation: which part was tested, from 1; 0: of none */
    uint64_t steps;     /* updates since the first run began */
    uint64_t updates;   /* of the model in this run */
    uint64_t samples;
    bool resumed;
    uint64_t resumed_step;               /* at which this run went on */
    uint64_t past_samples, past_updates; /* 0: it began anew, or its checkpoint does not say */
    double past_seconds;
    char clock[16]; /* real, virtual: which `seconds` are these */
    double wall_s;  /* by the machine's clock, from the first step to the last */
    double seconds, samples_per_s;
    double train_loss, test_loss, test_accuracy; /* of the last evaluation; NaN: there was none */
    size_t test_samples;                         /* of the test set; 0: it is not known */
    /* Held out, 0: none; the test set is then read once, at the end: NaN of an interrupted run. */
    size_t validation_samples;
    double validation_loss, validation_accuracy; /* of the last evaluation */
    uint64_t test_evaluations; /* how often the test set was read, in the whole training */
    size_t classes;            /* of the labels; 0: it predicts no classes */
    bool unequal;              /* one class has over three times the test samples of another */
    size_t targets;            /* values that it predicts of each sample; 0: classes */
    size_t tokens;             /* of a sample, of text; 0: of no text. Losses are nats per token */
    struct hr_fit test_fit, validation_fit; /* of the last evaluation; NaN where losses are */
    uint64_t first_samples; /* of gradients at the initial weights; 0: they were not random */
    double first_loss;      /* the sum of their losses, before anything was learned */
    char cure[200];         /* what to change first if the loss rose */
    char chance[300];       /* its accuracy is no better than chance, and the likely cause; "" */
    double lr;              /* of the last update */
    double target_seconds;  /* when the target accuracy was reached; < 0: never */
    uint64_t stale_updates, stale_sum, stale_max;
    uint64_t stale[HR_RESULT_STALENESS_BUCKETS];       /* updates of that staleness; last: more */
    size_t nstale_workers, nstale_keys, nstale_counts; /* 0: nothing was counted */
    struct hr_staleness *stale_parts; /* owned: by worker (nstale_workers), then by key */
    uint64_t *stale_counts;           /* owned: their histograms */
    /* hogwild, a sample: watched lines of 16 weights, one a push; pairs of weights in them; and
     * pairs where another worker's update was overwritten. */
    uint64_t watched_lines, watched_pairs, lost_pairs;
    uint64_t dropped, dropped_samples; /* backup-workers: gradients that came too late; samples,
                                          theirs and those of shares that were never begun */
    size_t ndropped_by;                /* workers */
    uint64_t *dropped_by;              /* (ndropped_by) owned: of each worker */
    uint64_t resent, duplicates;       /* --inject drop-push: pushes sent again; that had arrived */
    struct hr_asynchrony asynchrony;   /* NaN where no stale gradients were counted */
    uint64_t max_skew;    /* clocks between the fastest and the slowest worker, at most */
    size_t nworker_times; /* workers */
    struct hr_worker_time *worker_time; /* (nworker_times) owned */
    /* Summed over workers: workers x seconds in all. */
    double load_s, compute_s, communicate_s, wait_s;
    /* Of wait_s: for other workers, the sum of waited_for; in stalls of one's own. The rest is for
     * servers, processors, the ends of sleeps. */
    double waited_for_others_s, stalled_s;
    size_t nwaited;
    struct hr_waited_for *waited_for; /* (nwaited) owned: by who was waited for */
    double *waited_s; /* (nwaited, nwaited) owned: [i][j] that i waited, j cost; NULL: over 64 */
    double forward_s, backward_s;            /* parts of compute_s; the rest of it is updating */
    uint64_t prefetch_hits, prefetch_misses; /* batches that were decoded ahead, or were not */
    uint64_t bytes_sent, bytes_received;     /* by workers */
    uint64_t bytes_uncompressed;             /* what bytes_sent would be without options.compress */
    bool counts_applied; /* servers have the state: `updates` again, as they counted them, */
    uint64_t applied;    /* those that are in the weights */
    size_t ncurve;
    struct hr_curve_point *curve;  /* owned */
    struct hr_conflicts conflicts; /* of sparse models */
    size_t nlosses;
    struct hr_loss *losses; /* (nlosses) owned, in the order in which they were noticed */
    size_t restarts;
    size_t nanswers;   /* samples of the test split, where wants_answers asked; else 0 */
    uint32_t *answers; /* (nanswers) owned: the class that each was given; UINT32_MAX: none */
    char weights_digest[33];
    char recorded_digest[33], trace[1024]; /* of a run that was replayed, or recorded; "" */
    uint64_t trace_entries;                /* repeated */
    double record_cost; /* hogwild: time of a recorded step over that of a plain one; 0: unknown */
    char checkpoint[1100]; /* the last one saved; "" */
    struct hr_saves saves;
    struct hr_best_evaluation best;
    struct hr_pipeline_report pipeline;
    struct hr_tensor_report tensor;
    struct hr_node_step node_step;
    size_t nmachines;                   /* 0: there is one */
    struct hr_machine_report *machines; /* (nmachines) owned; the first one's ranks come first */
    bool interrupted;
    bool repeats;            /* the same options give the same bits again, on such a machine */
    double cpu_s;            /* processor time of all its threads and processes, as wall_s */
    double bytes_per_update; /* that workers sent; NaN: there was no update */
    size_t ndigests;
    struct hr_step_digest *digests; /* (ndigests) owned, by step */
};

void hr_run_result_free(struct hr_run_result *result);

#ifdef __cplusplus
}
#endif
#endif

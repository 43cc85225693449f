/* job.h - what is trained, and how: what every rank of a dense run knows of it.
 *
 * Threads: constant once ranks run; its pointers lead to shared memory with rules of its own
 *          (strategy.h, session/cut.h).
 */
#ifndef HR_WORKER_JOB_H
#define HR_WORKER_JOB_H

#include <string.h>

#include "data/transform.h"
#include "group/local_group.h"
#include "hogring/train.h"
#include "launch/launch.h"
#include "netsim/links.h"
#include "nn/model.h"
#include "options/choices.h"
#include "session/cut.h"
#include "session/target_scale.h"
#include "stages/crew.h"
#include "stages/time.h"
#include "strategy/shared.h"
#include "strategy/strategy.h"
#include "worker/conditions.h"

enum { HR_EVAL_BLOCK = 250 }; /* test samples evaluated at a time, whatever the number of workers */

/* Result of one block of the test split. */
struct hr_eval_cell {
    double loss_sum;
    uint64_t correct;
};

/* What an evaluation leaves of the test split, in the segment. */
struct hr_tested {
    struct hr_eval_cell *cells; /* (nblocks); rank r of the group evaluates its r-th part of them
                                 * (hr_split_begin) */
    size_t nblocks;
    uint32_t *answers; /* (test samples) of the last one, of classes; */
    float *outputs;    /* and where these are two and ranked (session/class_scores.h), (test
                        * samples, outputs of the model) */
    double *errors;    /* (nblocks + 1, 2, targets) of each block, as hr_fit_add sums them; the last
                        * is for their sum (worker.h) */
    size_t answer_bytes, output_bytes; /* of a test sample; 0: there are none */
};

/* Where training samples are read from. */
enum hr_reads {
    HR_READS_MEMORY,    /* or from a file that fits into it */
    HR_READS_WINDOWS,   /* of a mapped file, the next one while there is one in hand */
    HR_READS_SCATTERED, /* all over a mapped file that is larger than memory */
};

struct hr_train_job {
    const struct hr_train_options *options;
    struct hr_choices choices; /* what these say in words */
    const struct hr_dataset *dataset;
    struct hr_model *model; /* owned */
    struct hr_augment augment;
    enum hr_reads reading;
    struct hr_scaling scaling;       /* of no channels without --normalize */
    size_t nranks;                   /* workers, then servers */
    size_t batch_size, global_batch; /* of a worker (the largest share), and of all */
    size_t parts;                    /* that a worker's share is computed in; 1: at once */
    size_t most_parts;               /* the same, when a single worker is left of all */
    size_t micro_shards;             /* of a global batch, under --reduce repro; else 0 */
    size_t piece;                    /* samples that are computed at once, at most */
    enum hr_launch launch;
    bool serial;                /* one process runs all ranks, and none of them waits */
    bool simulated;             /* in virtual time */
    struct hr_waiter waits;     /* how ranks wait: each begins with a copy */
    struct hr_wait_rules stall; /* who is named when others wait for it */
    struct hr_conditions conditions;
    struct hr_wires wires;        /* emulated links; without ranks: there are none */
    struct hr_local_group *local; /* owned; the group, where one thread runs it; else NULL */
    struct hr_shared_state *shared;
    /* Of a run on several machines (train/multinode.h), else NULL: a worker comes to a cut. */
    enum hr_status (*barrier)(void *arg, size_t rank, struct hr_waiter *waiter, unsigned stage);
    enum hr_status (*tend)(void *arg); /* the launcher's share in it, at each look; or NULL */
    void *machines_arg;                /* of barrier and tend */
    struct hr_buffer_pool
        *pool;                /* the driver's: what workers compute in, one after the other; NULL:
                                  * each has its own (compute_buffers.h) */
    uint64_t begins_with;     /* digest64 of the weights that the run begins with */
    const struct hr_cut *cut; /* what the leader says at a cut */
    struct hr_tested tested;
    struct hr_target_scale values;   /* owned; of a regression */
    struct hr_best_weights best;     /* in the segment, with --early-stop */
    struct hr_pipeline_timer *timer; /* owned: in virtual time, of a pipeline; or NULL */
    struct hr_pipeline *pipeline; /* owned: each worker is the first of several stages; or NULL */
    size_t first_stage;           /* rank of the first other stage, behind all else (staged.h) */
    void *stage_memory;           /* (workers) in the segment, unless one thread runs them */
    struct hr_stage_account *stage_accounts; /* (workers, members) in the segment */
    struct hr_stage_when *when; /* (stages, actions) worker 0's, in the segment, or NULL: spans.h */
};

/* Ranks of this machine that compute. */
static inline size_t hr_train_job_computing(const struct hr_train_job *job)
{
    size_t here = hr_workers_here(job->shared);
    for (size_t r = job->first_stage; r < job->nranks; r++)
        here += hr_hosts_here(&job->shared->hosts, r);
    return here;
}

/* Threads of this process that compute. */
static inline size_t hr_train_job_threads(const struct hr_train_job *job)
{
    return job->launch == HR_LAUNCH_THREAD ? hr_train_job_computing(job) : 1;
}

/* Blocks of test samples that there are. */
static inline size_t hr_train_job_blocks(const struct hr_dataset *dataset)
{
    return (dataset->test.count + HR_EVAL_BLOCK - 1) / HR_EVAL_BLOCK;
}

/* Samples of a worker's share of a batch, at most. */
static inline size_t hr_train_job_share(const struct hr_train_job *job)
{
    return job->batch_size * (job->micro_shards ? 1 : job->options->accumulate);
}

/* Is a share computed in parts? (One micro-shard is a part, too.) */
static inline bool hr_train_job_has_parts(const struct hr_train_job *job)
{
    return job->parts > 1 || job->micro_shards;
}

/* Does a thread decode ahead of each worker? Not where one process runs all ranks. */
static inline bool hr_train_job_prefetches(const struct hr_train_job *job)
{
    return job->options->prefetch && !job->serial;
}

/* Are pieces of a gradient handed over during backward? Not where parts are added first, but for
 * those of a pipeline, whose stages are done one after the other; nor in a local group, whose
 * gradients are computed by other threads; nor to servers that are all on one machine, which read
 * them in place. */
static inline bool hr_train_job_overlaps(const struct hr_train_job *job)
{
    return job->shared->overlaps && (job->pipeline || !hr_train_job_has_parts(job)) &&
           !job->local &&
           (!hr_strategy_is_served(job->shared->strategy) || hr_shared_is_multinode(job->shared));
}

#endif

/* strategy.h - how replicas are kept in step, behind one table of functions.
 *
 *   Worker   request -> ready? -> accept -> gradient (final ...) -> offer -> request -> ...
 *            ask for weights and a batch; has the answer come; take it; (worker/ computes); hand in
 *   Owner    enabled? -> take one input -> enabled? -> ...          (a parameter server's shard)
 *
 * None of these functions waits: only a driver (drive/drive_*.c) does. A driver does not know its
 * strategy; a strategy does not know its driver, nor whether ranks are threads or processes.
 *
 * At a cut (batch_schedule.h) accept says so. The worker then arrives; when all have, the state is
 * exactly that after all updates before the cut, and each rank exports its part to the snapshot.
 */
#ifndef HR_STRATEGY_STRATEGY_H
#define HR_STRATEGY_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/account.h"
#include "checkpoint/digest.h"
#include "group/group.h"
#include "hogring/train.h"
#include "optim/optimizer.h"
#include "strategy/batch_schedule.h"
#include "strategy/replay_log.h"
#include "strategy/shard.h"

enum { HR_STALENESS_BUCKETS = 4096 }; /* four times the workers that there may be */

/* What a worker counts; its own lines in the segment, read by others only at a cut or after the
 * run, except for `seen`. */
struct hr_worker_stats {
    alignas(HR_LINE) struct hr_atom64 seen; /* samples so far, for progress; writer: the worker */
    uint64_t steps, samples, updates;       /* steps: gradients */
    uint64_t epoch_samples;
    double epoch_loss; /* sum over the epoch's samples so far */
    uint64_t first_samples;
    double first_loss;         /* sum over its samples at the initial weights (worker/worker.c) */
    struct hr_account account; /* of its time, from the start to the end of every span */
    int64_t began_ns, came_ns; /* may begin the next span; has ended the last one */
    int64_t forward_ns, backward_ns; /* of what it computed */
    uint64_t prefetch_hits, prefetch_misses;
    uint64_t bytes_sent, bytes_received;
    int64_t repro_ns, whole_ns; /* gradients of the same batches by micro-shards, and at once */
    uint64_t max_skew;          /* clocks ahead of the slowest when a read was granted */
    /* Staleness of each update this worker offered: the largest over the shards. */
    uint64_t stale_updates, stale_sum, stale_max;
    uint64_t stale[HR_STALENESS_BUCKETS]; /* the last bucket holds all above */
};

/* Words about which index comes next. */
struct hr_dispenser {
    alignas(HR_LINE) struct hr_atom64 next; /* asynchronous: index handed out next. Writer: shard 0;
                                               in hogwild fetch_add by all; at a cut the leader */
    alignas(HR_LINE) struct hr_atom64 cut; /* asynchronous: none is handed out from here on. Writer:
                                              the leader, at a cut */
    alignas(
        HR_LINE) struct hr_atom64 stop_at;  /* synchronous: nobody begins this index. Writer: worker
                                               0, before it offers the gradient of the one before */
    alignas(HR_LINE) struct hr_atom32 stop; /* asked to stop. Writer: the launcher */
};

/* Mean training losses of epochs, from the first run on; 0: none has ended. Written by the leader
 * at a cut. */
struct hr_epoch_losses {
    double first, last;
};

/* What a worker has trained on in this epoch. One entry a worker, not a sum: a resumed run then
 * adds in the order of one that was never stopped. */
struct hr_epoch_share {
    double loss, samples; /* samples are counted in doubles, as they are saved */
};

/* The state of the model at a cut: what evaluation reads and checkpoints hold. */
struct hr_snapshot {
    float *weights;      /* (params) */
    float *state;        /* (state_copies, nstates, params) the optimiser's */
    uint64_t *applied;   /* (state_copies) updates ever made to that copy */
    size_t state_copies; /* 1, or one a worker where state is private (hogwild) */
    float *replicas;     /* (workers, params) where strategy->keeps_replicas; else NULL */
    struct hr_epoch_losses *losses;
    struct hr_epoch_share *shares; /* (workers) */
};

struct hr_strategy;

/* A message between parties: workers, numbered first, and shards, whatever ranks own them. */
struct hr_posted {
    size_t from, to;
    uint64_t bytes; /* of what it stands for, itself included */
};

/* One run's shared memory and constants. Ranks inherit the mapping at the same address, so private
 * structs may point into it; the segment itself holds no pointers. */
struct hr_shared_state {
    const struct hr_strategy *strategy;
    const struct hr_train_options *options;
    uint64_t staleness_bound; /* clocks between two workers; UINT64_MAX: any. Set by prepare */
    struct hr_digest_text graph_digest; /* of the file's links (--gossip-graph FILE), or "". Set by
                                           prepare */
    void *setup; /* what strategy->prepare made of them, or NULL; one block, owned */
    struct hr_optimizer optimizer;
    struct hr_batch_schedule schedule;
    struct hr_group_options group_options;
    size_t workers, servers, params;
    bool colocated; /* shard s belongs to worker s; else to a rank of its own */
    struct hr_control *control;
    void *segment;
    /* In the segment: */
    void *group;                   /* the workers' */
    float **weights;               /* (workers)(params) what worker r computes its gradient from */
    float **grads;                 /* (workers)(params) where it leaves it; read by peers */
    struct hr_worker_stats *stats; /* (workers) */
    struct hr_dispenser *dispenser;
    void *staleness; /* strategy/staleness.h */
    struct hr_snapshot snapshot;
    void *own; /* strategy->bytes() bytes, the strategy's own */
    /* Private: called for every message, just before it can be seen, for virtual time and for
     * --calibrate; NULL: not called. Returns: will the driver call strategy->deliver when the
     * message arrives? (Never for a shard's messages.) */
    bool (*posted)(void *arg, const struct hr_posted *what);
    void *posted_arg;
};

enum hr_task_kind { HR_TASK_BATCH, HR_TASK_CUT };

struct hr_task {
    enum hr_task_kind kind;
    uint64_t index; /* of the batch */
};

/* A worker; private memory of its rank. */
struct hr_worker {
    struct hr_shared_state *shared;
    size_t rank;
    struct hr_member member;
    struct hr_waiter *waiter;
    struct hr_worker_stats *stats;
    struct hr_bell *bell;   /* what to park on while ready() is false */
    float *weights, *grads; /* (params) shared->weights[rank], shared->grads[rank] */
    float *state;           /* (nstates, params) owned, or shared memory; NULL: a server has it */
    float *ratio;           /* (tensors) for hr_step_measure; behind an owned state */
    uint64_t applied;       /* updates ever made to state */
    uint64_t index;         /* of the current batch, or (synchronous) of the next */
    uint64_t steps;         /* gradients it has computed in this run */
    int64_t took_ns;        /* the last of them, on the run's clock */
    uint64_t cut;           /* synchronous: the next cut */
    size_t samples;         /* in its gradient */
    double epoch_loss;      /* that of stats before it */
    void *own;              /* strategy->worker_own bytes, zeroed before start */
};

struct hr_strategy {
    const char *name;
    const char *guarantee; /* printed at the start */

    /* Command-line options that it obeys and some strategies do not; ends with NULL. */
    const char *const *options;

    bool synchronous;    /* every rank knows beforehand which index comes next */
    bool shares_batch;   /* an index is a global batch, of which each worker has a share; else it
                              is one worker's minibatch */
    bool served;         /* has server ranks */
    bool one_shard;      /* only one server, which decides for all */
    bool keeps_replicas; /* each worker has weights of its own, which a cut leaves as they are */
    bool private_state;  /* a state of the optimiser for each worker */
    /* The order in which gradients are added; NULL: that of the group's algorithm. */
    const char *order;
    /* The strategy for runs that are recorded or replayed; NULL: this one. */
    const struct hr_strategy *recorded;
    /* The strategy for --staleness 0; NULL: this one. */
    const struct hr_strategy *in_step;

    /* Check its own options, and keep results in shared->setup (hr_setup_take). Workers, servers
     * and parameters are known. NULL: nothing to check. */
    enum hr_status (*prepare)(struct hr_shared_state *shared);
    /* Its own options in words, as "sync-every 8", left alone ("") where there is nothing to say.
     * NULL: never. */
    void (*describe)(const struct hr_shared_state *shared, char *text, size_t size);

    /* The strategy's own shared memory: size, and initialising it (zeroed before); NULL: none. */
    size_t (*bytes)(const struct hr_shared_state *shared);
    void (*init)(struct hr_shared_state *shared);
    /* Fill in its own fields of the result, last of all, after all ranks have ended. NULL: none. */
    void (*report)(const struct hr_shared_state *shared, struct hr_run_result *result);

    size_t worker_own; /* bytes of worker->own */
    /* Private memory that a worker's start takes; NULL: none worth counting. */
    size_t (*worker_bytes)(const struct hr_shared_state *shared);

    /* Worker. start loads the snapshot (the initial state, or a checkpoint's). */
    enum hr_status (*start)(struct hr_worker *worker);
    void (*stop)(struct hr_worker *worker);
    void (*request)(struct hr_worker *worker);
    bool (*ready)(void *worker);
    enum hr_status (*accept)(struct hr_worker *worker, struct hr_task *task);
    /* During backward: grads [offset, params) are final; NULL: not called. */
    void (*final)(struct hr_worker *worker, size_t offset);
    void (*offer)(struct hr_worker *worker);
    /* A message from worker `from` has arrived at worker `to`; NULL: workers send none. */
    void (*deliver)(const struct hr_shared_state *shared, size_t from, size_t to);
    void (*arrive)(struct hr_worker *worker);           /* at a cut: tell the owners */
    bool (*arrived)(void *worker);                      /* have they exported */
    void (*export_part)(struct hr_worker *worker);      /* after all have arrived */
    enum hr_status (*verify)(struct hr_worker *worker); /* after all have exported */

    /* The log that a worker writes or repeats. NULL: workers decide nothing; the driver writes the
     * logs of shards. */
    struct hr_replay_log *(*replay_log)(struct hr_worker *worker);

    /* Owner: shared->servers shards. NULL when there are none. */
    enum hr_status (*shard_start)(struct hr_shard *shard, struct hr_shared_state *shared,
                                  size_t number);
    void (*shard_stop)(struct hr_shard *shard); /* harmless on a zeroed one */
    /* enabled[w]  in: ask about worker w; out: may its oldest message be taken now */
    void (*enabled)(struct hr_shard *shard, unsigned char *enabled);
    void (*take)(struct hr_shard *shard, size_t input);
    bool (*over)(const struct hr_shard *shard);
};

/* The strategy of that name, with that staleness. HR_E_USAGE lists the names. */
HR_CHECKED enum hr_status hr_strategy_find(const char *name, uint64_t staleness,
                                           const struct hr_strategy **out);
/* The strategy that recorded and replayed runs use in its place. */
const struct hr_strategy *hr_strategy_recorded(const struct hr_strategy *strategy);
/* How many logs they write: one for each owner whose order of inputs changes bits. */
size_t hr_log_count(const struct hr_shared_state *shared);

/* Take worker->own, and start; stop, and free it. On failure there is nothing to stop. */
HR_CHECKED enum hr_status hr_worker_start(struct hr_worker *worker);
void hr_worker_stop(struct hr_worker *worker);

/* Is the option in the strategy's list? */
bool hr_strategy_obeys(const struct hr_strategy *strategy, const char *option);
/* Prepare and describe (may be repeated); free the setup. */
HR_CHECKED enum hr_status hr_strategy_prepare(struct hr_shared_state *shared);
void hr_strategy_describe(const struct hr_shared_state *shared, char *text, size_t size);
void hr_strategy_forget(struct hr_shared_state *shared);
/* After prepare. HR_E_USAGE: the file that --gossip-graph names had other links when `graph`, then
 * that option, had this digest. Either may be NULL, or "": not known. */
HR_CHECKED enum hr_status hr_strategy_same_graph(const struct hr_shared_state *shared,
                                                 const char *graph, const char *digest);

/* The i-th strategy, NULL past the end. */
const struct hr_strategy *hr_strategy_at(size_t i);

#endif

/* strategy.h - how replicas are kept in step, behind one table of functions.
 *
 *   Worker   span: from one cut to the next: a batch, its gradient (worker/ computes), what is done
 *            with it, the next batch. It waits where it waits, over rank.h
 *   Owner    enabled? -> take one input -> enabled? -> ...          (a parameter server's shard)
 *
 * No other function of the table waits. A driver (drive/drive_*.c) does not know its strategy; a
 * strategy does not know its driver, nor whether ranks are threads or processes.
 *
 * At a cut (batch_schedule.h) a span ends. When all have arrived there, the state is exactly that
 * after all updates before the cut, and each rank exports its part to the snapshot.
 */
#ifndef HR_STRATEGY_STRATEGY_H
#define HR_STRATEGY_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "products/taker.h"
#include "shm/ring.h"
#include "strategy/stragglers.h"
#include "strategy/rows.h"
#include "strategy/shared_state.h"
#include "trace/trace.h"

/* Where workers decide for themselves (hogwild): the log that each writes of its own
 * acts, or repeats.
 *
 *   Noted     a step's values that are no function of the run's inputs.
 *   Repeated  a worker follows its log: it takes these values from it. A log that has another entry
 *             than the one that comes next is of another run.
 *
 * Threads: private to a worker; the driver sets log and recorded before the worker acts.
 */

/* Part of the trace format. Entries of a step come in this order; CUT is in the place of a step. */
enum hr_noted {
    HR_NOTED_BATCH,     /* value: its index */
    HR_NOTED_SKEW,      /* clocks ahead of the slowest */
    HR_NOTED_PULL,      /* for each block: its ticket */
    HR_NOTED_STALENESS, /* pushes of others since; duration: of the gradient */
    HR_NOTED_PUSH,      /* for each block: its ticket */
    HR_NOTED_CUT,       /* no batch */
};

/* "batch", ..., or "unknown". */
const char *hr_noted_name(uint32_t kind);

struct hr_replay_log {
    struct hr_trace_log *log;         /* where it writes; NULL: nowhere */
    struct hr_trace_cursor *recorded; /* what it repeats; NULL: it is free */
    uint64_t until;                   /* entries of that: behind them it dies; 0: all */
    uint64_t moved;                   /* operations so far, so that a driver sees progress */
    bool busy;                        /* in the middle of what it noted, or will note */
    bool beyond;                      /* what is recorded has more batches than the run */
    const char *misses;               /* what it wanted, and the log has not; NULL: it fits */
};

/* Behind the last entry of a life stand those of the next one. */
static inline bool hr_replay_log_ends(const struct hr_replay_log *replay)
{
    const struct hr_trace_cursor *log = replay->recorded;
    return log && replay->until && log->section->entries - log->left >= replay->until;
}

struct hr_worker;

void hr_note(struct hr_worker *worker, enum hr_noted kind, uint64_t value);
/* In a replay: the value of its next entry, which must be of this kind; false: it is not. */
bool hr_follow(struct hr_worker *worker, enum hr_noted kind, uint64_t *value);
/* The index of its next batch. False: the log says that it draws none, or one at the cut or behind
 * it, which this run has not; then the driver decides. */
bool hr_follow_draw(struct hr_worker *worker, uint64_t cut, uint64_t *index);
/* A value that is seen, or in a replay was; it is noted. */
uint64_t hr_observe(struct hr_worker *worker, enum hr_noted kind, uint64_t seen);
/* HR_E_FORMAT: the log is of another run. */
HR_CHECKED enum hr_status hr_replay_log_fits(const struct hr_worker *worker);

struct hr_compressing;
struct hr_shard;
struct hr_pause;
struct hr_rank;
struct hr_standing;

enum hr_task_kind { HR_TASK_BATCH, HR_TASK_CUT };

struct hr_task {
    enum hr_task_kind kind;
    uint64_t index; /* of the batch */
};

/* What a worker has sent to servers in this life: server/server_worker.h. */
struct hr_requests {
    uint64_t sent;          /* to each: the number of the last */
    unsigned attempts;      /* at its last push, where a part of it is unanswered; else 0 */
    struct hr_message push; /* the last one; kept where pushes are lost on purpose */
    size_t least, ahead;    /* of a push's parts (shared.h); elements that went in parts so far */
};

/* What a strategy has to do with the gradient in hand. */
struct hr_gradient_hooks {
    /* During backward: grads [offset, params) are final; NULL: not called. */
    void (*final)(struct hr_worker *worker, size_t offset);
    /* Its update can be made out of pieces of a gradient, each during backward, so that no gradient
     * is ever whole: then it is told of all of them; or of none. NULL: it cannot. */
    void (*piece)(struct hr_worker *worker, const struct hr_final_piece *piece);
    /* It will wait for other workers behind the gradient. For the active worker `peer`?
     * (With servers it is who opens their gate.) NULL: it will not wait. */
    hr_awaits_fn *awaits;
};

/* A worker; private memory of its rank. */
struct hr_worker {
    struct hr_shared_state *shared;
    size_t rank;
    size_t group_rank, group_size; /* among the active workers (struct hr_active), who share a
                                      batch, and a cut's work; without losses its rank, of all */
    bool back; /* it was lost, and started again: it begins without a state of its own */
    struct hr_member member;
    struct hr_traffic counted; /* of the member's traffic: what stats have */
    struct hr_waiter *waiter;
    struct hr_worker_stats *stats;
    float *weights, *grads; /* (params) shared->weights[rank], shared->grads[rank] */
    float *state;           /* (nstates, params) owned, or shared memory; NULL: a server has it */
    float *more;            /* (rows.more, params); behind an owned state */
    float *ratio;           /* (tensors) for hr_step_measure; behind that */
    uint64_t applied;       /* updates ever made to state */
    uint64_t index;         /* of the current batch, or (synchronous) of the next */
    uint64_t steps;         /* gradients it has computed in this run */
    int64_t took_ns;        /* the last of them, on the run's clock */
    uint64_t cut;           /* synchronous: the next cut */
    size_t samples;         /* in its gradient */
    double epoch_loss;      /* that of stats before it */
    struct hr_requests requests;
    struct hr_compressing *compressing;    /* owned; compression.h; NULL: nothing is compressed */
    struct hr_arrival arrival;             /* to the next exchange: stragglers.h */
    const struct hr_gradient_hooks *hooks; /* of the last gradient; hr_rank_gradient sets them */
    struct hr_spans *spans;                /* of its time: observe/spans.h; NULL: nobody looks on */
    struct hr_replay_log replay;           /* what it notes of its own acts; hr_workers_log */
    void *own;                             /* strategy->worker_own bytes, zeroed before start */
};

struct hr_strategy {
    const char *name;
    const char *guarantee; /* printed at the start, where prepare has not put another one */

    /* Command-line options that it obeys and some strategies do not; ends with NULL. */
    const char *const *options;

    struct hr_rows rows; /* what is kept */

    bool synchronous;  /* every rank knows beforehand which index comes next */
    bool shares_batch; /* an index is a global batch, shared out; else one worker's minibatch */
    bool one_shard;    /* with servers: only one, which decides for all */
    /* The order in which gradients are added; NULL: that of the group's algorithm. */
    const char *order;
    /* The strategy where a machine's workers push as one (--aggregate node); NULL: never. */
    const struct hr_strategy *aggregated;
    const struct hr_strategy *in_step; /* for --staleness 0; NULL: this one */

    /* Check its own options, and keep results in shared->setup (hr_setup_take). Workers, servers
     * and parameters are known. NULL: nothing to check. */
    enum hr_status (*prepare)(struct hr_shared_state *shared);
    /* Its own options in words, as "sync-every 8"; "" where it says nothing. NULL: never. */
    void (*describe)(const struct hr_shared_state *shared, char *text, size_t size);

    /* The strategy's own shared memory: size, and initialising it (zeroed before, but for the one
     * state of rows.h); NULL: none. */
    size_t (*bytes)(const struct hr_shared_state *shared);
    void (*init)(struct hr_shared_state *shared);

    size_t worker_own; /* bytes of worker->own */
    /* Private memory that a worker's start takes, beside a state; NULL: none worth counting. */
    size_t (*worker_bytes)(const struct hr_shared_state *shared);

    /* Worker. start: weights and state are there (rows.h). */
    enum hr_status (*start)(struct hr_worker *worker);
    void (*stop)(struct hr_worker *worker);  /* free what start took; NULL: nothing */
    void (*leave)(struct hr_worker *worker); /* tell owners that no more will come; NULL */
    /* From one cut to the next, over a rank's primitives (rank.h). */
    enum hr_status (*span)(struct hr_rank *rank);
    /* All have arrived, and rest until all have exported: take up what others have done to memory
     * that all share. Repeated where a worker is lost at the cut. NULL: nothing. */
    void (*catch_up)(struct hr_worker *worker);

    /* Between two events, where one process runs all ranks: copy weights, states and replicas, and
     * say what is in hand (pause.h). False: not now. NULL: a save is a cut. */
    bool (*pause)(const struct hr_standing *at, struct hr_pause *to);

    /* A worker is lost. Told by the launcher at once, while others go on; its counters are whole.
     * (Owners take it: HR_GONE.) NULL: nothing has to be done. */
    void (*lost)(struct hr_shared_state *shared, size_t worker);

    /* Owner: shared->servers shards (server/server.h). NULL when there are none.
     * enabled[w]  in: ask about worker w; out: may its oldest message be taken now */
    void (*enabled)(struct hr_shard *shard, unsigned char *enabled);
    void (*take)(struct hr_shard *shard, size_t input);
};

/* --- what follows from rows, and from what a batch is --- */

/* Has it server ranks? */
static inline bool hr_strategy_is_served(const struct hr_strategy *strategy)
{
    return strategy->rows.weights == HR_KEPT_SERVED;
}

/* Do its workers update the same weights, and nobody owns them? Several machines do not share them:
 * theirs are averaged (--sync-every). */
static inline bool hr_strategy_shares_weights(const struct hr_strategy *strategy)
{
    return strategy->rows.weights == HR_KEPT_SHARED;
}

/* Do its workers hand in gradients, to be added, or applied by servers? Else each updates weights
 * with a state of its own. */
static inline bool hr_strategy_adds(const struct hr_strategy *strategy)
{
    return strategy->rows.state != HR_KEPT_OWN;
}

/* Is an update made of gradients of the weights that it changes? Then of each gradient that is in
 * one the staleness is 0, and nobody counts. */
static inline bool hr_strategy_never_stale(const struct hr_strategy *strategy)
{
    return hr_strategy_adds(strategy) && strategy->shares_batch;
}

/* Has each worker all that is kept, between cuts, too? */
static inline bool hr_strategy_is_everywhere(const struct hr_strategy *strategy)
{
    const struct hr_rows *rows = &strategy->rows;
    return rows->weights == HR_KEPT_EQUAL && rows->state == HR_KEPT_EQUAL && !rows->due;
}

/* Do workers decide, each for itself, and write the logs of a recorded run? Else the driver writes
 * those of shards. */
static inline bool hr_workers_log(const struct hr_strategy *strategy)
{
    return hr_strategy_shares_weights(strategy);
}

/* How many logs recorded runs write: one for each owner whose order of inputs changes bits. */
size_t hr_log_count(const struct hr_shared_state *shared);

/* Take worker->own, and start; stop, and free it. On failure there is nothing to stop. */
HR_CHECKED enum hr_status hr_worker_start(struct hr_worker *worker);
void hr_worker_stop(struct hr_worker *worker);
/* The same of one that leaves as if it had died: it tells nobody. */
void hr_worker_drop(struct hr_worker *worker);
/* After a revocation: it is not active. Servers, which began anew, have taken no request of it. */
void hr_worker_sit_out(struct hr_worker *worker);

/* All are quiescent at a cut: catch up, and export what is kept (rows.h), and what compression
 * keeps. */
void hr_worker_export(struct hr_worker *worker);

/* Initialise the strategy's memory, and what is kept for it beneath: from the snapshot, as a run
 * begins, or a term. shared->own is zeroed. */
void hr_strategy_init(struct hr_shared_state *shared);

/* Is the option in the strategy's list? */
bool hr_strategy_obeys(const struct hr_strategy *strategy, const char *option);
/* Prepare and describe (may be repeated); free the setup. */
HR_CHECKED enum hr_status hr_strategy_prepare(struct hr_shared_state *shared);
void hr_strategy_describe(const struct hr_shared_state *shared, char *text, size_t size);
void hr_strategy_forget(struct hr_shared_state *shared);
/* After prepare. HR_E_USAGE: the file that gossip:GRAPH names had other links when `graph`, then
 * that option, had this digest. Either may be NULL, or "": not known. */
HR_CHECKED enum hr_status hr_strategy_same_graph(const struct hr_shared_state *shared,
                                                 const char *graph, const char *digest);

#endif

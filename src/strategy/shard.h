/* shard.h - a parameter server's shard, and what it knows of its workers (its effects: server.h).
 *
 * Threads: a shard belongs to its rank.
 */
#ifndef HR_STRATEGY_SHARD_H
#define HR_STRATEGY_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/account.h"
#include "trace/pick.h"

struct hr_shared_state;

/* What a shard knows of a worker. */
struct hr_client {
    uint64_t clock;     /* pushes taken since the last cut */
    uint64_t applied;   /* of them, those in the weights */
    uint64_t read;      /* version it read last */
    uint64_t handed;    /* version that lies in its memory since its push; 0: none */
    uint64_t staleness; /* of its last push */
    uint64_t index;     /* synchronous: of the push waiting to be summed */
    uint64_t fate;      /* backup-workers: of its last push */
    bool in;            /* backup-workers: its gradient of the current step is in */
    size_t samples;
    bool arrived, done;
};

/* What a shard took last, for a trace of the run. */
struct hr_taken {
    uint32_t kind; /* the strategy's own */
    uint32_t worker;
    uint64_t step;   /* of the worker: gradients it had computed */
    uint64_t value;  /* batch index of a pull's answer, or the staleness of a push */
    int64_t took_ns; /* a push: how long its gradient took */
};

/* A parameter server's shard; private memory of its rank. */
struct hr_shard {
    struct hr_shared_state *shared;
    size_t number, first, count; /* parameters [first, first + count) */
    float *weights;              /* (count) in the segment */
    float *state;                /* (nstates, params) in the segment: that of all shards */
    float *ratio;                /* (tensors) for hr_step_measure */
    float *sum;                  /* (count) scratch for T(n) */
    uint64_t version;            /* updates applied in this run */
    uint64_t before;             /* updates made to state before it */
    size_t ndone;
    size_t nin;               /* backup-workers: gradients of the current step that are in */
    bool open;                /* backup-workers: there is a current step */
    struct hr_client *worker; /* (workers) owned */
    const float **grads;      /* (workers) owned; scratch of a sum */
    struct hr_taken taken;
    struct hr_picker picker;
    struct hr_account *account; /* colocated: of the worker whose time it takes; else NULL */
};

#endif

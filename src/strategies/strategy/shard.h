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
#include "shm/ring.h"
#include "strategy/fate.h"
#include "trace/pick.h"

struct hr_shared_state;
struct hr_fates;

enum { HR_LOSS_ROUNDS = 4 };

/* Has a worker left, and how? */
enum hr_left { HR_LEFT_NOT, HR_LEFT_DONE, HR_LEFT_GONE /* it was lost */ };

/* What a shard has to say of a worker that was lost, as it was then. */
struct hr_last_words {
    uint64_t pushes;                               /* that it had taken in this life */
    uint64_t counted, pushed, staleness, max_skew; /* as in struct hr_client */
};

/* What a shard knows of a worker. */
struct hr_client {
    uint64_t clock;   /* pushes taken since an epoch's end; of one that joined: those of the slowest
                           when it did, and its own */
    uint64_t applied; /* of them, those in the weights */
    uint64_t number;  /* of its last request that was taken: server.h */
    uint64_t read;    /* version it read last; UINT64_MAX: it is gone */
    uint64_t handed;  /* version that lies in its memory since its push; 0: none */
    uint64_t staleness;        /* of its last push */
    bool aside;                /* left out of the slowest clock: at a cut, has left, or another of
                                  its machine pushes for it */
    bool arrived;              /* at a cut */
    bool rests;                /* since a cut: it has asked for nothing */
    unsigned char left;        /* enum hr_left */
    bool in;                   /* backup-workers: its gradient of the current step is in */
    bool fresh;                /* it has joined, and has no weights yet */
    uint64_t index;            /* of the last push: synchronous, backup-workers */
    uint64_t fate;             /* backup-workers: of its last push */
    struct hr_dropped dropped; /* backup-workers: what it was too late for */
    size_t samples;
    /* In its hands, shard 0: handed out, and no push of them taken. */
    uint64_t batch, batches; /* [batch, batch + batches) */
    size_t share;            /* backup-workers: samples of its share of it */
    bool seated;             /* backup-workers: it has a share of the current step, */
    size_t seat;             /* this one */
    /* For the day it is lost. */
    uint64_t step;     /* of its last message */
    uint64_t began;    /* its clock when it joined, or at the last cut */
    uint64_t pushes;   /* taken before the last cut, since it joined */
    uint64_t made;     /* updates that it made before it joined; backup-workers: all it made */
    uint32_t lost;     /* how often it was */
    uint64_t counted;  /* pushes that count as updates, in the whole run; */
    uint64_t pushed;   /* gradients that it had computed at the last of this life; 0: none */
    uint64_t max_skew; /* clocks ahead of the slowest when it was granted a read */
    struct hr_last_words before[HR_LOSS_ROUNDS]; /* before loss k, in k % HR_LOSS_ROUNDS */
    bool held; /* it was lost with a batch in its hands: `batch` */
};

/* Its gradient has become an update. */
static inline void hr_client_pushed(struct hr_client *client)
{
    client->counted++;
    client->pushed = client->step;
}

static inline void hr_client_leave(struct hr_client *client, enum hr_left left)
{
    client->left = (unsigned char)left;
    client->aside = left != HR_LEFT_NOT;
}

/* What a shard took last, for a trace of the run. */
struct hr_taken {
    uint32_t kind; /* the strategy's own */
    uint32_t worker;
    uint64_t step;   /* of the worker: gradients it had computed */
    uint64_t value;  /* batch index of a pull's answer, staleness of a push, or how many batches a
                        lost worker had in its hands */
    int64_t took_ns; /* a push: how long its gradient took */
};

/* A parameter server's shard; private memory of its rank. */
struct hr_shard {
    struct hr_shared_state *shared;
    size_t number, first, count; /* parameters [first, first + count) */
    float *weights;              /* (count) in the segment */
    float *state;                /* (nstates, params) in the segment: that of all shards */
    float *ratio;                /* (tensors) for hr_step_measure */
    float *sum;                  /* (count) scratch for T(n); NULL: nothing is summed */
    uint64_t version;            /* updates applied in this run */
    uint64_t before;             /* updates made to state before it */
    size_t ndone, ngone;
    bool loses;               /* losses are inputs: server_losses.h */
    size_t told;              /* shared->repeats: of whose loss, + 1; 0: of none */
    bool joined;              /* some worker came back */
    uint64_t exported;        /* 1 + the version in the snapshot; 0: it was not exported yet */
    size_t nin;               /* backup-workers: gradients of the current step that are in */
    size_t seats, expected;   /* backup-workers: shares of the current step; those that are in, or
                                 may come */
    bool open;                /* backup-workers: there is a current step */
    struct hr_client *worker; /* (workers) owned */
    const float **grads;      /* (workers) owned; scratch of a sum */
    struct hr_taken taken;
    struct hr_picker picker;
    uint64_t opened;            /* its gate, last: hr_opened_by; 0: nobody has */
    uint64_t next;              /* shard 0: the batch after those that were handed out */
    uint64_t cut;               /* batches before it may be handed out for the message in hand */
    struct hr_account *account; /* colocated: of the worker whose time it takes; else NULL */
};

#endif

/* shared_state.h - one run's shared memory and constants, as strategies see it.
 *
 * Threads: struct hr_shared_state is private to each process and changes only while all ranks are
 *          quiescent; what it points to lies in the segment, each part with its writer.
 */
#ifndef HR_STRATEGY_SHARED_STATE_H
#define HR_STRATEGY_SHARED_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/account.h"
#include "checkpoint/digest.h"
#include "group/group.h"
#include "hogring/train.h"
#include "observe/feed.h"
#include "optim/optimizer.h"
#include "shm/hosts.h"
#include "shm/ring.h"
#include "strategy/batch_schedule.h"
#include "strategy/lost_batches.h"
#include "strategy/rows.h"

struct hr_strategy;
struct hr_compression;
struct hr_inject;
struct hr_batch_states;
struct hr_pause;
struct hr_trace_log;

/* What a step is made of where a machine's workers push as one: strategies/parameter_servers.c. */
enum hr_node_part {
    HR_NODE_LOAD,
    HR_NODE_COMPUTE,
    HR_NODE_AGGREGATE,
    HR_NODE_PUSH,
    HR_NODE_UPDATE,
    HR_NODE_DISTRIBUTE,
    HR_NODE_PARTS
};

/* What a worker of Hogwild found of lost updates (strategies/hogwild.h). */
struct hr_lost {
    uint64_t lines, pairs, lost; /* watched; of the pairs, those that were lost */
};

/* What a worker counts; its own lines in the segment, read by others only at a cut or after the
 * run, except for `seen`. */
struct hr_worker_stats {
    alignas(HR_LINE) struct hr_atom64 seen; /* samples so far, for progress; writer: the worker */
    uint64_t steps, samples, updates;       /* steps: gradients */
    uint64_t epoch_samples;
    double epoch_loss; /* sum over the epoch's samples so far */
    uint64_t too_late; /* gradients that it knows were dropped */
    struct hr_last_gradient last;
    struct hr_marked_counters mark;
    struct hr_cut_counters at_cut;
    uint64_t first_samples;
    double first_loss;         /* sum over its samples at the initial weights (worker/outcome.c) */
    struct hr_account account; /* of its time, from the start to the end of every span */
    int64_t began_ns, came_ns; /* may begin the next span; has ended the last one */
    int64_t forward_ns, backward_ns;  /* of what it computed */
    int64_t stalled_ns, preempted_ns; /* of what it waited, on purpose; of what it computed, without
                                         a processor */
    uint64_t prefetch_hits, prefetch_misses;
    uint64_t bytes_sent, bytes_received;
    uint64_t bytes_plain;        /* what bytes_sent would be without --compress */
    int64_t repro_ns, whole_ns;  /* gradients of the same batches by micro-shards, and at once */
    uint64_t resent;             /* parts of pushes sent again: server/server_worker.h */
    struct hr_atom64 duplicates; /* of them, those that were taken before. Counted by shards; read
                                    after the run */
    uint64_t max_skew;           /* clocks ahead of the slowest when a read was granted */
    uint64_t stale_keys;   /* histograms of keys that have the update in hand: server/staleness.h */
    struct hr_stale stale; /* of each update this worker offered: the largest over the shards;
                              unless it is never stale */
    struct hr_lost lost;
    int64_t ticket_ns;              /* of communicating and waiting, what Hogwild's tickets cost */
    int64_t node_ns[HR_NODE_PARTS]; /* of its steps, where a machine's workers push as one */
    int64_t reported_ns[HR_ACTIVITIES]; /* of `account`, to who looks on: worker/outcome.h */
    alignas(HR_LINE) struct hr_dropped dropped; /* writer: the server */
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
    struct hr_save_request save;
    struct hr_atom64 begins; /* the index behind the last cut. Writer: as of `cut` */
};

/* Who has a share in what is done together: the workers of the current term (shm/roster.h), in the
 * order of their ranks. Writer: the launcher, while all are quiescent. */
struct hr_active {
    alignas(HR_LINE) size_t n;
    uint64_t index;  /* of the batch that the term begins with, where all are revoked */
    uint16_t rank[]; /* (workers) active workers, ascending; [0, n) are set */
};

/* Mean training losses of epochs, from the first run on; 0: none has ended. Written by the leader
 * at a cut. */
struct hr_epoch_losses {
    double first, last;
};

/* What a worker has trained on in this epoch. One entry per worker, not a sum: a resumed run then
 * adds in the order of one that was never stopped. */
struct hr_epoch_share {
    double loss, samples; /* samples are counted in doubles, as they are saved */
};

/* Batches that a run begins with: when it was saved they were in somebody's hands. */
struct hr_begins_with {
    uint64_t n, lowest; /* index; of none: the first of the run */
    uint64_t *index;    /* (n) owned; the launcher's */
};

/* A message between parties: workers, numbered first, and shards, whatever ranks own them; behind
 * them, what shards write to their replicas. */
struct hr_posted {
    size_t from, to;
    uint64_t bytes; /* of what it stands for, itself included */
    bool part;      /* of a push to come: no message of any ring */
};

/* Of each of several machines the first worker, in a group of their own: what its machine has goes
 * to the others' by it alone. Rank i is the leader of the i-th machine that has workers; those of a
 * machine are consecutive among the active ones. Sums are in T(n) over machines, whatever their
 * size. Constants, set while no rank runs; the group's memory is the group's. */
struct hr_leaders {
    struct hr_group_options options; /* nranks 0: there is no such group */
    uint16_t rank[HR_HOSTS_RANKS];   /* the worker that leads the i-th machine */
    size_t here;                     /* which of them this one is */
    size_t first, each;              /* this machine's workers, by group rank */
    void *group;                     /* in the segment */
};

/* One run's shared memory and constants. Ranks inherit the mapping at the same address, so private
 * structs may point into it; the segment itself holds no pointers. */
struct hr_shared_state {
    const struct hr_strategy *strategy;
    const struct hr_train_options *options;
    const char *guarantee;    /* of this run. Set by prepare */
    uint64_t staleness_bound; /* clocks between two workers; UINT64_MAX: any. Set by prepare */
    struct hr_digest_text graph_digest; /* of the file's links (gossip:FILE), or "". Set by
                                           prepare */
    bool have_peers; /* workers send each other messages (peers.h). Set by prepare */
    void *setup;     /* what strategy->prepare made of them, or NULL; one block, owned */
    struct hr_optimizer optimizer;
    const struct hr_compression *compression; /* NULL: as compression.h's none */
    struct hr_batch_schedule schedule;
    struct hr_begins_with begins_with;
    struct hr_group_options group_options;
    size_t workers, servers, params;
    size_t node_workers;   /* of a machine, who push as one (parameter_servers.c); 0: each does */
    size_t update_threads; /* of a worker whose other ranks wait (kernels/team.h); 0: 1 */
    bool outlives;         /* the run outlives ranks that are lost (--on-loss) */
    bool overlaps;         /* gradients leave in pieces (--overlap) */
    bool slows;            /* stale updates have smaller rates (--async-lr same:inverse) */
    bool reissues;         /* their batches are handed out again (continue:reissue) */
    const struct hr_inject *drops; /* borrowed: it loses pushes on purpose; NULL: none is lost */
    bool local;                    /* the workers' group is one thread's */
    bool colocated;                /* shard s belongs to worker s; else to a rank of its own */
    bool rests;                    /* ..., which sleeps: who waits serves (drive/serve.h) */
    bool repeats;                  /* a replay: shards take losses when they are told to */
    struct hr_trace_log *logs;     /* (servers) what shards take; borrowed; NULL: not recorded */
    struct hr_hosts hosts;         /* on which machine a rank lives */
    struct hr_leaders leaders;     /* of machines, where the strategy has them meet */
    struct hr_control *control;
    struct hr_feed feed; /* to who looks on; off: nobody does */
    void *segment;
    /* In the segment: */
    void *group;                   /* the workers' */
    float **weights;               /* (workers)(params) what worker r computes its gradient from */
    float **grads;                 /* (workers)(params) where it leaves it; read by peers */
    struct hr_worker_stats *stats; /* (workers) */
    void *stragglers;              /* strategy/stragglers.h */
    struct hr_spans **spans;       /* (ranks) private: of ranks that this process is; NULL: none */
    struct hr_active *active;
    struct hr_returned *returned;   /* batches that came back (batch_schedule.h) */
    struct hr_lost_work *lost_work; /* (workers) with each that was lost */
    struct hr_batch_states
        *batch_states; /* of all, where nobody hands them out: strategy/lost_batches.h; or NULL */
    float *states;     /* (workers)(states, ratios) of workers; NULL: each takes its own memory,
                               since nobody outlives it */
    struct hr_dispenser *dispenser;
    void *staleness; /* server/staleness.h; a copy as it was at the last cut, as last_cut: */
    void *kept_staleness;
    struct hr_snapshot snapshot;
    struct hr_snapshot *last_cut; /* a copy as it was then, of what ranks export (rows.h), for runs
                                     that outlive losses; else NULL */
    struct hr_pause *pause;       /* NULL: a save is a cut */
    void *peers;                  /* strategy/peers.h */
    void *own;                    /* strategy->bytes() bytes, the strategy's own */
    /* Private: called for every message, just before it can be seen, by drivers that want it; NULL:
     * not called. Returns: will hr_peers_deliver be called when it arrives? (Never a shard's.) */
    bool (*posted)(void *arg, const struct hr_posted *what);
    void *posted_arg;
};

/* Shall batch `next` not be begun, nor any other but those that are handed out again? To save,
 * there must have been one since the last cut; where saves are pauses, nobody quiesces for them. */
static inline bool hr_shared_quiesces(const struct hr_shared_state *shared, uint64_t next)
{
    const struct hr_dispenser *dispenser = shared->dispenser;
    /* Partners: the launcher, and for `begins` the leader at the last cut. */
    return hr_atom32_load_acquire(&dispenser->stop) ||
           ((hr_save_is_asked(&dispenser->save) || hr_copy_is_asked(&dispenser->save)) &&
            !shared->schedule.pauses && !shared->schedule.saves_wait &&
            next > hr_atom64_load_acquire(&dispenser->begins));
}

/* Are there several machines? Then ranks of others see only what goes through rings, and what was
 * stored before a barrier (machines/gather_barrier.h). */
static inline bool hr_shared_is_multinode(const struct hr_shared_state *shared)
{
    return hr_hosts_are_many(&shared->hosts);
}

/* Of the first n ranks, those that live here. */
static inline size_t hr_ranks_here(const struct hr_shared_state *shared, size_t n)
{
    size_t here = 0;
    for (size_t r = 0; r < n && hr_shared_is_multinode(shared); r++)
        here += hr_hosts_here(&shared->hosts, r);
    return hr_shared_is_multinode(shared) ? here : n;
}

/* Workers that live here. */
static inline size_t hr_workers_here(const struct hr_shared_state *shared)
{
    return hr_ranks_here(shared, shared->workers);
}

#endif

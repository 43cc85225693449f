/* script.h - a strategy on its own, without a training loop: the test says who acts when, and what
 * the gradients are. Weights begin at 0 and are updated by plain SGD at rate 1, so that results can
 * be worked out by hand.
 *
 *     script_open(&script, &hr_strategy_ps_async, (struct script_plan){.workers = 2, ...});
 *     script_read(&script, 0);  script_push(&script, 0, 1);     worker 0: weights now -1
 */
#ifndef HR_TESTS_SUPPORT_SCRIPT_H
#define HR_TESTS_SUPPORT_SCRIPT_H

#include "base/fibre.h"
#include "server/server.h"
#include "server/staleness.h"
#include "strategy/compression.h"
#include "strategy/rank.h"

enum {
    SCRIPT_WORKERS = 8,
    SCRIPT_SERVERS = 4,
    SCRIPT_PARAMS = 70, /* where the plan names no other number */
    SCRIPT_KEYS = 4,
    SCRIPT_FATES = 32, /* batches in all hands */
    SCRIPT_LINES = 4096
};

struct script_plan {
    size_t workers, servers;
    uint64_t batches;                       /* indices up to the cut */
    const struct hr_train_options *options; /* NULL: the defaults */
    size_t params, nkeys;                   /* 0: SCRIPT_PARAMS, in one key */
    const size_t *begins;                   /* (nkeys) of each key: its first parameter */
    const enum hr_segment_role *roles;      /* (nkeys); NULL: all are trained */
    bool outlives, reissues;
    size_t node_workers; /* who push as one; 0: each does */
    struct hr_hosts hosts;
};

struct script {
    struct hr_train_options options;
    struct hr_shared_state shared;
    struct hr_worker worker[SCRIPT_WORKERS];
    struct hr_shard shard[SCRIPT_SERVERS];
    struct hr_param_segment segment[SCRIPT_KEYS];
    struct hr_compression compression; /* of the options' --compress */
    struct hr_epoch_losses losses;
    float *pointers[2 * SCRIPT_WORKERS];
    struct hr_fibres *fibres; /* (workers) where their spans wait for the test's word */
    struct hr_rank rank[SCRIPT_WORKERS];
    struct hr_task task[SCRIPT_WORKERS];
    bool gone[SCRIPT_WORKERS];
    uint64_t index[SCRIPT_WORKERS]; /* of the batch that a worker got last */
    size_t used;                    /* of the arena's lines */
    unsigned char *arena;
};

void script_open(struct script *script, const struct hr_strategy *strategy,
                 struct script_plan plan);
void script_close(struct script *script);

/* Worker w asks, if it has not; is what it waits for there? It goes on: has it got its answer, or
 * waits for more? It gets it: it must be there. */
void script_ask(struct script *script, size_t w);
bool script_ready(struct script *script, size_t w);
bool script_look(struct script *script, size_t w);
struct hr_task script_get(struct script *script, size_t w);
/* Worker w has a gradient of one sample (of its share of a batch), `g` everywhere, and has counted
 * it; it hands it in. */
void script_compute(struct script *script, size_t w, float g);
void script_offer(struct script *script, size_t w);
void script_give(struct script *script, size_t w, float g);
/* May shard s take worker w's oldest message? Take it, of one shard or of all: it must be so. */
bool script_enabled(struct script *script, size_t s, size_t w);
void script_serve(struct script *script, size_t s, size_t w);
void script_serve_all(struct script *script, size_t w);

/* Ask, be served by all, and get; hand in, and be served. */
struct hr_task script_read(struct script *script, size_t w);
void script_push(struct script *script, size_t w, float g);
/* Worker w is gone, wherever it was, and the launcher knows; it comes back as a new one. */
void script_lose(struct script *script, size_t w);
void script_return(struct script *script, size_t w);
/* What worker w sent last never left for the shards from the n-th on, in its order; before any of
 * them has looked. */
void script_unsend(struct script *script, size_t w, size_t n);
/* At a cut: who is left is active; and for all to start again from the snapshot. */
void script_reactivate(struct script *script);
void script_restart(struct script *script, uint64_t index);
/* Worker w, whose task is a cut, arrives there; have its owners exported? Then its span is over. */
void script_arrive(struct script *script, size_t w);
bool script_has_arrived(struct script *script, size_t w);
/* All workers that are left arrive at a cut, whatever their task, and export. */
void script_cut(struct script *script);

#endif

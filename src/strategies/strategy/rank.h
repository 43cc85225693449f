/* rank.h - what a worker's life stands on: strategy->span is code from one cut to the next that
 * waits where it waits.
 *
 *     while (hr_next_batch(worker, meet, &index))     a batch, unless a cut comes first
 *     HR_TRY(hr_rank_ask(rank));                      others may act first; then send a request
 *     HR_TRY(hr_rank_await(rank, bell, ready, arg));  what is awaited has come
 *     HR_TRY(hr_rank_gradient(rank, index, &hooks));  of its share of a batch; meanwhile hooks are
 *                                                     called; they never wait
 *     HR_TRY(hr_rank_come_to_cut(rank, index));       then tell the owners
 *     return hr_rank_await_cut(rank, ready, arg);     they have exported
 *
 * A gradient is worker/gradient.c's. How it waits is its driver's: in real time it parks
 * (drive/drive_threads.c); where one process runs all ranks others go on meanwhile
 * (serial/serial.h), and at each of these calls, too, even if nothing has to be waited for: so what
 * follows may come before or after acts of others.
 *
 * Failing:   each may return HR_E_REVOKED, HR_E_ABORTED, HR_E_TIMEOUT: a span passes it on. Where
 *            one thread runs all ranks, a span may also end at any of these calls, and nothing is
 *            returned at all: so what it owns is taken by strategy->start, and freed by stop.
 * Locals:    a run that is saved, or compared with another, is known by worker->own, shared memory
 *            and where its ranks stand: what goes from one step to the next is no local.
 * Threads:   the worker's; serial, on a stack of its own (base/fibre.h).
 */
#ifndef HR_STRATEGY_RANK_H
#define HR_STRATEGY_RANK_H

#include "strategy/strategy.h"

/* Where a worker stands: what it does next, or what it is no more. */
enum hr_stand {
    HR_WANTS,     /* next: ask for what comes next */
    HR_ASKED,     /* next: look, which may advance a collective; go on, when that is there */
    HR_HAS,       /* next: gradient, and hand it in */
    HR_AT_CUT,    /* next: arrive, when the snapshot may be overwritten */
    HR_ARRIVING,  /* next: at the cut, when its owners say so */
    HR_ARRIVED,   /* nothing, until all are here */
    HR_QUIESCENT, /* nothing until the next term: a loss has ended this one, or it is not active */
    HR_DEAD,      /* nothing; and nobody knows yet */
    HR_LOST,      /* nothing, until it is started again */
};

/* A driver's. */
struct hr_rank_ways {
    enum hr_status (*stand)(struct hr_rank *rank); /* it stands there now */
    /* Until rank->ready, which a ring of the bell may have changed. */
    enum hr_status (*wait)(struct hr_rank *rank, struct hr_bell *bell);
    /* A part of its last push is unanswered: send it again when that may be done. */
    enum hr_status (*repeat)(struct hr_rank *rank);
    enum hr_status (*gradient)(struct hr_rank *rank); /* of rank->task */
};

struct hr_rank {
    const struct hr_rank_ways *ways;
    void *of; /* the driver's */
    struct hr_worker *worker;
    struct hr_task *task;   /* the driver's: what it has in hand */
    hr_ready_fn may_arrive; /* may the snapshot be overwritten? */
    void *cut;              /* its argument */
    enum hr_stand where;
    hr_ready_fn ready; /* what it waits for there; NULL: nothing */
    void *arg;
};

/* For synchronous strategies: *index: of the worker's next batch; false: a cut comes first. Worker
 * 0 turns a request to stop into an index here; the others learn it with what comes: no worker
 * begins index `meet` (above this worker's) before it has received something that worker 0 sent
 * after this call. */
bool hr_next_batch(struct hr_worker *worker, uint64_t meet, uint64_t *index);

/* A strategy's span; then it has arrived. HR_E_REVOKED: all are revoked. */
HR_CHECKED enum hr_status hr_rank_span(struct hr_rank *rank);

HR_CHECKED enum hr_status hr_rank_ask(struct hr_rank *rank);
/* bell: NULL: its own, which owners and peers ring. */
HR_CHECKED enum hr_status hr_rank_await(struct hr_rank *rank, struct hr_bell *bell,
                                        hr_ready_fn ready, void *arg);
/* hooks: constants; NULL: it does nothing meanwhile, and waits for nobody behind. */
HR_CHECKED enum hr_status hr_rank_gradient(struct hr_rank *rank, uint64_t index,
                                           const struct hr_gradient_hooks *hooks);
/* index: of the batch that it would have come to. */
HR_CHECKED enum hr_status hr_rank_come_to_cut(struct hr_rank *rank, uint64_t index);
HR_CHECKED enum hr_status hr_rank_await_cut(struct hr_rank *rank, hr_ready_fn ready, void *arg);

/* Without owners: ask nobody, and await peers; await nobody; the last two. */
HR_CHECKED enum hr_status hr_rank_barrier(struct hr_rank *rank, struct hr_bell *bell,
                                          hr_ready_fn ready, void *arg);
HR_CHECKED enum hr_status hr_rank_pass(struct hr_rank *rank);
HR_CHECKED enum hr_status hr_rank_quiesce(struct hr_rank *rank, uint64_t index);

#endif

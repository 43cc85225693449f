/* DiLoCo: workers train apart, and what they have learned is the gradient of an outer step.
 *
 *   Story    all workers have the same weights x, the anchor. Each takes H local steps
 *            (--sync-every) on a replica of its own, with an optimiser's state of its own, and
 *            comes from x to y_i. Then, and at the end of an epoch,
 *                d = mean of (x - y_i)          one all-reduce in place of H
 *                m = momentum m + d             diloco:LR,MOMENTUM
 *                x = x - rate (d + momentum m)  Nesterov's step, as of --optimizer sgd
 *            and all go on from x. States of the inner optimiser are neither sent nor begun anew.
 *            At rate 1 without momentum x becomes the mean of the y_i: local-sgd, to rounding.
 *   Promise  all replicas are bit-equal after each outer step, which is checked at cuts there.
 *   Order    x - y_i is rounded to float32, summed in the order of --algorithm, then multiplied by
 *            1 / n once; x and m change as optim/sgd.isa.c says. Workers count alike, also one
 *            without samples, as in local-sgd. Running statistics become the mean of the replicas';
 *            what is frozen keeps its bits.
 *   Cuts     as those of local-sgd: in the middle of a period workers only quiesce. The snapshot
 *            has all replicas, their mean as the model, and x and m. Other workers than then begin
 *            a period with that mean, and m.
 *   Sent     x - y_i may be compressed (--compress): it is a sum of steps, no weights, so what is
 *            left out of one is made good by adding it to the next.
 *   Source   Douillard et al., "DiLoCo: Distributed Low-Communication Training of Language Models",
 *            arXiv 2311.08105, algorithm 1: rate 0.7, momentum 0.9, an inner AdamW, H about 500.
 */
#include <stdio.h>
#include <string.h>

#include "strategies/buckets.h"
#include "strategies/period.h"
#include "strategies/strategies.h"
#include "strategy/rank.h"

/* Of a run: the outer optimizer. */
struct setup {
    struct hr_param_segment all; /* it knows no others: see move_anchor */
    struct hr_optimizer outer;
};

static enum hr_status prepare(struct hr_shared_state *shared)
{
    HR_TRY(hr_setup_take(shared, sizeof(struct setup)));
    struct setup *setup = shared->setup;
    setup->all = (struct hr_param_segment){0, shared->params, HR_SEGMENT_TRAINED};
    setup->outer = (struct hr_optimizer){
        .momentum = shared->options->outer_momentum,
        .nesterov = true,
        .segments = &setup->all,
        .nsegments = 1,
        .params = shared->params,
    };
    return hr_rule_find("sgd", &setup->outer.rule);
}

static void describe(const struct hr_shared_state *shared, char *text, size_t size)
{
    const struct hr_train_options *o = shared->options;
    snprintf(text, size, "sync-every %zu, outer-lr %g, outer-momentum %g", o->sync_every,
             o->outer_lr, o->outer_momentum);
}

static const char *const kept[] = {"anchor", "outer_momentum", NULL};

/* A worker's own. */
struct own {
    struct hr_buckets buckets; /* of x - y */
    struct hr_period period;
    float *anchor, *momentum; /* (params) those that are kept */
};

static struct own *own_of(const struct hr_worker *worker)
{
    return worker->own;
}

static uint64_t *due_of(struct hr_worker *worker)
{
    return &own_of(worker)->period.due;
}

/* Outside of a period all have the anchor itself. */
static enum hr_status start(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    struct own *own = own_of(worker);
    own->anchor = worker->more;
    own->momentum = worker->more + shared->params;
    if (!own->period.due)
        memcpy(own->anchor, worker->weights, shared->params * sizeof *own->anchor);
    own->buckets = (struct hr_buckets){
        .member = &worker->member,
        .grads = worker->grads,
        .params = shared->params,
        .least = shared->params,
    };
    return hr_compressed_sum_begin(&own->buckets.compressed, worker, shared->own);
}

static bool meets(const struct hr_worker *worker)
{
    return hr_period_is_over(&own_of(worker)->period, worker);
}

/* x - y takes the place of the last gradient. */
static void take_difference(struct hr_worker *worker)
{
    const float *anchor = own_of(worker)->anchor;
    for (size_t i = 0; i < worker->shared->params; i++)
        worker->grads[i] = anchor[i] - worker->weights[i];
}

/* The outer step, with the sum of all differences. */
static void move_anchor(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct setup *setup = shared->setup;
    const struct own *own = own_of(worker);
    const struct hr_step step =
        hr_step_of(&setup->outer, shared->options->outer_lr, worker->group_size, 1);
    for (size_t s = 0; s < shared->optimizer.nsegments; s++) {
        const struct hr_param_segment *segment = &shared->optimizer.segments[s];
        const size_t begin = segment->begin, end = begin + segment->count;
        if (segment->role == HR_SEGMENT_TRAINED)
            hr_step_update(&step, begin, segment->count, own->anchor + begin, own->momentum,
                           worker->grads + begin);
        for (size_t i = begin; segment->role == HR_SEGMENT_STATISTIC && i < end; i++)
            own->anchor[i] -= step.inverse_count * worker->grads[i];
    }
    memcpy(worker->weights, own->anchor, shared->params * sizeof *own->anchor);
}

static enum hr_status outer_step(struct hr_rank *rank)
{
    struct hr_worker *worker = rank->worker;
    struct own *own = own_of(worker);
    enum hr_activity was = hr_account_turn(&worker->stats->account, HR_COMPUTE);
    take_difference(worker);
    hr_account_turn(&worker->stats->account, was);
    HR_TRY(hr_buckets_sum(rank, &own->buckets, 0)); /* of no batch: the first is as large as any */
    own->period.due = 0;
    was = hr_account_turn(&worker->stats->account, HR_COMPUTE);
    move_anchor(worker);
    hr_account_turn(&worker->stats->account, was);
    return HR_OK;
}

static enum hr_status span(struct hr_rank *rank)
{
    static const struct hr_gradient_hooks meeting = {.awaits = hr_awaits_all};
    struct hr_worker *worker = rank->worker;
    struct hr_period *period = &own_of(worker)->period;
    uint64_t index;
    HR_TRY(hr_rank_pass(rank));
    while (hr_period_next(period, worker, worker->shared->options->sync_every, &index)) {
        HR_TRY(hr_rank_gradient(rank, index, meets(worker) ? &meeting : NULL));
        if (worker->samples)
            hr_update_replica(worker, index);
        worker->stats->updates += worker->group_rank == 0; /* one per step */
        HR_TRY(meets(worker) ? outer_step(rank) : hr_rank_pass(rank));
    }
    return hr_rank_quiesce(rank, worker->index);
}

const struct hr_strategy hr_strategy_diloco = {
    .name = "diloco",
    .guarantee = "all replicas bit-equal after each outer step",
    .options =
        (const char *const[]){"algorithm", "sync-every", "compress", "link", "topology", NULL},
    .rows = {.state = HR_KEPT_OWN, .due = due_of, .more = kept},
    .synchronous = true,
    .shares_batch = true,
    .prepare = prepare,
    .describe = describe,
    .bytes = hr_compressed_sum_bytes,
    .worker_own = sizeof(struct own),
    .start = start,
    .span = span,
};

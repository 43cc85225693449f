/* Local SGD: workers train apart, and average their weights now and then.
 *
 *   Story    every worker has a replica and an optimiser's state of its own. A step: each updates
 *            its replica with the gradient of its share of the global batch. Every H steps
 *            (--sync-every), and at the end of an epoch, the replicas become their mean: one
 *            all-reduce of the weights instead of H of gradients. States are not averaged.
 *   Promise  all replicas are bit-equal after each averaging, which is checked at cuts there. The
 *            model is that mean.
 *   Order    the sum is that of --algorithm; then one multiplication by 1 / n. Replicas count
 *            alike, also where an epoch's last batch gives them shares of unequal size; a worker
 *            without samples makes no update.
 *   Cuts     H counts from the last averaging. A cut may come between two, where workers only
 *            quiesce: replicas stay apart, and the snapshot has them all, how far away the next
 *            averaging is and, as the model, their mean in T(n). Requests to stop wait for the next
 *            averaging, because workers exchange nothing before.
 *   Adaptive (local-sgd:adaptive) in an epoch H = ceil(H0 sqrt(F / F0)), F being the mean training
 *            loss of the epoch before, F0 that of the first: communicate more as there is less
 *            left to gain. In the first two epochs H = H0. Checkpoints carry F and F0.
 *   Source   Stich, "Local SGD Converges Fast and Communicates Little", ICLR 2019. Adaptive: Wang,
 *            Joshi, "Adaptive Communication Strategies ... (AdaComm)", MLSys 2019, equation 17.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "strategies/buckets.h"
#include "strategies/period.h"
#include "strategies/strategies.h"
#include "strategy/rank.h"

/* Steps from one averaging to the next. All workers compute it from the same numbers, which the
 * leader writes at cuts. */
static uint64_t period(const struct hr_shared_state *shared)
{
    const struct hr_epoch_losses *losses = shared->snapshot.losses;
    const double first = (double)shared->options->sync_every;
    if (!shared->options->adaptive_sync || !(losses->first > 0))
        return shared->options->sync_every;
    const double steps = ceil(first * sqrt(losses->last / losses->first));
    return steps < 1 ? 1 : (uint64_t)fmin(steps, 1 << 20);
}

static void describe(const struct hr_shared_state *shared, char *text, size_t size)
{
    snprintf(text, size, "sync-every %zu%s", shared->options->sync_every,
             shared->options->adaptive_sync ? ", adaptive" : "");
}

/* A worker's own. */
struct own {
    struct hr_buckets buckets; /* of weights */
    struct hr_period period;
};

static struct own *own_of(const struct hr_worker *worker)
{
    return worker->own;
}

/* A cut in the middle of a period, or a checkpoint of one, finds replicas apart. */
static uint64_t *due_of(struct hr_worker *worker)
{
    return &own_of(worker)->period.due;
}

static enum hr_status start(struct hr_worker *worker)
{
    struct hr_shared_state *shared = worker->shared;
    own_of(worker)->buckets = (struct hr_buckets){
        .member = &worker->member,
        .grads = worker->weights,
        .params = shared->params,
        .least = shared->params,
    };
    return HR_OK;
}

static bool meets(const struct hr_worker *worker)
{
    return hr_period_is_over(&own_of(worker)->period, worker);
}

/* The sum becomes the mean; what is frozen has its bits in the snapshot, which nobody writes before
 * the next cut. */
static void finish_mean(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    hr_vec()->scale(worker->weights, 1.0f / (float)worker->group_size, shared->params);
    hr_keep_frozen(&shared->optimizer, 0, shared->params, worker->weights,
                   shared->snapshot.weights);
}

static enum hr_status average(struct hr_rank *rank)
{
    struct hr_worker *worker = rank->worker;
    HR_TRY(hr_buckets_sum(rank, &own_of(worker)->buckets, worker->index));
    own_of(worker)->period.due = 0;
    finish_mean(worker);
    return HR_OK;
}

static enum hr_status span(struct hr_rank *rank)
{
    static const struct hr_gradient_hooks meeting = {.awaits = hr_awaits_all};
    struct hr_worker *worker = rank->worker;
    uint64_t index;
    HR_TRY(hr_rank_pass(rank));
    while (hr_period_next(&own_of(worker)->period, worker, period(worker->shared), &index)) {
        HR_TRY(hr_rank_gradient(rank, index, meets(worker) ? &meeting : NULL));
        if (worker->samples)
            hr_update_replica(worker, index);
        worker->stats->updates += worker->group_rank == 0; /* one per step, of the mean */
        HR_TRY(meets(worker) ? average(rank) : hr_rank_pass(rank));
    }
    return hr_rank_quiesce(rank, worker->index);
}

const struct hr_strategy hr_strategy_local_sgd = {
    .name = "local-sgd",
    .guarantee = "all replicas bit-equal after each averaging; the model is their mean",
    .options = (const char *const[]){"algorithm", "sync-every", "link", "topology", NULL},
    .rows = {.state = HR_KEPT_OWN, .due = due_of},
    .synchronous = true,
    .shares_batch = true,
    .describe = describe,
    .worker_own = sizeof(struct own),
    .start = start,
    .span = span,
};

/* Local SGD: workers train apart, and average their weights now and then.
 *
 *   Story    every worker has a replica and an optimiser's state of its own. A step: each updates
 *            its replica with the gradient of its share of the global batch. Every H steps
 *            (--sync-every), and before every cut, the replicas become their mean: one all-reduce
 *            of the weights instead of H of gradients. States are not averaged.
 *   Promise  all replicas are bit-equal after each averaging, which is checked at every cut. The
 *            model that is evaluated and saved is that mean.
 *   Order    the sum is that of --algorithm; then one multiplication by 1 / n. Replicas count
 *            alike, also where an epoch's last batch gives them shares of unequal size; a worker
 *            without samples makes no update.
 *   Cuts     H counts from the last averaging, and every cut averages. So --checkpoint-every
 *            changes the bits unless it is a multiple of H; with the same cuts a resumed run equals
 *            one that never stopped. Requests to stop wait for the next averaging, because workers
 *            exchange nothing before.
 *   Adaptive (--adaptive-sync) in an epoch H = ceil(H0 sqrt(F / F0)), F being the mean training
 *            loss of the epoch before, F0 that of the first: communicate more as there is less
 *            left to gain. In the first two epochs H = H0. Checkpoints carry F and F0.
 *   Losses   local_sgd_losses.h
 *   Source   Stich, "Local SGD Converges Fast and Communicates Little", ICLR 2019. Adaptive: Wang,
 *            Joshi, "Adaptive Communication Strategies ... (AdaComm)", MLSys 2019, equation 17.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "strategies/buckets.h"
#include "strategies/local_sgd_losses.h"
#include "strategy/settle.h"
#include "strategies/strategies.h"

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
    uint64_t meet;             /* the weights are averaged before this index */
    bool offered;              /* they are being added up */
};

static struct own *own_of(const struct hr_worker *worker)
{
    return worker->own;
}

static enum hr_status start(struct hr_worker *worker)
{
    struct hr_shared_state *shared = worker->shared;
    hr_take_up_weights(worker);
    worker->bell = &shared->control->rank[worker->rank].bell;
    own_of(worker)->buckets = (struct hr_buckets){
        .member = &worker->member,
        .grads = worker->weights,
        .params = shared->params,
        .least = shared->params,
    };
    return hr_state_start(worker, worker->rank);
}

static bool ready(void *arg)
{
    struct hr_worker *worker = arg;
    return !own_of(worker)->offered || hr_buckets_test(&own_of(worker)->buckets);
}

/* All have the same weights. */
static enum hr_status begin_period(struct hr_worker *worker, struct hr_task *task)
{
    const uint64_t next = worker->index + period(worker->shared);
    own_of(worker)->meet = next < worker->cut ? next : worker->cut;
    hr_worker_says(worker, worker->index);
    hr_next_agreed(worker, own_of(worker)->meet, task);
    return task->kind == HR_TASK_BATCH ? hr_local_begin(worker, task->index) : HR_OK;
}

static enum hr_status accept(struct hr_worker *worker, struct hr_task *task)
{
    const bool begins = worker->index >= own_of(worker)->meet;
    if (own_of(worker)->offered) {
        HR_TRY(hr_buckets_finish(&own_of(worker)->buckets));
        own_of(worker)->offered = false;
        hr_count_traffic(worker);
        hr_vec()->scale(worker->weights, 1.0f / (float)worker->seats, worker->shared->params);
    }
    if (begins)
        return begin_period(worker, task);
    hr_next_agreed(worker, own_of(worker)->meet, task);
    return HR_OK;
}

static void update(struct hr_worker *worker)
{
    if (!worker->samples)
        return;
    hr_update_replica(worker, worker->index - 1);
    hr_local_updated(worker);
}

static void offer(struct hr_worker *worker)
{
    update(worker);
    worker->stats->updates += worker->seat == 0; /* one a step, of the mean */
    if (worker->index < own_of(worker)->meet)
        return;
    hr_local_leave_replica(worker, own_of(worker)->meet);
    hr_buckets_reset(&own_of(worker)->buckets);
    hr_buckets_final(&own_of(worker)->buckets, 0);
    worker->bell = own_of(worker)->buckets.bell;
    own_of(worker)->offered = true;
}

static void export_part(struct hr_worker *worker)
{
    hr_export_stripe(worker);
    hr_export_own_state(worker);
}

const struct hr_strategy hr_strategy_local_sgd = {
    .name = "local-sgd",
    .guarantee = "all replicas bit-equal after each averaging, and at every evaluation",
    .options =
        (const char *const[]){"algorithm", "sync-every", "adaptive-sync", "link", "topology", NULL},
    .synchronous = true,
    .shares_batch = true,
    .private_state = true,
    .recalls = true,
    .bytes = hr_local_losses_bytes,
    .init = hr_local_losses_init,
    .settle = hr_local_settle,
    .left = hr_local_left,
    .describe = describe,
    .worker_own = sizeof(struct own),
    .worker_bytes = hr_state_bytes,
    .start = start,
    .stop = hr_state_stop,
    .request = hr_tell_nobody,
    .ready = ready,
    .accept = accept,
    .offer = offer,
    .arrive = hr_tell_nobody,
    .arrived = hr_always_ready,
    .export_part = export_part,
    .verify = hr_verify_replica,
};

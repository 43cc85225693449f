/* Synchronous steps that do not wait for the slowest: backup workers.
 *
 *   Story    one server. Step t's global batch is split into shares, one a worker. The update is
 *            made when n - k gradients of step t are in (--backups k); later ones are dropped, and
 *            their workers go on with the current step. A worker that has delivered waits for the
 *            step's end. k = 0 is ps-sync.
 *   Promise  every update is made of n - k gradients of its own step: none is stale. Only the order
 *            in which the server takes its inputs decides which gradients are dropped.
 *   Order    the gradients that are in are added in T(n - k), in rank order, and divided by their
 *            true number of samples.
 *   Account  dropped gradients are counted, in all and by worker; their samples do not count as
 *            trained on. The clock is the step: the skew is how many steps behind the slowest is.
 *   Source   Chen, Pan, Monga, Bengio, Jozefowicz, "Revisiting Distributed Synchronous SGD",
 *            arXiv 1604.00981.
 *
 * A step that has been begun is finished: a request to stop holds from the next one on, or those
 * who have delivered would wait for ever.
 */
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "strategy/server.h"
#include "strategy/staleness.h"
#include "strategy/strategies.h"

/* What became of a push; the next reply tells its worker. */
enum fate { SUMMED, SUMMED_LAST, DROPPED }; /* LAST: it made the update */

/* The server decides which gradients are dropped: two servers might differ. */
static enum hr_status prepare(struct hr_shared_state *shared)
{
    const size_t backups = shared->options->backups;
    if (backups >= shared->workers)
        return hr_fail(HR_E_USAGE, "--backups %zu: expected fewer than the %zu worker%s", backups,
                       shared->workers, shared->workers == 1 ? "" : "s");
    if (shared->servers != 1)
        return hr_fail(HR_E_USAGE,
                       "--servers %zu: %s has one server, which decides whose gradients are too "
                       "late; expected --servers 1",
                       shared->servers, shared->strategy->name);
    return HR_OK;
}

static void describe(const struct hr_shared_state *shared, char *text, size_t size)
{
    snprintf(text, size, "backups %zu", shared->options->backups);
}

/* --- a worker's counters, after the servers' memory --- */

struct dropped {
    alignas(HR_LINE) uint64_t gradients;
    uint64_t samples;
};

static size_t bytes(const struct hr_shared_state *shared)
{
    return hr_server_bytes(shared) + shared->workers * sizeof(struct dropped);
}

static struct dropped *dropped_of(const struct hr_shared_state *shared, size_t worker)
{
    return (struct dropped *)(void *)((unsigned char *)shared->own + hr_server_bytes(shared)) +
           worker;
}

static void report(const struct hr_shared_state *shared, struct hr_run_result *result)
{
    for (size_t w = 0; w < shared->workers; w++) {
        const struct dropped *dropped = dropped_of(shared, w);
        result->dropped_by[w] = dropped->gradients;
        result->dropped += dropped->gradients;
        result->dropped_samples += dropped->samples;
    }
}

/* --- the worker --- */

/* The worker's last gradient came too late: its samples have not been trained on. */
static void take_back(struct hr_worker *worker)
{
    struct hr_worker_stats *stats = worker->stats;
    struct dropped *dropped = dropped_of(worker->shared, worker->rank);
    dropped->gradients++;
    dropped->samples += worker->samples;
    stats->samples -= worker->samples;
    stats->epoch_samples -= worker->samples;
    stats->epoch_loss = worker->epoch_loss;
    hr_atom64_store_relaxed(&stats->seen, stats->samples); /* for progress, an estimate */
}

static enum hr_status accept(struct hr_worker *worker, struct hr_task *task)
{
    const struct hr_message reply = hr_server_collect(worker);
    struct hr_pushing *own = worker->own;
    const enum fate fate = (enum fate)reply.word[HR_REPLY_FATE];
    if (own->pushed && fate == DROPPED)
        take_back(worker);
    else if (own->pushed)
        hr_staleness_count(worker);
    worker->stats->updates += own->pushed && fate == SUMMED_LAST;
    own->pushed = false;
    worker->index = reply.word[HR_REPLY_INDEX];
    *task =
        (struct hr_task){reply.kind == HR_NO_BATCH ? HR_TASK_CUT : HR_TASK_BATCH, worker->index};
    return HR_OK;
}

static void offer(struct hr_worker *worker)
{
    hr_server_push(worker, worker->index);
}

/* --- the shard --- */

static void enabled(struct hr_shard *shard, unsigned char *enabled)
{
    for (size_t w = 0; w < shard->shared->workers; w++) {
        if (!enabled[w])
            continue;
        const struct hr_message *message =
            hr_ring_peek_spsc(hr_server_requests(shard->shared, w, shard->number));
        enabled[w] = message && (message->kind != HR_PULL || !shard->worker[w].in);
    }
}

/* How many updates behind the slowest worker's weights are. No worker is at a cut while a step is
 * open. */
static uint64_t skew(const struct hr_shard *shard)
{
    uint64_t oldest = shard->version;
    for (size_t w = 0; w < shard->shared->workers; w++)
        if (shard->worker[w].read < oldest)
            oldest = shard->worker[w].read;
    return shard->version - oldest;
}

static uint64_t step_in_hand(const struct hr_shard *shard)
{
    return hr_atom64_load_relaxed(&shard->shared->dispenser->next) - 1; /* our own word */
}

static void take_pull(struct hr_shard *shard, size_t worker)
{
    const struct hr_shared_state *shared = shard->shared;
    struct hr_client *client = &shard->worker[worker];
    struct hr_message message = {.kind = HR_NO_BATCH};
    if (!shard->open && hr_shard_has_batch(shard)) {
        shard->open = true;
        hr_atom64_store_release(&shared->dispenser->next,
                                step_in_hand(shard) + 2); /* partner: the leader at a cut */
    }
    client->read = shard->version;
    if (shard->open) {
        message.kind = HR_WEIGHTS;
        message.word[HR_REPLY_INDEX] = shard->taken.value = step_in_hand(shard);
        message.word[HR_REPLY_SKEW] = skew(shard);
        memcpy(shared->weights[worker], shard->weights, shard->count * sizeof(float));
    }
    message.word[HR_REPLY_FATE] = client->fate;
    hr_shard_reply(shard, worker, message);
}

/* Enough gradients are in: update. Returns whether there was an update: none if an epoch's last
 * batch left them without samples. */
static bool finish_step(struct hr_shard *shard, uint64_t index)
{
    const struct hr_shared_state *shared = shard->shared;
    size_t samples = 0, n = 0;
    for (size_t w = 0; w < shared->workers; w++) {
        if (!shard->worker[w].in)
            continue;
        shard->grads[n++] = shared->grads[w];
        samples += shard->worker[w].samples;
        shard->worker[w].in = false;
    }
    shard->open = false;
    shard->nin = 0;
    if (samples == 0)
        return false;
    hr_vec()->tree_sum(&shard->sum, 1, shard->grads, n, shard->count);
    hr_shard_apply(shard, hr_step_for(shared, index, samples, hr_shard_next_number(shard)),
                   shard->sum);
    return true;
}

static void take_push(struct hr_shard *shard, size_t worker, const struct hr_message *push)
{
    struct hr_client *client = &shard->worker[worker];
    const uint64_t index = push->word[HR_REQUEST_INDEX];
    client->staleness = shard->taken.value = shard->version - client->read;
    if (!shard->open || index != step_in_hand(shard)) {
        client->fate = DROPPED;
        return;
    }
    client->fate = SUMMED;
    client->samples = push->word[HR_REQUEST_SAMPLES];
    client->in = true;
    if (++shard->nin < shard->shared->workers - shard->shared->options->backups)
        return;
    if (finish_step(shard, index))
        client->fate = SUMMED_LAST;
}

static void take(struct hr_shard *shard, size_t worker)
{
    const struct hr_message message = hr_shard_next(shard, worker);
    if (message.kind == HR_PULL)
        take_pull(shard, worker);
    else if (message.kind == HR_PUSH)
        take_push(shard, worker, &message);
    else
        hr_shard_end(shard, worker, message.kind);
}

const struct hr_strategy hr_strategy_backup_workers = {
    .name = "backup-workers",
    .guarantee = "each update is made of n - k gradients of its own step; the others are dropped, "
                 "and counted",
    .options = (const char *const[]){"servers", "placement", "server-time", "backups", "link",
                                     "topology", NULL},
    .shares_batch = true,
    .served = true,
    .one_shard = true,
    .order = "T(n) over those that are in, in rank order",
    .prepare = prepare,
    .describe = describe,
    .report = report,
    .worker_own = sizeof(struct hr_pushing),
    .bytes = bytes,
    .init = hr_server_init,
    .start = hr_server_start,
    .leave = hr_server_leave,
    .request = hr_server_request,
    .ready = hr_server_ready,
    .accept = accept,
    .offer = offer,
    .arrive = hr_server_arrive,
    .arrived = hr_server_ready,
    .at_cut = hr_server_at_cut,
    .export_part = hr_tell_nobody,
    .verify = hr_verify_nothing,
    .shard_start = hr_shard_start,
    .shard_stop = hr_shard_stop,
    .enabled = enabled,
    .take = take,
    .over = hr_shard_over,
};

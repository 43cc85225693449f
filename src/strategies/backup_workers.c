/* Synchronous steps that do not wait for the slowest: backup workers.
 *
 *   Story    one server. Step t's global batch is split into shares, one per worker. The update is
 *            made when n - k gradients of step t are in; later ones are dropped, and
 *            their workers go on with the current step. A worker that has delivered waits for the
 *            step's end. k = 0 is ps-sync.
 *   Promise  every update is made of n - k gradients of its own step: none is stale. Only the order
 *            in which the server takes its inputs decides which gradients are dropped.
 *   Order    the gradients that are in are added in T(n - k), in rank order, and divided by their
 *            true number of samples.
 *   Account  dropped gradients are counted, in all and by worker; their samples do not count as
 *            trained on, nor do those of a share that a worker never began, because it was late for
 *            a whole step. Both are told. The clock is the step: the skew is how many steps behind
 *            the slowest is.
 *   Losses   a lost worker's share of the step in hand is lost, unless its gradient is in: that is
 *            summed as if nothing had happened. From the next step on those who live share the
 *            batch, and the server waits for k fewer than they are, but for one at least. A worker
 *            that comes back has a share of the next step.
 *   Source   Chen, Pan, Monga, Bengio, Jozefowicz, "Revisiting Distributed Synchronous SGD",
 *            arXiv 1604.00981.
 *
 * A step that has been begun is finished: a request to stop holds from the next one on, or those
 * who have delivered would wait for ever.
 */
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "server/server.h"
#include "server/server_worker.h"
#include "server/staleness.h"
#include "strategies/strategies.h"
#include "strategy/pause.h"

/* --- the server: who has a share of the step in hand, when enough gradients are in, and what came
 * too late --- */

/* What became of a push; the next reply tells its worker. LAST: it made the update. */
enum hr_push_outcome { HR_PUSH_SUMMED, HR_PUSH_SUMMED_LAST, HR_PUSH_DROPPED };

/* A worker that has delivered waits for the step's end, and so does one that came too late to have
 * a share. */
static bool may_pull(const struct hr_shard *shard, const struct hr_client *client)
{
    return !client->in && (!shard->loses || !shard->open || client->shares);
}

static void backup_enabled(struct hr_shard *shard, unsigned char *enabled)
{
    for (size_t w = 0; w < shard->shared->workers; w++) {
        if (!enabled[w])
            continue;
        const struct hr_message *message =
            hr_ring_peek_spsc(hr_server_requests(shard->shared, w, shard->number));
        enabled[w] =
            (message && (message->kind != HR_PULL || may_pull(shard, &shard->worker[w]))) ||
            (shard->loses && hr_shard_sees_loss(shard, w));
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
    return shard->next - 1;
}

/* Those who live share the batch, in rank order. */
static void begin_step(struct hr_shard *shard)
{
    const size_t workers = shard->shared->workers;
    size_t shares = 0;
    for (size_t w = 0; w < workers; w++) {
        struct hr_client *client = &shard->worker[w];
        client->shares = !client->left;
        client->nth_share = shares;
        shares += client->shares;
    }
    shard->shares = shard->expected = shares;
    shard->open = true;
    hr_shard_handed_out(shard, shard->next + 1);
}

/* Samples of its share of the step in hand. */
static size_t share_of(const struct hr_shard *shard, const struct hr_client *client)
{
    const struct hr_batch batch =
        hr_batch_schedule_batch(&shard->shared->schedule, step_in_hand(shard));
    return hr_split_begin(batch.count, shard->shares, client->nth_share + 1) -
           hr_split_begin(batch.count, shard->shares, client->nth_share);
}

static void hand_out(struct hr_shard *shard, struct hr_client *client, struct hr_message *message)
{
    client->batch = step_in_hand(shard);
    client->batches = 1;
    if (!shard->loses)
        return;
    client->share = share_of(shard, client);
    message->word[HR_REPLY_GROUP_RANK] = client->nth_share | (uint64_t)shard->shares << 32;
}

static void take_pull(struct hr_shard *shard, size_t worker)
{
    struct hr_client *client = &shard->worker[worker];
    struct hr_message message = {.kind = HR_NO_BATCH};
    if (!shard->open && hr_shard_has_batch(shard))
        begin_step(shard);
    hr_shard_asks(shard, worker);
    client->fresh = false;
    client->read = shard->version;
    if (shard->open) {
        message.kind = HR_WEIGHTS;
        message.word[HR_REPLY_INDEX] = shard->taken.value = step_in_hand(shard);
        message.word[HR_REPLY_SKEW] = skew(shard);
        hand_out(shard, client, &message);
        hr_shard_copy_out(shard, worker);
    }
    message.word[HR_REPLY_OUTCOME] = client->outcome;
    hr_shard_reply(shard, worker, message);
}

static void publish_dropped(struct hr_shard *shard, size_t worker)
{
    shard->shared->stats[worker].dropped = shard->worker[worker].dropped;
}

/* The step ends: who has not begun its share of it never will. */
static void skip_shares(struct hr_shard *shard)
{
    for (size_t w = 0; w < shard->shared->workers; w++) {
        struct hr_client *client = &shard->worker[w];
        const bool begun = client->batches && client->batch == step_in_hand(shard);
        if (!client->shares || client->in || begun)
            continue;
        client->dropped.samples += share_of(shard, client);
        publish_dropped(shard, w);
    }
}

/* Enough gradients are in: update. Returns whether there was an update: none if an epoch's last
 * batch left them without samples. */
static bool finish_step(struct hr_shard *shard, uint64_t index)
{
    const struct hr_shared_state *shared = shard->shared;
    size_t samples = 0, n = 0;
    skip_shares(shard);
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
    hr_shard_apply_sum(shard, n, index, samples);
    return true;
}

/* Gradients that make an update: k fewer than those that are in or may come. */
static size_t needed(const struct hr_shard *shard)
{
    const size_t backups = shard->shared->options->backups;
    return shard->expected > backups ? shard->expected - backups : 1;
}

/* Of its earlier life's updates nobody else tells. */
static void publish_updates(struct hr_shard *shard, size_t worker)
{
    const struct hr_client *client = &shard->worker[worker];
    if (client->left || client->fresh)
        shard->shared->stats[worker].updates = client->made;
}

/* The worker's gradient, or its loss, has ended the step, if enough are in. */
static void finish_if_enough(struct hr_shard *shard, size_t worker)
{
    struct hr_client *client = &shard->worker[worker];
    if (shard->nin < needed(shard) || !finish_step(shard, step_in_hand(shard)))
        return;
    client->outcome = HR_PUSH_SUMMED_LAST;
    client->made++;
    publish_updates(shard, worker);
}

static void take_push(struct hr_shard *shard, size_t worker, const struct hr_message *push)
{
    struct hr_client *client = &shard->worker[worker];
    client->batches = 0;
    client->index = push->word[HR_REQUEST_INDEX];
    client->samples = push->word[HR_REQUEST_SAMPLES];
    client->staleness = shard->taken.value = shard->version - client->read;
    if (!shard->open || client->index != step_in_hand(shard)) {
        client->outcome = HR_PUSH_DROPPED;
        client->dropped.gradients++;
        client->dropped.samples += client->samples;
        publish_dropped(shard, worker);
        return;
    }
    client->outcome = HR_PUSH_SUMMED;
    client->in = true;
    shard->nin++;
    finish_if_enough(shard, worker);
}

/* --- losses --- */

/* What it had not pushed, and what came too late without its knowing. */
static void settle_counters(struct hr_shard *shard, size_t worker)
{
    const struct hr_client *client = &shard->worker[worker];
    struct hr_worker_stats *stats = &shard->shared->stats[worker];
    hr_shard_settle_counters(shard, worker, client->made);
    if (client->outcome == HR_PUSH_DROPPED && stats->last.any && stats->last.index == client->index)
        hr_stats_drop(stats);
}

/* Its shares: the one in its hands, and that of the step in hand which it did not ask for yet. */
static void count_lost(struct hr_shard *shard, size_t worker)
{
    const struct hr_client *client = &shard->worker[worker];
    struct hr_lost_work *lost = &shard->shared->lost_work[worker];
    const bool misses = shard->open && client->shares && !client->in &&
                        (!client->batches || client->batch != step_in_hand(shard));
    if (!client->batches && !misses) /* as at a cut, where the leader reads what was lost */
        return;
    lost->lost_batches += client->batches + misses;
    lost->lost_samples += client->batches ? client->share : 0;
    lost->lost_samples += misses ? share_of(shard, client) : 0;
}

/* Who is said to have made an update that a loss has ended: one who lives, if any. */
static size_t who_is_in(const struct hr_shard *shard)
{
    size_t who = 0;
    for (size_t w = 0; w < shard->shared->workers; w++)
        if (shard->worker[w].in && (!shard->worker[who].in || shard->worker[who].left))
            who = w;
    return who;
}

static void lose(struct hr_shard *shard, size_t worker)
{
    struct hr_client *client = &shard->worker[worker];
    hr_shard_lose_begin(shard, worker);
    settle_counters(shard, worker);
    count_lost(shard, worker);
    shard->expected -= shard->open && client->shares && !client->in;
    client->shares = client->shares && client->in;
    hr_shard_lose_end(shard, worker);
    if (shard->open && shard->expected == 0) /* nobody has a share any more */
        shard->open = false;
    else if (shard->open)
        finish_if_enough(shard, who_is_in(shard));
}

/* --- a save between two events (strategy/pause.h): whole steps only --- */

/* Is a worker's last gradient in no update, and not dropped to its knowledge? */
static bool is_undone(const struct hr_client *client, const struct hr_last_gradient *last)
{
    if (!last->any)
        return false;
    return (client->batches && client->batch == last->index) || client->in ||
           client->outcome == HR_PUSH_DROPPED;
}

static void copy_account(const struct hr_standing *at, size_t worker, struct hr_pause *to)
{
    const struct hr_client *client = &at->shard[0]->worker[worker];
    const struct hr_last_gradient *last = &at->shared->stats[worker].last;
    to->worker[worker].updates = client->made;
    if (!at->before[worker] && is_undone(client, last)) /* else it is written */
        to->worker[worker].undone = last->index;
}

static bool backup_pause(const struct hr_standing *at, struct hr_pause *to)
{
    hr_shard_copy_to(at->shard[0], &to->snapshot);
    for (size_t w = 0; w < at->shared->workers; w++)
        copy_account(at, w, to);
    return true;
}

static void backup_take(struct hr_shard *shard, size_t worker)
{
    const struct hr_message message = hr_shard_next(shard, worker);
    if (message.kind == HR_PULL)
        take_pull(shard, worker);
    else if (message.kind == HR_PUSH)
        take_push(shard, worker, &message);
    else if (message.kind == HR_GONE)
        lose(shard, worker);
    else
        hr_shard_end(shard, worker, message.kind);
}

static enum hr_status prepare(struct hr_shared_state *shared)
{
    const size_t backups = shared->options->backups;
    if (backups >= shared->workers)
        return hr_fail(HR_E_USAGE,
                       "--strategy backup-workers:%zu: expected fewer than the %zu worker%s",
                       backups, shared->workers, shared->workers == 1 ? "" : "s");
    return HR_OK;
}

static void describe(const struct hr_shared_state *shared, char *text, size_t size)
{
    snprintf(text, size, "backups %zu", shared->options->backups);
}

/* --- the worker --- */

/* A worker's own. */
struct backup_worker {
    bool shares; /* its group rank is that of its share; else what it was before: */
    size_t group_rank, group_size;
};

/* Its share is that of the step in hand, until the cut. */
static void take_share(struct hr_worker *worker, const struct hr_message *reply)
{
    struct backup_worker *own = worker->own;
    const uint64_t word = reply->word[HR_REPLY_GROUP_RANK];
    const bool batch = reply->kind == HR_WEIGHTS;
    if (batch && !own->shares) {
        own->group_rank = worker->group_rank;
        own->group_size = worker->group_size;
    }
    if (batch || own->shares) {
        worker->group_rank = batch ? (size_t)(uint32_t)word : own->group_rank;
        worker->group_size = batch ? (size_t)(word >> 32) : own->group_size;
    }
    own->shares = batch;
}

/* What became of its push. */
static void count_push(struct hr_worker *worker, enum hr_push_outcome outcome)
{
    if (outcome == HR_PUSH_DROPPED)
        hr_stats_drop(worker->stats);
    worker->stats->updates += outcome == HR_PUSH_SUMMED_LAST;
}

static bool next_batch(struct hr_worker *worker, const struct hr_message *reply)
{
    if (hr_server_takes_losses(worker->shared))
        take_share(worker, reply);
    worker->index = reply->word[HR_REPLY_INDEX];
    return reply->kind != HR_NO_BATCH;
}

static enum hr_status span(struct hr_rank *rank)
{
    static const struct hr_gradient_hooks hooks = {.final = hr_push_parts_final};
    struct hr_worker *worker = rank->worker;
    struct hr_message reply;
    HR_TRY(hr_server_pull(rank, &reply));
    while (next_batch(worker, &reply)) {
        HR_TRY(hr_rank_gradient(rank, worker->index, &hooks));
        hr_server_push(worker, worker->index);
        HR_TRY(hr_server_pull(rank, &reply));
        count_push(worker, (enum hr_push_outcome)reply.word[HR_REPLY_OUTCOME]);
    }
    return hr_server_cut(rank, worker->index);
}

const struct hr_strategy hr_strategy_backup_workers = {
    .name = "backup-workers",
    .guarantee = "each update is made of n - k gradients of its own step; the others are dropped, "
                 "and counted",
    .options = (const char *const[]){"servers", "placement", "server-placement", "server-time",
                                     "backups", "compress", "link", "topology", NULL},
    .rows = HR_SERVED_ROWS,
    .shares_batch = true,
    .one_shard = true,
    .order = "T(n) over those that are in, in rank order",
    .prepare = prepare,
    .describe = describe,
    .worker_own = sizeof(struct backup_worker),
    .bytes = hr_server_bytes,
    .init = hr_server_init,
    .start = hr_server_start,
    .leave = hr_server_leave,
    .span = span,
    .pause = backup_pause,
    .enabled = backup_enabled,
    .take = backup_take,
};

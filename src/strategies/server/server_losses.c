/* Parameter servers outlive workers: what a shard does when one is lost, and when it comes back. */
#include "server/server_losses.h"

#include "shm/control.h"
#include "server/ssp_gate.h"
#include "server/staleness.h"

/* --- a loss --- */

void hr_shard_know(struct hr_shard *shard)
{
    const struct hr_shared_state *shared = shard->shared;
    const struct hr_server_loss *lines = hr_server_losses(shared);
    for (size_t w = 0; w < shared->workers; w++) {
        struct hr_client *client = &shard->worker[w];
        client->lost = hr_atom32_load_acquire(&lines[w].taken); /* partner: the launcher */
        hr_client_leave(client, lines[w].gone ? HR_LEFT_GONE : HR_LEFT_NOT);
        client->read = lines[w].gone ? UINT64_MAX : 0;
        client->made = shared->stats[w].updates;
        client->counted = shared->stats[w].stale.updates;
        client->dropped = shared->stats[w].dropped;
        shard->ngone += lines[w].gone;
    }
}

/* The launcher's word first: what the worker sent before its death is seen after it. */
bool hr_shard_sees_loss(const struct hr_shard *shard, size_t worker)
{
    const uint32_t lost = hr_roster_lost(shard->shared->control, worker);
    if ((int32_t)(lost - shard->worker[worker].lost) <= 0)
        return false;
    if (shard->shared->repeats)
        return shard->told == worker + 1;
    const struct hr_message *message =
        hr_ring_peek_spsc(hr_server_requests(shard->shared, worker, shard->number));
    return !message || !hr_server_carries_slice(message->kind);
}

void hr_shard_lose_begin(struct hr_shard *shard, size_t worker)
{
    struct hr_client *client = &shard->worker[worker];
    client->number = 0; /* of its next life */
    client->held |= client->batches > 0;
    hr_ring_drop_spsc(hr_server_requests(shard->shared, worker, shard->number));
    shard->taken = (struct hr_taken){
        .kind = HR_GONE,
        .worker = (uint32_t)worker,
        .step = client->step,
        .value = client->batches,
    };
}

void hr_shard_settle_counters(struct hr_shard *shard, size_t worker, uint64_t updates)
{
    const struct hr_client *client = &shard->worker[worker];
    struct hr_worker_stats *stats = &shard->shared->stats[worker];
    hr_stats_mend(stats);
    if (client->held && stats->last.any && stats->last.index == client->batch)
        hr_stats_take_back(stats);
    if (stats->updates != updates)
        stats->updates = updates;
}

static void settle_counters(struct hr_shard *shard, size_t worker)
{
    const struct hr_client *client = &shard->worker[worker];
    hr_shard_settle_counters(shard, worker,
                             client->made + client->pushes + (client->clock - client->began));
}

void hr_shard_give_back(struct hr_shard *shard, size_t worker)
{
    const struct hr_shared_state *shared = shard->shared;
    struct hr_client *client = &shard->worker[worker];
    struct hr_fate *fate = hr_fate_of(shared->fates, worker);
    uint64_t *batches = shared->reissues ? &fate->again_batches : &fate->lost_batches;
    uint64_t *samples = shared->reissues ? &fate->again_samples : &fate->lost_samples;
    if (!client->batches) /* as at a cut, where the leader reads fates */
        return;
    for (uint64_t i = client->batch; i < client->batch + client->batches; i++) {
        *samples += hr_batch_schedule_batch(&shared->schedule, i).count;
        if (shared->reissues)
            hr_fates_return(shared->fates, i);
    }
    *batches += client->batches;
}

/* Have all shards taken that loss, and as many pushes before it? */
static bool all_have_taken(const struct hr_shared_state *shared, size_t worker, uint32_t loss,
                           bool *differ)
{
    const struct hr_loss_at_shard *first = hr_loss_at_shard(shared, worker, 0);
    *differ = false;
    for (size_t s = 0; s < shared->servers; s++) {
        const struct hr_loss_at_shard *at = hr_loss_at_shard(shared, worker, s);
        if ((int32_t)(hr_atom32_load_acquire(&at->taken) - loss) < 0) /* partner: publish */
            return false;
        *differ |=
            at->words[loss % HR_LOSS_ROUNDS].pushes != first->words[loss % HR_LOSS_ROUNDS].pushes;
    }
    return true;
}

/* Losses of a worker are completed one after another: a shard takes them in order. Whoever looks
 * after another has looked sees what that one has said. */
static void complete(const struct hr_shared_state *shared, size_t worker)
{
    struct hr_server_loss *line = &hr_server_losses(shared)[worker];
    bool differ;
    hr_atom32_fetch_add_acq_rel(&line->looks, 1); /* partner: itself */
    for (;;) {
        const uint32_t had = hr_atom32_load_acquire(&line->taken);
        if (!all_have_taken(shared, worker, had + 1, &differ))
            break;
        if (hr_atom32_replace_acq_rel(&line->taken, had, had + 1)) /* partner: may_join */
            hr_fate_of(shared->fates, worker)->partial += differ;
    }
    hr_bell_ring(&shared->control->rank[worker].bell);
    hr_bell_ring(&shared->control->launcher_bell); /* it may wait for that at a cut */
}

/* What has not been said; may be repeated. Other shards may be reading what has. */
static void publish(struct hr_shard *shard, size_t worker)
{
    const struct hr_client *client = &shard->worker[worker];
    struct hr_loss_at_shard *at = hr_loss_at_shard(shard->shared, worker, shard->number);
    const uint32_t said = hr_atom32_load_relaxed(&at->taken); /* the shard's own word */
    for (uint32_t loss = said + 1; (int32_t)(client->lost - loss) >= 0; loss++)
        at->words[loss % HR_LOSS_ROUNDS] = client->before[loss % HR_LOSS_ROUNDS];
    hr_atom32_store_release(&at->taken, client->lost); /* partner: all_have_taken */
    complete(shard->shared, worker);
}

void hr_shard_lose_end(struct hr_shard *shard, size_t worker)
{
    struct hr_client *client = &shard->worker[worker];
    const uint64_t pushes = client->pushes + (client->clock - client->began);
    if (client->left == HR_LEFT_NOT) {
        hr_client_leave(client, HR_LEFT_GONE);
        shard->ngone++;
    }
    client->made += pushes;
    client->pushes = 0;
    client->began = client->clock;
    client->batches = 0;
    client->arrived = client->rests = false;
    client->read = UINT64_MAX;
    hr_shard_finish_cut(shard);
    client->lost++;
    client->before[client->lost % HR_LOSS_ROUNDS] = (struct hr_last_words){
        pushes, client->counted, client->pushed, client->staleness, client->max_skew};
    publish(shard, worker);
}

void hr_shard_lose(struct hr_shard *shard, size_t worker)
{
    hr_shard_lose_begin(shard, worker);
    if (shard->number == 0) {
        hr_shard_give_back(shard, worker);
        settle_counters(shard, worker);
    }
    hr_shard_lose_end(shard, worker);
}

/* --- what a lost worker did not come to count --- */

/* The staleness of its last push, as it would have heard it. A shard that had not taken it keeps
 * quiet. */
static void hear(const struct hr_shared_state *shared, size_t worker, uint32_t loss)
{
    const struct hr_last_words *first =
        &hr_loss_at_shard(shared, worker, 0)->words[loss % HR_LOSS_ROUNDS];
    uint64_t *staleness = hr_staleness_at_shards(shared, worker);
    for (size_t s = 0; s < shared->servers; s++) {
        const struct hr_last_words *words =
            &hr_loss_at_shard(shared, worker, s)->words[loss % HR_LOSS_ROUNDS];
        staleness[s] = words->pushed == first->pushed ? words->staleness : 0;
    }
}

static void hear_of_skew(const struct hr_shared_state *shared, size_t worker, uint32_t loss)
{
    struct hr_worker_stats *stats = &shared->stats[worker];
    for (size_t s = 0; s < shared->servers; s++) {
        const uint64_t skew =
            hr_loss_at_shard(shared, worker, s)->words[loss % HR_LOSS_ROUNDS].max_skew;
        if (skew > stats->max_skew)
            stats->max_skew = skew;
    }
}

void hr_server_count_last(const struct hr_shared_state *shared, size_t worker)
{
    struct hr_worker_stats *stats = &shared->stats[worker];
    /* Partner: complete. */
    const uint32_t loss = hr_atom32_load_acquire(&hr_server_losses(shared)[worker].taken);
    const struct hr_last_words *first =
        &hr_loss_at_shard(shared, worker, 0)->words[loss % HR_LOSS_ROUNDS];
    hr_stale_mend(&stats->stale);
    hear_of_skew(shared, worker, loss);
    if (!hr_strategy_never_stale(shared->strategy) && stats->stale.updates < first->counted) {
        hear(shared, worker, loss);
        hr_staleness_count(shared, worker);
    }
    if (stats->stale_keys)
        stats->stale_keys = 0;
}

void hr_server_missing(const struct hr_shared_state *shared)
{
    for (size_t w = 0; hr_server_takes_losses(shared) && w < shared->workers; w++)
        if (hr_roster_is_gone(shared->control, w))
            hr_server_count_last(shared, w);
}

/* --- a return --- */

/* Where a worker begins that no gate has waited for. */
static uint64_t clock_of_the_slowest(const struct hr_shard *shard)
{
    const uint64_t slowest = hr_ssp_slowest_clock(shard);
    return slowest == UINT64_MAX ? 0 : slowest;
}

void hr_shard_wake(struct hr_shard *shard, size_t worker)
{
    struct hr_client *client = &shard->worker[worker];
    client->clock = client->applied = client->began = clock_of_the_slowest(shard);
    client->aside = false;
}

void hr_shard_join(struct hr_shard *shard, size_t worker)
{
    struct hr_client *client = &shard->worker[worker];
    const struct hr_client had = *client;
    shard->ngone -= had.left == HR_LEFT_GONE;
    shard->ndone -= had.left == HR_LEFT_DONE;
    shard->joined = true;
    for (size_t w = 0; w < shard->shared->workers; w++)
        shard->worker[w].aside |= shard->worker[w].rests;
    *client = (struct hr_client){
        .aside = true,
        .read = shard->version,
        .fresh = true,
        .number = had.number,
        .step = had.step,
        .made = had.made,
        .counted = had.counted,
        .max_skew = had.max_skew,
        .lost = had.lost,
        .dropped = had.dropped,
        .in = had.in, /* what it had delivered is still to be summed */
        .index = had.index,
        .samples = had.samples,
    };
    hr_shard_wake(shard, worker);
}

bool hr_server_may_join(void *arg)
{
    const struct hr_worker *worker = arg;
    const struct hr_shared_state *shared = worker->shared;
    if (!hr_server_takes_losses(shared))
        return true;
    const uint32_t lost = hr_roster_lost(shared->control, worker->rank);
    const uint32_t taken = hr_atom32_load_acquire(
        &hr_server_losses(shared)[worker->rank].taken); /* partner: publish */
    return (int32_t)(taken - lost) >= 0;
}

/* Parameter servers, the shard's half: one owner of a slice of the parameters. Effects never wait:
 * a message that cannot be taken yet is not enabled. */

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "server/server.h"
#include "server/server_worker.h"
#include "server/staleness.h"
#include "shm/control.h"
#include "strategy/pause.h"

static bool is_live(const struct hr_client *client)
{
    return !client->aside;
}

/* Adds nothing to the bound, which may be UINT64_MAX. */
static bool is_within(uint64_t fast, uint64_t slow, uint64_t bound)
{
    return fast <= slow || fast - slow <= bound;
}

uint64_t hr_ssp_slowest_clock(const struct hr_shard *shard)
{
    uint64_t slowest = UINT64_MAX;
    for (size_t w = 0; w < shard->shared->workers; w++)
        if (is_live(&shard->worker[w]) && shard->worker[w].clock < slowest)
            slowest = shard->worker[w].clock;
    return slowest;
}

/* May this worker read, the slowest clock being that? */
static bool gate_is_open(const struct hr_shard *shard, size_t worker, uint64_t slowest)
{
    return is_within(shard->worker[worker].clock, slowest, shard->shared->staleness_bound);
}

/* It reads: assert the promise. */
static void check_gate(const struct hr_shard *shard, size_t reader)
{
#ifdef HR_DEBUG_CHECKS
    for (size_t w = 0; w < shard->shared->workers; w++)
        HR_ASSERT(!is_live(&shard->worker[w]) ||
                  is_within(shard->worker[reader].clock, shard->worker[w].applied,
                            shard->shared->staleness_bound));
#else
    (void)shard, (void)reader;
#endif
}

/* Parameter servers at a cut: when all who live have arrived, a shard exports its slice. */
void hr_shard_copy_to(const struct hr_shard *shard, const struct hr_snapshot *to)
{
    const struct hr_shared_state *shared = shard->shared;
    const size_t bytes = shard->count * sizeof(float);
    const size_t states = shared->strategy->rows.state == HR_KEPT_OWN ? 0 : hr_state_floats(shared);
    if (!to->live)
        memcpy(to->weights + shard->first, shard->weights, bytes);
    for (size_t at = shard->first; to->state && at < states; at += shared->params)
        memcpy(to->state + at, shard->state + at, bytes);
    if (shared->strategy->rows.state != HR_KEPT_OWN && shard->number == 0)
        to->applied[0] = shard->before + shard->version;
}

static void export_slice(struct hr_shard *shard)
{
    hr_shard_copy_to(shard, &shard->shared->snapshot);
}

static void export(struct hr_shard *shard)
{
    if (shard->joined && shard->exported == shard->version + 1) /* somebody may be reading it */
        return;
    shard->exported = shard->version + 1;
    export_slice(shard);
}

/* From the first return on, some may have rested while another worked, who may be gone by now. */
static bool cut_is_complete(const struct hr_shard *shard)
{
    size_t here = 0;
    for (size_t w = 0; w < shard->shared->workers; w++) {
        const struct hr_client *client = &shard->worker[w];
        const bool is_here = client->arrived || (shard->joined && client->rests);
        here += is_here;
        if (!is_here && !client->left)
            return false;
    }
    return here > 0;
}

/* At an epoch's end all have the same weights: no worker is ahead. Where an asynchronous run only
 * rests, to save, clocks go on. */
static void leave_cut(const struct hr_shard *shard, struct hr_client *client)
{
    const struct hr_shared_state *shared = shard->shared;
    client->pushes += client->clock - client->began;
    client->began = client->clock;
    if (shared->strategy->pause && hr_cut_only_quiesces(shared))
        return;
    client->read = shard->version;
    client->clock = client->applied = client->began = 0;
}

/* If all who live have arrived: export, and tell them. */
static void finish_cut(struct hr_shard *shard)
{
    if (!cut_is_complete(shard))
        return;
    export(shard);
    for (size_t w = 0; w < shard->shared->workers; w++) {
        struct hr_client *client = &shard->worker[w];
        const bool arrived = client->arrived;
        if (client->left)
            continue;
        client->arrived = false;
        client->rests = true;
        client->aside = shard->joined || !hr_server_pushes(shard->shared, w);
        leave_cut(shard, client);
        if (arrived)
            hr_shard_reply(shard, w, (struct hr_message){.kind = HR_CUT_DONE});
    }
}

/* Parameter servers outlive workers: what a shard does when one is lost, and when it comes back. */
/* --- a loss --- */

/* What it knows of workers when it begins. */
static void know_losses(struct hr_shard *shard)
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
        return shard->notified == worker + 1;
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

/* Who updates a replica of its own has counted by itself; its batches count together. */
static void settle_counters(struct hr_shard *shard, size_t worker)
{
    const struct hr_client *client = &shard->worker[worker];
    struct hr_worker_stats *stats = &shard->shared->stats[worker];
    if (hr_strategy_adds(shard->shared->strategy)) {
        hr_shard_settle_counters(shard, worker,
                                 client->made + client->pushes + (client->clock - client->began));
        return;
    }
    hr_stats_mend(stats);
    if (client->held)
        hr_stats_back_to_mark(stats, client->batch);
}

/* What shard 0 handed out. */
static void give_back(struct hr_shard *shard, size_t worker)
{
    const struct hr_shared_state *shared = shard->shared;
    struct hr_client *client = &shard->worker[worker];
    struct hr_lost_work *lost = &shared->lost_work[worker];
    uint64_t *batches = shared->reissues ? &lost->again_batches : &lost->lost_batches;
    uint64_t *samples = shared->reissues ? &lost->again_samples : &lost->lost_samples;
    if (!client->batches) /* as at a cut, where the leader reads what was lost */
        return;
    for (uint64_t i = client->batch; i < client->batch + client->batches; i++) {
        *samples += hr_batch_schedule_batch(&shared->schedule, i).count;
        if (shared->reissues)
            hr_returned_add(shared->returned, i);
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
            shared->lost_work[worker].partial += differ;
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
    finish_cut(shard);
    client->lost++;
    client->before[client->lost % HR_LOSS_ROUNDS] = (struct hr_last_words){
        pushes, client->counted, client->pushed, client->staleness, client->max_skew};
    publish(shard, worker);
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

/* It has joined. */
static void join(struct hr_shard *shard, size_t worker)
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

bool hr_server_may_join(const struct hr_shared_state *shared, size_t worker)
{
    if (!hr_server_takes_losses(shared))
        return true;
    const uint32_t lost = hr_roster_lost(shared->control, worker);
    const uint32_t taken =
        hr_atom32_load_acquire(&hr_server_losses(shared)[worker].taken); /* partner: publish */
    return (int32_t)(taken - lost) >= 0;
}

/* Where a loss ends the term, who is not active in it has left. */
static void know_active(struct hr_shard *shard)
{
    const struct hr_active *active = shard->shared->active;
    for (size_t w = 0; w < shard->shared->workers; w++) {
        hr_client_leave(&shard->worker[w], HR_LEFT_GONE);
        shard->worker[w].read = UINT64_MAX;
        shard->worker[w].dropped = shard->shared->stats[w].dropped;
    }
    for (size_t s = 0; s < active->n; s++) {
        hr_client_leave(&shard->worker[active->rank[s]], HR_LEFT_NOT);
        shard->worker[active->rank[s]].read = 0;
    }
    shard->ngone = shard->shared->workers - active->n;
}

enum hr_status hr_shard_start(struct hr_shard *shard, struct hr_shared_state *shared, size_t number)
{
    const size_t first = hr_slice_begin(shared, number);
    float *scratch = hr_server_scratch(shared);
    *shard = (struct hr_shard){
        .shared = shared,
        .number = number,
        .first = first,
        .count = hr_slice_begin(shared, number + 1) - first,
        .weights = hr_server_weights(shared) + first,
        .state = hr_server_state(shared),
        .ratio = hr_server_ratio(shared),
        .sum = scratch ? scratch + first : NULL,
        .before = shared->snapshot.applied[0],
        .next = hr_atom64_load_acquire(&shared->dispenser->next), /* partner: who began the term */
        .loses = hr_server_takes_losses(shared),
        .worker = calloc(shared->workers, sizeof *shard->worker),
        .grads = calloc(shared->workers, sizeof *shard->grads),
    };
    if (!shard->worker || !shard->grads) {
        hr_shard_stop(shard);
        return hr_fail(HR_E_NOMEM, "no memory for a server of %zu workers", shared->workers);
    }
    for (size_t w = 0; w < shared->workers; w++)
        shard->worker[w].aside = !hr_server_pushes(shared, w);
    if (shard->loses)
        know_losses(shard);
    else if (shared->outlives)
        know_active(shard);
    const bool updates = shared->strategy->rows.state != HR_KEPT_OWN;
    if (!shared->snapshot.live)
        memcpy(shard->weights, shared->snapshot.weights + first, shard->count * sizeof(float));
    for (size_t at = first; updates && shared->snapshot.state && at < hr_state_floats(shared);
         at += shared->params)
        memcpy(shard->state + at, shared->snapshot.state + at, shard->count * sizeof(float));
    return HR_OK;
}

void hr_shard_stop(struct hr_shard *shard)
{
    free(shard->worker);
    free(shard->grads);
    shard->worker = NULL;
    shard->grads = NULL;
}

/* Workers that died when the last cut had passed, before they could say that they leave. Where a
 * loss is an input it will be taken. */
static size_t silent_at_the_end(const struct hr_shard *shard)
{
    const struct hr_shared_state *shared = shard->shared;
    size_t n = 0;
    if (hr_shared_takes_losses(shared) ||
        !hr_atom32_load_acquire(&shared->control->roster.over)) /* partner: hr_roster_end */
        return 0;
    for (size_t w = 0; w < shared->workers; w++)
        n += shard->worker[w].left == HR_LEFT_NOT && hr_roster_is_gone(shared->control, w);
    return n;
}

bool hr_shard_over(const struct hr_shard *shard)
{
    const size_t silent = silent_at_the_end(shard);
    return (shard->ndone || silent) &&
           shard->ndone + shard->ngone + silent == shard->shared->workers;
}

/* Batches before that may be handed out now. */
static uint64_t next_cut(const struct hr_shard *shard)
{
    const struct hr_dispenser *dispenser = shard->shared->dispenser;
    return hr_shared_quiesces(shard->shared, shard->next) ? 0
                                                          : hr_atom64_load_acquire(&dispenser->cut);
}

static bool has_batch_before(const struct hr_shard *shard, uint64_t cut)
{
    return hr_returned_any(shard->shared->returned) || shard->next < cut;
}

bool hr_shard_has_batch(const struct hr_shard *shard)
{
    return has_batch_before(shard, shard->cut);
}

void hr_shard_handed_out(struct hr_shard *shard, uint64_t next)
{
    shard->next = next;
    hr_atom64_store_release(&shard->shared->dispenser->next, next); /* partner: who leads a cut */
}

/* May a PULL of this worker be taken, when the slowest clock is `slowest`? */
static bool may_read(const struct hr_shard *shard, size_t worker, uint64_t slowest)
{
    if (shard->ndone) /* a worker has left: the run is over, or has failed */
        return false;
    if (!shard->shared->strategy->synchronous && shard->number == 0 &&
        !has_batch_before(shard, next_cut(shard)))
        return true; /* the answer will be NO_BATCH, which needs no gate */
    return gate_is_open(shard, worker, slowest);
}

void hr_shard_enabled(struct hr_shard *shard, unsigned char *enabled)
{
    const struct hr_shared_state *shared = shard->shared;
    const bool gated = shared->staleness_bound < UINT64_MAX;
    const uint64_t slowest = gated ? hr_ssp_slowest_clock(shard) : 0;
    for (size_t w = 0; w < shared->workers; w++) {
        if (!enabled[w])
            continue;
        const struct hr_message *message =
            hr_ring_peek_spsc(hr_server_requests(shared, w, shard->number));
        enabled[w] = (message && (message->kind != HR_PULL || may_read(shard, w, slowest))) ||
                     (shard->loses && hr_shard_sees_loss(shard, w));
    }
}

bool hr_shard_hand_out(struct hr_shard *shard, size_t worker, size_t most)
{
    struct hr_returned *returned = shard->shared->returned;
    struct hr_client *client = &shard->worker[worker];
    uint64_t behind;
    if (!hr_shard_has_batch(shard))
        return false;
    client->batches = hr_returned_take(returned, &client->batch);
    if (!client->batches) {
        client->batch = shard->next;
        client->batches = hr_min_size(most, shard->cut - shard->next);
        hr_shard_handed_out(shard, shard->next + client->batches);
        return true;
    }
    while (client->batches < most && hr_returned_look(returned, 0, &behind) &&
           behind == client->batch + client->batches)
        client->batches += hr_returned_take(returned, &behind);
    return true;
}

/* Shard 0 also hands out batches. */
static void take_pull(struct hr_shard *shard, size_t worker)
{
    const struct hr_shared_state *shared = shard->shared;
    struct hr_message message = {.kind = HR_WEIGHTS};
    hr_shard_asks(shard, worker);
    if (!shared->strategy->synchronous && shard->number == 0) {
        if (!hr_shard_hand_out(shard, worker, hr_max_size(shared->node_workers, 1))) {
            hr_shard_reply(shard, worker, (struct hr_message){.kind = HR_NO_BATCH});
            return;
        }
        message.word[HR_REPLY_INDEX] = shard->taken.value = shard->worker[worker].batch;
        message.word[HR_REPLY_BATCHES] = shard->worker[worker].batches;
    }
    const uint64_t clock = shard->worker[worker].clock, slowest = hr_ssp_slowest_clock(shard);
    message.word[HR_REPLY_SKEW] = clock > slowest ? clock - slowest : 0;
    message.word[HR_REPLY_OPENED] = shard->opened;
    check_gate(shard, worker);
    if (!shard->version || shard->worker[worker].handed != shard->version)
        hr_shard_copy_out(shard, worker);
    shard->worker[worker].read = shard->version;
    hr_shard_reply(shard, worker, message);
}

/* The one update expression, with the gradient sum g; the step has its scale. The new weights go to
 * `out` (count) as well, block by block, while they are near; NULL: nowhere. */
static void update(struct hr_shard *shard, struct hr_step step, const float *g, float *out)
{
    enum { NEAR = 2048 };
    const size_t block = out ? NEAR : shard->count;
    const enum hr_activity was = hr_account_turn(shard->account, HR_COMPUTE);
    shard->version++;
    hr_step_ratios(&step, shard->first, shard->count, shard->weights - shard->first, shard->state,
                   g - shard->first, shard->ratio);
    for (size_t at = 0; at < shard->count; at += block) {
        const size_t count = hr_min_size(block, shard->count - at);
        hr_step_update(&step, shard->first + at, count, shard->weights + at, shard->state, g + at);
        if (out)
            memcpy(out + at, shard->weights + at, count * sizeof *out);
    }
    hr_account_turn(shard->account, was);
}

void hr_shard_apply_sum(struct hr_shard *shard, size_t n, uint64_t index, size_t samples)
{
    struct hr_step step = hr_step_for(shard->shared, index, samples, hr_shard_next_number(shard));
    hr_step_clip(&step, shard->grads, n);
    for (size_t i = 0; i < n; i++)
        shard->grads[i] += shard->first;
    hr_vec()->tree_sum(&shard->sum, 1, shard->grads, n, shard->count);
    update(shard, step, shard->sum, NULL);
}

/* If a PULL follows the push, the update also writes the new weights to the worker. When the PULL
 * is taken, nothing is left to copy unless others have pushed since. */
static bool asks_for_weights(const struct hr_shard *shard, size_t worker)
{
    const struct hr_message *next =
        hr_ring_peek_spsc(hr_server_requests(shard->shared, worker, shard->number));
    return next && next->kind == HR_PULL;
}

uint64_t hr_shard_next_number(const struct hr_shard *shard)
{
    return shard->before + shard->version + 1;
}

/* Compensation is needed only if others updated the weights since the worker read them; what it
 * read is in its memory until `out` overwrites it. */
static void shard_apply_push(struct hr_shard *shard, size_t worker, const struct hr_message *push,
                             uint64_t staleness, float *out)
{
    const struct hr_shared_state *shared = shard->shared;
    const struct hr_stale_updates *stale = shared->setup;
    const float *g = shared->grads[worker] + shard->first;
    struct hr_step step =
        hr_step_stale(shared, push->word[HR_REQUEST_INDEX], push->word[HR_REQUEST_SAMPLES],
                      hr_shard_next_number(shard), staleness);
    step.scale = hr_request_scale(push);
    const struct hr_drift drift = {shared->weights[worker] + shard->first, shard->weights,
                                   stale->compensation};
    if (drift.lambda > 0 && staleness > 0) {
        hr_step_compensate(&step, shard->first, shard->count, shard->sum, g, &drift);
        g = shard->sum;
    }
    update(shard, step, g, out);
}

/* Apply one worker's push. */
static void update_with_push(struct hr_shard *shard, size_t worker, const struct hr_message *push)
{
    struct hr_client *client = &shard->worker[worker];
    const bool pulls = asks_for_weights(shard, worker);
    shard_apply_push(shard, worker, push, client->staleness,
                     pulls ? shard->shared->weights[worker] + shard->first : NULL);
    client->handed = pulls ? shard->version : 0;
    client->applied++;
}

static void update_with_sum(struct hr_shard *shard)
{
    const struct hr_shared_state *shared = shard->shared;
    const struct hr_active *active = shared->active;
    const uint64_t index = shard->worker[active->rank[0]].index;
    size_t samples = 0, n = 0;
    for (size_t s = 0; s < active->n; s++) {
        struct hr_client *client = &shard->worker[active->rank[s]];
        if (!hr_server_pushes(shared, active->rank[s]))
            continue;
        shard->grads[n++] = shared->grads[active->rank[s]];
        samples += client->samples;
        client->applied++;
    }
    hr_shard_apply_sum(shard, n, index, samples);
}

/* Was it the slowest until its clock was more than `clock`, or it left? */
static bool opens_gate(const struct hr_shard *shard, uint64_t clock)
{
    return shard->shared->staleness_bound < UINT64_MAX && hr_ssp_slowest_clock(shard) > clock;
}

/* Has everybody who pushes done so as often as this one? */
static bool all_are_in(const struct hr_shard *shard, size_t worker)
{
    const struct hr_active *active = shard->shared->active;
    for (size_t s = 0; s < active->n; s++)
        if (hr_server_pushes(shard->shared, active->rank[s]) &&
            shard->worker[active->rank[s]].clock != shard->worker[worker].clock)
            return false;
    return true;
}

static void take_push(struct hr_shard *shard, size_t worker, const struct hr_message *push)
{
    const struct hr_shared_state *shared = shard->shared;
    const uint64_t clock = shard->worker[worker].clock++;
    if (opens_gate(shard, clock))
        shard->opened = hr_opened_by(worker, push->word[HR_REQUEST_INDEX]);
    shard->worker[worker].batches = 0;
    shard->worker[worker].staleness = shard->version - shard->worker[worker].read;
    shard->taken.value = shard->worker[worker].staleness;
    hr_client_pushed(&shard->worker[worker]);
    if (!shared->strategy->synchronous) {
        update_with_push(shard, worker, push);
        return;
    }
    shard->worker[worker].index = push->word[HR_REQUEST_INDEX];
    shard->worker[worker].samples = push->word[HR_REQUEST_SAMPLES];
    if (all_are_in(shard, worker))
        update_with_sum(shard);
}

/* Its number is the one after the last, or one that was taken before. */
static bool is_new(struct hr_client *client, const struct hr_message *request)
{
    HR_ASSERT(request->sequence <= client->number + 1);
    if (request->sequence <= client->number)
        return false;
    client->number = request->sequence;
    return true;
}

/* Its loss comes before what the dead asked for. */
static struct hr_message next_request(struct hr_shard *shard, size_t worker)
{
    struct hr_ring *ring = hr_server_requests(shard->shared, worker, shard->number);
    shard->cut = next_cut(shard);
    if (shard->loses && hr_shard_sees_loss(shard, worker))
        return (struct hr_message){.kind = HR_GONE, .from = (uint32_t)worker};
    const struct hr_message message = *hr_ring_peek_spsc(ring);
    hr_ring_release_spsc(ring);
    hr_server_report_taken(shard->shared, hr_shard_rank(shard->shared, shard->number), worker,
                           shard->number, true);
    return message;
}

struct hr_message hr_shard_next(struct hr_shard *shard, size_t worker)
{
    struct hr_message message = next_request(shard, worker);
    const bool carries = hr_server_carries_slice(message.kind);
    if (message.kind == HR_PART) /* its bytes are where the PUSH will find them */
        shard->taken = (struct hr_taken){.kind = HR_PART, .worker = (uint32_t)worker};
    if (message.kind == HR_GONE || message.kind == HR_PART)
        return message;
    if (!is_new(&shard->worker[worker], &message))
        message.kind = HR_DUPLICATE;
    if (message.kind == HR_PUSH && hr_server_packs(shard->shared, worker, shard->number))
        hr_server_unpack(shard->shared, worker, shard->number);
    shard->worker[worker].step = message.word[HR_REQUEST_STEP];
    shard->taken = (struct hr_taken){
        .kind = message.kind,
        .worker = (uint32_t)worker,
        .step = message.word[HR_REQUEST_STEP],
        .took_ns = carries ? (int64_t)message.word[HR_REQUEST_TOOK] : 0,
    };
    return message;
}

static void lose(struct hr_shard *shard, size_t worker)
{
    const uint64_t clock = shard->worker[worker].clock;
    hr_shard_lose_begin(shard, worker);
    if (shard->number == 0) {
        give_back(shard, worker);
        settle_counters(shard, worker);
    }
    hr_shard_lose_end(shard, worker);
    if (opens_gate(shard, clock))
        shard->opened = hr_opened_by(worker, UINT64_MAX - 1); /* it never came */
}

void hr_shard_end(struct hr_shard *shard, size_t worker, enum hr_server_message kind)
{
    switch (kind) {
    case HR_CUT:
        shard->worker[worker].arrived = shard->worker[worker].aside = true;
        finish_cut(shard);
        break;
    case HR_GONE:
        lose(shard, worker);
        break;
    case HR_JOIN:
        join(shard, worker);
        break;
    case HR_PART:
        break;
    case HR_DUPLICATE:
        /* Partner: the result. */
        hr_atom64_fetch_add_relaxed(&shard->shared->stats[worker].duplicates, 1);
        break;
    default:
        HR_ASSERT(kind == HR_DONE);
        hr_client_leave(&shard->worker[worker], HR_LEFT_DONE);
        shard->ndone++;
    }
}

void hr_shard_take(struct hr_shard *shard, size_t worker)
{
    const struct hr_message message = hr_shard_next(shard, worker);
    switch ((enum hr_server_message)message.kind) {
    case HR_PULL:
        take_pull(shard, worker);
        break;
    case HR_PUSH:
        take_push(shard, worker, &message);
        break;
    default:
        hr_shard_end(shard, worker, message.kind);
    }
}

/* Parameter servers between two events (strategy/pause.h). A push that one shard has taken and
 * another has not is finished on the copy of the other; one that nobody has taken is in hand. */
/* Has shard s not taken a worker's last push? It lies in its ring, or was lost on its way. */
static bool awaits(const struct hr_standing *at, size_t worker, size_t s, struct hr_message *push)
{
    const struct hr_worker *w = at->worker[worker];
    const struct hr_client *client = &at->shard[s]->worker[worker];
    const struct hr_message *oldest =
        hr_ring_peek_spsc(hr_server_requests(at->shared, worker, at->shard[s]->number));
    if (w && hr_requests_unanswered(w))
        *push = w->requests.push;
    else if (w && oldest)
        *push = *oldest;
    else
        return false;
    return push->kind == HR_PUSH && push->sequence > client->number;
}

static bool is_begun(const struct hr_standing *at, size_t worker, const struct hr_message *push)
{
    for (size_t s = 0; s < at->shared->servers; s++)
        if (at->shard[s]->worker[worker].number >= push->sequence)
            return true;
    return false;
}

static void copy_shard(const struct hr_standing *at, size_t s, struct hr_pause *to)
{
    struct hr_shard copy = *at->shard[s];
    struct hr_message push;
    hr_shard_copy_to(&copy, &to->snapshot);
    copy.weights = to->snapshot.weights + copy.first;
    copy.state = to->snapshot.state;
    copy.account = NULL; /* nobody's time */
    for (size_t w = 0; w < at->shared->workers; w++)
        if (awaits(at, w, s, &push) && is_begun(at, w, &push))
            shard_apply_push(&copy, w, &push, copy.version - copy.worker[w].read, NULL);
    if (s == 0)
        to->snapshot.applied[0] = copy.before + copy.version;
}

/* As shard 0 knows it, which hands out batches. */
static void copy_account(const struct hr_standing *at, size_t worker, struct hr_pause *to)
{
    const struct hr_client *client = &at->shard[0]->worker[worker];
    struct hr_paused_worker *paused = &to->worker[worker];
    struct hr_message push;
    const bool finished = awaits(at, worker, 0, &push) && is_begun(at, worker, &push);
    paused->updates = client->made + client->pushes + (client->clock - client->began) + finished;
    if (!client->batches || finished)
        return;
    paused->undone = client->batch;
    hr_pause_add_hand(to, client->batch, client->batches);
}

bool hr_server_pause(const struct hr_standing *at, struct hr_pause *to)
{
    for (size_t s = 0; s < at->shared->servers; s++)
        copy_shard(at, s, to);
    for (size_t w = 0; w < at->shared->workers; w++)
        copy_account(at, w, to);
    return true;
}

/* Parameter servers, the shard's half: one owner of a slice of the parameters. Effects never wait:
 * a message that cannot be taken yet is not enabled. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "server/server_losses.h"
#include "server/server_packets.h"
#include "server/ssp_gate.h"

/* Where a loss ends the term, who has no seat in it has left. */
static void know_seats(struct hr_shard *shard)
{
    const struct hr_seats *seats = shard->shared->seats;
    for (size_t w = 0; w < shard->shared->workers; w++) {
        hr_client_leave(&shard->worker[w], HR_LEFT_GONE);
        shard->worker[w].read = UINT64_MAX;
        shard->worker[w].dropped = shard->shared->stats[w].dropped;
    }
    for (size_t s = 0; s < seats->n; s++) {
        hr_client_leave(&shard->worker[seats->rank[s]], HR_LEFT_NOT);
        shard->worker[seats->rank[s]].read = 0;
    }
    shard->ngone = shard->shared->workers - seats->n;
}

enum hr_status hr_shard_start(struct hr_shard *shard, struct hr_shared_state *shared, size_t number)
{
    const size_t first = hr_server_slice(shared, number);
    float *scratch = hr_server_scratch(shared);
    *shard = (struct hr_shard){
        .shared = shared,
        .number = number,
        .first = first,
        .count = hr_server_slice(shared, number + 1) - first,
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
        hr_shard_know(shard);
    else if (shared->outlives)
        know_seats(shard);
    const bool updates = shared->strategy->rows.state != HR_KEPT_OWN;
    HR_ASSERT(!updates || shared->servers == 1 || !hr_optimizer_needs_norms(&shared->optimizer));
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

/* Where all are gone, one may come back. */
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
    return hr_shared_rests(shard->shared, shard->next) ? 0
                                                       : hr_atom64_load_acquire(&dispenser->cut);
}

static bool has_batch_before(const struct hr_shard *shard, uint64_t cut)
{
    return hr_fates_waiting(shard->shared->fates) || shard->next < cut;
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
    return hr_ssp_gate_is_open(shard, worker, slowest);
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

/* The next batch: one that came back, or a new one; for workers that push as one, of each of them,
 * as many as are left. False: none is. */
static bool hand_out(struct hr_shard *shard, size_t worker)
{
    struct hr_client *client = &shard->worker[worker];
    const size_t wanted = hr_max_size(shard->shared->node_workers, 1);
    uint64_t next = shard->next;
    if (!hr_shard_has_batch(shard))
        return false;
    client->batches = 1;
    if (!hr_fates_take(shard->shared->fates, &next)) {
        client->batches = hr_min_size(wanted, shard->cut - next);
        hr_shard_handed_out(shard, next + client->batches);
    }
    client->batch = shard->taken.value = next;
    return true;
}

/* Shard 0 also hands out batches. */
static void take_pull(struct hr_shard *shard, size_t worker)
{
    const struct hr_shared_state *shared = shard->shared;
    struct hr_message message = {.kind = HR_WEIGHTS};
    hr_shard_asks(shard, worker);
    if (!shared->strategy->synchronous && shard->number == 0) {
        if (!hand_out(shard, worker)) {
            hr_shard_reply(shard, worker, (struct hr_message){.kind = HR_NO_BATCH});
            return;
        }
        message.word[HR_REPLY_INDEX] = shard->taken.value;
        message.word[HR_REPLY_BATCHES] = shard->worker[worker].batches;
    }
    const uint64_t clock = shard->worker[worker].clock, slowest = hr_ssp_slowest_clock(shard);
    message.word[HR_REPLY_SKEW] = clock > slowest ? clock - slowest : 0;
    message.word[HR_REPLY_OPENED] = shard->opened;
    hr_ssp_gate_check(shard, worker);
    if (!shard->version || shard->worker[worker].handed != shard->version)
        hr_shard_copy_out(shard, worker);
    shard->worker[worker].read = shard->version;
    hr_shard_reply(shard, worker, message);
}

/* The one update expression, with the gradient sum g. The new weights go to `out` (count) as well,
 * block by block, while they are near; NULL: nowhere. */
static void update(struct hr_shard *shard, struct hr_step step, const float *g, float *out)
{
    enum { NEAR = 2048 };
    const size_t block = out ? NEAR : shard->count;
    const enum hr_activity was = hr_account_turn(shard->account, HR_COMPUTE);
    shard->version++;
    hr_step_measure(&step, shard->weights, shard->state, g, shard->ratio);
    for (size_t at = 0; at < shard->count; at += block) {
        const size_t count = hr_min_size(block, shard->count - at);
        hr_step_update(&step, shard->first + at, count, shard->weights + at, shard->state, g + at);
        if (out)
            memcpy(out + at, shard->weights + at, count * sizeof *out);
    }
    hr_account_turn(shard->account, was);
}

void hr_shard_apply(struct hr_shard *shard, struct hr_step step, const float *g)
{
    update(shard, step, g, NULL);
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
void hr_shard_apply_push(struct hr_shard *shard, size_t worker, const struct hr_message *push,
                         uint64_t staleness, float *out)
{
    const struct hr_shared_state *shared = shard->shared;
    const struct hr_stale_updates *stale = shared->setup;
    const float *g = shared->grads[worker] + shard->first;
    const struct hr_step step =
        hr_step_stale(shared, push->word[HR_REQUEST_INDEX], push->word[HR_REQUEST_SAMPLES],
                      hr_shard_next_number(shard), staleness);
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
    hr_shard_apply_push(shard, worker, push, client->staleness,
                        pulls ? shard->shared->weights[worker] + shard->first : NULL);
    client->handed = pulls ? shard->version : 0;
    client->applied++;
}

static void update_with_sum(struct hr_shard *shard)
{
    const struct hr_shared_state *shared = shard->shared;
    const struct hr_seats *seats = shared->seats;
    const uint64_t index = shard->worker[seats->rank[0]].index;
    float *sum = shard->sum;
    size_t samples = 0, n = 0;
    for (size_t s = 0; s < seats->n; s++) {
        struct hr_client *client = &shard->worker[seats->rank[s]];
        if (!hr_server_pushes(shared, seats->rank[s]))
            continue;
        shard->grads[n++] = shared->grads[seats->rank[s]] + shard->first;
        samples += client->samples;
        client->applied++;
    }
    hr_vec()->tree_sum(&sum, 1, shard->grads, n, shard->count);
    hr_shard_apply(shard, hr_step_for(shared, index, samples, hr_shard_next_number(shard)),
                   shard->sum);
}

/* Was it the slowest until its clock was more than `clock`, or it left? */
static bool opens_gate(const struct hr_shard *shard, uint64_t clock)
{
    return shard->shared->staleness_bound < UINT64_MAX && hr_ssp_slowest_clock(shard) > clock;
}

/* Has everybody who pushes done so as often as this one? */
static bool all_are_in(const struct hr_shard *shard, size_t worker)
{
    const struct hr_seats *seats = shard->shared->seats;
    for (size_t s = 0; s < seats->n; s++)
        if (hr_server_pushes(shard->shared, seats->rank[s]) &&
            shard->worker[seats->rank[s]].clock != shard->worker[worker].clock)
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
    hr_server_tell_taken(shard->shared, hr_shard_rank(shard->shared, shard->number), worker,
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

void hr_shard_end(struct hr_shard *shard, size_t worker, enum hr_server_message kind)
{
    switch (kind) {
    case HR_CUT:
        shard->worker[worker].arrived = shard->worker[worker].aside = true;
        hr_shard_finish_cut(shard);
        break;
    case HR_JOIN:
        hr_shard_join(shard, worker);
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

static void lose(struct hr_shard *shard, size_t worker)
{
    const uint64_t clock = shard->worker[worker].clock;
    hr_shard_lose(shard, worker);
    if (opens_gate(shard, clock))
        shard->opened = hr_opened_by(worker, UINT64_MAX - 1); /* it never came */
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
    case HR_GONE:
        lose(shard, worker);
        break;
    default:
        hr_shard_end(shard, worker, message.kind);
    }
}

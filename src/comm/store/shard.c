/* A shard of a store: the one owner of its floats. Every effect runs to its end and waits for
 * nothing; a synchronous push that others lack is kept in a queue. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "store/store.h"

enum { NONE = HR_STORE_OUTSTANDING };

/* A worker's requests for a part that could not be taken yet, by their places in waiting[]. */
struct queue {
    uint8_t first, last; /* NONE: empty */
    uint64_t read;       /* version that this worker read last */
};

struct hr_store_shard {
    size_t number, ndone;
    size_t first_part, nparts; /* a part's place here is its number - first_part */
    size_t turn;               /* worker whose ring is looked at first */
    hr_store_update_fn update;
    void *arg;
    float *weights;      /* owned; parts lie in it at lines of their own */
    float *sum;          /* (largest part) */
    struct queue *queue; /* (nparts + 1, workers); the last is the barrier's, on shard 0 */
    struct {
        float *weights;
        uint64_t version;
        size_t ready; /* workers with a push at the head of their queue */
    } * part;         /* (nparts + 1) */
    struct {
        struct hr_message message;
        uint8_t next; /* in the same queue */
    } * waiting;      /* (workers, HR_STORE_OUTSTANDING) ticket t at t % OUTSTANDING */
};

static void add(void *arg, const struct hr_store_update *what, float *weights, const float *pushed)
{
    (void)arg;
    hr_vec()->add(weights, pushed, what->count);
}

/* --- set-up --- */

static enum hr_status take_memory(const struct hr_store *store, struct hr_store_shard *shard)
{
    const struct hr_partition *p = &store->partition;
    size_t floats = 0, largest = 1;
    for (size_t i = p->of_shard[shard->number]; i < p->of_shard[shard->number + 1]; i++) {
        floats += hr_round_up(p->part[i].count, HR_LINE / sizeof(float));
        largest = p->part[i].count > largest ? p->part[i].count : largest;
    }
    shard->weights = aligned_alloc(HR_LINE, hr_round_up(floats * sizeof(float) + 1, HR_LINE));
    shard->sum = store->synchronous
                     ? aligned_alloc(HR_LINE, hr_round_up(largest * sizeof(float), HR_LINE))
                     : NULL;
    shard->queue = calloc((shard->nparts + 1) * store->workers, sizeof *shard->queue);
    shard->part = calloc(shard->nparts + 1, sizeof *shard->part);
    shard->waiting = calloc(store->workers * HR_STORE_OUTSTANDING, sizeof *shard->waiting);
    if (!shard->weights || (store->synchronous && !shard->sum) || !shard->queue || !shard->part ||
        !shard->waiting)
        return hr_fail(HR_E_NOMEM, "no memory for a shard of %zu floats", floats);
    for (size_t i = 0; i < (shard->nparts + 1) * store->workers; i++)
        shard->queue[i].first = shard->queue[i].last = NONE;
    return HR_OK;
}

static void load(const struct hr_store *store, struct hr_store_shard *shard,
                 const struct hr_store_key *keys)
{
    const struct hr_partition *p = &store->partition;
    float *weights = shard->weights;
    for (size_t i = 0; i < shard->nparts; i++) {
        shard->part[i].weights = weights;
        const struct hr_part *part = &p->part[shard->first_part + i];
        const float *initial = keys[part->key].initial;
        if (initial)
            memcpy(weights, initial + part->first, part->count * sizeof *weights);
        else
            memset(weights, 0, part->count * sizeof *weights);
        weights += hr_round_up(part->count, HR_LINE / sizeof(float));
    }
}

enum hr_status hr_store_shard_create(struct hr_store *store, const struct hr_store_options *options,
                                     size_t number)
{
    const struct hr_partition *p = &store->partition;
    struct hr_store_shard *shard = calloc(1, sizeof *shard);
    if (!shard)
        return hr_fail(HR_E_NOMEM, "no memory for a shard");
    store->shard = shard; /* whoever closes the store frees it */
    shard->number = number;
    shard->first_part = p->of_shard[number];
    shard->nparts = p->of_shard[number + 1] - shard->first_part;
    shard->update = options->update ? options->update : add;
    shard->arg = options->arg;
    HR_TRY(take_memory(store, shard));
    load(store, shard, options->keys);
    return HR_OK;
}

void hr_store_shard_destroy(struct hr_store_shard *shard)
{
    if (!shard)
        return;
    free(shard->weights);
    free(shard->sum);
    free(shard->queue);
    free(shard->part);
    free(shard->waiting);
    free(shard);
}

bool hr_store_shard_over(void *arg)
{
    const struct hr_store *store = arg;
    return store->shard->ndone == store->workers;
}

/* --- effects; `at` is a part's place in this shard --- */

static bool is_barrier(const struct hr_store_shard *shard, size_t at)
{
    return at == shard->nparts;
}

static float *place_in(const struct hr_store *store, size_t at, uint64_t offset)
{
    return hr_store_pointer(store, offset) +
           store->partition.part[store->shard->first_part + at].first;
}

static void copy_out(const struct hr_store *store, size_t at, const struct hr_message *request)
{
    const struct hr_part *part = &store->partition.part[store->shard->first_part + at];
    memcpy(place_in(store, at, request->word[HR_STORE_OUT]), store->shard->part[at].weights,
           part->count * sizeof(float));
}

/* Reply to this worker's request for the part, which is done. */
static void reply_to(const struct hr_store *store, size_t at, size_t worker,
                     const struct hr_message *request)
{
    struct hr_store_shard *shard = store->shard;
    struct queue *queue = &shard->queue[at * store->workers + worker];
    const uint64_t version = shard->part[at].version;
    struct hr_message reply = {
        .sequence = request->sequence, .kind = request->kind, .from = (uint32_t)shard->number};
    reply.word[HR_STORE_PART] = request->word[HR_STORE_PART];
    reply.word[HR_STORE_VERSION] = version;
    if (request->kind != HR_STORE_PULL)
        reply.word[HR_STORE_STALENESS] = version - 1 - queue->read;
    if (request->kind != HR_STORE_PUSH)
        queue->read = version;
    hr_store_send(store, hr_store_replies(store, worker, shard->number), worker, &reply);
}

static void finish(const struct hr_store *store, size_t at, size_t worker,
                   const struct hr_message *request)
{
    if (request->kind != HR_STORE_PUSH)
        copy_out(store, at, request);
    reply_to(store, at, worker, request);
}

/* The update that makes the part's version. */
static void update(const struct hr_store *store, size_t at, size_t worker, const float *pushed)
{
    struct hr_store_shard *shard = store->shard;
    const struct hr_part *part = &store->partition.part[shard->first_part + at];
    const struct hr_store_update what = {
        .key = part->key,
        .name = hr_store_key_name(store, part->key),
        .first = part->first,
        .count = part->count,
        .worker = worker,
        .version = shard->part[at].version,
    };
    shard->update(shard->arg, &what, shard->part[at].weights, pushed);
}

/* --- asynchronous --- */

/* weights = out = weights + pushed, in one pass over memory. */
static void add_and_copy_out(const struct hr_store *store, size_t at,
                             const struct hr_message *request)
{
    float *weights = store->shard->part[at].weights;
    const float *const in[] = {weights, place_in(store, at, request->word[HR_STORE_IN])};
    float *const out[] = {weights, place_in(store, at, request->word[HR_STORE_OUT])};
    hr_vec()->tree_sum(out, 2, in, 2, store->partition.part[store->shard->first_part + at].count);
}

static void take_at_once(const struct hr_store *store, size_t at, size_t worker,
                         const struct hr_message *request)
{
    struct hr_store_shard *shard = store->shard;
    shard->part[at].version += request->kind != HR_STORE_PULL;
    if (request->kind == HR_STORE_PUSH_PULL && shard->update == add) {
        add_and_copy_out(store, at, request);
        reply_to(store, at, worker, request);
        return;
    }
    if (request->kind != HR_STORE_PULL)
        update(store, at, worker, place_in(store, at, request->word[HR_STORE_IN]));
    finish(store, at, worker, request);
}

/* --- synchronous: queues --- */

static const struct hr_message *head(const struct hr_store *store, size_t at, size_t worker)
{
    const struct hr_store_shard *shard = store->shard;
    const uint8_t first = shard->queue[at * store->workers + worker].first;
    return first == NONE ? NULL : &shard->waiting[worker * HR_STORE_OUTSTANDING + first].message;
}

static void pop(const struct hr_store *store, size_t at, size_t worker)
{
    struct hr_store_shard *shard = store->shard;
    struct queue *queue = &shard->queue[at * store->workers + worker];
    queue->first = shard->waiting[worker * HR_STORE_OUTSTANDING + queue->first].next;
}

/* Another request is at the head: take pulls, and count a push as ready. */
static void look_at_head(const struct hr_store *store, size_t at, size_t worker)
{
    const struct hr_message *request;
    while ((request = head(store, at, worker)) && request->kind == HR_STORE_PULL) {
        finish(store, at, worker, request);
        pop(store, at, worker);
    }
    store->shard->part[at].ready += request != NULL;
}

static void add_up(const struct hr_store *store, size_t at)
{
    struct hr_store_shard *shard = store->shard;
    const float *pushed[HR_MAX_RANKS];
    for (size_t w = 0; w < store->workers; w++)
        pushed[w] = place_in(store, at, head(store, at, w)->word[HR_STORE_IN]);
    hr_vec()->tree_sum(&shard->sum, 1, pushed, store->workers,
                       store->partition.part[shard->first_part + at].count);
    update(store, at, SIZE_MAX, shard->sum);
}

static void take_together(const struct hr_store *store, size_t at)
{
    struct hr_store_shard *shard = store->shard;
    while (shard->part[at].ready == store->workers) {
        shard->part[at].version++;
        if (!is_barrier(shard, at))
            add_up(store, at);
        shard->part[at].ready = 0;
        for (size_t w = 0; w < store->workers; w++) {
            finish(store, at, w, head(store, at, w));
            pop(store, at, w);
            look_at_head(store, at, w);
        }
    }
}

static void enqueue(const struct hr_store *store, size_t at, size_t worker,
                    const struct hr_message *request)
{
    struct hr_store_shard *shard = store->shard;
    struct queue *queue = &shard->queue[at * store->workers + worker];
    const uint8_t slot = request->sequence % HR_STORE_OUTSTANDING;
    shard->waiting[worker * HR_STORE_OUTSTANDING + slot].message = *request;
    shard->waiting[worker * HR_STORE_OUTSTANDING + slot].next = NONE;
    if (queue->first != NONE) {
        shard->waiting[worker * HR_STORE_OUTSTANDING + queue->last].next = slot;
        queue->last = slot;
        return;
    }
    queue->first = queue->last = slot;
    look_at_head(store, at, worker);
    take_together(store, at);
}

/* --- messages --- */

static void take(const struct hr_store *store, size_t worker, const struct hr_message *request)
{
    struct hr_store_shard *shard = store->shard;
    const size_t part = request->word[HR_STORE_PART];
    if (request->kind == HR_STORE_DONE) {
        shard->ndone++;
        return;
    }
    const size_t at = part == store->partition.nparts ? shard->nparts : part - shard->first_part;
    if (store->synchronous || is_barrier(shard, at))
        enqueue(store, at, worker, request);
    else
        take_at_once(store, at, worker, request);
}

bool hr_store_shard_advance(struct hr_store *store)
{
    struct hr_store_shard *shard = store->shard;
    bool taken = false;
    for (size_t i = 0; i < store->workers; i++) {
        const size_t worker = (shard->turn + i) % store->workers;
        struct hr_ring *ring = hr_store_requests(store, worker, shard->number);
        const struct hr_message *peeked = hr_ring_peek_spsc(ring);
        if (!peeked)
            continue;
        const struct hr_message request = *peeked;
        hr_ring_release_spsc(ring);
        take(store, worker, &request);
        taken = true;
    }
    shard->turn = (shard->turn + 1) % store->workers; /* nobody is always first */
    return taken;
}

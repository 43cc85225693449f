/* Operations of a worker: begun, waited for, over when every shard concerned has replied. All
 * stores of a rank move on in every wait. */
#include <stdlib.h>
#include <string.h>

#include "store/store.h"

/* --- moving on --- */

bool hr_store_advance(const struct hr_store *of_this_rank)
{
    bool moved = false;
    for (struct hr_store *s = of_this_rank->group->world->stores; s; s = s->next) {
        moved |= s->shard && hr_store_shard_advance(s);
        moved |= s->client && hr_client_advance(s);
    }
    return moved;
}

struct wait {
    const struct hr_store *store;
    hr_ready_fn ready;
    void *arg;
};

static bool look(void *arg)
{
    const struct wait *wait = arg;
    while (!wait->ready(wait->arg))
        if (!hr_store_advance(wait->store))
            return false;
    return true;
}

static enum hr_status wait_until(const struct hr_store *store, hr_ready_fn ready, void *arg,
                                 const char *what)
{
    const struct hr_member *member = &store->group->member;
    struct wait wait = {store, ready, arg};
    const enum hr_status status = hr_wait_until(
        member->place.waiter, hr_member_bell_of(member, member->rank), look, &wait, what);
    return status == HR_E_ABORTED ? hr_member_name_failure(member, what) : status;
}

enum hr_status hr_store_progress(struct hr_store *store)
{
    const struct hr_member *member = &store->group->member;
    hr_store_advance(store);
    if (hr_wait_check(member->place.waiter) != HR_OK)
        return hr_member_name_failure(member, "the store");
    return HR_OK;
}

/* --- waiting --- */

struct awaited {
    struct hr_store *store;
    uint64_t ticket;
};

static bool has_come(void *arg)
{
    const struct awaited *awaited = arg;
    return hr_client_is_over(awaited->store->client, awaited->ticket);
}

static enum hr_status wait_for(struct hr_store *store, uint64_t ticket)
{
    struct awaited awaited = {store, ticket};
    const struct hr_store_op *op = hr_client_op(store->client, ticket);
    if (has_come(&awaited))
        return HR_OK;
    const bool barrier = op->key == store->partition.nkeys;
    return wait_until(store, has_come, &awaited,
                      barrier ? "the store's barrier" : store->label[op->key]);
}

static enum hr_status check_worker(const struct hr_store *store, const char *what)
{
    if (store->client)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "%s: rank %zu serves, only workers (ranks 0 to %zu) do this", what,
                   store->rank, store->workers - 1);
}

static enum hr_status check_ticket(const struct hr_store *store, uint64_t ticket)
{
    HR_TRY(check_worker(store, "hr_store_wait"));
    if (ticket >= 1 && ticket <= store->client->begun)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "hr_store_wait: there is no ticket %llu, so far %llu were given",
                   (unsigned long long)ticket, (unsigned long long)store->client->begun);
}

enum hr_status hr_store_wait(struct hr_store *store, uint64_t ticket)
{
    HR_TRY(check_ticket(store, ticket));
    return wait_for(store, ticket);
}

enum hr_status hr_store_wait_all(struct hr_store *store)
{
    HR_TRY(check_worker(store, "hr_store_wait_all"));
    const uint64_t last = store->client->begun;
    const uint64_t before = last > HR_STORE_OUTSTANDING ? last - HR_STORE_OUTSTANDING : 0;
    for (uint64_t ticket = before + 1; ticket <= last; ticket++)
        HR_TRY(wait_for(store, ticket));
    return HR_OK;
}

enum hr_status hr_store_test(struct hr_store *store, uint64_t ticket, int *over)
{
    HR_TRY(check_ticket(store, ticket));
    HR_TRY(hr_store_progress(store));
    *over = hr_client_is_over(store->client, ticket);
    return HR_OK;
}

/* --- beginning --- */

/* A place for one more operation: wait for the operation that had it before. */
static enum hr_status next_op(struct hr_store *store, struct hr_store_op **out)
{
    struct hr_store_client *client = store->client;
    struct hr_store_op *op = hr_client_op(client, client->begun + 1);
    if (op->missing)
        HR_TRY(wait_for(store, op->ticket));
    *op = (struct hr_store_op){.ticket = ++client->begun};
    *out = op;
    return HR_OK;
}

static void send_part(const struct hr_store *store, struct hr_store_op *op, size_t shard,
                      const struct hr_message *request)
{
    op->missing++;
    hr_store_send(store, hr_store_requests(store, store->rank, shard), hr_store_owner(store, shard),
                  request);
}

/* in and out are where shards reach them. */
static void send_request(const struct hr_store *store, struct hr_store_op *op, const float *in,
                         float *out)
{
    const struct hr_partition *p = &store->partition;
    struct hr_message request = {
        .sequence = op->ticket, .kind = op->kind, .from = (uint32_t)store->rank};
    request.word[HR_STORE_IN] = hr_store_offset(store, in);
    request.word[HR_STORE_OUT] = hr_store_offset(store, out);
    for (size_t i = p->of_key[op->key]; i < p->of_key[op->key + 1]; i++) {
        request.word[HR_STORE_PART] = i;
        send_part(store, op, p->part[i].shard, &request);
    }
}

/* The stage of the key that was used first; *n out: how many there are. NULL: there is none. */
static struct hr_store_stage *oldest_stage(const struct hr_store *store, size_t key, size_t *n)
{
    struct hr_store_stage *oldest = store->client->stage[key];
    *n = 0;
    for (struct hr_store_stage *stage = oldest; stage; stage = stage->next, ++*n)
        if (stage->ticket < oldest->ticket)
            oldest = stage;
    return oldest;
}

/* A free stage of the key. Up to a limit we take a new one instead of waiting: other workers may be
 * waiting for what this one would begin next. */
static enum hr_status take_stage(struct hr_store *store, size_t key, struct hr_store_stage **out)
{
    size_t n;
    void *memory;
    *out = oldest_stage(store, key, &n);
    if (*out && !hr_client_is_over(store->client, (*out)->ticket))
        hr_client_advance(store);
    if (*out && (n == HR_STORE_STAGES || hr_client_is_over(store->client, (*out)->ticket)))
        return wait_for(store, (*out)->ticket);
    HR_TRY(hr_group_alloc(store->group, sizeof **out + hr_store_key_bytes(store, key), &memory));
    *out = memory;
    (*out)->next = store->client->stage[key];
    store->client->stage[key] = *out;
    return HR_OK;
}

static enum hr_status check_call(const struct hr_store *store, const char *what, size_t key,
                                 bool has_buffers)
{
    HR_TRY(check_worker(store, what));
    if (key >= store->partition.nkeys)
        return hr_fail(HR_E_USAGE, "%s: there is no key %zu, the store has %zu", what, key,
                       store->partition.nkeys);
    if (!has_buffers)
        return hr_fail(HR_E_USAGE, "%s: %s: a buffer is NULL", what, store->label[key]);
    return HR_OK;
}

static enum hr_status begin(struct hr_store *store, struct hr_store_op wanted, const float *in,
                            uint64_t *ticket)
{
    const struct hr_place *place = &store->group->member.place;
    const size_t bytes = hr_store_key_bytes(store, wanted.key);
    const bool in_reached = !in || hr_place_reaches(place, in, bytes);
    const bool out_reached = !wanted.out || hr_place_reaches(place, wanted.out, bytes);
    struct hr_store_stage *stage = NULL;
    struct hr_store_op *op;
    if (!in_reached || !out_reached)
        HR_TRY(take_stage(store, wanted.key, &stage));
    HR_TRY(next_op(store, &op));
    if (stage)
        stage->ticket = op->ticket;
    wanted.ticket = op->ticket;
    *op = wanted;
    if (!in_reached)
        in = memcpy(stage->floats, in, bytes);
    if (!out_reached)
        op->staged = stage->floats;
    send_request(store, op, in, out_reached ? op->out : stage->floats);
    *ticket = op->ticket;
    return HR_OK;
}

enum hr_status hr_store_push(struct hr_store *store, size_t key, const float *values,
                             uint64_t *ticket)
{
    HR_TRY(check_call(store, "hr_store_push", key, values));
    return begin(store, (struct hr_store_op){.kind = HR_STORE_PUSH, .key = key}, values, ticket);
}

enum hr_status hr_store_pull(struct hr_store *store, size_t key, float *out, uint64_t *ticket)
{
    HR_TRY(check_call(store, "hr_store_pull", key, out));
    return begin(store, (struct hr_store_op){.kind = HR_STORE_PULL, .key = key, .out = out}, NULL,
                 ticket);
}

enum hr_status hr_store_push_pull(struct hr_store *store, size_t key, const float *values,
                                  float *out, uint64_t *ticket)
{
    HR_TRY(check_call(store, "hr_store_push_pull", key, values && out));
    return begin(store, (struct hr_store_op){.kind = HR_STORE_PUSH_PULL, .key = key, .out = out},
                 values, ticket);
}

enum hr_status hr_store_barrier(struct hr_store *store)
{
    struct hr_store_op *op;
    HR_TRY(check_worker(store, "hr_store_barrier"));
    HR_TRY(next_op(store, &op));
    op->kind = HR_STORE_PUSH;
    op->key = store->partition.nkeys;
    struct hr_message request = {
        .sequence = op->ticket, .kind = op->kind, .from = (uint32_t)store->rank};
    request.word[HR_STORE_PART] = store->partition.nparts;
    send_part(store, op, 0, &request);
    return wait_for(store, op->ticket);
}

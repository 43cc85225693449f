#include "store/store.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/size.h"
#include "shm/pair.h"

/* === a worker's half: what it knows of operations, and replies === */

static enum hr_status client_create(struct hr_store *store)
{
    struct hr_store_client *client = calloc(1, sizeof *client);
    if (!client)
        return hr_fail(HR_E_NOMEM, "no memory for a store's operations");
    store->client = client; /* whoever closes the store frees it */
    client->version = calloc(store->partition.nparts + 1, sizeof *client->version);
    client->stage = calloc(store->partition.nkeys, sizeof *client->stage);
    if (!client->version || !client->stage)
        return hr_fail(HR_E_NOMEM, "no memory for a store of %zu keys", store->partition.nkeys);
    return HR_OK;
}

static void client_destroy(struct hr_store_client *client)
{
    if (!client)
        return;
    free(client->version);
    free(client->stage);
    free(client);
}

/* --- replies --- */

/* Of all its values. */
static size_t store_key_bytes(const struct hr_store *store, size_t key)
{
    const struct hr_partition *p = &store->partition;
    const struct hr_part *last = &p->part[p->of_key[key + 1] - 1];
    return (last->first + last->count) * sizeof(float);
}

static void take_reply(struct hr_store *store, const struct hr_message *reply)
{
    struct hr_store_op *op = hr_client_op(store->client, reply->sequence);
    struct hr_store_version *version = &store->client->version[reply->word[HR_STORE_PART]];
    HR_ASSERT(op->ticket == reply->sequence && op->missing > 0);
    if (reply->kind != HR_STORE_PUSH)
        version->read = reply->word[HR_STORE_VERSION];
    if (reply->kind != HR_STORE_PULL) {
        version->written = reply->word[HR_STORE_VERSION];
        version->staleness = reply->word[HR_STORE_STALENESS];
    }
    op->missing--;
    if (op->missing == 0 && op->staged) {
        memcpy(op->out, op->staged, store_key_bytes(store, op->key));
    }
}

static bool client_advance(struct hr_store *store)
{
    bool taken = false;
    for (size_t s = 0; s < store->shards; s++) {
        struct hr_ring *ring = hr_store_replies(store, store->rank, s);
        const struct hr_message *reply;
        while ((reply = hr_ring_peek_spsc(ring))) {
            take_reply(store, reply);
            hr_ring_release_spsc(ring);
            taken = true;
        }
    }
    return taken;
}

/* To all shards: this worker sends no more. */
static void client_done(struct hr_store *store)
{
    const struct hr_message done = {.kind = HR_STORE_DONE, .from = (uint32_t)store->rank};
    for (size_t s = 0; s < store->shards; s++)
        hr_store_send(store, hr_store_requests(store, store->rank, s), hr_store_owner(store, s),
                      &done);
}

/* === operations of a worker ===
 *
 * Begun, waited for, over when every shard concerned has replied. All
 * stores of a rank move on in every wait. */

/* --- moving on --- */

/* Do what can be done for all stores of this rank; was there anything? */
static bool store_advance(const struct hr_store *of_this_rank)
{
    bool moved = false;
    for (struct hr_store *s = of_this_rank->group->world->stores; s; s = s->next) {
        moved |= s->shard && hr_store_shard_advance(s);
        moved |= s->client && client_advance(s);
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
        if (!store_advance(wait->store))
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
    store_advance(store);
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
        client_advance(store);
    if (*out && (n == HR_STORE_STAGES || hr_client_is_over(store->client, (*out)->ticket)))
        return wait_for(store, (*out)->ticket);
    HR_TRY(hr_group_alloc(store->group, sizeof **out + store_key_bytes(store, key), &memory));
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
    const size_t bytes = store_key_bytes(store, wanted.key);
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

/* === a store's life on one rank: opened by all together, served, closed by all === */

/* --- what the caller asks for --- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum hr_status check_names(const struct hr_store_options *o)
{
    const char **sorted = malloc(o->nkeys * sizeof *sorted);
    enum hr_status status = HR_OK;
    if (!sorted)
        return hr_fail(HR_E_NOMEM, "no memory for the names of %zu keys", o->nkeys);
    for (size_t k = 0; k < o->nkeys; k++)
        sorted[k] = o->keys[k].name;
    qsort(sorted, o->nkeys, sizeof *sorted, compare_names);
    for (size_t k = 1; k < o->nkeys && status == HR_OK; k++)
        if (!strcmp(sorted[k - 1], sorted[k]))
            status = hr_fail(HR_E_USAGE, "hr_store_open: two keys are called %s", sorted[k]);
    free(sorted);
    return status;
}

static enum hr_status check_keys(const struct hr_store_options *o)
{
    size_t total = 0;
    if (!o->keys || o->nkeys < 1 || o->nkeys > UINT32_MAX)
        return hr_fail(HR_E_USAGE, "hr_store_open: expected at least one key");
    for (size_t k = 0; k < o->nkeys; k++) {
        if (!o->keys[k].name || !o->keys[k].name[0])
            return hr_fail(HR_E_USAGE, "hr_store_open: key %zu has no name", k);
        if (o->keys[k].count < 1)
            return hr_fail(HR_E_USAGE, "hr_store_open: key %s: expected at least one float",
                           o->keys[k].name);
        if (!hr_size_add(total, o->keys[k].count, &total) || total > SIZE_MAX / 8)
            return hr_fail(HR_E_USAGE, "hr_store_open: the keys do not fit into memory");
    }
    return check_names(o);
}

static enum hr_status read_placement(const struct hr_store_options *o, struct hr_store *store)
{
    const size_t n = hr_group_size(store->group);
    const char *placement = o->placement ? o->placement : "dedicated";
    store->colocated = !strcmp(placement, "colocated");
    if (!store->colocated && strcmp(placement, "dedicated") != 0)
        return hr_fail(HR_E_USAGE, "hr_store_open: placement %s: expected dedicated or colocated",
                       placement);
    const size_t most = store->colocated ? n : n - 1;
    if (most < 1)
        return hr_fail(HR_E_USAGE, "hr_store_open: a dedicated server and a worker are two ranks, "
                                   "and the group has one (placement colocated needs one)");
    store->shards = o->servers ? o->servers : store->colocated ? n : 1;
    if (store->shards > most)
        return hr_fail(HR_E_USAGE,
                       "hr_store_open: %zu %s servers in a group of %zu: expected 1 "
                       "to %zu",
                       store->shards, placement, n, most);
    store->workers = store->colocated ? n : n - store->shards;
    store->rank = hr_group_rank(store->group);
    store->synchronous = o->synchronous != 0;
    return HR_OK;
}

static enum hr_status copy_names(const struct hr_store_options *o, struct hr_store *store)
{
    size_t bytes = o->nkeys * sizeof *store->label;
    for (size_t k = 0; k < o->nkeys; k++)
        bytes += HR_STORE_LABEL + strlen(o->keys[k].name) + 1;
    store->label = malloc(bytes);
    if (!store->label)
        return hr_fail(HR_E_NOMEM, "no memory for the names of %zu keys", o->nkeys);
    char *text = (char *)(store->label + o->nkeys);
    for (size_t k = 0; k < o->nkeys; k++) {
        store->label[k] = text;
        text = stpcpy(stpcpy(text, "key "), o->keys[k].name) + 1;
    }
    return HR_OK;
}

/* --- rings --- */

static enum hr_status take_rings(struct hr_store *store, size_t shard)
{
    void *memory;
    HR_TRY(hr_group_alloc(store->group, store->workers * hr_pair_bytes(HR_STORE_OUTSTANDING),
                          &memory));
    hr_pairs_init(memory, HR_STORE_OUTSTANDING, store->workers);
    store->rings[shard] = memory;
    return HR_OK;
}

/* --- all together --- */

static uint64_t digest_of(const struct hr_store_options *o, const struct hr_store *store)
{
    const uint64_t numbers[] = {o->nkeys, store->shards, store->colocated, store->synchronous};
    uint64_t digest = XXH3_64bits(numbers, sizeof numbers);
    for (size_t k = 0; k < o->nkeys; k++) {
        digest = XXH3_64bits_withSeed(&o->keys[k].count, sizeof o->keys[k].count, digest);
        digest = XXH3_64bits_withSeed(o->keys[k].name, strlen(o->keys[k].name), digest);
    }
    return digest;
}

/* What ranks tell each other: where a shard's rings lie, and a digest of the options. */
struct greeting {
    uint64_t rings, digest;
};

static enum hr_status meet(struct hr_store *store, uint64_t digest, size_t my_shard)
{
    struct greeting all[HR_MAX_RANKS], mine = {.digest = digest};
    if (my_shard < store->shards)
        mine.rings = hr_store_offset(store, store->rings[my_shard]);
    HR_TRY(hr_all_gather(store->group, &mine, all, 2, HR_INT64));
    for (size_t r = 0; r < hr_group_size(store->group); r++)
        if (all[r].digest != digest)
            return hr_fail(HR_E_MISMATCH,
                           "hr_store_open: rank %zu gave other keys or options than "
                           "rank %zu",
                           r, store->rank);
    for (size_t s = 0; s < store->shards; s++)
        store->rings[s] =
            (unsigned char *)hr_store_pointer(store, all[hr_store_owner(store, s)].rings);
    return HR_OK;
}

static enum hr_status set_up(struct hr_store *store, const struct hr_store_options *options)
{
    HR_TRY(check_keys(options));
    HR_TRY(read_placement(options, store));
    HR_TRY(copy_names(options, store));
    HR_TRY(hr_partition_make(&store->partition, options->keys, options->nkeys, store->shards));
    const size_t my_shard = store->colocated ? store->rank : store->rank - store->workers;
    if (my_shard < store->shards) {
        HR_TRY(hr_store_shard_create(store, options, my_shard));
        HR_TRY(take_rings(store, my_shard));
    }
    if (store->rank < store->workers)
        HR_TRY(client_create(store));
    return meet(store, digest_of(options, store), my_shard);
}

static void release(struct hr_store *store)
{
    client_destroy(store->client);
    hr_store_shard_destroy(store->shard);
    hr_partition_fini(&store->partition);
    free(store->label);
    free(store);
}

enum hr_status hr_store_open(struct hr_group *group, const struct hr_store_options *options,
                             struct hr_store **out)
{
    struct hr_store *store = calloc(1, sizeof *store);
    *out = NULL;
    if (!store)
        return hr_fail(HR_E_NOMEM, "no memory for a store");
    store->group = group;
    const enum hr_status status = set_up(store, options);
    if (status != HR_OK) {
        release(store);
        return status;
    }
    store->next = group->world->stores;
    group->world->stores = store;
    *out = store;
    return HR_OK;
}

/* --- serving --- */

static bool has_moved(void *arg)
{
    return hr_store_shard_over(arg) || store_advance(arg);
}

/* The deadline begins anew with every request. */
static enum hr_status serve(struct hr_store *store)
{
    const struct hr_member *member = &store->group->member;
    while (!hr_store_shard_over(store)) {
        const enum hr_status status =
            hr_wait_until(member->place.waiter, hr_member_bell_of(member, member->rank), has_moved,
                          store, "the workers of a store");
        if (status == HR_E_ABORTED)
            return hr_member_name_failure(member, "the workers of a store");
        HR_TRY(status);
    }
    return HR_OK;
}

enum hr_status hr_store_serve(struct hr_store *store)
{
    struct hr_control *control = store->group->member.place.control;
    const size_t rank = store->group->world->rank;
    if (!hr_store_serves(store))
        return hr_fail(HR_E_USAGE, "hr_store_serve: rank %zu is a worker%s", store->rank,
                       store->colocated ? ", and serves while it waits (placement colocated)" : "");
    hr_control_phase(control, rank, HR_PHASE_SERVE);
    const enum hr_status status = serve(store);
    hr_control_phase(control, rank, HR_PHASE_COMMUNICATE);
    return status;
}

static enum hr_status finish(struct hr_store *store)
{
    if (store->client) {
        HR_TRY(hr_store_wait_all(store));
        client_done(store);
    }
    return store->shard ? serve(store) : HR_OK;
}

enum hr_status hr_store_close(struct hr_store *store)
{
    if (!store)
        return HR_OK;
    const enum hr_status status = finish(store);
    struct hr_store **link = &store->group->world->stores;
    while (*link != store)
        link = &(*link)->next;
    *link = store->next;
    release(store);
    return status;
}

/* --- questions --- */

int hr_store_serves(const struct hr_store *store)
{
    return !store->client;
}

size_t hr_store_workers(const struct hr_store *store)
{
    return store->workers;
}

enum hr_status hr_store_find(const struct hr_store *store, const char *name, size_t *key)
{
    for (*key = 0; *key < store->partition.nkeys; ++*key)
        if (!strcmp(hr_store_key_name(store, *key), name))
            return HR_OK;
    return hr_fail(HR_E_USAGE, "hr_store_find: there is no key %s", name);
}

size_t hr_store_parts(const struct hr_store *store, size_t key)
{
    HR_ASSERT(key < store->partition.nkeys);
    return store->partition.of_key[key + 1] - store->partition.of_key[key];
}

struct hr_store_version hr_store_part_version(const struct hr_store *store, size_t key, size_t part)
{
    HR_ASSERT(store->client && part < hr_store_parts(store, key));
    return store->client->version[store->partition.of_key[key] + part];
}

void hr_store_balance(const struct hr_store *store, char *text, size_t size)
{
    hr_partition_balance(&store->partition, text, size);
}

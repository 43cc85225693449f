/* A store's life on one rank: opened by all together, served, closed by all. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/size.h"
#include "shm/pair.h"
#include "store/store.h"

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
        HR_TRY(hr_client_create(store));
    return meet(store, digest_of(options, store), my_shard);
}

static void release(struct hr_store *store)
{
    hr_client_destroy(store->client);
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
    return hr_store_shard_over(arg) || hr_store_advance(arg);
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
        hr_client_done(store);
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

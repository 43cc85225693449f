/* stores.h - a small store for tests: two keys, two servers, four ranks; and calls that wait. */
#ifndef HR_TESTS_SUPPORT_STORES_H
#define HR_TESTS_SUPPORT_STORES_H

#include "hogring/store.h"
#include "support/worlds.h"

enum { BIG = 5000 };

static const struct hr_store_key two_keys[] = {{"small", 10, NULL}, {"big", BIG, NULL}};

static const struct hr_store_options two_servers = {.keys = two_keys, .nkeys = 2, .servers = 2};

static const struct hr_world_options four_ranks = {
    .nranks = 4, .max_groups = 1, .arena_bytes = 1 << 20};

/* Serve and close, where that is this rank's part; false: it is a worker. */
static inline bool served(struct hr_store *store, enum hr_status *status)
{
    if (!hr_store_serves(store))
        return false;
    *status = hr_store_serve(store);
    if (*status == HR_OK)
        *status = hr_store_close(store);
    return true;
}

static inline enum hr_status push_now(struct hr_store *store, size_t key, const float *values)
{
    uint64_t ticket;
    HR_TRY(hr_store_push(store, key, values, &ticket));
    return hr_store_wait(store, ticket);
}

static inline enum hr_status pull_now(struct hr_store *store, size_t key, float *out)
{
    uint64_t ticket;
    HR_TRY(hr_store_pull(store, key, out, &ticket));
    return hr_store_wait(store, ticket);
}

#endif

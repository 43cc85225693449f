/* The rings between workers and shards. */
#include "shm/pair.h"
#include "store/store.h"

struct hr_ring *hr_store_requests(const struct hr_store *store, size_t worker, size_t shard)
{
    return hr_pair_ring(store->rings[shard], HR_STORE_OUTSTANDING, worker, HR_REQUESTS);
}

struct hr_ring *hr_store_replies(const struct hr_store *store, size_t worker, size_t shard)
{
    return hr_pair_ring(store->rings[shard], HR_STORE_OUTSTANDING, worker, HR_REPLIES);
}

void hr_store_send(const struct hr_store *store, struct hr_ring *ring, size_t to,
                   const struct hr_message *message)
{
    hr_pair_send(ring, hr_member_bell_of(&store->group->member, to), message);
}

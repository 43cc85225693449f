#include "server/server_packets.h"

#include "base/size.h"
#include "server/server.h"
#include "strategy/push_slice.h"

bool hr_server_packs(const struct hr_shared_state *shared, size_t worker, size_t shard)
{
    return hr_shared_is_apart(shared) && hr_compression_of(shared) &&
           !hr_homes_together(&shared->homes, worker, hr_shard_rank(shared, shard));
}

void hr_server_pack(const struct hr_worker *worker, size_t shard)
{
    const struct hr_shared_state *shared = worker->shared;
    struct hr_server_packet *packet = hr_server_packet_at(shared, worker->rank, shard);
    packet->bytes = hr_push_slice_pack(worker, hr_server_slice(shared, shard),
                                       hr_server_slice(shared, shard + 1), packet->values);
}

void hr_server_unpack(const struct hr_shared_state *shared, size_t worker, size_t shard)
{
    const struct hr_server_packet *packet = hr_server_packet_at(shared, worker, shard);
    hr_push_slice_unpack(shared, hr_server_slice(shared, shard), hr_server_slice(shared, shard + 1),
                         packet->values, packet->bytes, shared->grads[worker]);
}

/* server_packets.h - compressed pushes to servers on other machines: where their packets lie.
 *
 * On one machine a worker's gradient takes the values that a server would decode, and the server
 * reads them there. To another machine the slice's packet travels (strategy/push_slice.h): the
 * worker packs it, it is carried with the PUSH, and the server that takes the PUSH unpacks it into
 * its own machine's copy of that gradient.
 *
 * Memory:   hr_server_packet_at (server_memory.c); none where nothing is packed.
 * Threads:  a packet's writer is its worker, until it has sent the PUSH; then its server.
 * Test:     tests/unit/train/test_several_compress.c
 */
#ifndef HR_SERVER_SERVER_PACKETS_H
#define HR_SERVER_SERVER_PACKETS_H

#include "strategy/strategy.h"

/* Do this worker's pushes to that shard travel in packets? */
bool hr_server_packs(const struct hr_shared_state *shared, size_t worker, size_t shard);
/* Before the PUSH is sent: its packet. */
void hr_server_pack(const struct hr_worker *worker, size_t shard);
/* When the PUSH is taken: the shard's slice of that worker's gradient, here. */
void hr_server_unpack(const struct hr_shared_state *shared, size_t worker, size_t shard);

#endif

#include "server/push_parts.h"

#include "server/server_requests.h"
#include "strategy/overlap.h"

/* Room for one more, beside what a worker sends before it waits, and its DONE. */
static bool has_room(const struct hr_worker *worker, size_t shard)
{
    enum { OTHERS = 3 };
    struct hr_ring *ring = hr_server_requests(worker->shared, worker->rank, shard);
    const uint64_t then = hr_ring_committed_spsc(ring) + 1 + OTHERS;
    return hr_ring_released_spsc(ring, then - hr_server_slots(worker->shared));
}

/* Is it to a shard that does not find it in its memory? */
static bool travels(const struct hr_worker *worker, size_t shard, const struct hr_message *part)
{
    const struct hr_shared_state *shared = worker->shared;
    const size_t rank = hr_shard_rank(shared, shard);
    const struct hr_range share =
        hr_server_share(shared, shard, part->word[HR_PART_BEGIN], part->word[HR_PART_END]);
    return share.count && rank != worker->rank &&
           (shared->posted || !hr_homes_together(&shared->homes, worker->rank, rank));
}

static void send_part(const struct hr_worker *worker, size_t shard, const struct hr_message *part)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_range share =
        hr_server_share(shared, shard, part->word[HR_PART_BEGIN], part->word[HR_PART_END]);
    const struct hr_posted what = {.from = worker->rank,
                                   .to = shared->workers + shard,
                                   .bytes = sizeof *part + share.count * sizeof(float),
                                   .part = true};
    if (shared->posted)
        shared->posted(shared->posted_arg, &what);
    else
        hr_server_send(shared, worker->rank, &what, part);
}

void hr_push_parts_final(struct hr_worker *worker, size_t offset)
{
    const size_t end = hr_requests_left(worker), servers = worker->shared->servers;
    const struct hr_message part = {.kind = HR_PART,
                                    .from = (uint32_t)worker->rank,
                                    .word = {[HR_PART_BEGIN] = offset, [HR_PART_END] = end}};
    bool room = true;
    if (!hr_overlap_goes_ahead(worker->requests.least, offset, end))
        return;
    for (size_t s = 0; s < servers; s++)
        room &= !travels(worker, s, &part) || has_room(worker, s);
    for (size_t k = 0; room && k < servers; k++)
        if (travels(worker, hr_requests_shard_at(worker, k), &part))
            send_part(worker, hr_requests_shard_at(worker, k), &part);
    worker->requests.ahead += room ? end - offset : 0;
}

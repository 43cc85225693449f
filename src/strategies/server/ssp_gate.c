#include "server/ssp_gate.h"

static bool is_live(const struct hr_client *client)
{
    return !client->aside;
}

/* Adds nothing to the bound, which may be UINT64_MAX. */
static bool is_within(uint64_t fast, uint64_t slow, uint64_t bound)
{
    return fast <= slow || fast - slow <= bound;
}

uint64_t hr_ssp_slowest_clock(const struct hr_shard *shard)
{
    uint64_t slowest = UINT64_MAX;
    for (size_t w = 0; w < shard->shared->workers; w++)
        if (is_live(&shard->worker[w]) && shard->worker[w].clock < slowest)
            slowest = shard->worker[w].clock;
    return slowest;
}

bool hr_ssp_gate_is_open(const struct hr_shard *shard, size_t worker, uint64_t slowest)
{
    return is_within(shard->worker[worker].clock, slowest, shard->shared->staleness_bound);
}

void hr_ssp_gate_check(const struct hr_shard *shard, size_t reader)
{
#ifdef HR_DEBUG_CHECKS
    for (size_t w = 0; w < shard->shared->workers; w++)
        HR_ASSERT(!is_live(&shard->worker[w]) ||
                  is_within(shard->worker[reader].clock, shard->worker[w].applied,
                            shard->shared->staleness_bound));
#else
    (void)shard, (void)reader;
#endif
}

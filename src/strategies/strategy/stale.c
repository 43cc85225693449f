#include "strategy/stale.h"

#include <string.h>

static uint64_t bucket_of(uint64_t staleness)
{
    const uint64_t last = HR_STALENESS_BUCKETS - 1;
    return staleness < last ? staleness : last;
}

void hr_stale_count(struct hr_stale *stale, uint64_t staleness)
{
    const uint64_t bucket = bucket_of(staleness);
    stale->before = (struct hr_stale_before){stale->updates, stale->sum, stale->max, bucket,
                                             stale->bucket[bucket]};
    hr_fence_of_death();
    hr_atom32_store_release(&stale->counting, 1); /* partner: hr_stale_mend */
    hr_fence_of_death();
    stale->updates++;
    stale->sum += staleness;
    stale->bucket[bucket]++;
    if (staleness > stale->max)
        stale->max = staleness;
    hr_atom32_store_release(&stale->counting, 0); /* partner: hr_stale_mend */
    hr_fence_of_death();
}

void hr_stale_take_back(struct hr_stale *stale)
{
    const struct hr_stale_before *before = &stale->before;
    stale->updates = before->updates;
    stale->sum = before->sum;
    stale->max = before->max;
    stale->bucket[before->bucket] = before->in_bucket;
}

void hr_stale_mend(struct hr_stale *stale)
{
    if (!hr_atom32_load_acquire(&stale->counting)) /* partner: hr_stale_count */
        return;
    hr_stale_take_back(stale);
    hr_atom32_store_release(&stale->counting, 0); /* of the dead */
}

void hr_stale_copy(struct hr_stale *to, const struct hr_stale *from)
{
    const uint64_t most = to->max > from->max ? to->max : from->max;
    memcpy(to->bucket, from->bucket, (bucket_of(most) + 1) * sizeof *to->bucket);
    to->updates = from->updates;
    to->sum = from->sum;
    to->max = from->max;
    hr_atom32_store_release(&to->counting, 0); /* nobody is */
}

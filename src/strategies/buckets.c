#include "strategies/buckets.h"

#include "base/clock.h"
#include "strategy/shared.h"

enum { LOOK_NS = 20 * 1000 }; /* when to look again at a sum that rings another bell */

static void begin_next(struct hr_buckets *buckets)
{
    const size_t i = buckets->nbegun++, begin = buckets->begin[i];
    const size_t count = (i ? buckets->begin[i - 1] : buckets->params) - begin;
    float *at = buckets->grads + begin;
    if (buckets->apply)
        hr_member_reduce_apply_start(buckets->member, at, begin, count, buckets->apply,
                                     buckets->arg);
    else
        hr_member_all_reduce_start(buckets->member, at, begin, count);
    buckets->open = true;
    if (!buckets->bell)
        buckets->bell = hr_member_bell(buckets->member);
}

/* Begin what can be begun; false when there is something to wait for. */
static bool advance(struct hr_buckets *buckets)
{
    for (;;) {
        if (buckets->open && !hr_member_test(buckets->member))
            return false;
        if (buckets->open) {
            buckets->open = false;
            buckets->status = hr_member_finish(buckets->member);
        }
        if (buckets->status != HR_OK || buckets->nbegun == buckets->nfull)
            return true;
        begin_next(buckets);
    }
}

static bool compresses(const struct hr_buckets *buckets)
{
    return buckets->compressed.worker && buckets->compressed.worker->compressing;
}

void hr_buckets_final(struct hr_buckets *buckets, size_t offset)
{
    if (compresses(buckets))
        return;
    const size_t end = buckets->nfull ? buckets->begin[buckets->nfull - 1] : buckets->params;
    if (offset < end && (offset == 0 || end - offset >= buckets->least)) {
        HR_ASSERT(buckets->nfull < HR_BUCKETS_MAX);
        buckets->begin[buckets->nfull++] = offset;
    }
    advance(buckets);
}

bool hr_buckets_test(void *arg)
{
    struct hr_buckets *buckets = arg;
    if (compresses(buckets))
        return hr_compressed_sum_test(&buckets->compressed);
    if (advance(buckets))
        return true;
    if (hr_member_bell(buckets->member) != buckets->bell && buckets->member->place.waiter)
        buckets->member->place.waiter->alarm_ns = hr_clock_ns() + LOOK_NS;
    return false;
}

enum hr_status hr_buckets_finish(struct hr_buckets *buckets)
{
    const enum hr_status status =
        compresses(buckets) ? buckets->compressed.status : buckets->status;
    HR_ASSERT(!buckets->open);
    buckets->nfull = buckets->nbegun = 0;
    buckets->status = HR_OK;
    buckets->bell = NULL;
    return status;
}

enum hr_status hr_buckets_sum(struct hr_rank *rank, struct hr_buckets *buckets, uint64_t index)
{
    hr_buckets_final(buckets, 0);
    if (compresses(buckets)) {
        hr_compressed_sum_start(&buckets->compressed, index);
        buckets->bell = buckets->compressed.bell;
    }
    HR_TRY(hr_rank_barrier(rank, buckets->bell, hr_buckets_test, buckets));
    hr_count_traffic(rank->worker);
    return hr_buckets_finish(buckets);
}

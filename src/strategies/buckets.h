/* buckets.h - a gradient summed in pieces, begun while the rest is still being computed.
 *
 *     grads   [ first layer ... | ... | ... last layer ]      backward finishes from the right
 *                               <--------- final -------->
 *                                     <---- handed over -->   one bucket at a time
 *
 *   Story    backward says which gradients are final (nn/model.h, `done`). When a bucket is full
 *            and the sum before is over, its sum begins. Each call from backward advances it;
 *            backward never waits. Sums that are left finish when the worker asks for its next
 *            batch.
 *   Buckets  end where layers do: as soon as they hold `least` elements. So they follow from the
 *            model alone, and all ranks have the same ones.
 *   Order    that of the group's algorithm, which follows from an element's index in the whole
 *            gradient alone (plan/plan.h): the bits are those of one sum over all.
 *   --compress  the whole gradient is summed at once, by compressed_sum.h.
 *   Source   Li et al., "PyTorch Distributed", VLDB 2020 (gradient bucketing).
 *
 * Threads: belongs to its worker, like the member.
 */
#ifndef HR_STRATEGIES_BUCKETS_H
#define HR_STRATEGIES_BUCKETS_H

#include "strategies/compressed_sum.h"
#include "strategy/rank.h"

enum { HR_BUCKETS_MAX = 256 };

struct hr_buckets {
    struct hr_member *member;
    float *grads; /* (params) */
    size_t params;
    size_t least;      /* elements; SIZE_MAX: one bucket, begun when everything is final */
    hr_apply_fn apply; /* NULL: the sum is stored in grads */
    void *arg;
    /* Of the current gradient: bucket i is [begin[i], begin[i - 1]), begin[-1] being params. */
    size_t begin[HR_BUCKETS_MAX];
    size_t nfull, nbegun;
    bool open;                           /* bucket nbegun - 1 is being summed */
    struct hr_compressed_sum compressed; /* in place of buckets, where the run compresses */
    enum hr_status status;
    struct hr_bell *bell; /* what the worker parks on */
};

/* grads [offset, params) are final now. */
void hr_buckets_final(struct hr_buckets *buckets, size_t offset);
/* All of it is final, the gradient of batch `index`: wait for what is left of the sums. */
HR_CHECKED enum hr_status hr_buckets_sum(struct hr_rank *rank, struct hr_buckets *buckets,
                                         uint64_t index);

/* What that is made of, for who waits otherwise: make what progress can be made; true when all
 * buckets that are final are summed, or one failed. Then the status of the sums, and a new gradient
 * may begin: nothing of it is final. */
bool hr_buckets_test(void *buckets);
HR_CHECKED enum hr_status hr_buckets_finish(struct hr_buckets *buckets);

#endif

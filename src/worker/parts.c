#include "worker/parts.h"

#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "worker/gradient.h"

struct hr_batch hr_part_of(const struct hr_train_worker *self, const struct hr_batch *batch,
                           size_t i)
{
    const struct hr_worker *worker = &self->worker;
    const size_t n = self->parts, shards = self->job->micro_shards;
    const size_t count = shards ? shards : n, number = shards ? worker->seat * n + i : i;
    const struct hr_batch whole =
        shards ? *batch : hr_input_share_of(self->job, worker->seat, worker->seats, batch);
    const uint64_t begin = hr_split_begin(whole.count, count, number);
    const uint64_t end = hr_split_begin(whole.count, count, number + 1);
    return (struct hr_batch){whole.epoch, whole.first + begin, end - begin};
}

/* Part `i` is in: a + b is b + a, to the bit. */
static void carry(struct hr_part_sums *it, size_t i, float *grads, size_t params)
{
    size_t level = 0;
    for (; i >> level & 1; level++)
        hr_vec()->add(grads, it->sums[level], params);
    if (i + 1 < it->parts)
        memcpy(it->sums[level], grads, params * sizeof *grads);
    for (level++; i + 1 == it->parts && it->parts >> level; level++)
        if (it->parts >> level & 1)
            hr_vec()->add(grads, it->sums[level], params);
}

struct hr_batch_result hr_parts_gradient(struct hr_train_worker *self, const struct hr_batch *batch,
                                         size_t *samples)
{
    struct hr_worker *worker = &self->worker;
    struct hr_part_sums *sums = &self->buffers->parts;
    struct hr_batch_result sum = {0};
    *samples = 0;
    sums->parts = self->parts;
    for (size_t i = 0; i < sums->parts; i++) {
        const struct hr_batch part = hr_part_of(self, batch, i);
        const struct hr_batch_result result =
            hr_gradient_of(self, &part, HR_NOT_AHEAD, worker->grads);
        carry(sums, i, worker->grads, worker->shared->params);
        sum.loss_sum += result.loss_sum;
        sum.correct += result.correct;
        *samples += part.count;
    }
    return sum;
}

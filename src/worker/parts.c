#include "worker/parts.h"

#include "base/size.h"
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

struct hr_batch_result hr_parts_gradient(struct hr_train_worker *self, const struct hr_batch *batch,
                                         size_t *samples)
{
    struct hr_worker *worker = &self->worker;
    struct hr_batch_result sum = {0};
    *samples = 0;
    for (size_t i = 0; i < self->parts; i++) {
        const struct hr_batch part = hr_part_of(self, batch, i);
        const struct hr_batch_result result =
            hr_gradient_of(self, &part, HR_NOT_AHEAD, worker->grads);
        hr_tree_sums_carry(&self->buffers->sums, i, self->parts, worker->grads);
        sum.loss_sum += result.loss_sum;
        sum.correct += result.correct;
        *samples += part.count;
    }
    return sum;
}

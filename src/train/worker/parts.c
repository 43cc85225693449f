#include "worker/parts.h"

#include "worker/gradient.h"

struct hr_batch hr_part_of(const struct hr_train_worker *self, const struct hr_batch *batch,
                           size_t i)
{
    const struct hr_worker *worker = &self->worker;
    /* Larger pieces come first: those of a share of micro-shards are the micro-shards. */
    const struct hr_batch share = hr_input_share_of(self->job, worker->seat, worker->seats, batch);
    return hr_input_part(&share, self->parts, i);
}

struct hr_batch_result hr_parts_gradient(struct hr_train_worker *self, uint64_t index,
                                         size_t *samples)
{
    struct hr_worker *worker = &self->worker;
    const struct hr_batch batch = hr_batch_schedule_batch(&worker->shared->schedule, index);
    struct hr_batch_result sum = {0};
    *samples = 0;
    for (size_t i = 0; i < self->parts; i++) {
        const struct hr_batch part = hr_part_of(self, &batch, i);
        const struct hr_prefetch_key key = {index, i, self->parts, worker->seat, worker->seats};
        const struct hr_batch_result result = hr_gradient_of(self, &part, &key, worker->grads);
        hr_tree_sums_carry(&self->buffers->sums, i, self->parts, worker->grads);
        sum.loss_sum += result.loss_sum;
        sum.correct += result.correct;
        *samples += part.count;
    }
    return sum;
}

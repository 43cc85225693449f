#include "worker/count.h"

void hr_count_gradient(struct hr_train_worker *self, uint64_t index, size_t samples,
                       double loss_sum)
{
    struct hr_worker *worker = &self->worker;
    hr_stats_begin(worker->stats, index);
    worker->stats->steps = ++worker->steps;
    worker->samples = samples;
    worker->epoch_loss = worker->stats->epoch_loss;
    worker->stats->samples += samples;
    worker->stats->epoch_samples += samples;
    worker->stats->epoch_loss += loss_sum;
    if (self->at_the_start) {
        worker->stats->first_samples = samples;
        worker->stats->first_loss = loss_sum;
    }
    hr_atom64_store_relaxed(&worker->stats->seen, worker->stats->samples);
    hr_stats_end(worker->stats);
    hr_tell_gradient(self, index, samples, loss_sum);
}

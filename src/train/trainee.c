/* A worker's own work: which samples, which gradient, which part of an evaluation. */
#include <math.h>
#include <stdlib.h>

#include "base/size.h"
#include "nn/gemm.h"
#include "train/run.h"

static size_t largest_batch(const struct hr_run *run)
{
    const size_t batch = run->batch_size;
    return batch > HR_EVAL_BLOCK ? batch : HR_EVAL_BLOCK;
}

static enum hr_status start_worker(struct hr_trainee *trainee, size_t rank)
{
    struct hr_run *run = trainee->run;
    struct hr_world *world = &run->world;
    const struct hr_place place = {.group = world->group,
                                   .segment = world->segment,
                                   .control = world->control,
                                   .waiter = &trainee->waiter};
    trainee->worker = (struct hr_worker){
        .world = world,
        .rank = rank,
        .waiter = &trainee->waiter,
        .stats = &world->stats[rank],
        .weights = world->weights[rank],
        .grads = world->grads[rank],
        .index = world->course.first,
        .cut = hr_course_next_cut(&world->course, world->course.first),
    };
    HR_TRY(hr_member_init(&trainee->worker.member, &world->group_options, &place, rank));
    const enum hr_status status = world->strategy->start(&trainee->worker);
    if (status != HR_OK)
        hr_member_fini(&trainee->worker.member);
    return status;
}

enum hr_status hr_trainee_start(struct hr_trainee *trainee, struct hr_run *run, size_t rank)
{
    enum hr_status status;
    *trainee = (struct hr_trainee){
        .run = run,
        .waiter = {.abort = &run->world.control->abort,
                   .spin_ns = run->spin_ns,
                   .yield_ns = run->yield_ns,
                   .timeout_ns = run->timeout_ns},
        .sampler_epoch = UINT64_MAX,
    };
    hr_kernels_init_process();
    trainee->samples = malloc(largest_batch(run) * sizeof *trainee->samples);
    if (!trainee->samples)
        return hr_fail(HR_E_NOMEM, "no memory for a batch of %zu samples", largest_batch(run));
    const struct hr_workspace_options options = {.seed = run->options->seed,
                                                 .threads = run->options->threads_per_worker};
    HR_TRY_GOTO(hr_workspace_create(run->model, largest_batch(run), &options, &trainee->workspace),
                status, out);
    HR_TRY_GOTO(start_worker(trainee, rank), status, out);
    HR_TRY_GOTO(hr_repro_start(trainee), status, out);
    return HR_OK;
out:
    hr_workspace_destroy(trainee->workspace);
    free(trainee->samples);
    return status;
}

void hr_trainee_stop(struct hr_trainee *trainee)
{
    hr_repro_stop(trainee);
    trainee->run->world.strategy->stop(&trainee->worker);
    hr_member_fini(&trainee->worker.member);
    hr_workspace_destroy(trainee->workspace);
    free(trainee->samples);
}

/* This worker's part of a batch: all of it, or its share of a global batch. Shares differ by at
 * most one sample, and may be empty. */
static struct hr_batch share_of(const struct hr_worker *worker, struct hr_batch batch)
{
    const struct hr_world *world = worker->world;
    if (!world->strategy->synchronous)
        return batch;
    const uint64_t begin = hr_cut(batch.count, world->workers, worker->rank);
    const uint64_t end = hr_cut(batch.count, world->workers, worker->rank + 1);
    return (struct hr_batch){batch.epoch, batch.first + begin, end - begin};
}

static void gather(struct hr_trainee *trainee, const struct hr_batch *share)
{
    const struct hr_dataset *dataset = trainee->run->dataset;
    if (share->epoch != trainee->sampler_epoch) {
        trainee->sampler =
            hr_sampler_of(trainee->run->options->seed, share->epoch, dataset->train.count);
        trainee->sampler_epoch = share->epoch;
    }
    hr_sampler_fill(&trainee->sampler, share->first, share->count, trainee->samples);
    hr_dataset_gather(dataset, &dataset->train, trainee->samples, share->count,
                      hr_workspace_input(trainee->workspace),
                      hr_workspace_labels(trainee->workspace));
    hr_workspace_draw(trainee->workspace, share->epoch, trainee->samples);
}

struct hr_batch_result hr_trainee_differentiate(struct hr_trainee *trainee,
                                                const struct hr_batch *piece, float *grads)
{
    gather(trainee, piece);
    return hr_model_gradient(trainee->run->model, trainee->workspace, trainee->worker.weights,
                             piece->count, grads);
}

enum hr_status hr_trainee_gradient(struct hr_trainee *trainee, const struct hr_task *task)
{
    struct hr_worker *worker = &trainee->worker;
    const struct hr_batch batch = hr_course_batch(&worker->world->course, task->index);
    const struct hr_batch share = share_of(worker, batch);
    size_t samples = share.count;
    const struct hr_batch_result result =
        trainee->repro.shards ? hr_repro_gradient(trainee, &batch, &samples)
                              : hr_trainee_differentiate(trainee, &share, worker->grads);
    if (!isfinite(result.loss_sum))
        return hr_fail(HR_E_DIVERGED,
                       "the loss is not finite (%g) in epoch %llu; a smaller --lr may help",
                       result.loss_sum, (unsigned long long)batch.epoch + 1);
    worker->samples = samples;
    worker->stats->samples += samples;
    worker->stats->epoch_samples += samples;
    worker->stats->epoch_loss += result.loss_sum;
    hr_atom64_store_relaxed(&worker->stats->seen, worker->stats->samples);
    return HR_OK;
}

void hr_trainee_evaluate(struct hr_trainee *trainee)
{
    const struct hr_run *run = trainee->run;
    const struct hr_split *test = &run->dataset->test;
    for (size_t block = trainee->worker.rank; block < run->neval; block += run->world.workers) {
        const size_t first = block * HR_EVAL_BLOCK;
        const size_t count = hr_min_size(HR_EVAL_BLOCK, test->count - first);
        for (size_t i = 0; i < count; i++)
            trainee->samples[i] = (uint32_t)(first + i);
        hr_dataset_gather(run->dataset, test, trainee->samples, count,
                          hr_workspace_input(trainee->workspace),
                          hr_workspace_labels(trainee->workspace));
        const struct hr_batch_result result =
            hr_model_evaluate(run->model, trainee->workspace, run->world.snapshot.weights, count);
        run->cells[block] = (struct hr_eval_cell){result.loss_sum, result.correct};
    }
}

#include "worker/input.h"

#include <stdlib.h>

#include "base/size.h"
#include "worker/job.h"

/* OpenBLAS's AVX2 kernels take rows by twelve: pieces of whole dozens give the bits of whole
 * blocks. */
size_t hr_input_eval_rows(const struct hr_dataset *dataset)
{
    enum { FLOATS = 2 << 20, DOZEN = 12 };
    const size_t fit = FLOATS / hr_shape_elems(dataset->shape);
    if (dataset->features != HR_FEATURES_SPARSE || fit >= HR_EVAL_BLOCK)
        return HR_EVAL_BLOCK;
    return fit >= DOZEN ? fit / DOZEN * DOZEN : fit ? fit : 1;
}

static size_t plane_bytes(const struct hr_train_job *job)
{
    return job->dataset->shape.height * job->dataset->shape.width * sizeof(float);
}

size_t hr_input_bytes(const struct hr_train_job *job, size_t max_samples)
{
    return max_samples * sizeof(uint32_t) + plane_bytes(job);
}

enum hr_status hr_input_init(struct hr_input *input, const struct hr_train_job *job,
                             size_t max_samples)
{
    *input = (struct hr_input){.job = job, .sampler_pass = UINT64_MAX};
    input->samples = malloc(max_samples * sizeof *input->samples);
    input->plane = malloc(plane_bytes(job));
    if (!input->samples || !input->plane) {
        hr_input_fini(input);
        return hr_fail(HR_E_NOMEM, "no memory for a batch of %zu samples", max_samples);
    }
    return HR_OK;
}

void hr_input_fini(struct hr_input *input)
{
    free(input->samples);
    free(input->plane);
    input->samples = NULL;
    input->plane = NULL;
}

struct hr_batch hr_input_share_of(const struct hr_train_job *job, size_t seat, size_t seats,
                                  const struct hr_batch *batch)
{
    if (!job->shared->strategy->shares_batch)
        return *batch;
    const size_t each = job->micro_shards ? job->micro_shards / seats : 1, pieces = each * seats;
    const uint64_t begin = hr_split_begin(batch->count, pieces, each * seat);
    const uint64_t end = hr_split_begin(batch->count, pieces, each * (seat + 1));
    return (struct hr_batch){batch->epoch, batch->first + begin, end - begin};
}

struct hr_batch hr_input_share(const struct hr_train_job *job, size_t seat, size_t seats,
                               uint64_t index)
{
    const struct hr_batch batch = hr_batch_schedule_batch(&job->shared->schedule, index);
    return hr_input_share_of(job, seat, seats, &batch);
}

static void decode_piece(struct hr_input *input, const struct hr_piece *piece, uint32_t *samples,
                         float *x, uint32_t *y)
{
    const struct hr_train_job *job = input->job;
    const struct hr_dataset *dataset = job->dataset;
    const struct hr_augment_key key = {job->options->seed, piece->pass, samples};
    if (piece->pass != input->sampler_pass) {
        input->sampler = hr_sampler_of(job->options->seed, piece->pass, dataset->train.count);
        input->sampler_pass = piece->pass;
    }
    hr_sampler_fill(&input->sampler, piece->first, piece->count, samples);
    hr_dataset_gather(dataset, &dataset->train, samples, piece->count, x, y);
    hr_augment_apply(&job->augment, dataset->shape, &key, piece->count, x, input->plane);
}

void hr_input_decode(struct hr_input *input, const struct hr_batch *part, float *x, uint32_t *y)
{
    const struct hr_train_job *job = input->job;
    const size_t features = hr_shape_elems(job->dataset->shape);
    for (uint64_t done = 0; done < part->count;) {
        const struct hr_piece piece = hr_batch_schedule_piece(&job->shared->schedule, part, done);
        input->pass = done ? input->pass : piece.pass;
        decode_piece(input, &piece, input->samples + done, x + done * features, y + done);
        done += piece.count;
    }
    hr_scaling_apply(&job->scaling, job->dataset->shape, part->count, x);
}

void hr_input_decode_test(struct hr_input *input, size_t first, size_t n, float *x, uint32_t *y)
{
    const struct hr_dataset *dataset = input->job->dataset;
    for (size_t i = 0; i < n; i++)
        input->samples[i] = (uint32_t)(first + i);
    hr_dataset_gather(dataset, &dataset->test, input->samples, n, x, y);
    hr_scaling_apply(&input->job->scaling, dataset->shape, n, x);
}

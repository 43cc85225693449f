#include "worker/input.h"

#include <stdlib.h>

#include "base/size.h"
#include "data/ahead.h"
#include "worker/job.h"

/* OpenBLAS's AVX2 kernels take rows by twelve: pieces of whole dozens give the bits of whole
 * blocks. */
size_t hr_input_eval_rows(const struct hr_dataset *dataset)
{
    enum { FLOATS = 2 << 20, DOZEN = 12 };
    const size_t fit = FLOATS / hr_shape_elems(dataset->shape);
    const bool rows = dataset->shape.height * dataset->shape.width == 1;
    if ((dataset->features != HR_FEATURES_SPARSE && !rows) || fit >= HR_EVAL_BLOCK)
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
    *input = (struct hr_input){.job = job, .order_pass = UINT64_MAX};
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

struct hr_batch hr_input_part(const struct hr_batch *share, size_t parts, size_t i)
{
    const uint64_t begin = hr_split_begin(share->count, parts, i);
    const uint64_t end = hr_split_begin(share->count, parts, i + 1);
    return (struct hr_batch){share->epoch, share->first + begin, end - begin};
}

static struct hr_order order_of_pass(const struct hr_train_job *job, uint64_t pass)
{
    return hr_order_of(job->options->seed, pass, job->dataset->train.count,
                       job->options->shuffle_window);
}

/* While part of a window is decoded, the same part of the next one is asked for: of samples as they
 * lie, whatever order they will be taken in. All workers together ask for all of it. */
static void ask_for_next_window(struct hr_input *input, const struct hr_window *now, size_t from,
                                size_t n)
{
    const struct hr_train_job *job = input->job;
    const struct hr_split *train = &job->dataset->train;
    const bool last = now->first + now->count == input->order.count;
    const struct hr_order order = last ? order_of_pass(job, input->order_pass + 1) : input->order;
    const struct hr_window next = hr_order_window(&order, last ? 0 : now->first + now->count);
    const uint64_t begin = (uint64_t)from * next.count / now->count;
    const uint64_t end = (uint64_t)(from + n) * next.count / now->count;
    if (!input->asked) /* what it begins with, nobody has asked for */
        hr_ahead_ask(job->dataset, train, now->sample, now->count, true);
    input->asked = true;
    hr_ahead_ask(job->dataset, train, (next.sample + begin) % order.count, end - begin, from == 0);
}

/* Scattered samples, so many batches before they are wanted: the disk has several at a time. */
static void ask_for_scattered(const struct hr_input *input, const struct hr_piece *piece)
{
    enum { BATCHES = 8 };
    const struct hr_train_job *job = input->job;
    const uint64_t ahead = BATCHES * job->global_batch;
    for (uint64_t i = 0; i < piece->count && piece->first + ahead + i < input->order.count; i++) {
        uint32_t sample;
        hr_order_fill(&input->order, piece->first + ahead + i, 1, &sample);
        hr_ahead_ask_one(job->dataset, &job->dataset->train, sample);
    }
}

static void ask_ahead(struct hr_input *input, const struct hr_piece *piece)
{
    if (input->job->reading == HR_READS_SCATTERED) {
        ask_for_scattered(input, piece);
        return;
    }
    for (uint64_t done = 0; done < piece->count;) {
        const struct hr_window now = hr_order_window(&input->order, piece->first + done);
        const size_t from = piece->first + done - now.first;
        const size_t here = hr_min_size(piece->count - done, now.count - from);
        ask_for_next_window(input, &now, from, here);
        done += here;
    }
}

static void decode_piece(struct hr_input *input, const struct hr_piece *piece, uint32_t *samples,
                         float *x, uint32_t *y)
{
    const struct hr_train_job *job = input->job;
    const struct hr_dataset *dataset = job->dataset;
    const struct hr_augment_key key = {job->options->seed, piece->pass, samples};
    if (piece->pass != input->order_pass) {
        input->order = order_of_pass(job, piece->pass);
        input->order_pass = piece->pass;
    }
    if (job->reading != HR_READS_MEMORY)
        ask_ahead(input, piece);
    hr_order_fill(&input->order, piece->first, piece->count, samples);
    hr_scaling_gather(&job->scaling, dataset, &dataset->train, samples, piece->count, x, y);
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
    hr_scaling_gather(&input->job->scaling, dataset, &dataset->test, input->samples, n, x, y);
    hr_scaling_apply(&input->job->scaling, dataset->shape, n, x);
}

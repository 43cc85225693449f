#include "worker/input.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/size.h"
#include "data/ahead.h"
#include "data/tokens.h"
#include "shm/atom.h"
#include "worker/job.h"

/* OpenBLAS's AVX2 kernels take rows by twelve: pieces of whole dozens give the bits of whole
 * blocks. */
size_t hr_input_eval_rows(const struct hr_dataset *dataset)
{
    enum { FLOATS = 2 << 20, OUTPUTS = FLOATS / 8, DOZEN = 12 };
    const size_t elems = hr_shape_elems(dataset->shape);
    const bool text = dataset->features == HR_FEATURES_TOKENS; /* whose layers are many and wide */
    const size_t fit = text ? OUTPUTS / (elems * dataset->classes) : FLOATS / elems;
    const bool rows = text || dataset->shape.height * dataset->shape.width == 1;
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

struct hr_batch hr_input_share(const struct hr_train_job *job, size_t group_rank, size_t group_size,
                               uint64_t index)
{
    const struct hr_batch batch = hr_batch_schedule_batch(&job->shared->schedule, index);
    if (!job->shared->strategy->shares_batch)
        return batch;
    const size_t each = job->micro_shards ? job->micro_shards / group_size : 1,
                 pieces = each * group_size;
    const uint64_t begin = hr_split_begin(batch.count, pieces, each * group_rank);
    const uint64_t end = hr_split_begin(batch.count, pieces, each * (group_rank + 1));
    return (struct hr_batch){batch.epoch, batch.first + begin, end - begin};
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
static void ask_for_next_window(struct hr_input *input, const struct hr_order_window *now,
                                size_t from, size_t n)
{
    const struct hr_train_job *job = input->job;
    const struct hr_split *train = &job->dataset->train;
    const bool last = now->first + now->count == input->order.count;
    const struct hr_order order = last ? order_of_pass(job, input->order_pass + 1) : input->order;
    const struct hr_order_window next = hr_order_window(&order, last ? 0 : now->first + now->count);
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
        const struct hr_order_window now = hr_order_window(&input->order, piece->first + done);
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
    if (dataset->features == HR_FEATURES_TOKENS) {
        hr_tokens_gather(&dataset->tokens, &dataset->train, samples, piece->count,
                         hr_tokens_offset(&dataset->tokens, job->options->seed, piece->pass), x, y);
        return;
    }
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

struct hr_prefetch {
    struct hr_prefetch_options options;
    struct hr_input input;       /* the thread's */
    struct hr_prefetched *slots; /* (nslots) owned, and what they point to */
    size_t nslots;
    pthread_t thread;
    pthread_mutex_t lock;       /* over all that follows */
    pthread_cond_t room;        /* a slot is free, `aim` was changed, or the run is over */
    pthread_cond_t made;        /* a batch was decoded */
    uint64_t oldest, newest;    /* batches [oldest, newest) stand in slots, counted modulo nslots */
    struct hr_prefetch_key aim; /* what is decoded now, or next */
    bool in_hand;               /* the worker computes from the oldest */
    bool busy;                  /* slot `newest` is being decoded */
    bool stale;                 /* that batch is no longer wanted */
    bool over;
};

static struct hr_prefetched *slot_of(struct hr_prefetch *p, uint64_t number)
{
    return &p->slots[number % p->nslots];
}

/* --- the thread --- */

static bool may_decode(const struct hr_prefetch *p)
{
    return p->aim.index < p->options.end && p->newest - p->oldest < p->nslots;
}

static bool is_same(const struct hr_prefetch_key *a, const struct hr_prefetch_key *b)
{
    return a->index == b->index && a->part == b->part && a->parts == b->parts &&
           a->group_rank == b->group_rank && a->group_size == b->group_size;
}

/* What is wanted behind that, most likely. */
static struct hr_prefetch_key behind(struct hr_prefetch_key key, uint64_t stride)
{
    const bool last = key.part + 1 == key.parts;
    key.part = last ? 0 : key.part + 1;
    key.index += last ? stride : 0;
    return key;
}

/* --inject load: input is as slow for this thread as it would be for its worker. */
static void sleep_on(struct hr_prefetch *p)
{
    const int64_t ns =
        hr_inject_load_ps(&p->options.job->conditions.inject, p->options.rank) / 1000;
    const int64_t until = hr_clock_own_ns() + ns;
    const struct timespec end = {until / HR_NS_PER_SECOND, until % HR_NS_PER_SECOND};
    while (ns > 0 && !p->over && !p->stale && hr_clock_own_ns() < until)
        pthread_cond_clockwait(&p->room, &p->lock, CLOCK_MONOTONIC, &end);
}

/* Decode `aim`; the lock is held except while decoding. */
static void decode_next(struct hr_prefetch *p)
{
    struct hr_prefetched *slot = slot_of(p, p->newest);
    slot->key = p->aim;
    p->busy = true;
    pthread_mutex_unlock(&p->lock);
    const struct hr_prefetch_key *key = &slot->key;
    const struct hr_batch share =
        hr_input_share(p->options.job, key->group_rank, key->group_size, key->index);
    const struct hr_batch part = hr_input_part(&share, key->parts, key->part);
    hr_input_decode(&p->input, &part, slot->x, slot->y);
    memcpy(slot->samples, p->input.samples, part.count * sizeof *slot->samples);
    slot->pass = p->input.pass;
    pthread_mutex_lock(&p->lock);
    if (!key->part)
        sleep_on(p);
    p->busy = false;
    if (!p->stale) {
        p->newest++;
        p->aim = behind(p->aim, p->options.stride);
    }
    p->stale = false;
    pthread_cond_signal(&p->made);
}

static void *thread_main(void *arg)
{
    struct hr_prefetch *p = arg;
    hr_fp_flush_denormals(); /* as in every thread that computes */
    pthread_mutex_lock(&p->lock);
    while (!p->over) {
        if (may_decode(p))
            decode_next(p);
        else
            pthread_cond_wait(&p->room, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* --- the worker --- */

/* Drop all that is decoded or being decoded; continue behind `key`. */
static void aim_behind(struct hr_prefetch *p, const struct hr_prefetch_key *key)
{
    p->oldest = p->newest;
    p->stale = p->busy;
    p->aim = behind(*key, p->options.stride);
}

const struct hr_prefetched *hr_prefetch_take(struct hr_prefetch *p,
                                             const struct hr_prefetch_key *key)
{
    pthread_mutex_lock(&p->lock);
    p->oldest += p->in_hand;
    while (p->oldest < p->newest && !is_same(&slot_of(p, p->oldest)->key, key))
        p->oldest++;
    /* Not begun: the worker decodes it sooner itself than by waiting. */
    while (p->oldest == p->newest && p->busy && !p->stale && is_same(&p->aim, key))
        pthread_cond_wait(&p->made, &p->lock);
    p->in_hand = p->oldest < p->newest;
    if (!p->in_hand)
        aim_behind(p, key);
    const struct hr_prefetched *taken = p->in_hand ? slot_of(p, p->oldest) : NULL;
    pthread_cond_signal(&p->room);
    pthread_mutex_unlock(&p->lock);
    return taken;
}

size_t hr_prefetch_ready(struct hr_prefetch *p)
{
    pthread_mutex_lock(&p->lock);
    const size_t ready = p->newest - p->oldest - p->in_hand;
    pthread_mutex_unlock(&p->lock);
    return ready;
}

/* --- its life --- */

static size_t floats_bytes(const struct hr_train_job *job, size_t samples)
{
    return hr_round_up(samples * hr_shape_elems(job->dataset->shape) * sizeof(float), HR_LINE);
}

size_t hr_prefetch_samples(const struct hr_train_job *job)
{
    return job->pipeline ? hr_train_job_share(job) : job->piece;
}

size_t hr_prefetch_bytes(const struct hr_train_job *job, size_t ahead)
{
    const size_t samples = hr_prefetch_samples(job);
    return hr_input_bytes(job, samples) +
           (ahead + 1) * (floats_bytes(job, samples) + 2 * samples * sizeof(uint32_t));
}

static enum hr_status take_memory(struct hr_prefetch *p)
{
    const struct hr_prefetch_options *o = &p->options;
    const size_t bytes = floats_bytes(o->job, o->max_samples);
    HR_TRY(hr_input_init(&p->input, o->job, o->max_samples));
    p->slots = calloc(p->nslots, sizeof *p->slots);
    for (size_t i = 0; p->slots && i < p->nslots; i++) {
        struct hr_prefetched *slot = &p->slots[i];
        slot->x = aligned_alloc(HR_LINE, bytes);
        slot->y = malloc(o->max_samples * sizeof *slot->y);
        slot->samples = malloc(o->max_samples * sizeof *slot->samples);
        if (!slot->x || !slot->y || !slot->samples)
            return hr_fail(HR_E_NOMEM, "--prefetch %zu: no memory for batches of %zu bytes",
                           o->ahead, bytes);
    }
    return p->slots ? HR_OK : hr_fail(HR_E_NOMEM, "--prefetch %zu: no memory", o->ahead);
}

static void give_memory_back(struct hr_prefetch *p)
{
    for (size_t i = 0; p->slots && i < p->nslots; i++) {
        free(p->slots[i].x);
        free(p->slots[i].y);
        free(p->slots[i].samples);
    }
    free(p->slots);
    hr_input_fini(&p->input);
    free(p);
}

enum hr_status hr_prefetch_start(const struct hr_prefetch_options *options,
                                 struct hr_prefetch **out)
{
    struct hr_prefetch *p = calloc(1, sizeof *p);
    if (!p)
        return hr_fail(HR_E_NOMEM, "--prefetch %zu: no memory", options->ahead);
    p->options = *options;
    p->nslots = options->ahead + 1;
    p->aim = (struct hr_prefetch_key){options->first, 0, options->parts, options->rank,
                                      options->job->shared->workers};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->room, NULL);
    pthread_cond_init(&p->made, NULL);
    enum hr_status status = take_memory(p);
    if (status == HR_OK && (errno = pthread_create(&p->thread, NULL, thread_main, p)) != 0)
        status = hr_fail_errno(HR_E_NOMEM, "--prefetch %zu: cannot start a thread", options->ahead);
    if (status != HR_OK)
        give_memory_back(p);
    else
        *out = p;
    return status;
}

void hr_prefetch_stop(struct hr_prefetch *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->over = true;
    pthread_cond_signal(&p->room);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->made);
    pthread_cond_destroy(&p->room);
    pthread_mutex_destroy(&p->lock);
    give_memory_back(p);
}

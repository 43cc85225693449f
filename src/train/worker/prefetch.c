#include "worker/prefetch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/size.h"
#include "shm/atom.h"
#include "worker/job.h"

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
           a->seat == b->seat && a->seats == b->seats;
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
    const int64_t ns = hr_conditions_load_ps(p->options.job, p->options.rank) / 1000;
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
    const struct hr_batch share = hr_input_share(p->options.job, key->seat, key->seats, key->index);
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

#include "worker/compute_buffers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/size.h"
#include "shm/control.h"
#include "strategy/shared.h"
#include "worker/job.h"
#include "worker/outcome.h"

/* That the whole model computes at once. */
static size_t largest_batch(const struct hr_train_job *job)
{
    const size_t batch = job->pipeline ? 0 : job->piece, rows = hr_input_eval_rows(job->dataset);
    return batch > rows ? batch : rows;
}

static size_t largest_input(const struct hr_train_job *job)
{
    const size_t rows = hr_input_eval_rows(job->dataset);
    return job->piece > rows ? job->piece : rows;
}

static struct hr_workspace_options workspace_options(const struct hr_train_job *job)
{
    return (struct hr_workspace_options){.seed = job->options->seed,
                                         .threads = job->options->threads_per_worker};
}

/* Of what computes gradients; 0: more than can be counted. */
static size_t training_bytes(const struct hr_train_job *job)
{
    const struct hr_workspace_options options = workspace_options(job);
    if (!job->pipeline)
        return hr_workspace_bytes(job->model, job->piece, &options);
    return job->serial ? hr_crew_bytes(job->pipeline) : hr_stage_bytes(job->pipeline, 0);
}

size_t hr_compute_buffers_bytes(const struct hr_train_job *job, size_t *for_evaluation)
{
    const struct hr_workspace_options options = workspace_options(job);
    const size_t whole = hr_workspace_bytes(job->model, largest_batch(job), &options);
    const size_t training = training_bytes(job);
    const size_t parts = job->pipeline ? 0 : job->most_parts;
    const size_t sums = hr_tree_sums_bytes(parts, job->shared->params);
    *for_evaluation = whole - (job->pipeline ? 0 : training);
    if (whole == 0 || training == 0)
        return SIZE_MAX;
    return training + *for_evaluation + hr_input_bytes(job, largest_input(job)) + sums;
}

/* Backward has finished grads [offset, params): with --overlap they are summed meanwhile. */
static void gradients_done(void *arg, size_t offset, size_t count)
{
    const struct hr_compute_buffers *buffers = arg;
    (void)count;
    hr_hand_over(buffers->borrower, offset);
}

enum hr_status hr_compute_buffers_start(struct hr_compute_buffers *buffers,
                                        const struct hr_train_job *job)
{
    const bool overlaps = hr_train_job_overlaps(job);
    struct hr_workspace_options options = workspace_options(job);
    options.done = overlaps ? gradients_done : NULL;
    options.arg = buffers;
    enum hr_status status;
    *buffers = (struct hr_compute_buffers){0};
    HR_TRY(hr_input_init(&buffers->input, job, largest_input(job)));
    HR_TRY_GOTO(hr_workspace_create(job->model, largest_batch(job), &options, &buffers->workspace),
                status, out);
    if (!job->pipeline)
        status = hr_tree_sums_init(&buffers->sums, job->most_parts, job->shared->params);
    else if (job->serial)
        status = hr_crew_start(&buffers->crew, job->pipeline);
    else
        status = hr_stage_start(&buffers->lead, job->pipeline, 0);
    HR_TRY_GOTO(status, status, out);
    return HR_OK;
out:
    hr_compute_buffers_stop(buffers);
    return status;
}

void hr_compute_buffers_stop(struct hr_compute_buffers *buffers)
{
    hr_tree_sums_fini(&buffers->sums);
    hr_stage_stop(&buffers->lead);
    hr_crew_stop(&buffers->crew);
    hr_workspace_destroy(buffers->workspace);
    hr_input_fini(&buffers->input);
    *buffers = (struct hr_compute_buffers){0};
}

/* About as long as the kernel lets a thread run where several want a processor. */
enum { SLICE_NS = 3 * 1000 * 1000 };

struct hr_buffer_pool {
    pthread_mutex_t lock;               /* over all that follows, held for a few instructions */
    struct hr_compute_buffers *buffers; /* (size) owned */
    struct hr_compute_buffers *free[HR_MAX_RANKS];
    size_t size, nfree;
    size_t queue[HR_MAX_RANKS];     /* ranks that wait, first come first */
    int64_t since_ns[HR_MAX_RANKS]; /* each of them, as queue */
    int64_t
        turn_ns[HR_MAX_RANKS]; /* when the turn of a rank began that waited, or found no queue */
    size_t nqueue;
    struct hr_control *control;
    struct hr_atom64 beat; /* written under the lock; partner: waiters */
};

size_t hr_buffer_pool_size(const struct hr_train_job *job)
{
    const size_t workers = hr_workers_here(job->shared), processors = hr_cpus_allowed();
    const bool waits_inside = job->pipeline || hr_train_job_overlaps(job);
    const bool shares = job->launch == HR_LAUNCH_THREAD && !job->serial && !waits_inside;
    return shares ? hr_min_size(workers, processors) : workers;
}

enum hr_status hr_buffer_pool_start(const struct hr_train_job *job, struct hr_buffer_pool **out)
{
    const size_t size = hr_buffer_pool_size(job);
    *out = NULL;
    if (size == hr_workers_here(job->shared))
        return HR_OK;
    struct hr_buffer_pool *pool = calloc(1, sizeof *pool);
    if (!pool || !(pool->buffers = calloc(size, sizeof *pool->buffers))) {
        free(pool);
        return hr_fail(HR_E_NOMEM, "no memory for %zu that compute", size);
    }
    pool->control = job->shared->control;
    pthread_mutex_init(&pool->lock, NULL);
    for (; pool->size < size; pool->size++) {
        const enum hr_status status = hr_compute_buffers_start(&pool->buffers[pool->size], job);
        if (status != HR_OK) {
            hr_buffer_pool_stop(pool);
            return status;
        }
        pool->free[pool->nfree++] = &pool->buffers[pool->size];
    }
    *out = pool;
    return HR_OK;
}

void hr_buffer_pool_stop(struct hr_buffer_pool *pool)
{
    if (!pool)
        return;
    for (size_t i = 0; i < pool->size; i++)
        hr_compute_buffers_stop(&pool->buffers[i]);
    pthread_mutex_destroy(&pool->lock);
    free(pool->buffers);
    free(pool);
}

const struct hr_atom64 *hr_buffer_pool_beat(const struct hr_buffer_pool *pool)
{
    return &pool->beat;
}

struct asking {
    struct hr_buffer_pool *pool;
    size_t rank;
    struct hr_compute_buffers *got;
};

/* Where `rank` stands in the queue; nqueue: it does not. */
static size_t place_of(const struct hr_buffer_pool *pool, size_t rank)
{
    size_t at = 0;
    while (at < pool->nqueue && pool->queue[at] != rank)
        at++;
    return at;
}

static void leave_queue(struct hr_buffer_pool *pool, size_t rank)
{
    const size_t at = place_of(pool, rank);
    if (at == pool->nqueue)
        return;
    pool->nqueue--;
    memmove(pool->queue + at, pool->queue + at + 1, (pool->nqueue - at) * sizeof *pool->queue);
    memmove(pool->since_ns + at, pool->since_ns + at + 1,
            (pool->nqueue - at) * sizeof *pool->since_ns);
}

/* The lock is held: whose bell is to be rung when it is given up, or NULL. */
static struct hr_bell *next_bell(const struct hr_buffer_pool *pool)
{
    const bool any = pool->nfree && pool->nqueue;
    return any ? &pool->control->rank[pool->queue[0]].bell : NULL;
}

static void unlock_and_ring(struct hr_buffer_pool *pool)
{
    struct hr_bell *bell = next_bell(pool);
    pthread_mutex_unlock(&pool->lock);
    if (bell)
        hr_bell_ring(bell);
}

/* Is it this rank's turn, if anything is free? */
static bool has_turn(struct hr_buffer_pool *pool, size_t rank)
{
    const int64_t now = hr_clock_ns();
    const bool begins = !pool->nqueue || pool->queue[0] == rank;
    if (begins && pool->nfree)
        pool->turn_ns[rank] = now;
    return begins || now - pool->since_ns[0] < SLICE_NS || now - pool->turn_ns[rank] < SLICE_NS;
}

/* (hr_ready_fn) Take one, or stand in the queue. */
static bool try_take(void *arg)
{
    struct asking *asking = arg;
    struct hr_buffer_pool *pool = asking->pool;
    pthread_mutex_lock(&pool->lock);
    if (pool->nfree && has_turn(pool, asking->rank)) {
        asking->got = pool->free[--pool->nfree];
        leave_queue(pool, asking->rank);
    } else if (place_of(pool, asking->rank) == pool->nqueue) {
        pool->since_ns[pool->nqueue] = hr_clock_ns();
        pool->queue[pool->nqueue++] = asking->rank;
    }
    if (asking->got)
        unlock_and_ring(pool);
    else
        pthread_mutex_unlock(&pool->lock);
    return asking->got != NULL;
}

enum hr_status hr_buffer_pool_take(struct hr_buffer_pool *pool, const struct hr_waiter *waiter,
                                   size_t rank, struct hr_compute_buffers **out, int64_t *waited_ns)
{
    struct asking asking = {.pool = pool, .rank = rank};
    struct hr_waiter patient = *waiter;
    patient.account = NULL; /* as a thread that has no processor: it is computing */
    patient.beat = &pool->beat;
    const enum hr_status status = hr_wait_until(&patient, &pool->control->rank[rank].bell, try_take,
                                                &asking, "memory to compute in");
    *out = asking.got;
    *waited_ns = patient.waited_ns - waiter->waited_ns;
    if (status == HR_OK)
        return HR_OK;
    pthread_mutex_lock(&pool->lock);
    leave_queue(pool, rank);
    unlock_and_ring(pool);
    return status;
}

static void put_back(struct hr_buffer_pool *pool, struct hr_compute_buffers *buffers)
{
    pool->free[pool->nfree++] = buffers;
    hr_atom64_store_release(&pool->beat, hr_atom64_load_relaxed(&pool->beat) + 1);
}

void hr_buffer_pool_give_back(struct hr_buffer_pool *pool, struct hr_compute_buffers *buffers)
{
    pthread_mutex_lock(&pool->lock);
    put_back(pool, buffers);
    unlock_and_ring(pool);
}

bool hr_buffer_pool_lay_down(struct hr_buffer_pool *pool, size_t rank,
                             struct hr_compute_buffers *buffers)
{
    pthread_mutex_lock(&pool->lock);
    put_back(pool, buffers);
    const bool keeps = hr_clock_ns() - pool->turn_ns[rank] < SLICE_NS;
    if (keeps)
        pthread_mutex_unlock(&pool->lock);
    else
        unlock_and_ring(pool);
    return keeps;
}

void hr_buffer_pool_pass(struct hr_buffer_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    unlock_and_ring(pool);
}

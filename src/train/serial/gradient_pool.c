#include "serial/gradient_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "netsim/events.h"
#include "worker/job.h"

enum job_state { NONE, QUEUED, RUNNING, DONE };

struct job {
    enum job_state state;
    hr_pool_fn fn;
    void *arg;
    enum hr_status status;
    char *message; /* owned; of a failure */
};

struct helper {
    struct hr_pool *pool;
    pthread_t thread;
    struct hr_compute_buffers buffers;
};

struct hr_pool {
    pthread_mutex_t lock;
    pthread_cond_t work; /* something was queued, or it is over */
    pthread_cond_t done; /* a job was done */
    struct hr_events queue;
    struct job *job; /* (workers) owned */
    size_t njobs;
    struct hr_compute_buffers buffers; /* the caller's */
    struct helper *helper;             /* (nhelpers) owned */
    size_t nhelpers, nstarted;
    bool over;
};

/* Compute the job that is due first; the lock is held but for that. */
static void run_next(struct hr_pool *pool, struct hr_compute_buffers *buffers)
{
    int64_t due;
    uint64_t rank;
    hr_events_pop(&pool->queue, &due, &rank);
    struct job *job = &pool->job[rank];
    job->state = RUNNING;
    pthread_mutex_unlock(&pool->lock);
    const enum hr_status status = job->fn(job->arg, rank, buffers);
    char *message = status == HR_OK ? NULL : strdup(hr_error_message());
    pthread_mutex_lock(&pool->lock);
    job->status = status;
    job->message = message;
    job->state = DONE;
    pthread_cond_signal(&pool->done);
}

static void *helper_main(void *arg)
{
    struct helper *helper = arg;
    struct hr_pool *pool = helper->pool;
    hr_fp_flush_denormals();
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->over && pool->queue.n == 0)
            pthread_cond_wait(&pool->work, &pool->lock);
        if (pool->over)
            break;
        run_next(pool, &helper->buffers);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

enum hr_status hr_pool_submit(struct hr_pool *pool, hr_pool_fn fn, void *arg, size_t rank,
                              int64_t due)
{
    struct job *job = &pool->job[rank];
    pthread_mutex_lock(&pool->lock);
    HR_ASSERT(rank < pool->njobs && job->state == NONE);
    *job = (struct job){.state = QUEUED, .fn = fn, .arg = arg};
    const enum hr_status status = hr_events_push(&pool->queue, due, rank);
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    return status;
}

bool hr_pool_has(const struct hr_pool *pool, size_t rank)
{
    return pool->job[rank].fn != NULL; /* the caller's own field */
}

bool hr_pool_done(struct hr_pool *pool, size_t rank)
{
    pthread_mutex_lock(&pool->lock);
    const bool done = pool->job[rank].state == DONE;
    pthread_mutex_unlock(&pool->lock);
    return done;
}

enum hr_status hr_pool_join(struct hr_pool *pool, size_t rank)
{
    struct job *job = &pool->job[rank];
    pthread_mutex_lock(&pool->lock);
    while (job->state != DONE) {
        if (pool->queue.n > 0)
            run_next(pool, &pool->buffers);
        else
            pthread_cond_wait(&pool->done, &pool->lock);
    }
    enum hr_status status = job->status;
    if (status != HR_OK)
        status = hr_fail(status, "%s", job->message ? job->message : "no memory to say why");
    free(job->message);
    *job = (struct job){0};
    pthread_mutex_unlock(&pool->lock);
    return status;
}

static enum hr_status start_helper(struct hr_pool *pool, const struct hr_train_job *job)
{
    struct helper *helper = &pool->helper[pool->nstarted];
    helper->pool = pool;
    HR_TRY(hr_compute_buffers_start(&helper->buffers, job));
    if (pthread_create(&helper->thread, NULL, helper_main, helper) == 0) {
        pool->nstarted++;
        return HR_OK;
    }
    hr_compute_buffers_stop(&helper->buffers);
    return hr_fail(HR_E_NOMEM, "no thread to compute gradients with");
}

enum hr_status hr_pool_start(const struct hr_train_job *job, size_t threads, struct hr_pool **out)
{
    struct hr_pool *pool = calloc(1, sizeof *pool);
    enum hr_status status;
    HR_ASSERT(threads >= 1);
    if (!pool)
        return hr_fail(HR_E_NOMEM, "no memory for %zu computing threads", threads);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->njobs = job->shared->workers;
    pool->nhelpers = threads - 1;
    pool->job = calloc(pool->njobs, sizeof *pool->job);
    pool->helper = calloc(threads, sizeof *pool->helper);
    if (!pool->job || !pool->helper) {
        status = hr_fail(HR_E_NOMEM, "no memory for %zu computing threads", threads);
        goto out;
    }
    HR_TRY_GOTO(hr_compute_buffers_start(&pool->buffers, job), status, out);
    while (pool->nstarted < pool->nhelpers)
        HR_TRY_GOTO(start_helper(pool, job), status, out);
    *out = pool;
    return HR_OK;
out:
    hr_pool_stop(pool);
    return status;
}

void hr_pool_stop(struct hr_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->over = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->nstarted; i++) {
        pthread_join(pool->helper[i].thread, NULL);
        hr_compute_buffers_stop(&pool->helper[i].buffers);
    }
    for (size_t i = 0; pool->job && i < pool->njobs; i++)
        free(pool->job[i].message);
    hr_compute_buffers_stop(&pool->buffers);
    hr_events_fini(&pool->queue);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    free(pool->job);
    free(pool->helper);
    free(pool);
}

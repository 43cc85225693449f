#include "kernels/team.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fpenv.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/size.h"

enum { SPIN_NS = 20000 };

struct share {
    hr_team_fn fn; /* NULL: leave */
    void *arg;
    size_t first, end; /* tasks */
};

/* One thread of a team; only the thread that made it gives it work. */
struct helper {
    sem_t offered; /* up: the share is there for the helper, or for the owner to take back */
    sem_t done;    /* up: the helper has run the share that it took */
    struct share share;
    size_t number; /* in the team; the owner is 0 */
    pthread_t thread;
};

struct team {
    struct helper *helper[HR_TEAM_MAX - 1]; /* owned */
    size_t n;
    bool complete; /* no more could be started */
};

static pthread_key_t own_team; /* of the calling thread: struct team */

static void run_share(const struct share *share, size_t thread)
{
    for (size_t task = share->first; task < share->end; task++)
        share->fn(share->arg, task, thread);
}

/* Spin for a while, then sleep: between two loops of a pass lie some microseconds. */
static void take(sem_t *semaphore)
{
    const int64_t tired = hr_clock_ns() + SPIN_NS;
    do {
        if (sem_trywait(semaphore) == 0)
            return;
    } while (hr_clock_ns() < tired);
    while (sem_wait(semaphore) != 0)
        continue; /* a signal came */
}

static void *helper_main(void *arg)
{
    struct helper *helper = arg;
    hr_fp_flush_denormals();
    for (;;) {
        take(&helper->offered);
        if (!helper->share.fn)
            return NULL;
        run_share(&helper->share, helper->number);
        sem_post(&helper->done);
    }
}

/* --- in the owner --- */

static void offer(struct helper *helper, struct share share)
{
    helper->share = share;
    sem_post(&helper->offered);
}

/* A share that its helper has not begun is taken back: nobody waits for a thread that has no
 * processor. */
static void finish(struct helper *helper)
{
    if (sem_trywait(&helper->offered) == 0)
        run_share(&helper->share, 0);
    else
        take(&helper->done);
}

static void free_helper(struct helper *helper)
{
    sem_destroy(&helper->offered);
    sem_destroy(&helper->done);
    free(helper);
}

/* When the owner ends. */
static void dismiss(void *arg)
{
    struct team *team = arg;
    for (size_t i = 0; i < team->n; i++) {
        offer(team->helper[i], (struct share){.fn = NULL});
        pthread_join(team->helper[i]->thread, NULL);
        free_helper(team->helper[i]);
    }
    free(team);
}

static struct helper *new_helper(size_t number)
{
    struct helper *helper = calloc(1, sizeof *helper);
    if (!helper)
        return NULL;
    helper->number = number;
    sem_init(&helper->offered, 0, 0);
    sem_init(&helper->done, 0, 0);
    if (hr_thread_start(&helper->thread, helper_main, helper) == 0)
        return helper;
    free_helper(helper);
    return NULL;
}

static void make_key(void)
{
    HR_ASSERT(pthread_key_create(&own_team, dismiss) == 0);
}

static void warn(void)
{
    hr_log(HR_LOG_WARNING, "not all of the threads of a worker can be started: it goes on with "
                           "fewer, which changes no result");
}

/* The calling thread's team; NULL when there is no memory for one. */
static struct team *find_team(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    struct team *team = pthread_getspecific(own_team);
    if (team)
        return team;
    team = calloc(1, sizeof *team);
    if (team && pthread_setspecific(own_team, team) == 0)
        return team;
    free(team);
    return NULL;
}

/* Start helpers until there are `wanted`, or no more can be started. */
static void grow(struct team *team, size_t wanted)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    while (team->n < wanted && !team->complete) {
        struct helper *helper = new_helper(team->n + 1);
        if (helper)
            team->helper[team->n++] = helper;
        else
            team->complete = pthread_once(&once, warn) == 0;
    }
}

static size_t helpers_for(struct team *team, size_t wanted)
{
    if (!team)
        return 0;
    grow(team, wanted);
    return hr_min_size(team->n, wanted);
}

void hr_team_run(size_t threads, size_t ntasks, hr_team_fn fn, void *arg)
{
    HR_ASSERT(threads >= 1 && threads <= HR_TEAM_MAX);
    struct team *team = threads > 1 && ntasks > 1 ? find_team() : NULL;
    const size_t n = helpers_for(team, hr_min_size(threads, ntasks) - 1);
    for (size_t i = 1; i <= n; i++)
        offer(team->helper[i - 1],
              (struct share){fn, arg, i * ntasks / (n + 1), (i + 1) * ntasks / (n + 1)});
    run_share(&(struct share){fn, arg, 0, ntasks / (n + 1)}, 0);
    for (size_t i = 0; i < n; i++)
        finish(team->helper[i]);
}

/* Buffers that several threads compute in: never two in one, all have turns, no wait for ever. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/size.h"
#include "shm/control.h"
#include "state/model_file.h"
#include "support/runs.h"
#include "worker/compute_buffers.h"
#include "worker/job.h"

enum { WORKERS = 12, TURNS = 200 };

struct place {
    struct hr_train_options options;
    struct hr_shared_state shared;
    struct hr_train_job job;
    struct hr_buffer_pool *pool;
    struct hr_waiter waiter;
    _Atomic int inside, most, turns[WORKERS];
};

static void open_place(struct place *at)
{
    *at = (struct place){.options = run_options("allreduce", WORKERS)};
    CHECK_OK(hr_train_complete(&at->options));
    at->shared.workers = WORKERS;
    at->shared.control = aligned_alloc(HR_LINE, hr_round_up(hr_control_bytes(WORKERS), HR_LINE));
    assert_non_null(at->shared.control);
    memset(at->shared.control, 0, hr_control_bytes(WORKERS));
    hr_control_init(at->shared.control, WORKERS);
    at->job = (struct hr_train_job){.options = &at->options,
                                    .dataset = run_digits(),
                                    .batch_size = 4,
                                    .piece = 4,
                                    .launch = HR_LAUNCH_THREAD,
                                    .shared = &at->shared};
    CHECK_OK(hr_run_model(&at->options, at->job.dataset, &at->job.values, &at->job.model));
    at->waiter = (struct hr_waiter){.abort = &at->shared.control->abort,
                                    .timeout_ns = 10 * HR_NS_PER_SECOND};
    CHECK_OK(hr_buffer_pool_start(&at->job, &at->pool));
    assert_non_null(at->pool);
}

static void close_place(struct place *at)
{
    hr_buffer_pool_stop(at->pool);
    hr_model_destroy(at->job.model);
    free(at->shared.control);
}

struct visitor {
    struct place *at;
    size_t rank;
};

static void *visit(void *arg)
{
    const struct visitor *v = arg;
    struct place *at = v->at;
    for (int i = 0; i < TURNS; i++) {
        struct hr_compute_buffers *buffers;
        int64_t waited;
        if (hr_buffer_pool_take(at->pool, &at->waiter, v->rank, &buffers, &waited) != HR_OK)
            break;
        const int inside = ++at->inside;
        if (inside > at->most)
            at->most = inside;
        buffers->borrower = (void *)&at->turns[v->rank]; /* would another have it meanwhile? */
        sched_yield();
        at->turns[v->rank] += buffers->borrower == (void *)&at->turns[v->rank] && waited >= 0;
        at->inside--;
        hr_buffer_pool_give_back(at->pool, buffers);
    }
    return NULL;
}

static void as_many_as_processors_and_everyone_has_a_turn(void **state)
{
    (void)state;
    struct place at;
    pthread_t thread[WORKERS];
    struct visitor visitor[WORKERS];
    open_place(&at);
    const size_t size = hr_buffer_pool_size(&at.job);
    assert_int_equal(size, hr_cpus_allowed() < WORKERS ? hr_cpus_allowed() : WORKERS);
    for (size_t r = 0; r < WORKERS; r++) {
        visitor[r] = (struct visitor){&at, r};
        assert_int_equal(pthread_create(&thread[r], NULL, visit, &visitor[r]), 0);
    }
    for (size_t r = 0; r < WORKERS; r++)
        pthread_join(thread[r], NULL);
    for (size_t r = 0; r < WORKERS; r++)
        assert_int_equal(at.turns[r], TURNS);
    assert_in_range(at.most, 1, size);
    assert_int_equal(hr_atom64_load_relaxed(hr_buffer_pool_beat(at.pool)), WORKERS * TURNS);
    close_place(&at);
}

/* All buffers are out; worker `rank` waits for one, in vain or not. */
static void *wait_in_vain(void *arg)
{
    const struct visitor *v = arg;
    struct hr_compute_buffers *buffers;
    int64_t waited;
    return (void *)(uintptr_t)hr_buffer_pool_take(v->at->pool, &v->at->waiter, v->rank, &buffers,
                                                  &waited);
}

static void take_all(struct place *at, struct hr_compute_buffers **all)
{
    int64_t waited;
    for (size_t i = 0; i < hr_buffer_pool_size(&at->job); i++)
        CHECK_OK(hr_buffer_pool_take(at->pool, &at->waiter, i, &all[i], &waited));
}

static void a_wait_ends_by_an_abort_or_when_nobody_gives_back(void **state)
{
    (void)state;
    struct hr_compute_buffers *all[WORKERS], *one;
    struct place at;
    pthread_t thread;
    void *status;
    int64_t waited;
    open_place(&at);
    take_all(&at, all);
    at.waiter.timeout_ns = HR_NS_PER_SECOND / 20;
    CHECK_FAILS(hr_buffer_pool_take(at.pool, &at.waiter, WORKERS - 1, &one, &waited), HR_E_TIMEOUT);
    CHECK_MESSAGE("memory to compute in");
    at.waiter.timeout_ns = 0;
    struct visitor visitor = {&at, WORKERS - 2};
    assert_int_equal(pthread_create(&thread, NULL, wait_in_vain, &visitor), 0);
    hr_control_abort(at.shared.control, 0, HR_E_IO, "the test ends it");
    pthread_join(thread, &status);
    assert_int_equal((uintptr_t)status, HR_E_ABORTED);
    hr_buffer_pool_give_back(at.pool, all[0]); /* nobody is left in the queue */
    at.waiter.abort = &(struct hr_atom32){0};
    CHECK_OK(hr_buffer_pool_take(at.pool, &at.waiter, 0, &one, &waited));
    assert_ptr_equal(one, all[0]);
    close_place(&at);
}

/* Another waits. Who lays its buffers down wakes it only when its own turn is over, or passed. */
static void a_turn_lasts_until_it_is_passed_on(void **state)
{
    (void)state;
    struct hr_compute_buffers *all[WORKERS];
    struct place at;
    pthread_t thread;
    void *status;
    open_place(&at);
    const size_t rank = WORKERS - 1;
    const struct hr_bell *bell = &at.shared.control->rank[rank].bell;
    struct visitor visitor = {&at, rank};
    take_all(&at, all);
    assert_int_equal(pthread_create(&thread, NULL, wait_in_vain, &visitor), 0);
    while (!(hr_atom32_load_acquire(&bell->word) & 1)) /* it has parked */
        sched_yield();
    const bool keeps = hr_buffer_pool_lay_down(at.pool, 0, all[0]);
    assert_int_equal(hr_bell_has_rung(bell, 1), !keeps); /* else this thread slept for its turn */
    hr_buffer_pool_pass(at.pool);
    pthread_join(thread, &status);
    assert_int_equal((uintptr_t)status, HR_OK);
    close_place(&at);
}

/* Whoever waits in vain, and sees how often it looked. */
struct watcher {
    struct visitor visitor;
    int looks;
};

enum { GIVEN = 12 }; /* at a look each, and two looks are 100 ms apart at most */

/* Nothing comes; at its first looks somebody gives back. */
static bool see_others_give(void *arg)
{
    struct watcher *watcher = arg;
    struct visitor *v = &watcher->visitor;
    struct hr_compute_buffers *buffers;
    int64_t waited;
    if (watcher->looks++ < GIVEN &&
        hr_buffer_pool_take(v->at->pool, &v->at->waiter, v->rank, &buffers, &waited) == HR_OK)
        hr_buffer_pool_give_back(v->at->pool, buffers);
    return false;
}

/* While others give back, one after the other, a deadline of a few looks does not pass. */
static void a_deadline_begins_anew_while_others_compute(void **state)
{
    (void)state;
    struct place at;
    struct hr_bell bell = {{0}};
    open_place(&at);
    struct watcher watcher = {.visitor = {&at, 0}};
    struct hr_waiter waiter = at.waiter;
    waiter.timeout_ns = HR_NS_PER_SECOND / 5;
    waiter.beat = hr_buffer_pool_beat(at.pool);
    CHECK_FAILS(hr_wait_until(&waiter, &bell, see_others_give, &watcher, "nothing"), HR_E_TIMEOUT);
    assert_true(watcher.looks > GIVEN);
    close_place(&at);
}

/* So that there are fewer processors than workers, whatever the machine. */
static void take_two_processors(void)
{
    cpu_set_t there, two;
    CPU_ZERO(&two);
    if (sched_getaffinity(0, sizeof there, &there) != 0)
        return;
    for (int c = 0; c < CPU_SETSIZE && CPU_COUNT(&two) < 2; c++)
        if (CPU_ISSET(c, &there))
            CPU_SET(c, &two);
    sched_setaffinity(0, sizeof two, &two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_processors_and_everyone_has_a_turn),
        cmocka_unit_test(a_wait_ends_by_an_abort_or_when_nobody_gives_back),
        cmocka_unit_test(a_turn_lasts_until_it_is_passed_on),
        cmocka_unit_test(a_deadline_begins_anew_while_others_compute),
    };
    take_two_processors();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

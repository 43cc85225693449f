/* Waiting: no wake-up is lost, deadlines and aborts are kept, and a parked waiter costs nothing. */
#include "shm/wait.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "support/check.h"

enum { MAX_WAITERS = 6, MS = 1000 * 1000 };

static const struct hr_atom32 no_abort;

/* A word that grows, and the bell that is rung after it. */
struct gate {
    struct hr_atom64 count;
    struct hr_bell bell;
};

struct goal {
    struct gate *gate;
    uint64_t count;
};

static bool reached(void *arg)
{
    const struct goal *goal = arg;
    return hr_atom64_load_acquire(&goal->gate->count) >= goal->count; /* partner: advance */
}

static void advance(struct gate *gate, uint64_t count)
{
    hr_atom64_store_release(&gate->count, count); /* partner: reached */
    hr_bell_ring(&gate->bell);
}

static enum hr_status wait_for(struct hr_waiter *waiter, struct gate *gate, uint64_t count)
{
    struct goal goal = {gate, count};
    return hr_wait_until(waiter, &gate->bell, reached, &goal, "the gate");
}

static struct hr_waiter parking_waiter(void)
{
    return (struct hr_waiter){.abort = &no_abort, .timeout_ns = 10 * HR_NS_PER_SECOND};
}

static int64_t cpu_ns(clockid_t clock)
{
    struct timespec t;
    assert_int_equal(clock_gettime(clock, &t), 0);
    return (int64_t)t.tv_sec * HR_NS_PER_SECOND + t.tv_nsec;
}

/* --- ready and rung --------------------------------------------------------------------------- */

static void what_is_ready_is_not_waited_for(void **state)
{
    (void)state;
    struct gate gate = {0};
    struct hr_waiter waiter = parking_waiter();
    hr_atom64_store_release(&gate.count, 1);
    CHECK_OK(wait_for(&waiter, &gate, 1));
    assert_int_equal(waiter.parks, 0);
    assert_int_equal(waiter.waited_ns, 0);
}

/* Opens the gate when the waiter announces itself on the bell: it parks, or is about to. */
static void *open_when_parked(void *arg)
{
    struct gate *gate = arg;
    while (!(hr_atom32_load_acquire(&gate->bell.word) & 1))
        hr_cpu_relax();
    advance(gate, 1);
    return NULL;
}

static void bell_wakes_a_parked_waiter(void **state)
{
    (void)state;
    for (size_t round = 0; round < check_count(200, 2000); round++) {
        struct gate gate = {0};
        struct hr_waiter waiter = parking_waiter();
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, open_when_parked, &gate), 0);
        CHECK_OK(wait_for(&waiter, &gate, 1));
        pthread_join(thread, NULL);
        assert_int_equal(waiter.missed, 0);
        assert_true(waiter.waited_ns > 0);
    }
}

/* --- many rounds, several waiters on one bell --------------------------------------------------
 */

/* Waiters wait for round k at `go`, all on one bell; then each counts itself in and rings `back`,
 * where the leader waits for all of them. */
struct rounds {
    struct gate go;
    struct hr_atom64 arrived; /* fetch_add by all waiters */
    struct hr_bell back;
    uint64_t rounds, nwaiters;
};

struct player {
    struct rounds *rounds;
    struct hr_waiter waiter;
    uint64_t round;
    enum hr_status status;
};

static bool all_are_back(void *arg)
{
    const struct player *player = arg;
    const struct rounds *rounds = player->rounds;
    return hr_atom64_load_acquire(&rounds->arrived) == player->round * rounds->nwaiters;
}

static void *follow(void *arg)
{
    struct player *player = arg;
    struct rounds *rounds = player->rounds;
    for (uint64_t k = 1; k <= rounds->rounds && player->status == HR_OK; k++) {
        player->status = wait_for(&player->waiter, &rounds->go, k);
        hr_atom64_fetch_add_acq_rel(&rounds->arrived, 1); /* partner: all_are_back */
        hr_bell_ring(&rounds->back);
    }
    return NULL;
}

static void lead(struct player *leader)
{
    struct rounds *rounds = leader->rounds;
    for (uint64_t k = 1; k <= rounds->rounds && leader->status == HR_OK; k++) {
        if (k % 8 == 0) /* now and then everybody is fast asleep when the ring comes */
            nanosleep(&(struct timespec){.tv_nsec = 1}, NULL);
        leader->round = k;
        advance(&rounds->go, k);
        leader->status =
            hr_wait_until(&leader->waiter, &rounds->back, all_are_back, leader, "the others");
    }
}

static void play_rounds(uint64_t nwaiters, uint64_t count, int64_t spin_ns)
{
    struct rounds rounds = {.rounds = count, .nwaiters = nwaiters};
    struct player player[MAX_WAITERS + 1];
    pthread_t thread[MAX_WAITERS + 1];
    uint64_t parks = 0;
    for (size_t p = 0; p <= nwaiters; p++) {
        player[p] = (struct player){.rounds = &rounds, .waiter = parking_waiter()};
        player[p].waiter.spin_ns = spin_ns;
        if (p > 0)
            assert_int_equal(pthread_create(&thread[p], NULL, follow, &player[p]), 0);
    }
    lead(&player[0]);
    for (size_t p = 1; p <= nwaiters; p++)
        pthread_join(thread[p], NULL);
    for (size_t p = 0; p <= nwaiters; p++) {
        CHECK_OK(player[p].status);
        assert_int_equal(player[p].waiter.missed, 0); /* nobody slept through a ring */
        parks += player[p].waiter.parks;
    }
    assert_true(spin_ns || parks >= count / 20); /* else nothing was tested */
}

static void ping_pong_loses_no_wake_up(void **state)
{
    (void)state;
    play_rounds(1, check_count(20000, 200000), 0);
    play_rounds(1, check_count(20000, 200000), 2000);
}

static void several_on_one_bell_lose_no_wake_up(void **state)
{
    (void)state;
    play_rounds(2, check_count(10000, 100000), 0);
    play_rounds(5, check_count(5000, 50000), 0);
    play_rounds(5, check_count(5000, 50000), 200);
}

/* --- deadline and abort ------------------------------------------------------------------------
 */

static void deadline_is_kept_and_names_what_is_waited_for(void **state)
{
    (void)state;
    static const int64_t timeouts[] = {1 * MS, 30 * MS, 120 * MS};
    for (size_t t = 0; t < sizeof timeouts / sizeof *timeouts; t++) {
        struct gate gate = {0};
        struct hr_waiter waiter = {.abort = &no_abort, .timeout_ns = timeouts[t]};
        const int64_t start = hr_clock_ns();
        CHECK_FAILS(wait_for(&waiter, &gate, 1), HR_E_TIMEOUT);
        const int64_t took = hr_clock_ns() - start;
        CHECK_MESSAGE("the gate");
        CHECK_MESSAGE("--timeout");
        assert_in_range(waiter.waited_ns, timeouts[t], took);
        assert_int_equal(waiter.missed, 0);
    }
}

/* It does not run for `for_ns`, `times` times, as one that is stopped now and then. */
struct absent {
    int64_t for_ns;
    int times;
};

static bool is_away_then_never(void *arg)
{
    struct absent *absent = arg;
    if (absent->times-- > 0)
        nanosleep(&(struct timespec){.tv_nsec = (long)absent->for_ns}, NULL);
    return false;
}

static int64_t time_a_wait(int64_t timeout, struct absent *absent)
{
    struct hr_bell bell = {0};
    struct hr_waiter waiter = {.abort = &no_abort, .timeout_ns = timeout};
    const int64_t start = hr_clock_ns();
    CHECK_FAILS(hr_wait_until(&waiter, &bell, is_away_then_never, absent, "never"), HR_E_TIMEOUT);
    return hr_clock_ns() - start;
}

/* A machine on which every look comes late has to find a stuck partner, too. */
static void who_did_not_run_begins_its_deadline_anew(void **state)
{
    (void)state;
    struct absent twice = {600 * MS, 2}, always = {120 * MS, 1000};
    assert_true(time_a_wait(200 * MS, &twice) >= (600 + 200) * MS);
    assert_true(time_a_wait(200 * MS, &always) >= 200 * MS);
    assert_in_range(always.times, 900, 1000);
}

struct aborter {
    struct hr_atom32 abort;
    struct gate gate;
    bool wakes;
    int64_t aborted_at;
};

/* Nobody rings: an abort needs no list of who waits where. */
static void *abort_when_parked(void *arg)
{
    struct aborter *aborter = arg;
    while (!(hr_atom32_load_acquire(&aborter->gate.bell.word) & 1))
        hr_cpu_relax();
    aborter->aborted_at = hr_clock_ns();
    hr_atom32_store_release(&aborter->abort, 1); /* partner: hr_wait_until */
    if (aborter->wakes)
        hr_abort_wake(&aborter->abort);
    return NULL;
}

/* How long a parked wait goes on after the abort. */
static int64_t time_an_abort(bool wakes, int64_t timeout)
{
    struct aborter aborter = {.wakes = wakes};
    struct hr_waiter waiter = {.abort = &aborter.abort, .timeout_ns = timeout};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, abort_when_parked, &aborter), 0);
    CHECK_FAILS(wait_for(&waiter, &aborter.gate, 1), HR_E_ABORTED);
    const int64_t now = hr_clock_ns();
    CHECK_MESSAGE("the gate");
    pthread_join(thread, NULL);
    return now - aborter.aborted_at;
}

static void abort_ends_a_wait_soon(void **state)
{
    (void)state;
    time_an_abort(false, 0);
    time_an_abort(false, 3600 * HR_NS_PER_SECOND);
}

static bool can_sleep_on_two_words(void)
{
#ifdef SYS_futex_waitv
    return syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) == 0 || errno != ENOSYS;
#else
    return false;
#endif
}

/* One that looks up by itself takes 50 ms each time. */
static void abort_wakes_whoever_is_parked(void **state)
{
    (void)state;
    int64_t best = HR_NS_PER_SECOND;
    if (!can_sleep_on_two_words())
        SKIP("the kernel has no futex_waitv");
    for (int attempt = 0; attempt < 200 && best > 10 * MS; attempt++) {
        const int64_t took = time_an_abort(true, 0);
        best = took < best ? took : best;
    }
    assert_in_range(best, 0, 10 * MS);
}

/* --- looking around ---------------------------------------------------------------------------
 */

struct lookout {
    struct hr_atom32 abort;
    struct gate gate;
    uint32_t looks, enough;
    int64_t last, shortest;
};

/* Sees at its n-th look that somebody is gone, and rings: being woken must not stop the looks. */
static void look_around(void *arg)
{
    struct lookout *lookout = arg;
    const int64_t now = hr_clock_ns(), apart = now - lookout->last;
    lookout->shortest = apart < lookout->shortest ? apart : lookout->shortest;
    lookout->last = now;
    if (++lookout->looks == lookout->enough)
        hr_atom32_store_release(&lookout->abort, 1); /* partner: hr_wait_until */
}

static void *ring_in_vain(void *arg)
{
    struct lookout *lookout = arg;
    while (!hr_atom32_load_acquire(&lookout->abort)) { /* partner: look_around */
        hr_bell_ring(&lookout->gate.bell);
        nanosleep(&(struct timespec){.tv_nsec = 3 * MS}, NULL);
    }
    return NULL;
}

static void waiter_looks_around_every_50_ms(void **state)
{
    (void)state;
    for (int rung = 0; rung < 2; rung++) {
        struct lookout lookout = {.enough = 3, .last = hr_clock_ns(), .shortest = INT64_MAX};
        struct hr_waiter waiter = parking_waiter();
        pthread_t thread;
        waiter.abort = &lookout.abort;
        waiter.look = look_around;
        waiter.look_arg = &lookout;
        if (rung)
            assert_int_equal(pthread_create(&thread, NULL, ring_in_vain, &lookout), 0);
        CHECK_FAILS(wait_for(&waiter, &lookout.gate, 1), HR_E_ABORTED);
        if (rung)
            pthread_join(thread, NULL);
        assert_int_equal(lookout.looks, 3);
        assert_true(lookout.shortest >= 50 * MS && lookout.shortest < INT64_MAX);
    }
}

/* --- cost --------------------------------------------------------------------------------------
 */

/* Of whoever spins it would be all of that second. */
static void parked_waiter_leaves_the_processor_alone(void **state)
{
    (void)state;
    struct gate gate = {0};
    struct hr_waiter waiter = {.abort = &no_abort, .timeout_ns = HR_NS_PER_SECOND};
    const int64_t before = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    CHECK_FAILS(wait_for(&waiter, &gate, 1), HR_E_TIMEOUT);
    const int64_t used = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - before;
    assert_in_range(used, 0, HR_NS_PER_SECOND / 10);
    assert_in_range(waiter.parks, 1, 30); /* about one look-up every 50 ms */
}

static bool never(void *arg)
{
    uint64_t *polls = arg;
    ++*polls;
    return false;
}

/* Who has the processor polls thousands of times meanwhile; a busy machine lets it at last. */
static void spinning_ends_with_its_budget(void **state)
{
    (void)state;
    uint64_t polls = 0;
    for (int attempt = 0; attempt < 100 && polls < 100; attempt++) {
        struct hr_bell bell = {0};
        struct hr_waiter waiter = {.abort = &no_abort, .spin_ns = 20 * MS, .timeout_ns = 200 * MS};
        const int64_t before = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
        polls = 0;
        CHECK_FAILS(hr_wait_until(&waiter, &bell, never, &polls, "never"), HR_E_TIMEOUT);
        assert_in_range(cpu_ns(CLOCK_THREAD_CPUTIME_ID) - before, 0, 100 * MS);
        assert_in_range(waiter.parks, 1, 20);
    }
    assert_true(polls >= 100);
}

/* As many as only who spins comes to before its deadline. */
static bool after_many_polls(void *arg)
{
    uint64_t *polls = arg;
    return ++*polls >= 20 * 1000;
}

static void who_spun_in_vain_parks_until_a_wait_was_short(void **state)
{
    (void)state;
    uint64_t polls = 0;
    struct gate shut = {0}, gate = {0};
    struct hr_waiter waiter = {.abort = &no_abort, .spin_ns = 10 * MS, .timeout_ns = 30 * MS};
    for (int again = 0; again < 2; again++)
        CHECK_FAILS(hr_wait_until(&waiter, &shut.bell, never, &polls, "never"), HR_E_TIMEOUT);
    polls = 0;
    CHECK_FAILS(hr_wait_until(&waiter, &shut.bell, after_many_polls, &polls, "polls"),
                HR_E_TIMEOUT);

    waiter.spin_ns = waiter.timeout_ns = 10 * HR_NS_PER_SECOND;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, open_when_parked, &gate), 0);
    CHECK_OK(wait_for(&waiter, &gate, 1));
    pthread_join(thread, NULL);
    polls = 0;
    CHECK_OK(hr_wait_until(&waiter, &shut.bell, after_many_polls, &polls, "polls"));
}

static void budget_is_small_when_threads_outnumber_processors(void **state)
{
    (void)state;
    assert_int_equal(setenv("HOGRING_CPUS", "4", 1), 0);
    assert_int_equal(hr_cpus_allowed(), 4);
    assert_int_equal(hr_spin_budget_ns(5), 0);
    assert_in_range(hr_yield_budget_ns(5), 1, 100000);
    assert_int_equal(hr_yield_budget_ns(4), 0);
    assert_int_equal(hr_spin_budget_ns(64), 0);
    assert_in_range(hr_yield_budget_ns(64), 1, 100000);
    assert_in_range(hr_spin_budget_ns(4), 200000, 500000);
    assert_in_range(hr_spin_budget_ns(1), 200000, 500000);
    assert_int_equal(hr_handoff_ns(), hr_handoff_ns()); /* measured once */
    unsetenv("HOGRING_CPUS");
    assert_int_equal(hr_spin_budget_ns(hr_cpus_allowed() + 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_ready_is_not_waited_for),
        cmocka_unit_test(bell_wakes_a_parked_waiter),
        cmocka_unit_test(ping_pong_loses_no_wake_up),
        cmocka_unit_test(several_on_one_bell_lose_no_wake_up),
        cmocka_unit_test(deadline_is_kept_and_names_what_is_waited_for),
        cmocka_unit_test(who_did_not_run_begins_its_deadline_anew),
        cmocka_unit_test(abort_ends_a_wait_soon),
        cmocka_unit_test(abort_wakes_whoever_is_parked),
        cmocka_unit_test(waiter_looks_around_every_50_ms),
        cmocka_unit_test(parked_waiter_leaves_the_processor_alone),
        cmocka_unit_test(spinning_ends_with_its_budget),
        cmocka_unit_test(who_spun_in_vain_parks_until_a_wait_was_short),
        cmocka_unit_test(budget_is_small_when_threads_outnumber_processors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Ranks are killed in collectives, at random: everybody else is out in time, and told who it was.
 *
 * The promise: 200 kills, no hang; the survivors' calls return within 250 ms (p99), 1 s at most.
 * HOGRING_LONG=1 makes all 200. HOGRING_SEED decides what is run and when the kill comes. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/philox.h"
#include "support/check.h"
#include "support/ranks.h"

enum { US = 1000, MS = 1000 * US, LEAST = 2, MOST = 8, FLOATS = 100000 };

/* --- operations: one more goes here --- */

static enum hr_status all_reduce(struct rank *me, size_t count, size_t step)
{
    (void)step;
    return member_all_reduce(&me->member, me->floats, count);
}

static enum hr_status broadcast(struct rank *me, size_t count, size_t step)
{
    return member_broadcast(&me->member, me->floats, count, step % me->ranks->nranks);
}

static enum hr_status barrier(struct rank *me, size_t count, size_t step)
{
    (void)count, (void)step;
    return hr_member_barrier(&me->member);
}

static const struct operation {
    const char *name;
    const struct hr_algorithm *algorithm;
    enum hr_status (*call)(struct rank *me, size_t count, size_t step);
} OPERATIONS[] = {
    {"all-reduce direct", &hr_allreduce_direct, all_reduce},
    {"all-reduce ring", &hr_allreduce_ring, all_reduce},
    {"all-reduce master-worker", &hr_allreduce_master_worker, all_reduce},
    {"broadcast", &hr_allreduce_direct, broadcast},
    {"barrier", &hr_allreduce_direct, barrier},
};
enum { NOPERATIONS = sizeof OPERATIONS / sizeof *OPERATIONS };

/* --- one kill --- */

/* What is to happen, and what did; in memory of all processes. */
struct kill_case {
    const struct operation *operation;
    size_t nranks, count, victim;
    size_t late; /* this rank comes late to every call: the others wait; nranks: nobody does */
    int64_t after_ns;
    int64_t struck_at;
    struct {
        int64_t out_at;
        enum hr_status status;
    } rank[MOST];
};

static struct kill_case *make_case(uint64_t k)
{
    static const size_t counts[] = {1, 1000, FLOATS};
    const struct hr_philox a = hr_random_block(check_seed(), HR_STREAM_TEST, k, 0);
    const struct hr_philox b = hr_random_block(check_seed(), HR_STREAM_TEST, k, 1);
    struct kill_case *it =
        mmap(NULL, sizeof *it, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(it != MAP_FAILED);
    it->operation = &OPERATIONS[k % NOPERATIONS];
    it->nranks = LEAST + a.v[0] % (MOST - LEAST + 1);
    it->count = counts[a.v[1] % 3];
    it->victim = a.v[2] % it->nranks;
    it->late = b.v[0] % 2 ? it->nranks : (it->victim + 1) % it->nranks;
    it->after_ns = a.v[3] % (3 * MS);
    return it;
}

/* In a rank: calls without end, and a note of when the last one returned. */
static enum hr_status call_until_told(struct rank *me)
{
    struct kill_case *it = me->ranks->arg;
    enum hr_status status = HR_OK;
    hr_control_phase(me->ranks->control, me->rank, HR_PHASE_COMMUNICATE);
    for (size_t step = 0; status == HR_OK; step++) {
        if (me->rank == it->late)
            nanosleep(&(struct timespec){.tv_nsec = 500 * US}, NULL);
        hr_control_step(me->ranks->control, me->rank, step);
        status = it->operation->call(me, it->count, step);
    }
    it->rank[me->rank].out_at = hr_clock_ns();
    it->rank[me->rank].status = status;
    return status;
}

static bool all_run(const struct ranks *ranks)
{
    for (size_t r = 0; r < ranks->nranks; r++)
        if (hr_atom32_load_acquire(&ranks->control->rank[r].phase) == HR_PHASE_STARTING)
            return false;
    return true;
}

/* In a process of its own, so that nothing the launcher does decides when the kill comes. */
static _Noreturn void strike(const struct ranks *ranks, struct kill_case *it)
{
    alarm(250);
    while (!all_run(ranks))
        nanosleep(&(struct timespec){.tv_nsec = 20 * US}, NULL);
    const int64_t until = hr_clock_ns() + it->after_ns;
    while (hr_clock_ns() < until)
        continue;
    it->struck_at = hr_clock_ns();
    kill((pid_t)hr_atom64_load_relaxed(&ranks->control->rank[it->victim].pid), SIGKILL);
    _exit(0);
}

/* The killer is there before the ranks, and finds the control block empty until they write. */
static void run_case(struct kill_case *it)
{
    struct ranks ranks = {.nranks = it->nranks, .floats = FLOATS, .launch = HR_LAUNCH_PROCESS};
    char text[64];
    ranks.algorithm = it->operation->algorithm;
    ranks.crowded = true;
    ranks.tick_ns = 10 * HR_NS_PER_SECOND; /* deaths are noticed between ticks */
    ranks.body = call_until_told;
    ranks.arg = it;
    ranks_open(&ranks);
    const pid_t killer = fork();
    assert_true(killer >= 0);
    if (killer == 0)
        strike(&ranks, it);
    CHECK_FAILS(ranks_run(&ranks), HR_E_LOST);
    snprintf(text, sizeof text, "rank %zu", it->victim);
    CHECK_MESSAGE(text);
    CHECK_MESSAGE("was killed by signal 9 (Killed) while communicating");
    assert_int_equal(waitpid(killer, NULL, 0), killer);
    assert_false(ranks.stuck);
    assert_true(no_children_left());
    ranks_close(&ranks);
}

/* --- all of them --- */

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* How long after the kill each survivor was out; how many there were. */
static size_t note_survivors(const struct kill_case *it, int64_t *took)
{
    size_t n = 0;
    for (size_t r = 0; r < it->nranks; r++) {
        if (r == it->victim)
            continue;
        if (it->rank[r].status != HR_E_ABORTED && it->rank[r].status != HR_E_LOST) {
            print_error("%s of %zu elements, %zu ranks, rank %zu killed after %.3f ms: rank %zu "
                        "returned %s\n",
                        it->operation->name, it->count, it->nranks, it->victim,
                        1e3 * hr_seconds(it->after_ns), r, hr_status_str(it->rank[r].status));
            fail();
        }
        took[n++] = it->rank[r].out_at - it->struck_at;
    }
    return n;
}

static void survivors_of_a_kill_are_out_in_time(void **state)
{
    (void)state;
    const size_t kills = check_count(20, 200);
    int64_t *took = malloc(kills * MOST * sizeof *took);
    size_t n = 0;
    assert_non_null(took);
    for (size_t k = 0; k < kills; k++) {
        struct kill_case *it = make_case(k);
        run_case(it);
        n += note_survivors(it, took + n);
        munmap(it, sizeof *it);
    }
    qsort(took, n, sizeof *took, by_value);
    const int64_t p50 = took[n / 2], p99 = took[(n * 99 + 99) / 100 - 1], most = took[n - 1];
    print_message("%zu kills, %zu survivors out after: p50 %.2f ms, p99 %.2f ms, max %.2f ms\n",
                  kills, n, 1e3 * hr_seconds(p50), 1e3 * hr_seconds(p99), 1e3 * hr_seconds(most));
    free(took);
    assert_in_range(p99, 0, 250 * MS);
    assert_in_range(most, 0, 1000 * MS);
    assert_int_equal(segments_of(getpid()), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survivors_of_a_kill_are_out_in_time),
    };
    if (!ranks_can_fork()) {
        print_message("skipped: ThreadSanitizer does not see other processes\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

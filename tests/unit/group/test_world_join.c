/* A world whose ranks were started one by one: the same calls, and the dead are named. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hogring/group.h"
#include "support/check.h"
#include "support/ranks.h"

enum { RANKS = 3, LARGE = 100000 };

/* What the processes tell the test. */
struct told {
    enum hr_status status;
    char message[512];
    pid_t stopped; /* not 0: it stops itself, and is killed when the others have ended */
};

static struct told *told;
static double patience = 100; /* seconds */

/* Sums of an own buffer and of one in the segment, and a message round the ring. */
static enum hr_status work(struct hr_group *world)
{
    const size_t rank = hr_group_rank(world), n = hr_group_size(world);
    static int32_t own[LARGE];
    int32_t sent = (int32_t)rank, got = -1;
    struct hr_request *sending;
    void *memory;
    RANK_CHECK(hr_local_rank(world) == n - 1 - rank, "local rank %zu", hr_local_rank(world));
    HR_TRY(hr_group_alloc(world, LARGE * sizeof(int32_t), &memory));
    int32_t *shared = memory;
    for (int32_t i = 0; i < LARGE; i++)
        own[i] = shared[i] = i + sent;
    HR_TRY(hr_all_reduce(world, own, own, LARGE, HR_INT32, HR_SUM));
    HR_TRY(hr_all_reduce(world, shared, shared, LARGE, HR_INT32, HR_SUM));
    for (int32_t i = 0; i < LARGE; i++)
        RANK_CHECK(own[i] == 3 * i + 3 && shared[i] == own[i], "sum %d: %d", i, own[i]);
    HR_TRY(hr_isend(world, &sent, 1, HR_INT32, (rank + 1) % n, &sending));
    HR_TRY(hr_recv(world, &got, 1, HR_INT32, (rank + n - 1) % n));
    HR_TRY(hr_wait(sending));
    RANK_CHECK(got == (int32_t)((rank + n - 1) % n), "rank %zu got %d", rank, got);
    return HR_OK;
}

static enum hr_status work_and_die(struct hr_group *world)
{
    HR_TRY(work(world));
    if (hr_group_rank(world) == 1)
        raise(SIGKILL);
    return hr_barrier(world);
}

static enum hr_status work_and_stop(struct hr_group *world)
{
    HR_TRY(work(world));
    if (hr_group_rank(world) == 1) {
        told[1].stopped = getpid();
        raise(SIGSTOP);
    }
    return hr_barrier(world);
}

static void set_number(const char *name, size_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    setenv(name, text, 1);
}

static _Noreturn void be_rank(size_t rank, enum hr_status (*act)(struct hr_group *))
{
    /* In a container /dev/shm has 64 MiB, for all that run at a time. */
    const struct hr_world_options options = {.timeout = patience, .arena_bytes = 1 << 20};
    struct hr_group *world;
    set_number("RANK", rank);
    set_number("WORLD_SIZE", RANKS);
    set_number("LOCAL_RANK", RANKS - 1 - rank);
    enum hr_status status = hr_world_join(&options, &world);
    if (status == HR_OK) {
        status = act(world);
        hr_world_leave(world, status);
    }
    told[rank].status = status;
    snprintf(told[rank].message, sizeof told[rank].message, "%s", hr_error_message());
    _exit(status != HR_OK);
}

/* Start all, the last rank first, and wait for them. */
static void run(enum hr_status (*act)(struct hr_group *))
{
    char name[64];
    snprintf(name, sizeof name, "test-%ld", (long)getpid());
    setenv("HOGRING_RUN", name, 1);
    memset(told, 0, RANKS * sizeof *told);
    for (size_t r = RANKS; r-- > 0;) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            be_rank(r, act);
    }
    for (size_t r = 0; r < RANKS; r++) {
        if (r == RANKS - 1 && told[1].stopped)
            kill(told[1].stopped, SIGKILL);
        assert_true(wait(NULL) > 0);
    }
    assert_true(no_children_left());
}

static void ranks_that_join_work_as_others_do(void **state)
{
    (void)state;
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    run(work);
    for (size_t r = 0; r < RANKS; r++)
        if (told[r].status != HR_OK)
            fail_msg("rank %zu: %s", r, told[r].message);
}

static void one_that_dies_is_named_to_the_others(void **state)
{
    (void)state;
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    run(work_and_die);
    for (size_t r = 0; r < RANKS; r += 2) {
        assert_int_equal(told[r].status, HR_E_LOST);
        assert_non_null(strstr(told[r].message, "waited for barrier: rank 1: pid "));
    }
}

static void one_that_is_stopped_is_named_to_the_others(void **state)
{
    (void)state;
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    patience = 4;
    run(work_and_stop);
    for (size_t r = 0; r < RANKS; r += 2) {
        assert_true(told[r].status == HR_E_TIMEOUT || told[r].status == HR_E_ABORTED);
        assert_non_null(strstr(told[r].message, "rank 1: pid "));
        assert_non_null(strstr(told[r].message, " is stopped, while "));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_join_work_as_others_do),
        cmocka_unit_test(one_that_dies_is_named_to_the_others),
        cmocka_unit_test(one_that_is_stopped_is_named_to_the_others),
    };
    told =
        mmap(NULL, RANKS * sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(told != MAP_FAILED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

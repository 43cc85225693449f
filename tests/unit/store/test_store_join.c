/* A store of ranks that were started one by one, in which the segment lies at other addresses. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hogring/store.h"
#include "support/check.h"
#include "support/ranks.h"

enum { RANKS = 4, COUNT = 9000, ROUNDS = 20 };

static enum hr_status push_and_look(struct hr_store *store, float *values, float *out)
{
    uint64_t ticket;
    for (size_t i = 0; i < COUNT; i++)
        values[i] = (float)(i % 13);
    for (size_t round = 0; round < ROUNDS; round++)
        HR_TRY(hr_store_push(store, 0, values, &ticket));
    HR_TRY(hr_store_wait_all(store));
    HR_TRY(hr_store_barrier(store));
    HR_TRY(hr_store_pull(store, 0, out, &ticket));
    HR_TRY(hr_store_wait(store, ticket));
    HR_TRY(hr_store_barrier(store));
    return HR_OK;
}

static enum hr_status work(struct hr_group *world)
{
    static float own[2][COUNT];
    const struct hr_store_key key = {"key", COUNT, NULL};
    const struct hr_store_options options = {.keys = &key, .nkeys = 1, .servers = 2};
    struct hr_store *store;
    void *shared;
    HR_TRY(hr_store_open(world, &options, &store));
    if (hr_store_serves(store))
        return hr_store_close(store);
    HR_TRY(hr_group_alloc(world, sizeof own, &shared));
    float *values = shared, *out = values + COUNT;
    HR_TRY(push_and_look(store, own[0], own[1]));
    HR_TRY(push_and_look(store, values, out));
    for (size_t i = 0; i < COUNT; i++) {
        const float once = (float)(2 * ROUNDS * (i % 13));
        RANK_CHECK(own[1][i] == once && out[i] == 2 * once, "element %zu: %g and %g", i,
                   (double)own[1][i], (double)out[i]);
    }
    return hr_store_close(store);
}

static void set_number(const char *name, size_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    setenv(name, text, 1);
}

static _Noreturn void be_rank(size_t rank)
{
    /* In a container /dev/shm has 64 MiB, for all that run at a time. */
    const struct hr_world_options options = {
        .timeout = 100, .max_groups = 1, .arena_bytes = 1 << 20};
    struct hr_group *world;
    /* Takes the place where the others have their segment. */
    mmap(NULL, (rank + 1) << 24, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    set_number("RANK", rank);
    set_number("WORLD_SIZE", RANKS);
    set_number("LOCAL_RANK", rank);
    enum hr_status status = hr_world_join(&options, &world);
    if (status == HR_OK) {
        status = work(world);
        hr_world_leave(world, status);
    }
    if (status != HR_OK)
        fprintf(stderr, "rank %zu: %s\n", rank, hr_error_message());
    _exit(status != HR_OK);
}

static void ranks_that_joined_push_and_pull(void **state)
{
    char name[64];
    (void)state;
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    snprintf(name, sizeof name, "store-%ld", (long)getpid());
    setenv("HOGRING_RUN", name, 1);
    for (size_t r = 0; r < RANKS; r++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            be_rank(r);
    }
    for (size_t r = 0; r < RANKS; r++) {
        int ended = -1;
        wait(&ended);
        assert_int_equal(ended, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_that_joined_push_and_pull)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What is wrong with a store is told in one line, and nothing hangs when a rank fails or dies. */
#include <signal.h>

#include "support/stores.h"

/* --- mistakes --- */

#define OPEN_FAILS(text, ...)                                                                      \
    RANK_FAILS(hr_store_open(world, &(struct hr_store_options){__VA_ARGS__}, &store), HR_E_USAGE,  \
               text)

static enum hr_status bad_options(struct hr_group *world, void *arg)
{
    static const struct hr_store_key nameless[] = {{NULL, 1, NULL}}, empty[] = {{"a", 0, NULL}},
                                     twice[] = {{"a", 1, NULL}, {"b", 1, NULL}, {"a", 1, NULL}},
                                     huge[] = {{"a", SIZE_MAX / 2, NULL}};
    struct hr_store *store;
    (void)arg;
    OPEN_FAILS("at least one key", .nkeys = 0);
    OPEN_FAILS("key 0 has no name", .keys = nameless, .nkeys = 1);
    OPEN_FAILS("key a: expected at least one float", .keys = empty, .nkeys = 1);
    OPEN_FAILS("two keys are called a", .keys = twice, .nkeys = 3);
    OPEN_FAILS("do not fit into memory", .keys = huge, .nkeys = 1);
    OPEN_FAILS("placement elsewhere: expected dedicated or colocated", .keys = two_keys, .nkeys = 2,
               .placement = "elsewhere");
    OPEN_FAILS("4 dedicated servers in a group of 4: expected 1 to 3", .keys = two_keys, .nkeys = 2,
               .servers = 4);
    RANK_CHECK(!store, "a store that was refused");
    return hr_store_close(store);
}

static void stores_that_cannot_be_are_refused(void **state)
{
    (void)state;
    worlds_pass(four_ranks, bad_options, NULL);
}

static enum hr_status alone(struct hr_group *world, void *arg)
{
    struct hr_store *store;
    float x[10] = {5}, out[10];
    (void)arg;
    OPEN_FAILS("two ranks, and the group has one", .keys = two_keys, .nkeys = 2);
    HR_TRY(hr_store_open(
        world, &(struct hr_store_options){.keys = two_keys, .nkeys = 2, .placement = "colocated"},
        &store));
    HR_TRY(push_now(store, 0, x));
    HR_TRY(pull_now(store, 0, out));
    RANK_CHECK(out[0] == 5, "%g", (double)out[0]);
    return hr_store_close(store);
}

static void one_rank_is_a_store_of_its_own(void **state)
{
    (void)state;
    worlds_pass((struct hr_world_options){.nranks = 1, .max_groups = 1}, alone, NULL);
}

static enum hr_status bad_calls(struct hr_group *world, void *arg)
{
    struct hr_store *store;
    float x[10] = {0};
    uint64_t ticket;
    size_t key;
    (void)arg;
    HR_TRY(hr_store_open(world, &two_servers, &store));
    RANK_FAILS(hr_store_find(store, "none", &key), HR_E_USAGE, "there is no key none");
    HR_TRY(hr_store_find(store, "big", &key));
    RANK_CHECK(key == 1, "key %zu", key);
    if (hr_store_serves(store)) {
        RANK_FAILS(hr_store_push(store, 0, x, &ticket), HR_E_USAGE, "serves, only workers (ranks");
        RANK_FAILS(hr_store_barrier(store), HR_E_USAGE, "serves, only workers");
        return hr_store_close(store); /* serves as well */
    }
    RANK_FAILS(hr_store_pull(store, 2, x, &ticket), HR_E_USAGE, "there is no key 2, the store has");
    RANK_FAILS(hr_store_push(store, 0, NULL, &ticket), HR_E_USAGE, "key small: a buffer is NULL");
    RANK_FAILS(hr_store_push_pull(store, 0, x, NULL, &ticket), HR_E_USAGE, "a buffer is NULL");
    RANK_FAILS(hr_store_wait(store, 1), HR_E_USAGE, "there is no ticket 1, so far 0");
    RANK_FAILS(hr_store_serve(store), HR_E_USAGE, "is a worker");
    return hr_store_close(store);
}

static void calls_that_mean_nothing_are_refused(void **state)
{
    (void)state;
    worlds_pass(four_ranks, bad_calls, NULL);
}

static enum hr_status other_keys(struct hr_group *world, void *arg)
{
    const size_t other = hr_group_rank(world) / 3; /* of the last rank: the name, or the count */
    const struct hr_store_key keys[] = {{arg && other ? "b" : "a", 1 + (arg ? 0 : other), NULL}};
    struct hr_store *store;
    return hr_store_open(world, &(struct hr_store_options){.keys = keys, .nkeys = 1}, &store);
}

static void ranks_that_disagree_about_keys_are_told(void **state)
{
    (void)state;
    worlds_end(four_ranks, other_keys, NULL, HR_E_MISMATCH, "gave other keys or options than rank");
    worlds_end(four_ranks, other_keys, "names", HR_E_MISMATCH, "gave other keys or options");
}

/* --- what goes wrong --- */

/* Worker 0 waits for a push that worker 1 never makes. */
static enum hr_status one_stays_away(struct hr_group *world, void *arg)
{
    const char *what_happens = arg;
    const size_t rank = hr_group_rank(world);
    float x[10] = {0};
    struct hr_store *store;
    struct hr_store_options options = two_servers;
    enum hr_status status = HR_OK;
    options.synchronous = 1;
    HR_TRY(hr_store_open(world, &options, &store));
    if (rank == 3 && !strcmp(what_happens, "a server dies"))
        raise(SIGKILL);
    if (rank == 0)
        status = push_now(store, 0, x);
    if (rank == 1 && strcmp(what_happens, "a worker fails") != 0)
        status = hr_store_barrier(store);
    char why[200];
    snprintf(why, sizeof why, "%s", rank == 1 ? "worker 1 gives up" : hr_error_message());
    const enum hr_status closed = hr_store_close(store);
    if (rank == 1 && status == HR_OK)
        return hr_fail(HR_E_FAILED, "%s", why);
    return status == HR_OK ? closed : hr_fail(status, "%s", why);
}

static void a_worker_that_fails_ends_the_waits_of_all(void **state)
{
    (void)state;
    worlds_end(four_ranks, one_stays_away, "a worker fails", HR_E_FAILED, "worker 1 gives up");
}

static void a_wait_has_a_deadline(void **state)
{
    struct hr_world_options options = four_ranks;
    (void)state;
    options.timeout = 0.1;
    worlds_end(options, one_stays_away, "nothing", HR_E_TIMEOUT, " s for ");
}

static void a_server_that_dies_is_a_lost_rank(void **state)
{
    struct hr_world_options options = four_ranks;
    (void)state;
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    options.launch = "process";
    CHECK_FAILS(hr_world_run(&options, one_stays_away, "a server dies"), HR_E_LOST);
    CHECK_MESSAGE("rank 3");
    assert_true(no_children_left());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_that_cannot_be_are_refused),
        cmocka_unit_test(one_rank_is_a_store_of_its_own),
        cmocka_unit_test(calls_that_mean_nothing_are_refused),
        cmocka_unit_test(ranks_that_disagree_about_keys_are_told),
        cmocka_unit_test(a_worker_that_fails_ends_the_waits_of_all),
        cmocka_unit_test(a_wait_has_a_deadline),
        cmocka_unit_test(a_server_that_dies_is_a_lost_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

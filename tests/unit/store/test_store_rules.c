/* What a store promises beyond sums: rules of the caller, versions, placements, several stores. */
#include "support/stores.h"

/* --- the rule --- */

/* weights = weights / 2 + pushed + a number that names key, element and version. */
static float ruled(float weight, float pushed, size_t key, size_t i, uint64_t version)
{
    return weight / 2 + pushed + (float)(1000 * key + i % 8) + 16 * (float)version;
}

static void rule(void *arg, const struct hr_store_update *what, float *weights, const float *pushed)
{
    size_t *calls = arg;
    for (size_t i = 0; i < what->count; i++)
        weights[i] = ruled(weights[i], pushed[i], what->key, what->first + i, what->version);
    *calls += what->worker == 0 && !strcmp(what->name, two_keys[what->key].name);
}

static enum hr_status rule_of_mine(struct hr_group *world, void *arg)
{
    static const float initial[BIG] = {[3] = 8, [BIG - 1] = 6};
    const struct hr_store_key keys[] = {{"small", 10, NULL}, {"big", BIG, initial}};
    float values[BIG], out[BIG];
    size_t calls = 0;
    uint64_t ticket;
    struct hr_store *store;
    (void)arg;
    HR_TRY(hr_store_open(world,
                         &(struct hr_store_options){
                             .keys = keys, .nkeys = 2, .servers = 3, .update = rule, .arg = &calls},
                         &store));
    if (hr_store_serves(store)) {
        HR_TRY(hr_store_serve(store));
        RANK_CHECK(calls > 0 || hr_group_rank(world) == 3, "the rule was not called as it should");
        return hr_store_close(store);
    }
    for (size_t i = 0; i < BIG; i++)
        values[i] = (float)(i % 5);
    for (uint64_t version = 1; version <= 2; version++)
        HR_TRY(hr_store_push_pull(store, 1, values, out, &ticket));
    HR_TRY(hr_store_wait(store, ticket));
    for (size_t i = 0; i < BIG; i++) {
        const float once = ruled(initial[i], values[i], 1, i, 1);
        const float want = ruled(once, values[i], 1, i, 2);
        RANK_CHECK(out[i] == want, "element %zu: %g, not %g", i, (double)out[i], (double)want);
    }
    return hr_store_close(store);
}

static void the_callers_rule_is_told_what_it_updates(void **state)
{
    (void)state;
    worlds_pass(four_ranks, rule_of_mine, NULL);
}

/* --- versions --- */

#define VERSION(want_read, want_written, want_staleness)                                           \
    do {                                                                                           \
        const struct hr_store_version v = hr_store_part_version(store, 1, part);                   \
        RANK_CHECK(v.read == (want_read) && v.written == (want_written) &&                         \
                       v.staleness == (want_staleness),                                            \
                   "part %zu: read %llu, written %llu, staleness %llu", part,                      \
                   (unsigned long long)v.read, (unsigned long long)v.written,                      \
                   (unsigned long long)v.staleness);                                               \
    } while (0)

/* Worker 0 pushes once and all read; worker 1 pushes three times, worker 0 pushes what it computed
 * from its read. */
static enum hr_status scripted(struct hr_group *world, void *arg)
{
    static const float values[BIG];
    float out[BIG];
    struct hr_store *store;
    enum hr_status status;
    (void)arg;
    HR_TRY(hr_store_open(world, &two_servers, &store));
    if (served(store, &status))
        return status;
    const bool slow = hr_group_rank(world) == 0;
    RANK_CHECK(hr_store_parts(store, 1) == 2 && hr_store_parts(store, 0) == 1, "parts");
    if (slow)
        HR_TRY(push_now(store, 1, values));
    HR_TRY(hr_store_barrier(store));
    HR_TRY(pull_now(store, 1, out));
    HR_TRY(hr_store_barrier(store));
    for (size_t i = 0; i < 3 && !slow; i++)
        HR_TRY(push_now(store, 1, values));
    HR_TRY(hr_store_barrier(store));
    if (slow)
        HR_TRY(push_now(store, 1, values));
    for (size_t part = 0; part < 2; part++)
        if (slow)
            VERSION(1, 5, 3);
        else
            VERSION(1, 4, 2); /* its own, too: it has not read in between */
    HR_TRY(hr_store_barrier(store));
    if (!slow)
        HR_TRY(pull_now(store, 1, out));
    for (size_t part = 0; part < 2 && !slow; part++)
        VERSION(5, 4, 2);
    HR_TRY(hr_store_barrier(store));
    uint64_t ticket; /* worker 0 pushes and reads, and pushes what it computed from that */
    if (slow) {
        HR_TRY(hr_store_push_pull(store, 1, values, out, &ticket));
        HR_TRY(push_now(store, 1, values));
        for (size_t part = 0; part < 2; part++)
            VERSION(6, 7, 0);
    }
    return hr_store_close(store);
}

static void scripted_pushes_have_known_staleness(void **state)
{
    (void)state;
    worlds_pass(four_ranks, scripted, NULL);
}

/* --- two stores --- */

/* Even ranks wait in the one store for odd ranks, which first need, in the other store, the shards
 * of the even ones. */
static enum hr_status use_two(struct hr_group *world, struct hr_store **store)
{
    float one[BIG], out[2][BIG];
    uint64_t ticket;
    for (size_t i = 0; i < BIG; i++)
        one[i] = 1;
    if (hr_group_rank(world) % 2)
        HR_TRY(push_now(store[1], 1, one));
    HR_TRY(hr_store_push_pull(store[0], 1, one, out[0], &ticket));
    HR_TRY(hr_store_wait(store[0], ticket));
    if (hr_group_rank(world) % 2 == 0)
        HR_TRY(push_now(store[1], 1, one));
    HR_TRY(hr_store_barrier(store[0]));
    HR_TRY(pull_now(store[1], 1, out[1]));
    const float workers = (float)hr_store_workers(store[0]);
    for (size_t i = 0; i < BIG; i++)
        RANK_CHECK(out[0][i] == workers && out[1][i] == workers, "element %zu: %g and %g", i,
                   (double)out[0][i], (double)out[1][i]);
    return HR_OK;
}

static enum hr_status two_stores(struct hr_group *world, void *arg)
{
    struct hr_store *store[2];
    struct hr_store_options options = two_servers;
    options.placement = arg;
    for (size_t i = 0; i < 2; i++) {
        options.synchronous = i == 0;
        HR_TRY(hr_store_open(world, &options, &store[i]));
    }
    if (!hr_store_serves(store[0]))
        HR_TRY(use_two(world, store));
    HR_TRY(hr_store_close(store[0])); /* a server serves both until then */
    return hr_store_close(store[1]);
}

static void two_stores_of_one_group_do_not_wait_for_each_other(void **state)
{
    (void)state;
    worlds_pass(four_ranks, two_stores, "dedicated");
    worlds_pass(four_ranks, two_stores, "colocated");
}

/* --- placements --- */

/* The bits of worker 0's last pull, after synchronous rounds of numbers that round. */
static enum hr_status three_workers(struct hr_group *world, void *arg)
{
    struct {
        const char *placement;
        float *result; /* shared with the test */
    } *wanted = arg;
    float values[BIG], out[BIG];
    uint64_t ticket;
    struct hr_store *store;
    enum hr_status status;
    struct hr_store_options options = two_servers;
    options.placement = wanted->placement;
    options.synchronous = 1;
    HR_TRY(hr_store_open(world, &options, &store));
    if (served(store, &status))
        return status;
    for (size_t round = 0; round < 5; round++) {
        for (size_t i = 0; i < BIG; i++)
            values[i] = 1.0f / (float)(1 + i + 7 * round + 13 * hr_group_rank(world));
        HR_TRY(hr_store_push_pull(store, 1, values, out, &ticket));
        HR_TRY(hr_store_wait(store, ticket));
    }
    if (hr_group_rank(world) == 0)
        memcpy(wanted->result, out, sizeof out);
    return hr_store_close(store);
}

static void placements_give_the_same_bits(void **state)
{
    static float result[2][BIG];
    struct {
        const char *placement;
        float *result;
    } wanted[] = {{"dedicated", result[0]}, {"colocated", result[1]}};
    (void)state;
    for (size_t i = 0; i < 2; i++) { /* as threads: results come back in plain memory */
        const struct hr_world_options options = {
            .nranks = i == 0 ? 5 : 3, .max_groups = 1, .timeout = 20};
        CHECK_OK(hr_world_run(&options, three_workers, &wanted[i]));
    }
    CHECK_SAME_FLOATS(result[1], result[0], BIG);
    assert_true(result[0][7] > 0);
}

/* --- leaving --- */

/* wait_all waits for a single operation too, and close for as many as may be under way. */
static enum hr_status pull_and_leave(struct hr_group *world, void *arg)
{
    static const float ones[BIG] = {1};
    float out[BIG] = {0};
    uint64_t ticket;
    struct hr_store *store;
    enum hr_status status = HR_OK;
    HR_TRY(hr_store_open(world, arg, &store));
    if (served(store, &status))
        return status;
    HR_TRY(push_now(store, 0, ones));
    HR_TRY(hr_store_pull(store, 0, out, &ticket));
    HR_TRY(hr_store_wait_all(store)); /* of one */
    RANK_CHECK(out[0] >= 1, "pulled %g", (double)out[0]);
    for (size_t i = 0; i + 1 < HR_STORE_OUTSTANDING; i++)
        HR_TRY(hr_store_push(store, 1, ones, &ticket));
    HR_TRY(hr_store_pull(store, 1, out, &ticket));
    HR_TRY(hr_store_close(store));
    RANK_CHECK(out[0] >= HR_STORE_OUTSTANDING - 1, "pulled %g", (double)out[0]);
    return HR_OK;
}

static void whoever_leaves_has_what_it_asked_for(void **state)
{
    (void)state;
    worlds_pass(four_ranks, pull_and_leave, (void *)(uintptr_t)&two_servers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_callers_rule_is_told_what_it_updates),
        cmocka_unit_test(scripted_pushes_have_known_staleness),
        cmocka_unit_test(whoever_leaves_has_what_it_asked_for),
        cmocka_unit_test(two_stores_of_one_group_do_not_wait_for_each_other),
        cmocka_unit_test(placements_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

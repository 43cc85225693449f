/* What hogring/group.h promises beside results: documented errors, memory, groups and names. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/worlds.h"

enum { N = 4, COUNT = 40 };

/* --- nothing --- */

/* The odd ranks' buffers lie in arenas, the others have none. */
static enum hr_status move_nothing(struct hr_group *world, void *arg)
{
    void *memory = NULL;
    (void)arg;
    if (hr_group_rank(world) % 2)
        HR_TRY(hr_group_alloc(world, 64, &memory));
    HR_TRY(hr_broadcast(world, memory, 0, HR_INT32, 0));
    HR_TRY(hr_all_reduce(world, memory, memory, 0, HR_INT32, HR_SUM));
    HR_TRY(hr_all_reduce(world, NULL, memory, 0, HR_FLOAT32, HR_MEAN));
    HR_TRY(hr_reduce(world, memory, memory, 0, HR_FLOAT32, HR_SUM, 0));
    HR_TRY(hr_reduce_scatter(world, memory, memory, 0, HR_FLOAT32, HR_SUM));
    HR_TRY(hr_all_gather(world, memory, memory, 0, HR_FLOAT64));
    HR_TRY(hr_gather(world, memory, memory, 0, HR_FLOAT64, 1));
    HR_TRY(hr_scatter(world, memory, memory, 0, HR_FLOAT64, 2));
    return hr_all_to_all(world, memory, memory, 0, HR_INT64);
}

static void nothing_moves_from_anywhere_to_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; hr_algorithm_at(i); i++)
        for (int copy = 0; copy < 2; copy++)
            worlds_pass((struct hr_world_options){.nranks = N,
                                                  .algorithm = hr_algorithm_at(i)->name,
                                                  .transport = copy ? "copy" : "zero-copy"},
                        move_nothing, NULL);
}

/* --- wrong use --- */

static enum hr_status use_wrongly(struct hr_group *world, void *arg)
{
    float x[3 * N * COUNT];
    struct hr_request *request;
    const enum hr_type type = HR_FLOAT32;
    const size_t n = N;
    (void)arg;
    RANK_FAILS(hr_broadcast(world, x, 1, type, n), HR_E_USAGE,
               "broadcast: there is no rank 4 in a group of 4");
    RANK_FAILS(hr_reduce(world, x, x, 1, type, HR_SUM, 9), HR_E_USAGE, "reduce: there is no rank");
    RANK_FAILS(hr_gather(world, x, x + 9, 1, type, n), HR_E_USAGE, "gather: there is no rank 4");
    RANK_FAILS(hr_scatter(world, x, x + 9, 1, type, n), HR_E_USAGE, "scatter: there is no rank 4");
    RANK_FAILS(hr_send(world, x, 1, type, n), HR_E_USAGE, "send: there is no rank 4");
    RANK_FAILS(hr_recv(world, x, 1, type, n), HR_E_USAGE, "receive: there is no rank 4");
    RANK_FAILS(hr_isend(world, x, 1, type, n, &request), HR_E_USAGE, "there is no rank 4");
    RANK_FAILS(hr_irecv(world, x, 1, type, n, &request), HR_E_USAGE, "there is no rank 4");
    RANK_FAILS(hr_all_gather(world, x, x, 1, HR_TYPES), HR_E_USAGE, "there is no type 4");
    RANK_FAILS(hr_send(world, x, 1, HR_TYPES, 0), HR_E_USAGE, "send: there is no type 4");
    RANK_FAILS(hr_all_reduce(world, x, x, 1, type, HR_REDOPS), HR_E_USAGE,
               "all_reduce: there is no operator 5");
    RANK_FAILS(hr_all_reduce(world, x, x, SIZE_MAX / 8, type, HR_SUM), HR_E_USAGE,
               "elements are more than fit into memory");
    RANK_FAILS(hr_send(world, x, SIZE_MAX, type, 0), HR_E_USAGE, "more than fit into memory");
    return hr_barrier(world); /* none of this has hurt the group */
}

static void wrong_use_is_told_and_does_no_harm(void **state)
{
    (void)state;
    worlds_pass((struct hr_world_options){.nranks = N}, use_wrongly, NULL);
}

static enum hr_status overlap(struct hr_group *world, void *arg)
{
    float x[3 * N * COUNT], *const own = x + hr_group_rank(world) * COUNT;
    const enum hr_type type = HR_FLOAT32;
    const size_t me = hr_group_rank(world), n = COUNT;
    const char *text = "input and output overlap, and are not in place";
    (void)arg;
    RANK_FAILS(hr_all_reduce(world, x, x + 1, n, type, HR_SUM), HR_E_USAGE, text);
    RANK_FAILS(hr_all_reduce(world, x + n - 1, x, n, type, HR_SUM), HR_E_USAGE, text);
    RANK_FAILS(hr_reduce(world, x, x + 1, n, type, HR_SUM, me), HR_E_USAGE, text);
    RANK_FAILS(hr_reduce_scatter(world, x, own + 1, n, type, HR_SUM), HR_E_USAGE, text);
    RANK_FAILS(hr_all_gather(world, own + 1, x, n, type), HR_E_USAGE, text);
    RANK_FAILS(hr_gather(world, own + 1, x, n, type, me), HR_E_USAGE, text);
    RANK_FAILS(hr_scatter(world, x, own + 1, n, type, me), HR_E_USAGE, text);
    RANK_FAILS(hr_all_to_all(world, x, x + n, n, type), HR_E_USAGE, text);
    return hr_barrier(world);
}

static void buffers_that_overlap_are_told(void **state)
{
    (void)state;
    worlds_pass((struct hr_world_options){.nranks = N}, overlap, NULL);
}

static enum hr_status do_nothing(struct hr_group *world, void *arg)
{
    (void)world, (void)arg;
    return HR_OK;
}

static void options_that_there_are_not_are_told(void **state)
{
    (void)state;
    static const struct {
        struct hr_world_options options;
        const char *text;
    } wrong[] = {
        {{.nranks = 0}, "0 ranks: expected 1 to 64"},
        {{.nranks = 65}, "65 ranks: expected 1 to 64"},
        {{.nranks = 2, .launch = "fibre"}, "fibre"},
        {{.nranks = 2, .algorithm = "square"}, "there is no such algorithm"},
        {{.nranks = 2, .transport = "pigeon"}, "expected zero-copy or copy"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_FAILS(hr_world_run(&wrong[i].options, do_nothing, NULL), HR_E_USAGE);
        CHECK_MESSAGE(wrong[i].text);
    }
    const struct hr_world_options huge = {.nranks = 2, .arena_bytes = SIZE_MAX / 2};
    CHECK_FAILS(hr_world_run(&huge, do_nothing, NULL), HR_E_NOMEM);
}

static enum hr_status fail_at_rank_2(struct hr_group *world, void *arg)
{
    (void)arg;
    if (hr_group_rank(world) == 2)
        return hr_fail(HR_E_IO, "the disk is full");
    RANK_FAILS(hr_barrier(world), HR_E_ABORTED, "");
    return HR_E_ABORTED;
}

static void the_first_failure_ends_the_world(void **state)
{
    (void)state;
    worlds_end((struct hr_world_options){.nranks = N}, fail_at_rank_2, NULL, HR_E_IO,
               "the disk is full");
}

static enum hr_status wait_for_nobody(struct hr_group *world, void *arg)
{
    float x;
    (void)arg;
    return hr_recv(world, &x, 1, HR_FLOAT32, hr_group_rank(world));
}

static void a_wait_ends_with_its_timeout(void **state)
{
    (void)state;
    worlds_end((struct hr_world_options){.nranks = 1, .timeout = 0.2}, wait_for_nobody, NULL,
               HR_E_TIMEOUT, "a receive");
}

/* --- ranks that disagree --- */

/* Rank 0 sends; rank 1 expects what the case says. */
struct expectation {
    size_t count;
    enum hr_type type;
    const char *text;
};

static enum hr_status expect_another(struct hr_group *world, void *arg)
{
    const struct expectation *expected = arg;
    double x[8] = {0};
    if (hr_group_rank(world) == 0)
        return hr_send(world, x, 4, HR_FLOAT32, 1);
    return hr_recv(world, x, expected->count, expected->type, 0);
}

static void a_message_is_received_as_it_was_sent(void **state)
{
    (void)state;
    static struct expectation others[] = {{5, HR_FLOAT32, "of 5 float32"},
                                          {3, HR_FLOAT32, "of 3 float32"},
                                          {4, HR_INT32, "of 4 int32"},
                                          {2, HR_FLOAT64, "of 2 float64"}};
    for (size_t i = 0; i < 4; i++) {
        worlds_end((struct hr_world_options){.nranks = 2}, expect_another, &others[i],
                   HR_E_MISMATCH, others[i].text);
        CHECK_MESSAGE("of 4 float32");
    }
}

/* Larger than a lane's slots, between processes that do not reach each other's memory. */
enum { LARGE = 1 << 20 };

static enum hr_status send_across_a_barrier(struct hr_group *world, void *arg)
{
    struct hr_request *request;
    int32_t *x = malloc(LARGE * sizeof *x);
    (void)arg;
    RANK_CHECK(x, "no memory");
    for (size_t i = 0; i < LARGE; i++)
        x[i] = hr_group_rank(world) ? 0 : (int32_t)i;
    if (hr_group_rank(world) == 0) {
        HR_TRY(hr_isend(world, x, LARGE, HR_INT32, 1, &request));
        HR_TRY(hr_barrier(world));
        HR_TRY(hr_wait(request));
    } else {
        HR_TRY(hr_recv(world, x, LARGE, HR_INT32, 0));
        HR_TRY(hr_barrier(world));
    }
    for (size_t i = 0; i < LARGE; i++)
        RANK_CHECK(x[i] == (int32_t)i, "element %zu is %d", i, x[i]);
    free(x);
    return HR_OK;
}

static void a_message_goes_on_while_its_rank_waits_for_others(void **state)
{
    (void)state;
    const struct hr_world_options options = {.nranks = 2, .launch = "process", .timeout = 5};
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    CHECK_OK(hr_world_run(&options, send_across_a_barrier, NULL));
}

static enum hr_status mix_memory(struct hr_group *world, void *arg)
{
    static float own[4096];
    void *memory = own;
    (void)arg;
    if (hr_group_rank(world) == 1)
        HR_TRY(hr_group_alloc(world, sizeof own, &memory));
    return hr_all_reduce(world, memory, memory, 4096, HR_FLOAT32, HR_SUM);
}

static void processes_that_mix_memory_in_an_all_reduce_are_told(void **state)
{
    (void)state;
    const struct hr_world_options options = {.nranks = 3, .launch = "process", .timeout = 20};
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    CHECK_FAILS(hr_world_run(&options, mix_memory, NULL), HR_E_MISMATCH);
    CHECK_MESSAGE("in its own memory");
}

/* --- groups --- */

static enum hr_status list_wrongly(struct hr_group *world, void *arg)
{
    struct hr_group *group = world;
    (void)arg;
    RANK_FAILS(hr_group_new(world, NULL, 0, &group), HR_E_USAGE, "0 ranks of a world of 4");
    RANK_CHECK(!group, "a group was made of nobody");
    RANK_FAILS(hr_group_new(world, (const size_t[]){0, 1, 2, 3, 0}, 5, &group), HR_E_USAGE,
               "5 ranks of a world of 4");
    RANK_FAILS(hr_group_new(world, (const size_t[]){1, 4}, 2, &group), HR_E_USAGE,
               "there is no rank 4");
    RANK_FAILS(hr_group_new(world, (const size_t[]){2, 1, 1}, 3, &group), HR_E_USAGE,
               "rank 1 is listed twice");
    HR_TRY(hr_group_new(world, (const size_t[]){3, 1}, 2, &group));
    if (group) {
        struct hr_group *inner;
        RANK_CHECK(hr_group_size(group) == 2, "its size");
        RANK_CHECK(hr_group_rank(group) == (hr_group_rank(world) == 3 ? 0 : 1), "its ranks");
        RANK_CHECK(hr_local_rank(group) == hr_group_rank(world), "the local rank");
        RANK_FAILS(hr_group_new(group, (const size_t[]){0}, 1, &inner), HR_E_USAGE,
                   "expected the world's group");
    }
    hr_group_free(group);
    return hr_barrier(world);
}

static void lists_of_ranks_are_checked(void **state)
{
    (void)state;
    worlds_pass((struct hr_world_options){.nranks = N}, list_wrongly, NULL);
}

static enum hr_status make_too_many(struct hr_group *world, void *arg)
{
    const size_t all[N] = {3, 2, 1, 0};
    struct hr_group *group[2], *more;
    (void)arg;
    for (size_t g = 0; g < 2; g++)
        HR_TRY(hr_group_new(world, all, N, &group[g]));
    hr_group_free(group[0]); /* does not make room for another */
    RANK_FAILS(hr_group_new(world, all, N, &more), HR_E_NOMEM, "max_groups");
    HR_TRY(hr_barrier(group[1]));
    hr_group_free(group[1]);
    return HR_OK;
}

static void groups_have_an_end(void **state)
{
    (void)state;
    worlds_pass((struct hr_world_options){.nranks = N, .max_groups = 2}, make_too_many, NULL);
}

/* Lists of many ranks, which differ at the end. */
static enum hr_status list_differently(struct hr_group *world, void *arg)
{
    size_t list[16];
    struct hr_group *group;
    (void)arg;
    for (size_t i = 0; i < 16; i++)
        list[i] = 15 - i;
    HR_TRY(hr_group_new(world, list, 16, &group));
    HR_TRY(hr_barrier(group));
    hr_group_free(group);
    if (hr_group_rank(world) == 5) {
        list[14] = 0;
        list[15] = 1;
    }
    return hr_group_new(world, list, 16, &group);
}

static void ranks_that_list_differently_are_told(void **state)
{
    (void)state;
    worlds_end((struct hr_world_options){.nranks = 16}, list_differently, NULL, HR_E_MISMATCH,
               "hr_group_new: ranks gave different lists");
}

/* --- memory --- */

static enum hr_status use_up_the_arena(struct hr_group *world, void *arg)
{
    unsigned char *first, *second;
    void *more;
    (void)arg;
    HR_TRY(hr_group_alloc(world, 1, (void **)&first));
    HR_TRY(hr_group_alloc(world, 1000, (void **)&second));
    RANK_CHECK((uintptr_t)first % 128 == 0 && (uintptr_t)second % 128 == 0, "alignment");
    RANK_CHECK(second >= first + 128 || second + 1000 <= first, "they overlap");
    for (size_t i = 0; i < 1000; i++)
        RANK_CHECK(second[i] == 0, "it is not zeroed");
    RANK_FAILS(hr_group_alloc(world, 1 << 20, &more), HR_E_NOMEM, "arena_bytes");
    RANK_FAILS(hr_group_alloc(world, SIZE_MAX, &more), HR_E_NOMEM, "arena_bytes");
    return hr_group_alloc(world, 4096, &more);
}

static void an_arena_has_an_end(void **state)
{
    (void)state;
    worlds_pass((struct hr_world_options){.nranks = N, .arena_bytes = 8192}, use_up_the_arena,
                NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_moves_from_anywhere_to_anywhere),
        cmocka_unit_test(wrong_use_is_told_and_does_no_harm),
        cmocka_unit_test(buffers_that_overlap_are_told),
        cmocka_unit_test(options_that_there_are_not_are_told),
        cmocka_unit_test(the_first_failure_ends_the_world),
        cmocka_unit_test(a_wait_ends_with_its_timeout),
        cmocka_unit_test(a_message_is_received_as_it_was_sent),
        cmocka_unit_test(a_message_goes_on_while_its_rank_waits_for_others),
        cmocka_unit_test(processes_that_mix_memory_in_an_all_reduce_are_told),
        cmocka_unit_test(lists_of_ranks_are_checked),
        cmocka_unit_test(groups_have_an_end),
        cmocka_unit_test(ranks_that_list_differently_are_told),
        cmocka_unit_test(an_arena_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

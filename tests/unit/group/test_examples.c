/* The worked examples that define the operations: 4 ranks, each with one number. */
#include "support/worlds.h"

enum { N = 4 };

#define EXPECT(value, want)                                                                        \
    RANK_CHECK((value) == (want), "rank %zu: %s is %g, not %g", hr_group_rank(world), #value,      \
               (double)(value), (double)(want))

static void four_ranks(hr_rank_fn work)
{
    static const char *const transports[] = {"zero-copy", "copy"};
    for (size_t i = 0; i < 2; i++)
        worlds_pass((struct hr_world_options){.nranks = N, .transport = transports[i]}, work, NULL);
}

static enum hr_status reduce_ones(struct hr_group *world, void *arg)
{
    const float one = 1;
    float sum = -1;
    (void)arg;
    HR_TRY(hr_reduce(world, &one, &sum, 1, HR_FLOAT32, HR_SUM, 0));
    EXPECT(sum, hr_group_rank(world) == 0 ? 4 : -1);
    return HR_OK;
}

static void reduce_of_ones_to_rank_0_gives_4(void **state)
{
    (void)state;
    four_ranks(reduce_ones);
}

static enum hr_status all_reduce_ones(struct hr_group *world, void *arg)
{
    float x = 1;
    (void)arg;
    HR_TRY(hr_all_reduce(world, &x, &x, 1, HR_FLOAT32, HR_SUM));
    EXPECT(x, 4);
    return HR_OK;
}

static void all_reduce_of_ones_gives_4_everywhere(void **state)
{
    (void)state;
    four_ranks(all_reduce_ones);
}

static enum hr_status broadcast_zero(struct hr_group *world, void *arg)
{
    float x = (float)hr_group_rank(world);
    (void)arg;
    HR_TRY(hr_broadcast(world, &x, 1, HR_FLOAT32, 0));
    EXPECT(x, 0);
    return HR_OK;
}

static void broadcast_of_rank_0s_zero_gives_0_everywhere(void **state)
{
    (void)state;
    four_ranks(broadcast_zero);
}

static enum hr_status gather_ranks(struct hr_group *world, void *arg)
{
    const float x = (float)hr_group_rank(world);
    float all[N] = {-1, -1, -1, -1};
    (void)arg;
    HR_TRY(hr_gather(world, &x, all, 1, HR_FLOAT32, 0));
    for (size_t r = 0; r < N; r++)
        EXPECT(all[r], hr_group_rank(world) == 0 ? (float)r : -1);
    return HR_OK;
}

static void gather_of_ranks_gives_0_1_2_3_to_the_root(void **state)
{
    (void)state;
    four_ranks(gather_ranks);
}

static enum hr_status all_gather_ranks(struct hr_group *world, void *arg)
{
    const float x = (float)hr_group_rank(world);
    float all[N];
    (void)arg;
    HR_TRY(hr_all_gather(world, &x, all, 1, HR_FLOAT32));
    for (size_t r = 0; r < N; r++)
        EXPECT(all[r], (float)r);
    return HR_OK;
}

static void all_gather_of_ranks_gives_0_1_2_3_everywhere(void **state)
{
    (void)state;
    four_ranks(all_gather_ranks);
}

static enum hr_status scatter_numbers(struct hr_group *world, void *arg)
{
    const float all[N] = {1, 2, 3, 4};
    float x;
    (void)arg;
    HR_TRY(hr_scatter(world, hr_group_rank(world) == 0 ? all : NULL, &x, 1, HR_FLOAT32, 0));
    EXPECT(x, (float)hr_group_rank(world) + 1);
    return HR_OK;
}

static void scatter_of_1_2_3_4_gives_each_rank_its_number(void **state)
{
    (void)state;
    four_ranks(scatter_numbers);
}

static enum hr_status reduce_in_a_group(struct hr_group *world, void *arg)
{
    struct hr_group *pair;
    float x = 1;
    (void)arg;
    HR_TRY(hr_group_new(world, (const size_t[]){0, 1}, 2, &pair));
    RANK_CHECK((pair != NULL) == (hr_group_rank(world) < 2), "who is in the group");
    if (pair)
        HR_TRY(hr_all_reduce(pair, &x, &x, 1, HR_FLOAT32, HR_SUM));
    hr_group_free(pair);
    EXPECT(x, hr_group_rank(world) < 2 ? 2 : 1);
    return HR_OK;
}

static void a_group_of_ranks_0_and_1_leaves_the_others_alone(void **state)
{
    (void)state;
    four_ranks(reduce_in_a_group);
}

/* Rank 0 sends its number to rank 1. */
static enum hr_status pass_a_number(struct hr_group *world, void *arg)
{
    struct hr_request *request;
    float x = hr_group_rank(world) == 0 ? 1 : 0;
    (void)arg;
    if (hr_group_rank(world) == 0)
        HR_TRY(hr_isend(world, &x, 1, HR_FLOAT32, 1, &request));
    else if (hr_group_rank(world) == 1)
        HR_TRY(hr_irecv(world, &x, 1, HR_FLOAT32, 0, &request));
    else
        return HR_OK;
    HR_TRY(hr_wait(request));
    EXPECT(x, 1);
    return HR_OK;
}

static void rank_1_has_rank_0s_number_after_the_wait(void **state)
{
    (void)state;
    four_ranks(pass_a_number);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce_of_ones_to_rank_0_gives_4),
        cmocka_unit_test(all_reduce_of_ones_gives_4_everywhere),
        cmocka_unit_test(broadcast_of_rank_0s_zero_gives_0_everywhere),
        cmocka_unit_test(gather_of_ranks_gives_0_1_2_3_to_the_root),
        cmocka_unit_test(all_gather_of_ranks_gives_0_1_2_3_everywhere),
        cmocka_unit_test(scatter_of_1_2_3_4_gives_each_rank_its_number),
        cmocka_unit_test(a_group_of_ranks_0_and_1_leaves_the_others_alone),
        cmocka_unit_test(rank_1_has_rank_0s_number_after_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

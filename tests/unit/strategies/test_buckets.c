/* A gradient in buckets: the sums, and the bits, of one sum over all. */
#include <stdlib.h>
#include <string.h>

#include "group/local_group.h"
#include "strategies/buckets.h"
#include "support/check.h"
#include "support/ranks.h"

enum { PARAMS = 50021, NLAYERS = 7, STEPS = 5, MAX_RANKS = 5 };

/* Where layers begin, the last first: what backward reports. */
static const size_t layers[NLAYERS] = {50000, 49000, 20000, 19998, 700, 1, 0};

struct setting {
    size_t least;
    bool applies; /* instead of storing the sum in grads */
};

/* A real whose sum depends on the order of addition. */
static float value(size_t rank, size_t step, size_t i)
{
    return 1.0f / (float)(1 + (i * 7919 + rank * 104729 + step * 31) % 10007);
}

static float tree_sum(size_t lo, size_t n, size_t step, size_t i)
{
    size_t left = 1;
    while (2 * left < n)
        left *= 2;
    if (n == 1)
        return value(lo, step, i);
    return tree_sum(lo, left, step, i) + tree_sum(lo + left, n - left, step, i);
}

/* [grads (PARAMS) | sums (PARAMS) handed to apply, by rank 0's memory] */
static void keep(void *arg, size_t begin, size_t count, const float *sum)
{
    struct rank *me = arg;
    memcpy(ranks_floats(me->ranks, 0) + PARAMS + begin, sum, count * sizeof *sum);
}

static bool is_over(void *arg)
{
    return hr_buckets_test(arg);
}

static enum hr_status go_back(struct rank *me, struct hr_buckets *buckets, size_t step)
{
    for (size_t i = 0; i < PARAMS; i++)
        me->floats[i] = value(me->rank, step, i);
    for (size_t l = 0; l < NLAYERS; l++)
        hr_buckets_final(buckets, layers[l]);
    return hr_wait_until(&me->waiter, buckets->bell, is_over, buckets, "a bucket");
}

static enum hr_status one_step(struct rank *me, struct hr_buckets *buckets, size_t step)
{
    HR_TRY(go_back(me, buckets, step));
    HR_TRY(hr_buckets_finish(buckets));
    return hr_member_barrier(&me->member);
}

static enum hr_status sum_in_buckets(struct rank *me)
{
    const struct setting *setting = me->ranks->arg;
    struct hr_buckets buckets = {.member = &me->member,
                                 .grads = me->floats,
                                 .params = PARAMS,
                                 .least = setting->least,
                                 .apply = setting->applies ? keep : NULL,
                                 .arg = me};
    for (size_t step = 0; step < STEPS; step++) {
        HR_TRY(one_step(me, &buckets, step));
        const float *got = setting->applies ? ranks_floats(me->ranks, 0) + PARAMS : me->floats;
        for (size_t i = 0; i < PARAMS; i++)
            RANK_CHECK(got[i] == tree_sum(0, me->ranks->nranks, step, i),
                       "rank %zu, step %zu, element %zu", me->rank, step, i);
        HR_TRY(hr_member_barrier(&me->member)); /* nobody writes what another still checks */
    }
    return HR_OK;
}

static void check(size_t nranks, const struct hr_algorithm *algorithm, struct setting setting)
{
    struct ranks ranks = {.nranks = nranks,
                          .floats = 2 * PARAMS,
                          .algorithm = algorithm,
                          .body = sum_in_buckets,
                          .crowded = nranks > 2,
                          .arg = &setting};
    ranks_open(&ranks);
    CHECK_OK(ranks_run(&ranks));
    ranks_close(&ranks);
}

static const size_t sizes[] = {1, 2000, 30000, PARAMS};

static void buckets_give_the_bits_of_one_sum(void **state)
{
    (void)state;
    for (size_t n = 1; n <= MAX_RANKS; n++)
        for (size_t s = 0; s < 4; s++) {
            check(n, &hr_allreduce_direct, (struct setting){sizes[s], false});
            check(n, &hr_allreduce_master_worker, (struct setting){sizes[s], false});
        }
}

static void parts_are_applied_at_their_place_in_the_whole(void **state)
{
    (void)state;
    for (size_t n = 1; n <= MAX_RANKS; n++)
        for (size_t s = 0; s < 4; s++)
            check(n, &hr_allreduce_direct, (struct setting){sizes[s], true});
}

/* --- one thread runs all ranks --- */

struct table {
    float grads[MAX_RANKS][PARAMS], sum[PARAMS];
};

static void keep_on_table(void *arg, size_t begin, size_t count, const float *sum)
{
    struct table *table = arg;
    memcpy(table->sum + begin, sum, count * sizeof *sum);
}

/* A layer of one rank after another; whoever is early is looked after when it has its next. */
static void play_a_step(struct hr_buckets *buckets, struct table *table, size_t n, size_t step)
{
    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; i < PARAMS; i++)
            table->grads[r][i] = value(r, step, i);
    }
    for (size_t l = 0; l < NLAYERS; l++)
        for (size_t k = 0; k < n; k++)
            hr_buckets_final(&buckets[(k + l + step) % n], layers[l]);
    for (size_t looks = 0, over = 0; over < n; looks++) {
        assert_true(looks <= NLAYERS);
        over = 0;
        for (size_t r = 0; r < n; r++)
            over += hr_buckets_test(&buckets[r]);
    }
    for (size_t r = 0; r < n; r++)
        CHECK_OK(hr_buckets_finish(&buckets[r]));
}

static void check_hall(size_t n, const struct hr_algorithm *algorithm, struct setting setting)
{
    static struct table table;
    struct hr_local_group *local;
    struct hr_member member[MAX_RANKS];
    struct hr_buckets buckets[MAX_RANKS];
    CHECK_OK(hr_local_group_create(&(struct hr_group_options){.nranks = n, .algorithm = algorithm},
                                   &local));
    for (size_t r = 0; r < n; r++) {
        hr_member_init_local(&member[r], local, r);
        buckets[r] = (struct hr_buckets){.member = &member[r],
                                         .grads = table.grads[r],
                                         .params = PARAMS,
                                         .least = setting.least,
                                         .apply = setting.applies ? keep_on_table : NULL,
                                         .arg = &table};
    }
    for (size_t step = 0; step < 2; step++) {
        play_a_step(buckets, &table, n, step);
        for (size_t i = 0; i < PARAMS; i++)
            for (size_t r = 0; r < (setting.applies ? 1 : n); r++)
                assert_true((setting.applies ? table.sum : table.grads[r])[i] ==
                            tree_sum(0, n, step, i));
    }
    for (size_t r = 0; r < n; r++)
        hr_member_fini(&member[r]);
    hr_local_group_destroy(local);
}

static void buckets_meet_in_a_hall_as_anywhere(void **state)
{
    (void)state;
    for (size_t n = 1; n <= MAX_RANKS; n++)
        for (size_t s = 0; s < 4; s++) {
            check_hall(n, &hr_allreduce_direct, (struct setting){sizes[s], false});
            check_hall(n, &hr_allreduce_direct, (struct setting){sizes[s], true});
            check_hall(n, &hr_allreduce_tree, (struct setting){sizes[s], false});
        }
}

/* Layers are put together until there is enough, and the first ends it. */
static enum hr_status count_buckets(struct rank *me)
{
    struct hr_buckets buckets = {
        .member = &me->member, .grads = me->floats, .params = PARAMS, .least = 2000};
    HR_TRY(go_back(me, &buckets, 0));
    RANK_CHECK(buckets.nfull == 3, "%zu buckets", buckets.nfull);
    RANK_CHECK(buckets.begin[0] == 20000, "bucket 0 begins at %zu", buckets.begin[0]);
    RANK_CHECK(buckets.begin[1] == 700, "bucket 1 begins at %zu", buckets.begin[1]);
    RANK_CHECK(buckets.begin[2] == 0, "bucket 2 begins at %zu", buckets.begin[2]);
    return hr_buckets_finish(&buckets);
}

static void buckets_end_where_layers_do(void **state)
{
    (void)state;
    struct ranks ranks = {.nranks = 2, .floats = 2 * PARAMS, .body = count_buckets};
    ranks_open(&ranks);
    CHECK_OK(ranks_run(&ranks));
    ranks_close(&ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_give_the_bits_of_one_sum),
        cmocka_unit_test(parts_are_applied_at_their_place_in_the_whole),
        cmocka_unit_test(buckets_meet_in_a_hall_as_anywhere),
        cmocka_unit_test(buckets_end_where_layers_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

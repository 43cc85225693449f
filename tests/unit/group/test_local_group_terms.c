/* A local group begins anew with as many ranks as are left, or are back: it is as a new one. */
#include <string.h>

#include "group/local_group.h"
#include "support/check.h"

enum { MOST = 5, FLOATS = 63 };

/* What n ranks get, and what each has sent. */
struct outcome {
    float sum[FLOATS];
    struct hr_traffic traffic[MOST];
};

static void reduce(struct hr_local_group *local, size_t n, struct outcome *out)
{
    struct hr_member member[MOST];
    float buffer[MOST][FLOATS];
    memset(out, 0, sizeof *out);
    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; i < FLOATS; i++)
            buffer[r][i] = 1.0f / (float)(1 + 7 * r + i);
        hr_member_init_local(&member[r], local, r);
        hr_member_all_reduce_start(&member[r], buffer[r], 0, FLOATS);
        assert_int_equal(hr_member_test(&member[r]), r + 1 == n);
    }
    for (size_t r = 0; r < n; r++) {
        assert_true(hr_member_test(&member[r]));
        CHECK_OK(hr_member_finish(&member[r]));
        out->traffic[r] = hr_local_group_traffic(local, r);
        assert_memory_equal(buffer[r], buffer[0], sizeof buffer[r]);
        hr_member_fini(&member[r]);
    }
    memcpy(out->sum, buffer[0], sizeof out->sum);
}

/* One has started a sum that others never join. */
static void leave_in_the_middle(struct hr_local_group *local)
{
    static float buffer[FLOATS];
    struct hr_member member;
    hr_member_init_local(&member, local, 0);
    hr_member_all_reduce_start(&member, buffer, 0, FLOATS);
    hr_member_fini(&member);
}

static void check(const struct hr_algorithm *algorithm)
{
    static const size_t sizes[] = {3, 1, 5, 2, 2};
    struct hr_group_options options = {.nranks = MOST, .algorithm = algorithm};
    struct hr_local_group *local, *fresh;
    struct outcome got, want;
    CHECK_OK(hr_local_group_create(&options, &local));
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        leave_in_the_middle(local);
        CHECK_OK(hr_local_group_begin(local, sizes[k]));
        reduce(local, sizes[k], &got);
        options.nranks = sizes[k];
        CHECK_OK(hr_local_group_create(&options, &fresh));
        reduce(fresh, sizes[k], &want);
        assert_memory_equal(&got, &want, sizeof got);
        hr_local_group_destroy(fresh);
        CHECK_OK(hr_local_group_begin(local, MOST));
    }
    hr_local_group_destroy(local);
}

static void it_begins_anew_with_others(void **state)
{
    (void)state;
    check(&hr_allreduce_direct);
    check(&hr_allreduce_tree);
    check(&hr_allreduce_ring);
    check(&hr_allreduce_halving_doubling);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_begins_anew_with_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

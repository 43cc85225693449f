/* Parts that come one after another, against T(n) of all of them at once. */
#include <string.h>

#include "base/philox.h"
#include "base/vec.h"
#include "stages/tree_sums.h"
#include "support/check.h"

enum { MOST = 33, COUNT = 19 };

static void sums_are_those_of_the_tree(void **state)
{
    (void)state;
    static float x[MOST][COUNT], part[COUNT], want[COUNT];
    struct hr_tree_sums sums;
    for (size_t i = 0; i < MOST; i++)
        for (size_t j = 0; j < COUNT; j++)
            x[i][j] = hr_random_unit(
                          hr_random_block(check_seed(), HR_STREAM_TEST, i * COUNT + j, 0).v[0]) -
                      0.5f;
    CHECK_OK(hr_tree_sums_init(&sums, MOST, COUNT));
    for (size_t n = 1; n <= MOST; n++) { /* fewer than there is room for, too */
        const float *all[MOST];
        float *out = want;
        for (size_t i = 0; i < n; i++) {
            all[i] = x[i];
            memcpy(part, x[i], sizeof part);
            hr_tree_sums_carry(&sums, i, n, part);
        }
        hr_vec()->tree_sum(&out, 1, all, n, COUNT);
        CHECK_SAME_FLOATS(part, want, COUNT);
    }
    hr_tree_sums_fini(&sums);
    assert_int_equal(hr_tree_sums_bytes(1, COUNT), 0);
    assert_int_equal(hr_tree_sums_bytes(5, COUNT), 3 * COUNT * sizeof(float));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_those_of_the_tree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

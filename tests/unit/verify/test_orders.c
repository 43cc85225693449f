/* The orders of addition that verify states anew, on sums that are worked out by hand: 2^25 + 1 is
 * 2^25 in a float, so who meets whom first is seen. */
#include "verify/verify.h"

#include "support/check.h"

static const float big = 33554432.0f; /* 2^25, whose neighbours are 4 apart */

static void check(const char *algorithm, size_t n, size_t index, size_t group, const float *x,
                  float want)
{
    assert_true(hr_order_sum(algorithm, x, n, index, group) == want);
}

static void trees_split_at_the_largest_power_of_two(void **state)
{
    (void)state;
    const float three[] = {1, 1, big}, late[] = {big, 1, 1}, five[] = {big, 1, 1, 1, 2};
    check("direct", 3, 0, 2, three, big);  /* (1 + 1) + big: half of 4, to even */
    check("one-shot", 3, 0, 2, late, big); /* (big + 1) + 1 */
    check("tree", 5, 0, 2, five, big);     /* ((big + 1) + (1 + 1)) + 2 */
    const float four[] = {1, 1, big, 4};
    check("master-worker", 4, 0, 2, four, big + 8); /* 2 + (big + 4), to even */
}

static void rings_begin_where_the_run_says(void **state)
{
    (void)state;
    const float x[] = {1, 2, 3, big};
    check("ring", 4, 0, 2, x, big + 8);             /* ((1 + 2) + 3) + big, + 6 to even */
    check("ring", 4, 3 * 16384, 2, x, big + 4);     /* ((big + 1) + 2) + 3: 1 and 2 are lost */
    check("ring", 4, 4 * 16384 + 5, 2, x, big + 8); /* round again */
    check("bidirectional-ring", 4, 0, 2, x, big + 8);
    const float y[] = {2, 1, 3, big};
    check("bidirectional-ring", 4, 16384, 2, y, big + 8);     /* ((big + 3) + 1) + 2 */
    check("bidirectional-ring", 4, 6 * 16384, 2, y, big + 4); /* ((big + 2) + 1) + 3 */
}

static void the_second_tree_counts_from_the_end(void **state)
{
    (void)state;
    const float x[] = {big, 1, 3};
    check("double-tree", 3, 16383, 2, x, big + 4); /* (big + 1) + 3 */
    check("double-tree", 3, 16384, 2, x, big + 4); /* (3 + 1) + big */
    const float y[] = {big, 1, 1};
    check("double-tree", 3, 0, 2, y, big);
    check("double-tree", 3, 16384, 2, y, big); /* 2 + big, to even */
    const float z[] = {big, 1, 2};
    check("double-tree", 3, 0, 2, z, big);
    check("double-tree", 3, 16384, 2, z, big + 4); /* 3 + big */
}

static void guests_and_nodes_come_first(void **state)
{
    (void)state;
    const float x[] = {2, big, 2, 0, 1};
    check("halving-doubling", 3, 0, 2, x, big + 4); /* (2 + 2) + big */
    check("direct", 3, 0, 2, x, big);               /* (2 + big) + 2 */
    const float y[] = {1, 1, 1, big, 1, 1};
    check("hierarchical", 6, 0, 3, y, big + 4); /* 3 + (big + 1 + 1) */
    check("hierarchical", 6, 0, 2, y, big);     /* (2 + (1 + big)) + 2 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_split_at_the_largest_power_of_two),
        cmocka_unit_test(rings_begin_where_the_run_says),
        cmocka_unit_test(the_second_tree_counts_from_the_end),
        cmocka_unit_test(guests_and_nodes_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

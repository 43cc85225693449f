/* A worker may die anywhere while it counts how stale an update was: it is counted whole, or not at
 * all; and what was counted last can be taken back. */
#include "strategy/lost_batches.h"

#include <string.h>
#include <sys/mman.h>

#include "support/check.h"
#include "support/death.h"

static struct hr_stale *new_stale(void)
{
    struct hr_stale *stale =
        mmap(NULL, sizeof *stale, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(stale != MAP_FAILED);
    return stale;
}

static void check(const struct hr_stale *stale, uint64_t updates, uint64_t sum, uint64_t max)
{
    uint64_t n = 0;
    for (size_t i = 0; i < HR_STALENESS_BUCKETS; i++)
        n += stale->bucket[i];
    assert_int_equal(stale->updates, updates);
    assert_int_equal(n, updates);
    assert_int_equal(stale->sum, sum);
    assert_int_equal(stale->max, max);
}

static void count_seven(void *stale)
{
    hr_stale_count(stale, 7);
}

static void look(void *arg)
{
    struct hr_stale *stale = arg;
    hr_stale_mend(stale);
    if (stale->updates == 2)
        check(stale, 2, 5, 3);
    else
        check(stale, 3, 12, 7);
}

static void who_dies_while_it_counts_has_counted_or_not(void **state)
{
    (void)state;
    if (!death_can_be_played())
        SKIP("no death can be played under a sanitizer");
    struct hr_stale *stale = new_stale();
    hr_stale_count(stale, 2);
    hr_stale_count(stale, 3);
    const struct death death = {
        .act = count_seven, .look = look, .arg = stale, .memory = stale, .bytes = sizeof *stale};
    assert_true(death_everywhere(&death) > 5);
    munmap(stale, sizeof *stale);
}

static void the_last_is_taken_back(void **state)
{
    (void)state;
    struct hr_stale *stale = new_stale();
    hr_stale_count(stale, 4);
    hr_stale_count(stale, HR_STALENESS_BUCKETS + 9);
    hr_stale_take_back(stale);
    check(stale, 1, 4, 4);
    hr_stale_mend(stale);
    check(stale, 1, 4, 4);
    munmap(stale, sizeof *stale);
}

/* Also where the copy had counts that are larger. */
static void a_copy_has_the_same_counts(void **state)
{
    (void)state;
    struct hr_stale *stale = new_stale(), *copy = new_stale();
    for (uint64_t staleness = 0; staleness < 5; staleness++)
        hr_stale_count(stale, staleness);
    hr_stale_count(copy, 100);
    hr_stale_copy(copy, stale);
    check(copy, 5, 10, 4);
    hr_stale_count(stale, 5000);
    hr_stale_copy(stale, copy);
    check(stale, 5, 10, 4);
    munmap(stale, sizeof *stale);
    munmap(copy, sizeof *copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_dies_while_it_counts_has_counted_or_not),
        cmocka_unit_test(the_last_is_taken_back),
        cmocka_unit_test(a_copy_has_the_same_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What workers have counted outlives their machine. */
#include "strategy/counted.h"

#include "support/check.h"

static struct hr_worker_stats stats[2];
static struct hr_counted counted[2];

/* One gradient of 10 samples more, of batch `index`. */
static void step(const struct hr_shared_state *shared, size_t worker, uint64_t index)
{
    stats[worker].steps++;
    stats[worker].samples += 10;
    stats[worker].epoch_samples += 10;
    stats[worker].epoch_loss += 0.5;
    hr_counted_say(shared, worker, index);
}

static void of_the_last_three_batches_it_is_known(void **state)
{
    const struct hr_shared_state shared = {.stats = stats, .counted = counted, .workers = 2};
    (void)state;
    for (uint64_t index = 7; index < 12; index++)
        step(&shared, 1, index);
    assert_false(hr_counted_restore(&shared, 1, 8)); /* overwritten by 11 */
    assert_false(hr_counted_restore(&shared, 1, 12));
    assert_false(hr_counted_restore(&shared, 0, 9)); /* that worker has said nothing */
    stats[1] = (struct hr_worker_stats){.steps = 99};
    assert_true(hr_counted_restore(&shared, 1, 9));
    assert_int_equal(stats[1].steps, 3);
    assert_int_equal(stats[1].samples, 30);
    assert_int_equal(stats[1].epoch_samples, 30);
    assert_true(stats[1].epoch_loss >= 1.5 && stats[1].epoch_loss <= 1.5);
}

static void where_counters_cannot_be_lost_nothing_is_said(void **state)
{
    const struct hr_shared_state shared = {.stats = stats, .workers = 2};
    (void)state;
    hr_counted_say(&shared, 0, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_the_last_three_batches_it_is_known),
        cmocka_unit_test(where_counters_cannot_be_lost_nothing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

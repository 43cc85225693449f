/* Fates: batches handed out again, each once; counters that survive a death in the middle. */
#include "strategy/lost_batches.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/shared_state.h"
#include "support/check.h"

static void batches_come_back_once_and_in_order(void **state)
{
    (void)state;
    enum { ROOM = 3 };
    const size_t bytes = (hr_returned_bytes(ROOM) + HR_LINE - 1) / HR_LINE * HR_LINE;
    struct hr_returned *returned = aligned_alloc(HR_LINE, bytes);
    uint64_t index;
    memset(returned, 0, bytes);
    returned->room = ROOM;
    assert_false(hr_returned_take(returned, &index));
    for (uint64_t round = 0; round < 10; round++) { /* the queue goes round */
        hr_returned_add(returned, 100 + round);
        hr_returned_add(returned, 200 + round);
        assert_true(hr_returned_any(returned));
        assert_true(hr_returned_take(returned, &index));
        assert_int_equal(index, 100 + round);
        assert_true(hr_returned_take(returned, &index));
        assert_int_equal(index, 200 + round);
        assert_false(hr_returned_any(returned));
        assert_false(hr_returned_take(returned, &index));
    }
    free(returned);
}

static struct hr_worker_stats *counted(uint64_t samples)
{
    static struct hr_worker_stats stats;
    memset(&stats, 0, sizeof stats);
    hr_stats_begin(&stats, 7);
    stats.steps = 1;
    stats.samples = stats.epoch_samples = samples;
    stats.epoch_loss = 2.5;
    hr_stats_end(&stats);
    return &stats;
}

static void a_gradient_is_taken_back_once(void **state)
{
    (void)state;
    struct hr_worker_stats *stats = counted(32);
    assert_int_equal(hr_stats_take_back(stats), 32);
    assert_int_equal(stats->samples, 0);
    assert_int_equal(stats->steps, 0);
    assert_true(stats->epoch_loss == 0);
    assert_int_equal(hr_stats_take_back(stats), 0);
}

static void a_range_is_undone_if_it_was_begun(void **state)
{
    (void)state;
    struct hr_worker_stats *stats = counted(32);
    stats->updates = 1;
    hr_stats_mark(stats, 0);
    stats->samples = 96;
    stats->updates = 3;
    hr_stats_back_to_mark(stats, 4); /* the next one, which it has not begun */
    assert_int_equal(stats->samples, 96);
    hr_stats_back_to_mark(stats, 0);
    assert_int_equal(stats->samples, 32);
    assert_int_equal(stats->updates, 1);
    stats->samples = 64;
    hr_stats_back_to_mark(stats, 0); /* once */
    assert_int_equal(stats->samples, 64);
    hr_stats_mark(stats, 5);
    hr_stats_roll_back(stats);
    stats->samples = 8;
    hr_stats_back_to_mark(stats, 5); /* of an earlier term */
    assert_int_equal(stats->samples, 8);
}

static void a_death_while_counting_undoes_that_gradient_alone(void **state)
{
    (void)state;
    struct hr_worker_stats *stats = counted(32);
    hr_stats_mend(stats); /* it was not counting */
    assert_int_equal(stats->samples, 32);
    hr_stats_begin(stats, 8);
    stats->samples += 32; /* and here it dies */
    hr_stats_mend(stats);
    assert_int_equal(stats->samples, 32);
    assert_int_equal(stats->steps, 1);
    assert_int_equal(stats->epoch_samples, 32);
    assert_true(stats->epoch_loss == 2.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_come_back_once_and_in_order),
        cmocka_unit_test(a_gradient_is_taken_back_once),
        cmocka_unit_test(a_range_is_undone_if_it_was_begun),
        cmocka_unit_test(a_death_while_counting_undoes_that_gradient_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The order of an epoch in windows: a permutation, without state, of neighbours. */
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "data/order.h"
#include "hogring/data.h"
#include "support/check.h"

enum { MOST = 60000 };

static uint32_t samples[MOST];

static const struct shape {
    size_t count, window;
} shapes[] = {{1, 1},    {2, 1},     {7, 3},      {64, 64},    {64, 63},     {64, 32},
              {1000, 1}, {1000, 10}, {1000, 999}, {1437, 100}, {60000, 512}, {60000, 60000}};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

static void every_epoch_has_each_sample_once(void **state)
{
    (void)state;
    for (size_t s = 0; s < NSHAPES; s++)
        for (uint64_t epoch = 0; epoch < 4; epoch++) {
            static uint8_t seen[MOST];
            const size_t count = shapes[s].count;
            const struct hr_order order = hr_order_of(check_seed(), epoch, count, shapes[s].window);
            memset(seen, 0, sizeof seen);
            hr_order_fill(&order, 0, count, samples);
            for (size_t i = 0; i < count; i++) {
                assert_in_range(samples[i], 0, count - 1);
                assert_int_equal(seen[samples[i]]++, 0);
            }
        }
}

/* Positions of a window have its neighbours, and windows are whole but for the last. */
static void a_window_has_neighbours(void **state)
{
    (void)state;
    for (size_t s = 0; s < NSHAPES; s++) {
        const size_t count = shapes[s].count, window = shapes[s].window;
        const struct hr_order order = hr_order_of(check_seed(), 5, count, window);
        if (window >= count) {
            assert_int_equal(order.window, 0);
            continue;
        }
        hr_order_fill(&order, 0, count, samples);
        for (size_t first = 0; first < count; first += window) {
            const struct hr_order_window at = hr_order_window(&order, first);
            assert_int_equal(at.first, first);
            assert_int_equal(at.count, count - first < window ? count - first : window);
            for (size_t i = first; i < first + at.count; i++) {
                assert_in_range((samples[i] + count - at.sample) % count, 0, at.count - 1);
                assert_int_equal(hr_order_window(&order, i).sample, at.sample);
            }
        }
    }
}

static void pieces_give_the_order_of_the_whole(void **state)
{
    (void)state;
    for (size_t s = 0; s < NSHAPES; s++) {
        const size_t count = shapes[s].count, window = shapes[s].window;
        const struct hr_order order = hr_order_of(check_seed(), 1, count, window);
        hr_order_fill(&order, 0, count, samples);
        for (uint32_t k = 0; k < 100; k++) {
            const struct hr_philox draw = hr_random_block(check_seed(), HR_STREAM_TEST, s, k);
            uint32_t piece[300];
            const size_t first = draw.v[0] % (count + 1);
            const size_t n = draw.v[1] % (count - first + 1) % 300;
            CHECK_OK(hr_dataset_order_in_windows(check_seed(), 1, count, window, first, n, piece));
            assert_memory_equal(piece, samples + first, n * sizeof *piece);
        }
    }
}

/* As many as all, or none: the order without windows. */
static void a_window_of_all_is_none(void **state)
{
    (void)state;
    uint32_t without[1000], with[1000];
    CHECK_OK(hr_dataset_order(check_seed(), 2, 1000, 0, 1000, without));
    for (size_t window = 0; window <= 2000; window += window ? window : 1000) {
        CHECK_OK(hr_dataset_order_in_windows(check_seed(), 2, 1000, window, 0, 1000, with));
        assert_memory_equal(with, without, sizeof with);
    }
    CHECK_OK(hr_dataset_order_in_windows(check_seed(), 2, 1000, 999, 0, 1000, with));
    assert_memory_not_equal(with, without, sizeof with);
}

/* Another epoch, another seed: other windows, in another order, and another order in them. */
static void epochs_and_seeds_differ(void **state)
{
    (void)state;
    enum { COUNT = 1000, WINDOW = 100 };
    uint32_t first[COUNT], other[COUNT];
    size_t starts[50], same = 0;
    for (uint64_t epoch = 0; epoch < 50; epoch++) {
        const struct hr_order order = hr_order_of(check_seed(), epoch, COUNT, WINDOW);
        starts[epoch] = order.start;
        for (uint64_t e = 0; e < epoch; e++)
            same += starts[e] == starts[epoch];
    }
    assert_true(same < 20); /* of 1225 pairs 1.2 are, on average */
    CHECK_OK(hr_dataset_order_in_windows(1, 0, COUNT, WINDOW, 0, COUNT, first));
    CHECK_OK(hr_dataset_order_in_windows(2, 0, COUNT, WINDOW, 0, COUNT, other));
    assert_memory_not_equal(first, other, sizeof first);
    size_t alike = 0; /* do two windows of an epoch have the same order inside? */
    const struct hr_order order = hr_order_of(1, 0, COUNT, WINDOW);
    const uint32_t a = hr_order_window(&order, 0).sample,
                   b = hr_order_window(&order, WINDOW).sample;
    for (size_t i = 0; i < WINDOW; i++)
        alike += (first[i] + COUNT - a) % COUNT == (first[WINDOW + i] + COUNT - b) % COUNT;
    assert_true(alike < 12);
}

static void what_is_not_there_is_refused(void **state)
{
    (void)state;
    uint32_t one[2];
    CHECK_FAILS(hr_dataset_order_in_windows(1, 0, 10, 3, 9, 2, one), HR_E_USAGE);
    CHECK_FAILS(hr_dataset_order_in_windows(1, 0, 0, 3, 0, 0, one), HR_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_epoch_has_each_sample_once),
        cmocka_unit_test(a_window_has_neighbours),
        cmocka_unit_test(pieces_give_the_order_of_the_whole),
        cmocka_unit_test(a_window_of_all_is_none),
        cmocka_unit_test(epochs_and_seeds_differ),
        cmocka_unit_test(what_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

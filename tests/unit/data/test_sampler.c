/* The order of samples: a permutation, without state, and shuffled well. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "data/order.h"
#include "support/check.h"

static const size_t counts[] = {1, 2, 3, 7, 64, 1000, 60000};
enum { NCOUNTS = sizeof counts / sizeof *counts, MAX_COUNT = 60000 };

static uint32_t order[MAX_COUNT];

static void fill_whole(uint32_t *out, uint64_t seed, uint64_t epoch, size_t count)
{
    const struct hr_sampler sampler = hr_sampler_of(seed, epoch, count);
    hr_sampler_fill(&sampler, 0, count, out);
}

static void every_epoch_has_each_sample_once(void **state)
{
    (void)state;
    for (size_t c = 0; c < NCOUNTS; c++) {
        for (uint64_t epoch = 0; epoch < 5; epoch++) {
            static uint8_t seen[MAX_COUNT];
            memset(seen, 0, sizeof seen);
            fill_whole(order, check_seed(), epoch, counts[c]);
            for (size_t i = 0; i < counts[c]; i++) {
                assert_in_range(order[i], 0, counts[c] - 1);
                assert_int_equal(seen[order[i]]++, 0);
            }
        }
    }
}

/* Small ones have corners: powers of four, one more, one less. */
static void every_small_count_is_covered(void **state)
{
    (void)state;
    for (size_t count = 1; count <= 300; count++) {
        size_t sum = 0, squares = 0;
        fill_whole(order, check_seed(), count, count);
        for (size_t i = 0; i < count; i++) {
            sum += order[i];
            squares += (size_t)order[i] * order[i];
        }
        assert_int_equal(sum, count * (count - 1) / 2);
        assert_int_equal(squares, (count - 1) * count * (2 * count - 1) / 6);
    }
}

static void pieces_give_the_same_order_as_the_whole(void **state)
{
    (void)state;
    for (size_t c = 0; c < NCOUNTS; c++) {
        const struct hr_sampler sampler = hr_sampler_of(check_seed(), 3, counts[c]);
        fill_whole(order, check_seed(), 3, counts[c]);
        for (uint32_t k = 0; k < 200; k++) {
            const struct hr_philox draw = hr_random_block(check_seed(), HR_STREAM_TEST, c, k);
            const size_t first = draw.v[0] % (counts[c] + 1);
            size_t n = draw.v[1] % 100;
            n = n < counts[c] - first ? n : counts[c] - first;
            uint32_t piece[101];
            piece[n] = 0xdeadbeef;
            hr_sampler_fill(&sampler, first, n, piece);
            assert_memory_equal(piece, order + first, n * sizeof *piece);
            assert_int_equal(piece[n], 0xdeadbeef);
        }
    }
}

static void the_largest_count_stays_in_range(void **state)
{
    (void)state;
    const size_t count = ((size_t)1 << 31) - 1;
    const struct hr_sampler sampler = hr_sampler_of(check_seed(), 0, count);
    hr_sampler_fill(&sampler, 0, 1000, order);
    hr_sampler_fill(&sampler, count - 1000, 1000, order + 1000);
    double mean = 0;
    for (size_t i = 0; i < 2000; i++) {
        assert_in_range(order[i], 0, count - 1);
        mean += order[i] / 2000.0;
    }
    CHECK_NEAR(mean / (double)count, 0.5, 0, 6 * sqrt(1 / 12.0 / 2000));
}

/* How many positions hold the same sample: about one for two unrelated orders. */
static size_t agreements(const uint32_t *a, const uint32_t *b, size_t count)
{
    size_t same = 0;
    for (size_t i = 0; i < count; i++)
        same += a[i] == b[i];
    return same;
}

static void other_seeds_and_epochs_give_other_orders(void **state)
{
    (void)state;
    static uint32_t other[MAX_COUNT];
    const uint64_t seed = check_seed();
    const uint64_t keys[][2] = {{seed, 1},
                                {seed, 2},
                                {seed, 1ull << 32},
                                {seed + 1, 0},
                                {seed + 2, 0},
                                {seed + (1ull << 32), 0},
                                {seed + (1ull << 63), 0}};
    for (size_t c = 4; c < NCOUNTS; c++) {
        fill_whole(order, seed, 0, counts[c]);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            fill_whole(other, keys[k][0], keys[k][1], counts[c]);
            assert_in_range(agreements(order, other, counts[c]), 0, 12);
        }
        for (size_t i = 0; i < counts[c]; i++)
            other[i] = (uint32_t)i;
        assert_in_range(agreements(order, other, counts[c]), 0, 12);
    }
}

/* Pearson's statistic over (position, value); the table of a permutation has (count - 1)^2 degrees
 * of freedom once it is scaled by (count - 1) / count. Six deviations and a little for
 * small ones. */
static void check_uniform(const size_t *table, size_t count, size_t draws)
{
    const double expected = (double)draws / (double)count;
    double chi2 = 0;
    for (size_t i = 0; i < count * count; i++)
        chi2 += ((double)table[i] - expected) * ((double)table[i] - expected) / expected;
    chi2 *= (double)(count - 1) / (double)count;
    const double freedom = (double)((count - 1) * (count - 1));
    CHECK_NEAR(chi2, freedom, 0, 6 * sqrt(2 * freedom) + 10);
}

static void each_sample_is_as_likely_at_each_position(void **state)
{
    (void)state;
    enum { MOST = 37, DRAWS = 6000 };
    static const size_t small[] = {2, 3, 4, 5, 8, 10, 16, 17, MOST};
    for (size_t c = 0; c < sizeof small / sizeof *small; c++) {
        size_t by_seed[MOST * MOST] = {0}, by_epoch[MOST * MOST] = {0};
        for (uint64_t draw = 0; draw < DRAWS; draw++) {
            fill_whole(order, check_seed() + draw, 0, small[c]);
            for (size_t i = 0; i < small[c]; i++)
                by_seed[i * small[c] + order[i]]++;
            fill_whole(order, check_seed(), draw, small[c]);
            for (size_t i = 0; i < small[c]; i++)
                by_epoch[i * small[c] + order[i]]++;
        }
        check_uniform(by_seed, small[c], DRAWS);
        check_uniform(by_epoch, small[c], DRAWS);
    }
}

/* Two in a row are neighbours with probability 2 / count: 400 of 200 epochs, give or take 20. */
static void neighbours_are_not_kept_together(void **state)
{
    (void)state;
    size_t neighbours = 0;
    for (uint64_t epoch = 0; epoch < 200; epoch++) {
        fill_whole(order, check_seed(), epoch, 1000);
        for (size_t i = 0; i + 1 < 1000; i++)
            neighbours += order[i] + 1 == order[i + 1] || order[i + 1] + 1 == order[i];
    }
    CHECK_NEAR((double)neighbours, 400, 0, 120);
}

/* A run must be repeatable by a later release: this order is part of what a seed means. */
static void the_order_of_seed_one_is_what_it_was(void **state)
{
    (void)state;
    static const uint32_t ten[] = {6, 7, 3, 4, 8, 1, 0, 9, 5, 2};
    static const uint32_t sixteen[] = {10, 7, 15, 4, 8, 12, 13, 9, 5, 2, 11, 6, 14, 0, 1, 3};
    fill_whole(order, 1, 0, 10);
    assert_memory_equal(order, ten, sizeof ten);
    fill_whole(order, 1, 0, 16);
    assert_memory_equal(order, sixteen, sizeof sixteen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_epoch_has_each_sample_once),
        cmocka_unit_test(every_small_count_is_covered),
        cmocka_unit_test(pieces_give_the_same_order_as_the_whole),
        cmocka_unit_test(the_largest_count_stays_in_range),
        cmocka_unit_test(other_seeds_and_epochs_give_other_orders),
        cmocka_unit_test(each_sample_is_as_likely_at_each_position),
        cmocka_unit_test(neighbours_are_not_kept_together),
        cmocka_unit_test(the_order_of_seed_one_is_what_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

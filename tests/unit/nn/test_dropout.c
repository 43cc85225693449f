/* Dropout's masks: what they depend on, and how many units they keep. */
#include <math.h>
#include <string.h>

#include "nn/layer.h"
#include "support/check.h"

enum { UNITS = 1003, B = 12 };

static float x[B * UNITS], y[B * UNITS];
static uint8_t saved[B * (UNITS + 7) / 8 + B];

static struct hr_layer layer_of(double rate, size_t index)
{
    struct hr_layer layer = {.type = &hr_layer_dropout, .rate = rate, .index = index};
    layer.in = (struct hr_dims){.ndim = 1, .size = {UNITS}};
    CHECK_OK(hr_layer_dropout.fit(&layer));
    for (size_t i = 0; i < B * UNITS; i++)
        x[i] = 1;
    return layer;
}

/* y (B,UNITS) of the samples; rows [first, first + count) in one pass */
static void run(const struct hr_layer *layer, const struct hr_draw *all, size_t first, size_t count)
{
    struct hr_draw draw = *all;
    draw.samples += first;
    const struct hr_pass pass = {
        .B = count, .x = x + first * UNITS, .y = y + first * UNITS, .saved = saved, .draw = &draw};
    layer->type->forward(layer, &pass);
}

static const uint32_t samples[B] = {7, 0, 99, 4000000000u, 5, 6, 1, 2, 3, 4, 8, 9};

static void masks_do_not_depend_on_how_a_batch_is_cut(void **state)
{
    (void)state;
    static float whole[B * UNITS];
    const struct hr_layer layer = layer_of(0.3, 4);
    const struct hr_draw draw = {.seed = check_seed(), .epoch = 2, .samples = samples};
    run(&layer, &draw, 0, B);
    memcpy(whole, y, sizeof whole);
    memset(y, 0, sizeof y);
    run(&layer, &draw, 5, 7);
    run(&layer, &draw, 0, 1);
    run(&layer, &draw, 1, 4);
    CHECK_SAME_FLOATS(y, whole, B * UNITS);
}

/* Units of the first sample that two draws both keep or both drop. */
static size_t agreements(const struct hr_layer *a, const struct hr_draw *draw_a,
                         const struct hr_layer *b, const struct hr_draw *draw_b)
{
    static float first[UNITS];
    size_t same = 0;
    run(a, draw_a, 0, 1);
    memcpy(first, y, sizeof first);
    run(b, draw_b, 0, 1);
    for (size_t i = 0; i < UNITS; i++)
        same += (first[i] == 0) == (y[i] == 0);
    return same;
}

/* Independent masks at rate 1/2 agree in half of the units; within 5 sigma. */
static void seeds_epochs_layers_and_samples_have_masks_of_their_own(void **state)
{
    (void)state;
    const struct hr_layer layer = layer_of(0.5, 4), other = layer_of(0.5, 5);
    const struct hr_draw draw = {.seed = check_seed(), .epoch = 2, .samples = samples};
    const struct hr_draw draws[] = {
        {.seed = check_seed() + 1, .epoch = 2, .samples = samples},
        {.seed = check_seed() ^ (uint64_t)1 << 40, .epoch = 2, .samples = samples},
        {.seed = check_seed(), .epoch = 3, .samples = samples},
        {.seed = check_seed(), .epoch = 2, .samples = samples + 1},
    };
    const double mean = UNITS / 2.0, bound = 5 * sqrt(UNITS) / 2;
    assert_int_equal(agreements(&layer, &draw, &layer, &draw), UNITS);
    for (size_t i = 0; i < 4; i++)
        CHECK_NEAR((double)agreements(&layer, &draw, &layer, &draws[i]), mean, 0, bound);
    CHECK_NEAR((double)agreements(&layer, &draw, &other, &draw), mean, 0, bound);
}

static void the_share_that_is_kept_is_right_and_grown(void **state)
{
    (void)state;
    static const double rates[] = {0, 0.1, 0.5, 0.9};
    for (size_t r = 0; r < 4; r++) {
        const struct hr_layer layer = layer_of(rates[r], r);
        const struct hr_draw draw = {.seed = check_seed(), .samples = samples};
        const double P = rates[r], n = B * UNITS;
        size_t kept = 0;
        run(&layer, &draw, 0, B);
        for (size_t i = 0; i < B * UNITS; i++) {
            kept += y[i] != 0;
            assert_true(y[i] == 0 || y[i] == (float)(1 / (1 - P)));
        }
        CHECK_NEAR((double)kept, n * (1 - P), 0, 4 * sqrt(n * P * (1 - P)));
    }
}

static void gradients_pass_where_units_did(void **state)
{
    (void)state;
    static float dx[UNITS];
    const struct hr_layer layer = layer_of(0.4, 1);
    const struct hr_draw draw = {.seed = check_seed(), .samples = samples};
    run(&layer, &draw, 0, 1);
    const struct hr_pass pass = {.B = 1, .dy = x, .dx = dx, .saved = saved, .draw = &draw};
    layer.type->backward(&layer, &pass);
    CHECK_SAME_FLOATS(dx, y, UNITS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_do_not_depend_on_how_a_batch_is_cut),
        cmocka_unit_test(seeds_epochs_layers_and_samples_have_masks_of_their_own),
        cmocka_unit_test(the_share_that_is_kept_is_right_and_grown),
        cmocka_unit_test(gradients_pass_where_units_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

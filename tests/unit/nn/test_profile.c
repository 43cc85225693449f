/* What a layer's parts are, the work in them, and a profile whose rows are complete. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/model_impl.h"
#include "nn/profile.h"
#include "support/check.h"

static struct hr_model *model_of(const char *text, size_t side)
{
    struct hr_model *model;
    CHECK_OK(hr_model_create(text, (struct hr_shape){1, side, side}, 10, &model));
    return model;
}

static bool has(const struct hr_model *model, size_t layer, enum hr_profile_part part)
{
    return hr_model_has_part(model, layer, part);
}

static void work_is_counted_from_shapes(void **state)
{
    (void)state;
    struct hr_model *model = model_of("flatten, dense 20, relu, dense 10", 4);
    const struct hr_work dense = hr_layer_work(&model->layers[1], 3),
                         relu = hr_layer_work(&model->layers[2], 3);
    assert_true(dense.madds == 3 * 16 * 20);
    assert_true(dense.bytes == 4 * (3 * 16 + 3 * 20 + 16 * 20 + 20));
    assert_true(relu.madds == 0);
    assert_true(relu.bytes == 4 * (3 * 20 + 3 * 20));
    hr_model_destroy(model);
}

static void what_a_layer_absorbs_stays_inside(void **state)
{
    (void)state;
    struct hr_model *model = model_of("conv 3 3x3 pad 1, relu, maxpool 2, flatten, dense 10", 8);
    const struct hr_layer *conv = &model->layers[0];
    const size_t out = conv->absorbs ? 3 * 4 * 4 : 3 * 8 * 8;
    const struct hr_work work = hr_layer_work(conv, 2);
    assert_true(work.madds == 2 * 9 * 3 * 8 * 8);
    assert_true(work.bytes == 4.0 * (double)(2 * 64 + 2 * out + 3 * 9 + 3));
    for (size_t i = 1; i <= conv->absorbs; i++)
        for (enum hr_profile_part part = 0; part < HR_PARTS; part++)
            assert_false(has(model, i, part));
    hr_model_destroy(model);
}

static void parts_are_those_that_training_has(void **state)
{
    (void)state;
    struct hr_model *model = model_of("relu, flatten, dense 20, relu, dense 10", 4);
    assert_true(has(model, 0, HR_PART_FORWARD));
    assert_false(has(model, 0, HR_PART_DATA));    /* before the first that is trained */
    assert_false(has(model, 1, HR_PART_FORWARD)); /* moves nothing */
    assert_true(has(model, 2, HR_PART_FORWARD));
    assert_true(has(model, 2, HR_PART_WEIGHTS));
    assert_false(has(model, 2, HR_PART_DATA));    /* nobody wants it */
    assert_false(has(model, 3, HR_PART_FORWARD)); /* done by dense */
    assert_false(has(model, 3, HR_PART_WEIGHTS));
    assert_true(has(model, 3, HR_PART_DATA));
    assert_true(has(model, 4, HR_PART_DATA));
    assert_false(has(model, 4, HR_PART_LOSS));
    hr_model_destroy(model);
}

/* Behind the first trained layer there may be others that nothing flows back through. */
static void a_branch_from_the_input_has_no_way_back(void **state)
{
    (void)state;
    struct hr_profile profile;
    struct hr_model *model =
        model_of("flatten, residual (dense 10) shortcut (tanh, dense 10), relu", 4);
    assert_false(has(model, 2, HR_PART_DATA)); /* tanh of the input */
    assert_true(has(model, 3, HR_PART_WEIGHTS));
    assert_false(has(model, 3, HR_PART_DATA)); /* dense behind it */
    assert_true(has(model, 4, HR_PART_DATA));  /* the sum */
    CHECK_OK(hr_profile_measure(model, 4, 1, 0.01, &profile));
    for (size_t i = 0; i < profile.n; i++)
        assert_true(isfinite(profile.rows[i].seconds));
    hr_profile_free(&profile);
    hr_model_destroy(model);
}

static const struct hr_profile_row *find(const struct hr_profile *profile, const char *layer,
                                         enum hr_profile_part part)
{
    for (size_t i = 0; i < profile->n; i++)
        if (profile->rows[i].part == part && !strcmp(profile->rows[i].layer, layer))
            return &profile->rows[i];
    fail_msg("no row of \"%s\" %s", layer, hr_part_name(part));
    return NULL;
}

static void a_profile_has_every_part_once(void **state)
{
    (void)state;
    struct hr_model *model = model_of("flatten, dense 20, relu, dense 10", 8);
    struct hr_profile profile;
    CHECK_OK(hr_profile_measure(model, 16, 1, 0.01, &profile));
    assert_int_equal(profile.n, 2 + 1 + 3 + 1);
    assert_string_equal(profile.rows[0].layer, "1 dense 20, relu");
    assert_true(find(&profile, "1 dense 20, relu", HR_PART_FORWARD)->seconds > 0);
    assert_true(find(&profile, "1 dense 20", HR_PART_WEIGHTS)->seconds > 0);
    assert_true(find(&profile, "2 relu", HR_PART_DATA)->seconds > 0);
    assert_true(find(&profile, "3 dense 10", HR_PART_WEIGHTS)->seconds > 0);
    assert_true(find(&profile, "3 dense 10", HR_PART_DATA)->seconds >= 0);
    assert_true(find(&profile, "softmax loss", HR_PART_LOSS)->seconds > 0);
    assert_true(find(&profile, "softmax loss", HR_PART_LOSS)->work.bytes == 16 * (2 * 10 * 4 + 4));
    assert_true(profile.step_s > 0 && profile.steps > 0);
    /* 16 samples: the first layer twice, the second three times. */
    assert_true(profile.madds == 16 * (2 * 64 * 20 + 3 * 20 * 10));
    hr_profile_free(&profile);
    hr_model_destroy(model);
}

static void shares_are_of_the_rows_time(void **state)
{
    (void)state;
    struct hr_profile_row rows[] = {
        {.work = {.madds = 40e6, .bytes = 1e3}, .seconds = 1e-3}, /* 80 of 100 GFLOP/s */
        {.work = {.bytes = 1e6}, .seconds = 2e-3},                /* 0.5 of 1 GB/s */
        {.work = {.bytes = 10}, .seconds = 5e-3},
        {.work = {.bytes = 10}, .seconds = 0}, /* too short: counts for nothing */
    };
    const struct hr_profile profile = {
        .rows = rows,
        .n = 4,
        .roofs = {.threads = 1,
                  .tile_flops = 100e9,
                  .bytes_per_s = {1e9, 1e9, 1e9, 1e9},
                  .level_bytes = {32 << 10, 512 << 10, 0, INFINITY}},
    };
    double share[HR_BOUNDS];
    hr_profile_shares(&profile, share);
    CHECK_NEAR(share[HR_BOUND_COMPUTE], 0.125, 1e-12, 0);
    CHECK_NEAR(share[HR_BOUND_MEMORY], 0.25, 1e-12, 0);
    CHECK_NEAR(share[HR_BOUND_OVERHEAD], 0.625, 1e-12, 0);
}

int main(void)
{
    /* Twice the third level is filled for each meter; some machines say that it is half a GiB. */
    if (check_count(0, 1) == 0)
        setenv("HOGRING_CACHES", "32K,512K,8M", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_counted_from_shapes),
        cmocka_unit_test(what_a_layer_absorbs_stays_inside),
        cmocka_unit_test(parts_are_those_that_training_has),
        cmocka_unit_test(a_branch_from_the_input_has_no_way_back),
        cmocka_unit_test(a_profile_has_every_part_once),
        cmocka_unit_test(shares_are_of_the_rows_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Axes, and curves that are thinned. */
#include <math.h>

#include "page/chart.h"
#include "page/series.h"
#include "support/check.h"
#include "support/pages.h"

static void axes_hold_their_ends_and_have_a_few_ticks(void **state)
{
    static const double ends[][2] = {{0, 1},   {0, 11504},  {0.061, 0.0612}, {-3, 8},
                                     {5, 5},   {0, 0},      {1e-300, 1},     {-1e308, 1e308},
                                     {NAN, 1}, {0, 5e-324}, {1, 1 + 1e-15},  {1e15, 2e15}};
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (int bits = 0; bits < 4; bits++) {
            struct hr_axis axis;
            hr_axis_fit(&axis, ends[i][0], ends[i][1], bits & 1, bits & 2);
            assert_true(axis.most > axis.least);
            assert_true(axis.nticks >= 1 && axis.nticks <= HR_TICKS);
            for (size_t t = 0; t < axis.nticks; t++) {
                const double place = hr_axis_place(&axis, axis.tick[t]);
                assert_true(place >= 0 && place <= 1);
                assert_true(t == 0 || axis.tick[t] > axis.tick[t - 1]);
            }
        }
}

static void wide_ranges_are_logarithmic_where_they_may_be(void **state)
{
    struct hr_axis axis;
    (void)state;
    hr_axis_fit(&axis, 0.001, 10, true, true);
    assert_true(axis.log);
    CHECK_NEAR(hr_axis_place(&axis, 0.1), 0.5, 1e-12, 0);
    hr_axis_fit(&axis, 0, 10, true, true);
    assert_false(axis.log);
    hr_axis_fit(&axis, 0.001, 10, true, false);
    assert_false(axis.log);
}

static void ticks_are_round_numbers(void **state)
{
    char text[HR_TICK_MAX];
    (void)state;
    assert_string_equal(hr_tick_text(text, 0.25), "0.25");
    assert_string_equal(hr_tick_text(text, 12000), "12k");
    assert_string_equal(hr_tick_text(text, 2.5e6), "2.5M");
    assert_string_equal(hr_tick_text(text, 3 * 0.1), "0.3");
    assert_string_equal(hr_tick_text(text, 1e-5), "1e-05");
}

/* One evaluation of a thousand is out of the way: it is among those that are kept. */
static void thinning_keeps_first_last_and_extremes(void **state)
{
    (void)state;
    json_t *run = sample_run("ssp", 1, 1000, 1);
    json_t *odd = json_array_get(json_object_get(run, "curve"), 617);
    json_object_set_new(odd, "train_loss", json_real(77));
    json_object_set_new(json_array_get(json_object_get(run, "curve"), 333), "test_accuracy",
                        json_real(0.01));
    json_t *document = sample_document(json_pack("[o]", run));
    const struct hr_page_source source = {.name = "", .document = document};
    struct hr_view view;
    struct hr_series series;
    CHECK_OK(hr_view_make(&view, &source, 1));
    CHECK_OK(hr_series_make(&series, &view, &view.group[0]));
    assert_int_equal(series.whole, 1000);
    assert_true(series.n <= HR_SERIES_MOST + 2 * view.nmetrics);
    assert_true(series.point[0].at[HR_SAMPLES] == 100);
    assert_true(series.point[series.n - 1].at[HR_SAMPLES] == 100000);
    size_t found = 0;
    for (size_t i = 0; i < series.n; i++) {
        found += series.point[i].at[HR_SAMPLES] == 61800 || series.point[i].at[HR_SAMPLES] == 33400;
        assert_true(i == 0 || series.point[i].at[HR_SAMPLES] > series.point[i - 1].at[HR_SAMPLES]);
    }
    assert_int_equal(found, 2);
    hr_series_free(&series);
    hr_view_free(&view);
    json_decref(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_hold_their_ends_and_have_a_few_ticks),
        cmocka_unit_test(wide_ranges_are_logarithmic_where_they_may_be),
        cmocka_unit_test(ticks_are_round_numbers),
        cmocka_unit_test(thinning_keeps_first_last_and_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

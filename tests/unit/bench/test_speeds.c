/* How fast networks train: shares, what is ideal, the table. */
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "support/capture.h"
#include "support/check.h"

static const struct hr_roof_round rounds[] = {{1e12, 4e12, 4e12}};

/* 1000 samples/s of 1 GFLOP on a roof of 4 TFLOP/s; 10 s, of which 1, 2, 3, 1, 2, 1. */
static const struct hr_speed_row speed = {
    .model = "mlp",
    .result = {.samples_per_s = 1000,
               .workers = 2,
               .compute_s = 6,
               .load_s = 1,
               .forward_s = 2,
               .backward_s = 3,
               .communicate_s = 2,
               .wait_s = 1},
    .madds = 0.5e9,
    .rounds = 1,
    .measured = rounds,
    .roof = {.roof = {4e12, 4e12, 4e12}, .share = {0.25, 0.24, 0.27}},
    .ideal = 1000,
};

static void speed_is_held_against_the_roof(void **state)
{
    (void)state;
    CHECK_NEAR(hr_speed_flops(&speed), 1e12, 1e-12, 0);
    CHECK_NEAR(hr_speed_share(&speed), 0.25, 1e-12, 0);
    struct hr_speed_row simulated = speed;
    simulated.roof = hr_roof_share(NULL, 0);
    assert_true(isnan(hr_speed_share(&simulated)));
    simulated.roof.lack = HR_SHARE_ROOF_WAVERED;
    assert_true(isnan(hr_speed_share(&simulated)));
}

static void parts_of_the_workers_time_make_one(void **state)
{
    (void)state;
    static const double want[HR_SPEED_PARTS] = {0.1, 0.2, 0.3, 0.1, 0.2, 0.1};
    double share[HR_SPEED_PARTS];
    hr_speed_parts(&speed.result, share);
    for (size_t i = 0; i < HR_SPEED_PARTS; i++)
        CHECK_NEAR(share[i], want[i], 1e-12, 0);
    const struct hr_run_result nothing = {0};
    hr_speed_parts(&nothing, share);
    assert_true(share[HR_SPEED_WAIT] == 0);
}

static struct hr_speed_row row(const char *model, const char *setting, size_t workers, double rate)
{
    struct hr_speed_row made = speed;
    made.model = model;
    snprintf(made.setting, sizeof made.setting, "%s", setting);
    made.result.workers = workers;
    made.result.samples_per_s = rate;
    return made;
}

/* From the fewest workers, wherever that row stands, of the same model and setting otherwise. */
static void ideal_is_the_fewest_workers_speed_for_each(void **state)
{
    (void)state;
    struct hr_speed_row rows[] = {
        row("mlp", ":workers=4:servers=1", 4, 900), row("mlp", ":workers=2:servers=1", 2, 600),
        row("mlp", ":workers=2:servers=2", 2, 500), row("mlp", ":workers=4:servers=2", 4, 1100),
        row("cnn", ":workers=4:servers=1", 4, 50)};
    static const double want[] = {1200, 600, 500, 1000, 50};
    hr_speeds_set_ideal(rows, 5);
    for (size_t i = 0; i < 5; i++)
        CHECK_NEAR(rows[i].ideal, want[i], 1e-9, 0);
    char curve[100];
    hr_speed_curve(&rows[3], curve, sizeof curve);
    assert_string_equal(curve, "mlp servers 2");
}

/* free() it. */
static char *table(const struct hr_speed_row *rows, size_t n)
{
    struct capture capture;
    capture_begin(&capture);
    hr_speeds_print(capture.out, rows, n);
    return capture_end(&capture);
}

static void a_table_says_what_differs(void **state)
{
    (void)state;
    struct hr_speed_row rows[] = {row("mlp", ":strategy=ssp:workers=1:model=mlp", 1, 1000),
                                  row("mlp", ":strategy=ssp:workers=2:model=mlp", 2, 1500)};
    hr_speeds_set_ideal(rows, 2);
    rows[1].roof = (struct hr_roof_share){.lack = HR_SHARE_ROOF_WAVERED, .roof = {100, 100, 112}};
    char *text = table(rows, 2);
    check_has(text, "mlp ssp, workers 1      1000    100 %     1000   1000.0   25 % [24, 27]  "
                    "10/20/30/10/20/10\n");
    check_has(text, "mlp ssp, workers 2      1500     75 %     1000   1500.0        no share  "
                    "10/20/30/10/20/10\n");
    check_has(text, "\nmlp ssp, workers 2: no share: the roof wavered by 12 %\n");
    assert_null(strstr(text, "workers 1: no share"));
    check_has(text, "ideal: the speed with the fewest workers");
    free(text);
    rows[0].measured = rows[1].measured = NULL;
    rows[1].result.workers = 1;
    text = table(rows, 2);
    check_has(text, "mlp ssp, workers 1      1000     1000   1000.0  10/60/20/10\n");
    assert_null(strstr(text, "ideal"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speed_is_held_against_the_roof),
        cmocka_unit_test(parts_of_the_workers_time_make_one),
        cmocka_unit_test(ideal_is_the_fewest_workers_speed_for_each),
        cmocka_unit_test(a_table_says_what_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Rows of a forecast: ranges, memory, costs; what has no forecast; and rho, counted by hand. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forecast/forecast.h"
#include "support/runs.h"
#include "support/scratch.h"
#include "support/sparse_data.h"
#include "train/shared_memory.h"

static struct hr_train_options virtual_run(const char *strategy, size_t workers)
{
    struct hr_train_options o = run_options(strategy, workers);
    snprintf(o.clock, sizeof o.clock, "virtual");
    snprintf(o.compute_time, sizeof o.compute_time, "1ms");
    return o;
}

static void make(struct hr_forecast *forecast, const struct hr_dataset *dataset, double noise)
{
    const struct hr_forecast_ask ask = {.dataset = dataset, .seconds = 0.2, .noise_seconds = noise};
    CHECK_OK(hr_forecast_make(&ask, forecast));
}

/* Constant times, no links: four workers are four times as fast as one. */
static void in_virtual_time_it_is_what_times_say(void **state)
{
    (void)state;
    struct hr_forecast_row rows[] = {{.options = virtual_run("allreduce", 4)},
                                     {.options = virtual_run("hogwild", 2)}};
    struct hr_forecast forecast = {.rows = rows, .n = 2};
    struct hr_needs needs = {0};
    make(&forecast, run_digits(), 0);
    CHECK_NEAR(forecast.alone, 16 / 1e-3, 0.02, 0);
    CHECK_NEAR(rows[0].samples_per_s, 4 * 16 / 1e-3, 0.05, 0); /* an epoch's last batch is small */
    CHECK_NEAR(rows[1].speedup, 2, 0.05, 0);
    CHECK_NEAR(rows[0].epoch_s, (double)run_digits()->train.count / rows[0].samples_per_s, 0, 0);
    assert_true(rows[0].low < rows[0].samples_per_s && rows[0].samples_per_s < rows[0].high);
    assert_int_equal(rows[0].global_batch, 64);
    assert_int_equal(rows[1].global_batch, 16);
    CHECK_OK(hr_train_needs(&rows[0].options, run_digits(), &needs));
    assert_int_equal(rows[0].memory, needs.bytes);
    assert_int_equal(rows[0].own_memory, needs.bytes - needs.taken);
}

/* A range of costs spans both looks, and is there where updates are of larger batches. */
static void costs_follow_from_the_noise_scale(void **state)
{
    (void)state;
    struct hr_forecast_row rows[] = {{.options = virtual_run("allreduce", 4)},
                                     {.options = virtual_run("ps-async", 4)}};
    struct hr_forecast forecast = {.rows = rows, .n = 2};
    make(&forecast, run_digits(), 2);
    const struct hr_noise *start = &forecast.noise.start, *later = &forecast.noise.later;
    const double low = fmin(hr_noise_cost(start->high, 16, 64), hr_noise_cost(later->high, 16, 64));
    const double high = fmax(hr_noise_cost(start->low, 16, 64), hr_noise_cost(later->low, 16, 64));
    CHECK_NEAR(rows[0].cost_low, low, 1e-12, 0);
    CHECK_NEAR(rows[0].cost_high, high, 1e-12, 0);
    assert_true(rows[0].cost_low >= 1 && rows[0].cost_high <= 4);
    assert_true(isnan(rows[1].cost_low));
}

static void a_row_that_was_timed_is_none(void **state)
{
    (void)state;
    setenv("HOGRING_CPUS", "2", 1);
    struct hr_forecast_row rows[] = {{.options = run_options("allreduce", 2)},
                                     {.options = run_options("allreduce", 3)}};
    struct hr_forecast forecast = {.rows = rows, .n = 2};
    make(&forecast, run_digits(), 0);
    assert_true(rows[0].timed && !rows[1].timed);
    assert_true(rows[1].high / rows[1].low > rows[0].high / rows[0].low);
}

static void what_no_model_stands_for_is_refused(void **state)
{
    (void)state;
    struct hr_train_options o = run_options("gossip", 2);
    CHECK_FAILS(hr_forecast_check(&o), HR_E_USAGE);
    CHECK_MESSAGE("gossip");
    o = run_options("allreduce", 2);
    snprintf(o.link, sizeof o.link, "1GB/s,5us");
    CHECK_FAILS(hr_forecast_check(&o), HR_E_USAGE);
    CHECK_MESSAGE("--link");
    o = virtual_run("gossip", 2);
    CHECK_OK(hr_forecast_check(&o));
    o.pipeline = 2;
    CHECK_FAILS(hr_forecast_check(&o), HR_E_USAGE);
    CHECK_MESSAGE("--pipeline");
}

/* --- sparse rows --- */

static bool meet(const struct hr_split *s, size_t a, size_t b)
{
    for (uint64_t i = s->rows[a]; i < s->rows[a + 1]; i++)
        for (uint64_t j = s->rows[b]; j < s->rows[b + 1]; j++)
            if (s->columns[i] == s->columns[j])
                return true;
    return false;
}

/* So few rows that none is left to chance. */
static void rho_is_what_counting_all_pairs_gives(void **state)
{
    (void)state;
    struct hr_dataset data = sparse_data(70, 300, 6, 5);
    struct hr_forecast_row row = {.options = sparse_options("logistic", "sgd", 2, 1)};
    struct hr_forecast forecast = {.rows = &row, .n = 1};
    const struct hr_split *split = &data.train;
    double rho = 0;
    size_t omega = 0;
    assert_true(split->count <= 64);
    for (size_t a = 0; a < split->count; a++) {
        size_t met = 0;
        for (size_t b = 0; b < split->count; b++)
            met += b != a && meet(split, a, b);
        rho = fmax(rho, (double)met / (double)(split->count - 1));
        omega = split->rows[a + 1] - split->rows[a] > omega ? split->rows[a + 1] - split->rows[a]
                                                            : omega;
    }
    make(&forecast, &data, 0);
    const struct hr_conflicts *c = &forecast.conflicts;
    CHECK_NEAR(c->rho, rho, 1e-12, 0);
    assert_int_equal(c->omega, omega);
    CHECK_NEAR(hr_forecast_bound(c, 3), 1 + 18 * rho + 54 * (double)omega * sqrt(c->delta), 1e-12,
               0);
    hr_dataset_close(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_virtual_time_it_is_what_times_say),
        cmocka_unit_test(costs_follow_from_the_noise_scale),
        cmocka_unit_test(a_row_that_was_timed_is_none),
        cmocka_unit_test(what_no_model_stands_for_is_refused),
        cmocka_unit_test_setup_teardown(rho_is_what_counting_all_pairs_gives, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

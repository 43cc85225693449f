/* Delay models: what is drawn follows its formula, is a pure function, and is the same everywhere;
 * what is wrong in the text is said in one line. */
#include "netsim/delay.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "support/check.h"
#include "support/scratch.h"

enum { DRAWS = 100000 };

static const int64_t ms = 1000000000;

static const char *const models[] = {
    "constant(10ms)",       "uniform(5ms, 15ms)", "exponential(10ms)",
    "lognormal(10ms, 0.3)", "pareto(10ms, 2.5)",
};
enum { MODELS = sizeof models / sizeof *models };

static struct hr_delay parsed(const char *text)
{
    struct hr_delay delay;
    CHECK_OK(hr_delay_parse("", text, &delay));
    return delay;
}

/* --- hr_portable_log and _exp against the C library */

static void log_and_exp_are_those_of_the_c_library_to_a_few_units(void **state)
{
    (void)state;
    for (double x = 1e-300; x < 1e300; x *= 1.37) {
        assert_true(fabs(hr_portable_log(x) - log(x)) <= 4e-16 * fabs(log(x)) + 1e-16);
        const double near_one = 1 + 1 / (x > 1 ? x : 2 / x);
        assert_true(fabs(hr_portable_log(near_one) - log(near_one)) <= 4e-16 * log(near_one));
    }
    for (double x = -699; x < 700; x += 0.377)
        assert_true(fabs(hr_portable_exp(x) / exp(x) - 1) <= 6e-16);
    assert_true(hr_portable_log(1) == 0 && hr_portable_exp(0) == 1);
    assert_true(hr_portable_exp(-1e9) == 0 && isfinite(hr_portable_exp(1e9)));
}

static void normal_quantile_is_the_inverse_of_the_distribution(void **state)
{
    (void)state;
    for (double p = 1e-16; p < 1; p = p < 0.01 ? p * 1.7 : p + 0.00377) {
        const double x = hr_portable_normal_quantile(p);
        CHECK_NEAR(erfc(-x / sqrt(2)) / 2, p, 1e-13, 0);
        if (p > 0.01)
            CHECK_NEAR(hr_portable_normal_quantile(1 - p), -x, 1e-12, 1e-15);
    }
}

/* --- what is drawn */

/* From a twin in Python: Philox and forty-digit decimals. On any machine it must be these. */
static void known_answers_are_kept(void **state)
{
    (void)state;
    static const int64_t want[MODELS][3] = {
        {10000000000, 10000000000, 10000000000}, {5082760178, 13953554771, 7116764875},
        {47943933716, 1105344584, 15526961720},  {4872621321, 14574040897, 7864820941},
        {68056785777, 10452057786, 18609339192},
    };
    for (size_t m = 0; m < MODELS; m++) {
        const struct hr_delay delay = parsed(models[m]);
        assert_true(hr_delay_ps(&delay, 1, 0, 0) == want[m][0]);
        assert_true(hr_delay_ps(&delay, 1, 255, 1000) == want[m][1]);
        assert_true(hr_delay_ps(&delay, UINT64_MAX, 3, UINT64_MAX) == want[m][2]);
    }
}

/* A duration depends on (seed, rank, step) alone, and on each of them. */
static void draws_are_pure(void **state)
{
    (void)state;
    for (size_t m = 1; m < MODELS; m++) {
        const struct hr_delay delay = parsed(models[m]), again = parsed(models[m]);
        for (uint64_t step = 100; step-- > 0;) {
            const int64_t ps = hr_delay_ps(&delay, check_seed(), step % 7, step);
            assert_true(ps == hr_delay_ps(&again, check_seed(), step % 7, step));
            assert_true(ps != hr_delay_ps(&delay, check_seed() + 1, step % 7, step));
            assert_true(ps != hr_delay_ps(&delay, check_seed(), step % 7 + 1, step));
            assert_true(ps != hr_delay_ps(&delay, check_seed(), step % 7, step + 1));
            assert_true(ps != hr_delay_ps(&delay, hr_delay_seed(check_seed(), 1), step % 7, step));
        }
    }
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Quantile p of the model, in ms. */
static double quantile(size_t model, double p)
{
    switch (model) {
    case 0:
        return 10;
    case 1:
        return 5 + 10 * p;
    case 2:
        return -10 * log(1 - p);
    case 3:
        return 10 * exp(0.3 * hr_portable_normal_quantile(p));
    default:
        return 10 * pow(1 - p, -1 / 2.5);
    }
}

/* The share of draws below quantile p is p within five standard errors. */
static void draws_follow_their_formula(void **state)
{
    (void)state;
    static const double means[MODELS] = {10, 10, 10, 10.4602786, 16.6666667};
    static const double at[] = {0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999};
    static int64_t draw[DRAWS];
    for (size_t m = 0; m < MODELS; m++) {
        const struct hr_delay delay = parsed(models[m]);
        double sum = 0;
        for (size_t i = 0; i < DRAWS; i++) {
            draw[i] = hr_delay_ps(&delay, check_seed(), i % 16, i / 16);
            sum += (double)draw[i] / (double)ms;
        }
        CHECK_NEAR(sum / DRAWS, means[m], 0.02, 0);
        qsort(draw, DRAWS, sizeof *draw, compare);
        for (size_t k = 0; m > 0 && k < sizeof at / sizeof *at; k++) {
            size_t below = 0;
            while (below < DRAWS && (double)draw[below] < quantile(m, at[k]) * (double)ms)
                below++;
            CHECK_NEAR((double)below / DRAWS, at[k], 0, 5 * sqrt(at[k] * (1 - at[k]) / DRAWS));
        }
    }
}

static void what_is_too_long_is_cut(void **state)
{
    (void)state;
    const struct hr_delay delay = parsed("lognormal(24h, 5)");
    int64_t longest = 0;
    for (uint64_t step = 0; step < 10000; step++) {
        const int64_t ps = hr_delay_ps(&delay, check_seed(), 0, step);
        assert_true(ps >= 0 && ps <= HR_PS_NEVER);
        longest = ps > longest ? ps : longest;
    }
    assert_true(longest == HR_PS_NEVER);
}

/* --- the text */

static void text_is_read_back_to_the_same_model(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"10ms", "constant(10ms)"},
        {"0", "constant(0s)"},
        {"90s", "constant(90s)"},
        {"constant( 1.5us )", "constant(1.5us)"},
        {"uniform(5ms,15ms)", "uniform(5ms, 15ms)"},
        {"exponential(0.25ns)", "exponential(0.25ns)"},
        {"lognormal(24h, 0.30000000000000004)", "lognormal(86400s, 0.30000000000000004)"},
        {"pareto(1234567ns ,2.5)", "pareto(1.234567ms, 2.5)"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[HR_DELAY_TEXT], again[HR_DELAY_TEXT];
        const struct hr_delay delay = parsed(texts[i][0]);
        hr_delay_text(&delay, text);
        assert_string_equal(text, texts[i][1]);
        const struct hr_delay back = parsed(text);
        hr_delay_text(&back, again);
        assert_string_equal(again, text);
        assert_true(back.time_ps == delay.time_ps && back.shape == delay.shape);
    }
}

static void wrong_text_is_refused_in_one_line(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"", "--compute-time : expected a time as 10ms (at most 24h), constant(10ms)"},
        {"10 ms", "expected a time"},
        {"-1ms", "expected a time"},
        {"25h", "at most 24h"},
        {"10", "--compute-time 10: expected a time as 10ms"},
        {"uniform(5, 15ms)", "expected uniform(LOW, HIGH)"},
        {"normal(10ms, 1ms)", "--compute-time normal(10ms, 1ms): expected a time as"},
        {"trace:", "trace:FILE"},
        {"constant", "expected constant(TIME)"},
        {"constant(10ms", "expected constant(TIME)"},
        {"constant(10ms) ", "expected constant(TIME)"},
        {"constant(10ms, 2)", "expected constant(TIME)"},
        {"exponential()", "expected exponential(MEAN)"},
        {"lognormal(10ms)", "expected lognormal(MEDIAN, SIGMA)"},
        {"lognormal(10ms, 6)", "0 to 5"},
        {"lognormal(10ms, 0.3, 1)", "expected lognormal"},
        {"pareto(10ms, 1)", "SHAPE above 1"},
        {"pareto(10ms, nan)", "SHAPE above 1"},
        {"uniform(15ms, 5ms)", "LOW <= HIGH"},
        {"uniform(15ms, "
         "5555555555555555555555555555555555555555555555555555555555555555555555555ms)",
         "LOW <= HIGH"},
        {"constant(", "expected constant(TIME)"},
        {"uniform(5ms, x)", "LOW <= HIGH"},
        {"uniform("
         "5555555555555555555555555555555555555555555555555555555555555555555555555ms, 1s)",
         "LOW <= HIGH"},
        {"pareto(10ms, 1e9)", "SHAPE above 1"},
        {"lognormal(10ms, x)", "0 to 5"},
        {"trace:/nowhere/at/all", "/nowhere/at/all: cannot be opened"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct hr_delay delay = {.time_ps = 77};
        const bool file = strstr(texts[i][0], "nowhere") != NULL;
        CHECK_FAILS(hr_delay_parse("--compute-time ", texts[i][0], &delay),
                    file ? HR_E_IO : HR_E_USAGE);
        CHECK_MESSAGE(texts[i][1]);
        assert_true(delay.time_ps == 77 && !delay.path);
    }
}

/* --- trace:FILE */

static enum hr_status read_file(const char *content, struct hr_delay *delay)
{
    char text[HR_DELAY_TEXT];
    scratch_write("times", content, strlen(content));
    snprintf(text, sizeof text, "trace:%s", scratch("times"));
    return hr_delay_parse("", text, delay);
}

static void files_give_their_durations_all_alike(void **state)
{
    (void)state;
    struct hr_delay delay;
    size_t seen[3] = {0};
    char text[HR_DELAY_TEXT];
    CHECK_OK(read_file("# measured\n 9.8ms \r\n\n2000ns # whole ones\n0.5s", &delay));
    assert_int_equal(delay.nsamples, 3);
    for (uint64_t step = 0; step < 3000; step++) {
        const int64_t ps = hr_delay_ps(&delay, check_seed(), 5, step);
        assert_true(ps == 98 * ms / 10 || ps == 2000000 || ps == 500 * ms);
        seen[ps == 2000000 ? 1 : ps == 500 * ms ? 2 : 0]++;
    }
    for (size_t i = 0; i < 3; i++)
        assert_in_range(seen[i], 870, 1130);
    hr_delay_text(&delay, text);
    assert_string_equal(text + 6, scratch("times"));
    hr_delay_fini(&delay);
}

static void wrong_files_are_refused_with_the_line(void **state)
{
    (void)state;
    static const char *const files[][2] = {
        {"", "times: expected at least one duration"},
        {"# nothing\n\n", "times: expected at least one duration"},
        {"1ms\n2ms\nthree\n",
         "times:3: expected one duration with its unit, as 9.8ms or 9800000ns"},
        {"1ms 2ms\n", "times:1: expected one duration"},
        {"\n-5\n", "times:2: expected one duration"},
        {"25h\n", "times:1: expected one duration"},
        {"2000\n", "times:1: expected one duration with its unit"},
        {"1ms\n00000000000000000000000000000000000000000000000000000000000000000000000001ms",
         "times:2: expected one duration"},
        {"86400000000001ns\n", "times:1: expected one duration"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct hr_delay delay = {.time_ps = 77};
        CHECK_FAILS(read_file(files[i][0], &delay), HR_E_FORMAT);
        CHECK_MESSAGE(files[i][1]);
        assert_true(delay.time_ps == 77 && !delay.samples);
    }
}

static void files_that_are_too_long_or_no_text_are_refused(void **state)
{
    (void)state;
    struct hr_delay delay;
    char text[HR_DELAY_TEXT];
    char *many = malloc(3 * HR_DELAY_SAMPLES + 4);
    for (size_t i = 0; i <= HR_DELAY_SAMPLES; i++)
        memcpy(many + 3 * i, "7s\n", 4);
    CHECK_FAILS(read_file(many, &delay), HR_E_FORMAT);
    CHECK_MESSAGE("times:1048577: expected at most 1048576 durations");
    many[3 * HR_DELAY_SAMPLES] = '\0';
    CHECK_OK(read_file(many, &delay));
    assert_true(delay.nsamples == HR_DELAY_SAMPLES && delay.samples[0] == 7000 * ms);
    hr_delay_fini(&delay);
    free(many);
    scratch_write("times", "1ms\0\n", 5);
    snprintf(text, sizeof text, "trace:%s", scratch("times"));
    CHECK_FAILS(hr_delay_parse("", text, &delay), HR_E_FORMAT);
    CHECK_MESSAGE("is not a text file");
    static char path[HR_PATH_MAX + 10];
    memset(path, '/', sizeof path - 1);
    memcpy(path, "trace:", 6);
    CHECK_FAILS(hr_delay_parse("", path, &delay), HR_E_USAGE);
}

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_and_exp_are_those_of_the_c_library_to_a_few_units),
        cmocka_unit_test(normal_quantile_is_the_inverse_of_the_distribution),
        cmocka_unit_test(known_answers_are_kept),
        cmocka_unit_test(draws_are_pure),
        cmocka_unit_test(draws_follow_their_formula),
        cmocka_unit_test(what_is_too_long_is_cut),
        cmocka_unit_test(text_is_read_back_to_the_same_model),
        cmocka_unit_test(wrong_text_is_refused_in_one_line),
        WITH_SCRATCH(files_give_their_durations_all_alike),
        WITH_SCRATCH(wrong_files_are_refused_with_the_line),
        WITH_SCRATCH(files_that_are_too_long_or_no_text_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

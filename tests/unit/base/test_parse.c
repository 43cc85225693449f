/* The grammar of numbers: units, and what is refused. */
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "support/check.h"

static void bandwidths_count_bytes_or_bits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double bytes;
    } good[] = {{"16GB/s", 16e9}, {"1.5MB/s", 1.5e6}, {"100Gb/s", 12.5e9},
                {"8kb/s", 1e3},   {"7B/s", 7},        {"2TB/s", 2e12}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double bytes = -1;
        assert_true(hr_parse_bandwidth(good[i].text, &bytes));
        CHECK_NEAR(bytes, good[i].bytes, 0, 0);
    }
}

static void what_is_no_bandwidth_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",        "16",       "16GB",    "GB/s",     "-1GB/s",
                                      "infGB/s", "16 GB/s",  " 16GB/s", "16GB/s ",  "16gb/s",
                                      "16GB/s,", "1e999B/s", "nanB/s",  "16GB/sec", "0x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double bytes = -1;
        assert_false(hr_parse_bandwidth(bad[i], &bytes));
        CHECK_NEAR(bytes, -1, 0, 0);
    }
}

static void sizes_are_binary_or_decimal(void **state)
{
    (void)state;
    uint64_t bytes;
    assert_true(hr_parse_size("160MB", &bytes) && bytes == 160000000);
    assert_true(hr_parse_size("4K", &bytes) && bytes == 4096);
    assert_true(hr_parse_size("256M", &bytes) && bytes == 256u << 20);
    static const char *const bad[] = {"",   "160 MB", "-1",  "M",     "1e16",  "nan",
                                      "1x", "4 K",    " 4K", "1.5.2", "16GiBs"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(hr_parse_size(bad[i], &bytes));
    assert_true(hr_parse_size("1.5kB", &bytes) && bytes == 1500);
    assert_true(hr_parse_size("1e15", &bytes) && bytes == 1000000000000000);
    assert_true(hr_parse_size("2GiB", &bytes) && bytes == (uint64_t)2 << 30);
}

static void times_have_units_and_seconds_need_none(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool duration, seconds;
        double s;
    } rows[] = {{"30s", true, true, 30}, {"2m", true, true, 120},    {"500ms", true, true, 0.5},
                {"3", false, true, 3},   {"0", true, true, 0},       {"3 s", false, false, 0},
                {"", false, false, 0},   {"3days", false, false, 0}, {"-1s", false, false, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double s = -1;
        assert_int_equal(hr_parse_duration(rows[i].text, &s), rows[i].duration);
        assert_true(!rows[i].duration || s == rows[i].s);
        assert_int_equal(hr_parse_seconds(rows[i].text, &s), rows[i].seconds);
        assert_true(!rows[i].seconds || s == rows[i].s);
    }
}

/* Against strtod in the C locale, over lengths and exponents on both sides of the fast path. */
static void reals_are_what_strtod_says(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < check_count(20000, 2000000); i++) {
        const struct hr_philox r = hr_random_block(check_seed(), HR_STREAM_TEST, i, 0);
        const int digits = 1 + (int)(r.v[2] % 22), exponent = (int)(r.v[3] % 60) - 30;
        char text[80];
        snprintf(text, sizeof text, "%s%.*s.%ue%d", r.v[2] & 1024 ? "-" : "", digits,
                 "9007199254740993123456", r.v[0] % 1000, exponent);
        double got;
        assert_true(hr_parse_real(text, strlen(text), &got));
        const double want = strtod(text, NULL);
        if (memcmp(&got, &want, sizeof got) != 0)
            fail_msg("%s is %a, expected %a", text, got, want);
    }
    double got;
    assert_true(hr_parse_real("18446744073709551616", 20, &got) && got == 0x1p64);
    assert_true(hr_parse_real("1.5,rest", 3, &got) && got == 1.5);
    assert_true(hr_parse_real(".5e-1", 5, &got) && got == 0.05);
    assert_true(hr_parse_real("25E-1,", 5, &got) && got == 2.5);
    assert_true(hr_parse_real("1e-9999999999", 13, &got) && got == 0);
    assert_true(hr_parse_real("12e1", 3, &got) == false);
    assert_true(hr_parse_real("-0", 2, &got) && got == 0);
}

static void what_is_no_real_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",    ".",    "+",     "-.",   "1e",    "1e+",
                                      "e5",  "0x10", "nan",   "inf",  "1 ",    " 1",
                                      "1,5", "--1",  "1.2.3", "1e5.", "1e999", "1_0"};
    char longest[130];
    memset(longest, '1', sizeof longest);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double got = -7;
        assert_false(hr_parse_real(bad[i], strlen(bad[i]), &got));
        CHECK_NEAR(got, -7, 0, 0);
    }
    double got;
    assert_true(hr_parse_real(longest, HR_REAL_MAX_BYTES, &got));
    assert_false(hr_parse_real(longest, HR_REAL_MAX_BYTES + 1, &got));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bandwidths_count_bytes_or_bits),
        cmocka_unit_test(what_is_no_bandwidth_is_refused),
        cmocka_unit_test(sizes_are_binary_or_decimal),
        cmocka_unit_test(times_have_units_and_seconds_need_none),
        cmocka_unit_test(reals_are_what_strtod_says),
        cmocka_unit_test(what_is_no_real_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

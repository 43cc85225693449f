/* The grammar of numbers: units, and what is refused. */
#include "base/parse.h"

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
    assert_false(hr_parse_size("160 MB", &bytes) || hr_parse_size("-1", &bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bandwidths_count_bytes_or_bits),
        cmocka_unit_test(what_is_no_bandwidth_is_refused),
        cmocka_unit_test(sizes_are_binary_or_decimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

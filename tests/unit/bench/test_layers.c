/* What bench layers and bench train say about figures that are known. */
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "support/capture.h"
#include "support/check.h"

/* 100 GFLOP/s; 10 GB/s out of everything. Half of the step multiplies, a quarter moves data, an
 * eighth does neither, and an eighth is between the rows. */
static struct hr_profile_row rows[] = {
    {"0 dense 10, relu", HR_PART_FORWARD, {.madds = 160e6, .bytes = 1e3}, 4e-3},
    {"1 relu", HR_PART_DATA, {.bytes = 10e6}, 2e-3},
    {"softmax loss", HR_PART_LOSS, {.bytes = 10}, 1e-3},
    {"2 dense 10", HR_PART_DATA, {.madds = 1, .bytes = 10}, 0},
};
static const struct hr_profile profile = {
    .model = (char *)(size_t) "dense 10",
    .batch_size = 16,
    .threads = 1,
    .steps = 5,
    .madds = 160e6,
    .n = 4,
    .rows = rows,
    .step_s = 8e-3,
    .roofs = {.threads = 1,
              .tile_flops = 100e9,
              .bytes_per_s = {10e9, 10e9, 10e9, 10e9},
              .level_bytes = {32 << 10, 512 << 10, 0, INFINITY}},
};

static void a_table_says_what_binds_a_step(void **state)
{
    (void)state;
    struct capture capture;
    capture_begin(&capture);
    hr_layers_print(capture.out, &profile);
    char *text = capture_end(&capture);
    check_has(text, "0 dense 10, relu  forward           4000.0   50.0%      80.0      80%");
    check_has(text, "      0.0       0% L1    compute\n");
    check_has(text, "      5.0      50% DRAM  memory\n");
    check_has(text, "too short to be measured\n");
    check_has(text, "between them                        1000.0   12.5%\n");
    check_has(text, "whole step        2.00k samples/s   8000.0  100.0%      40.0      40%\n");
    check_has(text,
              "57 % of the layers' time is bound by compute, most of it in \"0 dense 10, relu\" "
              "forward (80 % of the compute roof);\n29 % ");
    check_has(text, "\"1 relu\" backward data (50 % of the DRAM roof);\n14 % ");
    assert_null(strstr(text, "guess"));
    free(text);
}

static void roofs_name_their_sources_and_levels(void **state)
{
    (void)state;
    struct capture capture;
    struct hr_roofs roofs = profile.roofs;
    capture_begin(&capture);
    hr_roofs_print(capture.out, &roofs);
    roofs.blas_flops = 120e9;
    hr_roofs_print(capture.out, &roofs);
    char *text = capture_end(&capture);
    check_has(text, "1 thread: compute 100.0 GFLOP/s (float32, register tile); memory");
    check_has(text, "L1 10.0 L2 10.0 DRAM 10.0 GB/s\n");
    check_has(
        text,
        "compute 120.0 GFLOP/s (float32, OpenBLAS; OpenBLAS at 1024^3 120.0, register tile in L1 "
        "100.0)");
    free(text);
}

static void a_roof_that_wavers_or_is_passed_gives_no_share(void **state)
{
    (void)state;
    struct capture capture;
    struct hr_profile other = profile;
    other.roofs.tile_spread = 0.12;
    other.roofs.level_spread[HR_LEVEL_MEMORY] = 0.051;
    capture_begin(&capture);
    hr_roofs_print(capture.out, &other.roofs);
    hr_layers_print(capture.out, &other);
    char *text = capture_end(&capture);
    check_has(text, "# no share of compute: that roof wavered by 12 %\n");
    check_has(text, "# no share of DRAM: that roof wavered by 5.1 %\n");
    check_has(text, "0 dense 10, relu  forward              4000.0   50.0%      80.0        -");
    check_has(text, "      5.0        - DRAM  memory\n");
    check_has(text, "forward;\n29 % ");
    check_has(text, "What binds is a guess, since a roof wavered");
    assert_null(strstr(text, "over:"));
    free(text);
    other.roofs = profile.roofs;
    other.roofs.tile_flops = 79e9;
    capture_begin(&capture);
    hr_layers_print(capture.out, &other);
    text = capture_end(&capture);
    check_has(text, "50.0%      80.0     over");
    check_has(text, "over: more than that roof: ");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_says_what_binds_a_step),
        cmocka_unit_test(roofs_name_their_sources_and_levels),
        cmocka_unit_test(a_roof_that_wavers_or_is_passed_gives_no_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

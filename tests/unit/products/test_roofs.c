/* Which roof work runs into, on a machine made of round numbers; and that this machine has some. */
#include <math.h>
#include <stdlib.h>

#include "products/roofs.h"
#include "support/check.h"
#include "tiles/tile_roof.h"

/* 100 GFLOP/s; 200, 100, 20, 10 GB/s out of 32 KiB, 512 KiB, 16 MiB and DRAM. */
static const struct hr_roofs machine = {
    .threads = 1,
    .blas_flops = 90e9,
    .tile_flops = 100e9,
    .bytes_per_s = {200e9, 100e9, 20e9, 10e9},
    .level_bytes = {32 << 10, 512 << 10, 16 << 20, INFINITY},
};

static void a_level_holds_what_fits_into_it(void **state)
{
    (void)state;
    struct hr_roofs two = machine, no_l3 = machine;
    assert_int_equal(hr_roofs_level(&machine, 32 << 10), HR_LEVEL_L1);
    assert_int_equal(hr_roofs_level(&machine, (32 << 10) + 1), HR_LEVEL_L2);
    assert_int_equal(hr_roofs_level(&machine, 600 << 10), HR_LEVEL_L3);
    assert_int_equal(hr_roofs_level(&machine, 17 << 20), HR_LEVEL_MEMORY);
    /* Threads have an L2 each, and share L3. */
    two.threads = 2;
    assert_int_equal(hr_roofs_level(&two, 600 << 10), HR_LEVEL_L2);
    assert_int_equal(hr_roofs_level(&two, 17 << 20), HR_LEVEL_MEMORY);
    no_l3.level_bytes[HR_LEVEL_L3] = 0;
    assert_int_equal(hr_roofs_level(&no_l3, 600 << 10), HR_LEVEL_MEMORY);
}

static void the_faster_product_is_the_compute_roof(void **state)
{
    (void)state;
    struct hr_roofs other = machine;
    assert_true(hr_roofs_flops(&machine) == 100e9);
    assert_string_equal(hr_roofs_flops_source(&machine), "register tile");
    other.blas_flops = 110e9;
    assert_true(hr_roofs_flops(&other) == 110e9);
    assert_string_equal(hr_roofs_flops_source(&other), "OpenBLAS");
}

static void the_larger_share_binds(void **state)
{
    (void)state;
    /* 1 ms: 80 of 100 GFLOP/s, 1 of 20 GB/s out of L3. */
    struct hr_judgement j =
        hr_roofs_judge(&machine, (struct hr_work){.madds = 40e6, .bytes = 1e6}, 1e-3);
    CHECK_NEAR(j.flops, 80e9, 1e-12, 0);
    CHECK_NEAR(j.bytes_per_s, 1e9, 1e-12, 0);
    CHECK_NEAR(j.of_compute, 0.8, 1e-12, 0);
    CHECK_NEAR(j.of_memory, 0.05, 1e-12, 0);
    assert_int_equal(j.level, HR_LEVEL_L3);
    assert_int_equal(j.bound, HR_BOUND_COMPUTE);
    /* The same memory as fast as it can be, and hardly a product. */
    j = hr_roofs_judge(&machine, (struct hr_work){.madds = 1e5, .bytes = 1e6}, 5e-5);
    CHECK_NEAR(j.of_memory, 1.0, 1e-12, 0);
    assert_int_equal(j.bound, HR_BOUND_MEMORY);
}

static void what_is_far_from_both_roofs_is_overhead(void **state)
{
    (void)state;
    const struct hr_work little = {.madds = 4.9e6, .bytes = 1e6};
    assert_int_equal(hr_roofs_judge(&machine, little, 1e-3).bound, HR_BOUND_OVERHEAD);
    assert_int_equal(hr_roofs_judge(&machine, little, 0.9e-3).bound, HR_BOUND_COMPUTE);
    assert_int_equal(hr_roofs_judge(&machine, (struct hr_work){.bytes = 100}, 1e-3).bound,
                     HR_BOUND_OVERHEAD);
}

static void this_machine_has_roofs(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 2; threads++) {
        struct hr_roof_meter *meter;
        CHECK_OK(hr_roof_meter_create(HR_ROOF_FLOAT32, threads, 1, &meter));
        hr_roof_meter_round(meter);
        const struct hr_roofs roofs = hr_roof_meter_read(meter);
        hr_roof_meter_destroy(meter);
        assert_int_equal(roofs.threads, threads);
        assert_true(isfinite(hr_roofs_flops(&roofs)) && hr_roofs_flops(&roofs) > 0);
        assert_true(roofs.tile_flops > 0);
        for (enum hr_level level = 0; level < HR_LEVELS; level++)
            assert_true(roofs.level_bytes[level] == 0 || roofs.bytes_per_s[level] > 0);
        assert_true(isinf(roofs.level_bytes[HR_LEVEL_MEMORY]));
    }
}

/* A rate, whatever the window, and however many threads share the processors: generous bounds. */
static void the_compute_roof_can_be_had_alone(void **state)
{
    (void)state;
    static const char *const names[HR_ROOF_KINDS] = {"float32", "bfloat16"};
    for (enum hr_roof_kind kind = 0; kind < HR_ROOF_KINDS; kind++) {
        double most = 0;
        assert_string_equal(hr_roof_kind_name(kind), names[kind]);
        for (int i = 0; i < 5 || (i < 1000 && most < 1e8);
             i++) /* where others have the processor */
            most = fmax(most, hr_tile_roof(kind, 1, 1e-3));
        assert_true(most > 1e8 && most < 1e13);
        const double crowded = hr_tile_roof(kind, 16, 4e-3);
        assert_true(crowded > 0 && crowded < 16 * 1.5 * most);
    }
}

/* OpenBLAS has nothing to say of bfloat16. */
static void a_kind_has_its_own_compute_roof(void **state)
{
    (void)state;
    struct hr_roof_meter *meter;
    CHECK_OK(hr_roof_meter_create(HR_ROOF_BFLOAT16, 1, 1, &meter));
    hr_roof_meter_round(meter);
    const struct hr_roofs roofs = hr_roof_meter_read(meter);
    hr_roof_meter_destroy(meter);
    assert_int_equal(roofs.kind, HR_ROOF_BFLOAT16);
    assert_true(roofs.blas_flops == 0 && roofs.tile_flops > 0 && roofs.tile_spread == 0);
    assert_string_equal(hr_roofs_flops_source(&roofs), "register tile");
}

static void a_share_is_of_a_steady_roof_and_at_most_one(void **state)
{
    (void)state;
    assert_true(hr_roofs_is_share(0.8, 0.05));
    assert_false(hr_roofs_is_share(0.8, 0.051));
    assert_false(hr_roofs_is_share(1.01, 0.01));
    struct hr_roofs other = machine;
    other.tile_spread = 0.01;
    other.blas_spread = 0.02;
    assert_true(hr_roofs_flops_spread(&other) == 0.01);
    other.blas_flops = 110e9;
    assert_true(hr_roofs_flops_spread(&other) == 0.02);
}

int main(void)
{
    /* Twice the third level is filled for each meter; some machines say that it is half a GiB. */
    if (check_count(0, 1) == 0)
        setenv("HOGRING_CACHES", "32K,512K,8M", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_holds_what_fits_into_it),
        cmocka_unit_test(the_faster_product_is_the_compute_roof),
        cmocka_unit_test(the_larger_share_binds),
        cmocka_unit_test(what_is_far_from_both_roofs_is_overhead),
        cmocka_unit_test(this_machine_has_roofs),
        cmocka_unit_test(the_compute_roof_can_be_had_alone),
        cmocka_unit_test(a_kind_has_its_own_compute_roof),
        cmocka_unit_test(a_share_is_of_a_steady_roof_and_at_most_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

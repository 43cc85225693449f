/* Kernels of machines, as traces and checkpoints name them. */
#include "session/machine_bits.h"
#include "support/check.h"

static void check_kernels(const char *name, const char *kernels, const char *want)
{
    json_t *machine = json_pack("{ss}", "kernels", name);
    assert_non_null(machine);
    assert_string_equal(hr_machine_bits_kernels(machine, kernels), want);
    json_decref(machine);
}

static void fast_kernels_of_versions_before_winograd_are_direct(void **state)
{
    (void)state;
    check_kernels("tiles v4", "fast", "direct");
    check_kernels("tiles v3", "fast", "direct");
    check_kernels("tiles v4", "direct", "direct");
    check_kernels("tiles v4, winograd", "fast", "fast");
    check_kernels("OpenBLAS 0.3.21 Zen, tiles plain", "fast", "fast");
    check_kernels("OpenBLAS 0.3.21 Zen, tiles v3", "openblas", "openblas");
    check_kernels("reference", "fast", "fast");
    check_kernels("reference", "reference", "reference");
}

static void check_direct(const char *name, const char *want)
{
    json_t *machine = json_pack("{ss}", "kernels", name);
    assert_non_null(machine);
    hr_machine_bits_make_direct(machine);
    assert_string_equal(json_string_value(json_object_get(machine, "kernels")), want);
    json_decref(machine);
}

static void kernels_of_models_without_winograd_are_those_before_it(void **state)
{
    (void)state;
    check_direct("tiles v4, winograd", "tiles v4");
    check_direct("tiles v4", "tiles v4");
    check_direct("OpenBLAS 0.3.21 Zen, tiles v3", "OpenBLAS 0.3.21 Zen, tiles v3");
    check_direct("reference", "reference");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_models_without_winograd_are_those_before_it),
        cmocka_unit_test(fast_kernels_of_versions_before_winograd_are_direct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

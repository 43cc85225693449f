/* Known answers of the Random123 library for Philox4x32-10. */
#include "base/philox.h"
#include "support/check.h"

static void philox_gives_the_known_answer_for_zeros(void **state)
{
    (void)state;
    const struct hr_philox got = hr_philox4x32((struct hr_philox){{0}}, 0, 0);
    const struct hr_philox want = {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}};
    assert_memory_equal(&got, &want, sizeof got);
}

static void philox_gives_the_known_answer_for_ones(void **state)
{
    (void)state;
    const uint32_t f = 0xffffffff;
    const struct hr_philox got = hr_philox4x32((struct hr_philox){{f, f, f, f}}, f, f);
    const struct hr_philox want = {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}};
    assert_memory_equal(&got, &want, sizeof got);
}

static void streams_sequences_and_seeds_do_not_share_numbers(void **state)
{
    (void)state;
    const uint32_t base = hr_random_block(1, HR_STREAM_INIT, 0, 0).v[0];
    assert_int_not_equal(base, hr_random_block(1, HR_STREAM_SHUFFLE, 0, 0).v[0]);
    assert_int_not_equal(base, hr_random_block(1, HR_STREAM_INIT, 0, 1).v[0]);
    assert_int_not_equal(base, hr_random_block(1, HR_STREAM_INIT, 1, 0).v[0]);
    assert_int_not_equal(base, hr_random_block(1ull << 32 | 1, HR_STREAM_INIT, 0, 0).v[0]);
}

static void unit_floats_stay_below_one(void **state)
{
    (void)state;
    assert_true(hr_random_unit(0xffffffffu) < 1.0f);
    assert_true(hr_random_unit(0) == 0.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_known_answer_for_zeros),
        cmocka_unit_test(philox_gives_the_known_answer_for_ones),
        cmocka_unit_test(streams_sequences_and_seeds_do_not_share_numbers),
        cmocka_unit_test(unit_floats_stay_below_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

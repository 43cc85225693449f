/* Which share of a roof is said, and when none is. */
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "support/check.h"

static void a_round_is_held_against_the_roof_around_it(void **state)
{
    (void)state;
    /* Roofs of 100 to 102; shares of 80 / 101, 80 / 100, 83 / 101, 70 / 100, 75 / 100. */
    static const struct hr_roof_round rounds[] = {
        {80, 100, 102}, {80, 100, 100}, {83, 102, 100}, {70, 100, 100}, {75, 100, 100}};
    char text[64];
    const struct hr_roof_share share = hr_roof_share(rounds, 5);
    assert_int_equal(share.lack, HR_SHARE_IS_KNOWN);
    CHECK_NEAR(share.share.median, 80.0 / 101, 1e-12, 0);
    CHECK_NEAR(share.share.low, 0.70, 1e-12, 0);
    CHECK_NEAR(share.share.high, 83.0 / 101, 1e-12, 0);
    CHECK_NEAR(share.roof.median, 100, 1e-12, 0);
    CHECK_NEAR(share.roof.low, 100, 1e-12, 0); /* of ten, the second and the ninth */
    CHECK_NEAR(share.roof.high, 102, 1e-12, 0);
    assert_string_equal(hr_roof_share_lack(&share, text), "");
}

static void a_roof_that_wavers_gives_no_share(void **state)
{
    (void)state;
    char text[64];
    struct hr_roof_round rounds[] = {{80, 100, 104.9}, {80, 100, 100}, {80, 100, 100}};
    struct hr_roof_share share = hr_roof_share(rounds, 3);
    assert_int_equal(share.lack, HR_SHARE_IS_KNOWN);
    rounds[0].after = 105.5;
    share = hr_roof_share(rounds, 3);
    assert_int_equal(share.lack, HR_SHARE_ROOF_WAVERED);
    assert_string_equal(hr_roof_share_lack(&share, text), "the roof wavered by 5.5 %");
    rounds[0].before = 88;
    rounds[0].after = 100;
    share = hr_roof_share(rounds, 3);
    assert_string_equal(hr_roof_share_lack(&share, text), "the roof wavered by 12 %");
}

static void a_share_above_one_is_called_what_it_is(void **state)
{
    (void)state;
    char text[64];
    static const struct hr_roof_round rounds[] = {{125, 100, 100}, {125, 100, 100}, {80, 100, 100}};
    const struct hr_roof_share share = hr_roof_share(rounds, 3);
    assert_int_equal(share.lack, HR_SHARE_CANNOT_BE);
    assert_string_equal(hr_roof_share_lack(&share, text),
                        "125 % of the roof cannot be: it was disturbed");
}

static void too_few_rounds_give_no_share(void **state)
{
    (void)state;
    char text[64];
    static const struct hr_roof_round rounds[] = {{80, 100, 100}, {80, 100, 100}};
    struct hr_roof_share share = hr_roof_share(rounds, 2);
    assert_int_equal(share.lack, HR_SHARE_HAS_FEW_ROUNDS);
    assert_string_equal(hr_roof_share_lack(&share, text), "it takes 3 rounds to tell");
    CHECK_NEAR(share.roof.median, 100, 1e-12, 0);
    share = hr_roof_share(NULL, 0);
    assert_int_equal(share.lack, HR_SHARE_HAS_NO_ROOF);
    assert_true(isnan(share.share.median));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_is_held_against_the_roof_around_it),
        cmocka_unit_test(a_roof_that_wavers_gives_no_share),
        cmocka_unit_test(a_share_above_one_is_called_what_it_is),
        cmocka_unit_test(too_few_rounds_give_no_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

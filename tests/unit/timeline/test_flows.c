/* Both ends of messages, told in any order. */
#include "timeline/timeline.h"

#include "support/check.h"

static struct hr_flow_end end_of(uint64_t number, bool sent)
{
    return (struct hr_flow_end){number, sent, (int64_t)number, sent, true};
}

static void ends_meet_in_any_order(void **state)
{
    (void)state;
    enum { MESSAGES = 5000 };
    struct hr_flows flows = {0};
    struct hr_flow_end other;
    size_t met = 0;
    for (uint64_t i = 0; i < MESSAGES; i++) { /* numbers that fall close together */
        const struct hr_flow_end end = end_of((i % 7) << 40 | i, i % 3 == 0);
        assert_false(hr_flows_match(&flows, &end, &other));
    }
    assert_int_equal(flows.n, MESSAGES);
    for (uint64_t i = MESSAGES; i-- > 0;) {
        const uint64_t number = (i % 7) << 40 | i;
        const struct hr_flow_end end = end_of(number, i % 3 != 0);
        met += hr_flows_match(&flows, &end, &other);
        assert_true(other.number == number);
        assert_int_equal(other.sent, i % 3 == 0);
    }
    assert_int_equal(met, MESSAGES);
    assert_int_equal(flows.n, 0);
    hr_flows_clear(&flows);
}

static void an_end_that_is_told_twice_stays_one(void **state)
{
    (void)state;
    struct hr_flows flows = {0};
    struct hr_flow_end other, sent = end_of(9, true), came = end_of(9, false);
    assert_false(hr_flows_match(&flows, &sent, &other));
    sent.at_ns = 77;
    assert_false(hr_flows_match(&flows, &sent, &other));
    assert_int_equal(flows.n, 1);
    assert_true(hr_flows_match(&flows, &came, &other));
    assert_int_equal(other.at_ns, 77);
    hr_flows_clear(&flows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_meet_in_any_order),
        cmocka_unit_test(an_end_that_is_told_twice_stays_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

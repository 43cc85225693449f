/* Picks: in turn is fair, explored ones are a function of (seed, number) that leaves nothing out.
 */
#include "trace/pick.h"

#include <string.h>

#include "base/philox.h"
#include "support/check.h"

enum { MAX_INPUTS = 64 };

static const enum hr_pick_kind kinds[] = {HR_PICK_FREE, HR_PICK_EXPLORE};

/* Some set of inputs, drawn from (seed, number). */
static void draw_enabled(unsigned char *enabled, size_t n, uint64_t number)
{
    for (size_t i = 0; i < n; i++)
        enabled[i] =
            (unsigned char)(hr_random_block(check_seed(), HR_STREAM_TEST, number, (uint32_t)i)
                                .v[0] &
                            3);
}

static size_t count_enabled(const unsigned char *enabled, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += enabled[i] != 0;
    return count;
}

static void what_is_picked_is_enabled(void **state)
{
    (void)state;
    unsigned char enabled[MAX_INPUTS];
    for (size_t k = 0; k < 2; k++)
        for (size_t n = 1; n <= MAX_INPUTS; n++) {
            struct hr_picker picker = {.kind = kinds[k], .seed = check_seed()};
            for (uint64_t number = 0; number < 100; number++) {
                draw_enabled(enabled, n, number);
                const uint64_t taken = picker.taken;
                const size_t input = hr_pick(&picker, enabled, n);
                const size_t count = count_enabled(enabled, n);
                assert_true(count ? input < n && enabled[input] : input == n);
                assert_int_equal(picker.taken, taken + (count > 0));
            }
        }
}

static void none_enabled_is_answered_with_their_number(void **state)
{
    (void)state;
    static const unsigned char enabled[MAX_INPUTS];
    for (size_t k = 0; k < 2; k++)
        for (size_t n = 0; n <= MAX_INPUTS; n++) {
            struct hr_picker picker = {.kind = kinds[k], .last = n / 2};
            assert_int_equal(hr_pick(&picker, enabled, n), n);
            assert_int_equal(picker.taken, 0);
            assert_int_equal(picker.last, n / 2);
        }
}

/* Whatever the others do, an input that stays enabled is taken within n picks. */
static void free_pick_starves_nobody(void **state)
{
    (void)state;
    unsigned char enabled[MAX_INPUTS];
    for (size_t n = 1; n <= MAX_INPUTS; n += 3)
        for (size_t patient = 0; patient < n; patient++) {
            struct hr_picker picker = {.kind = HR_PICK_FREE};
            size_t since = 0;
            for (uint64_t number = 0; number < 10 * n; number++) {
                draw_enabled(enabled, n, number);
                enabled[patient] = 1;
                since = hr_pick(&picker, enabled, n) == patient ? 0 : since + 1;
                assert_true(since < n);
            }
        }
}

static void free_pick_goes_round(void **state)
{
    (void)state;
    unsigned char enabled[5];
    struct hr_picker picker = {.kind = HR_PICK_FREE, .last = 4};
    memset(enabled, 1, sizeof enabled);
    for (size_t number = 0; number < 20; number++)
        assert_int_equal(hr_pick(&picker, enabled, 5), number % 5);
    enabled[1] = enabled[2] = 0;
    static const size_t want[] = {0, 3, 4, 0, 3};
    for (size_t number = 0; number < 5; number++)
        assert_int_equal(hr_pick(&picker, enabled, 5), want[number]);
}

/* The same set of inputs, many times; where each choice lands. */
static void explore(uint64_t seed, const unsigned char *enabled, size_t n, size_t *choice,
                    size_t choices)
{
    struct hr_picker picker = {.kind = HR_PICK_EXPLORE, .seed = seed};
    for (size_t k = 0; k < choices; k++)
        choice[k] = hr_pick(&picker, enabled, n);
}

static void explored_pick_is_a_function_of_seed_and_number(void **state)
{
    (void)state;
    unsigned char enabled[MAX_INPUTS];
    size_t one[200], two[200], other[200];
    memset(enabled, 1, sizeof enabled);
    explore(check_seed(), enabled, MAX_INPUTS, one, 200);
    explore(check_seed(), enabled, MAX_INPUTS, two, 200);
    explore(check_seed() + 1, enabled, MAX_INPUTS, other, 200);
    assert_memory_equal(one, two, sizeof one);
    assert_memory_not_equal(one, other, sizeof one);
    for (size_t k = 0; k < 200; k++) { /* any choice by itself, whatever was done before */
        struct hr_picker picker = {
            .kind = HR_PICK_EXPLORE, .seed = check_seed(), .taken = k, .last = k % 7};
        assert_int_equal(hr_pick(&picker, enabled, MAX_INPUTS), one[k]);
    }
}

static void explored_pick_covers_all_inputs_evenly(void **state)
{
    (void)state;
    enum { CHOICES = 4000 };
    static size_t choice[CHOICES];
    unsigned char enabled[10] = {1, 0, 2, 255, 0, 1, 1, 0, 1, 1};
    size_t seen[10] = {0};
    const size_t count = count_enabled(enabled, 10);
    explore(check_seed(), enabled, 10, choice, CHOICES);
    for (size_t k = 0; k < CHOICES; k++)
        seen[choice[k]]++;
    for (size_t i = 0; i < 10; i++) {
        if (!enabled[i])
            assert_int_equal(seen[i], 0);
        else
            assert_in_range(seen[i], CHOICES / count / 2, CHOICES / count * 2);
    }
}

static size_t last_of(void *arg, const unsigned char *enabled, size_t ninputs)
{
    size_t last = ninputs;
    for (size_t i = 0; i < ninputs; i++)
        last = enabled[i] ? i : last;
    ++*(size_t *)arg;
    return last;
}

static void who_is_asked_decides(void **state)
{
    (void)state;
    size_t asked = 0;
    struct hr_picker picker = {.kind = HR_PICK_ASKED, .choose = last_of, .arg = &asked};
    static const unsigned char enabled[] = {1, 0, 1, 0};
    assert_int_equal(hr_pick(&picker, enabled, 4), 2);
    assert_int_equal(hr_pick(&picker, enabled, 1), 0);
    assert_int_equal(hr_pick(&picker, enabled + 1, 1), 1);
    assert_int_equal(picker.taken, 2);
    assert_int_equal(asked, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_picked_is_enabled),
        cmocka_unit_test(none_enabled_is_answered_with_their_number),
        cmocka_unit_test(free_pick_starves_nobody),
        cmocka_unit_test(free_pick_goes_round),
        cmocka_unit_test(who_is_asked_decides),
        cmocka_unit_test(explored_pick_is_a_function_of_seed_and_number),
        cmocka_unit_test(explored_pick_covers_all_inputs_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

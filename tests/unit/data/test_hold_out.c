/* Each rule holds out what it says, whatever the classes' and groups' numbers are. */
#include "data/hold_out.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { COUNT = 1000, CLASSES = 7, GROUPS = 30 };

static uint32_t labels[COUNT], groups[COUNT];

static void draw(void)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        labels[i] = i * i % 11 % CLASSES;
        groups[i] = i * 7919 % 1009 % GROUPS;
    }
}

static size_t mark(const char *split, double fraction, uint8_t marks[COUNT])
{
    const struct hr_hold_out how = {split, labels, groups};
    size_t held = 0;
    memset(marks, 0, COUNT);
    CHECK_OK(hr_hold_out_mark("x", &how, 3, 5, COUNT, fraction, marks));
    for (size_t i = 0; i < COUNT; i++)
        held += marks[i];
    return held;
}

static void classes_keep_their_proportions(void **state)
{
    (void)state;
    static const double fractions[] = {0.001, 0.2, 0.5, 0.999};
    uint8_t marks[COUNT];
    draw();
    for (size_t f = 0; f < 4; f++) {
        size_t all[CLASSES] = {0}, held[CLASSES] = {0};
        mark("stratified", fractions[f], marks);
        for (size_t i = 0; i < COUNT; i++) {
            all[labels[i]]++;
            held[labels[i]] += marks[i];
        }
        for (size_t c = 0; c < CLASSES; c++) {
            const size_t wanted = all[c] < 2 ? 0 : hr_hold_out_count(all[c], fractions[f]);
            assert_int_equal(held[c], wanted);
        }
    }
}

static void other_numbers_for_the_classes_change_nothing(void **state)
{
    (void)state;
    uint8_t before[COUNT], after[COUNT];
    draw();
    mark("stratified", 0.3, before);
    for (size_t i = 0; i < COUNT; i++)
        labels[i] = CLASSES - 1 - labels[i];
    mark("stratified", 0.3, after);
    assert_memory_equal(before, after, COUNT);
}

static void a_group_is_in_one_part(void **state)
{
    (void)state;
    uint8_t marks[COUNT];
    static const double fractions[] = {0.001, 0.2, 0.999};
    draw();
    for (size_t f = 0; f < 3; f++) {
        uint8_t in[GROUPS][2] = {{0}};
        const size_t held = mark("group:x", fractions[f], marks);
        assert_true(held > 0 && held < COUNT);
        for (size_t i = 0; i < COUNT; i++)
            in[groups[i]][marks[i]] = 1;
        for (size_t g = 0; g < GROUPS; g++)
            assert_false(in[g][0] && in[g][1]);
    }
    assert_true(mark("group:x", 0.2, marks) >= hr_hold_out_count(COUNT, 0.2));
}

static void the_last_are_the_last_and_chance_is_as_it_was(void **state)
{
    (void)state;
    uint8_t marks[COUNT], again[COUNT];
    draw();
    assert_int_equal(mark("last", 0.25, marks), 250);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(marks[i], i >= 750);
    assert_int_equal(mark("random", 0.25, marks), 250);
    mark("", 0.25, again);
    assert_memory_equal(marks, again, COUNT);
}

static void what_cannot_be_parted_is_refused(void **state)
{
    (void)state;
    uint8_t marks[4] = {0};
    const uint32_t each[] = {0, 1, 2, 3}, same[] = {0, 0, 0, 0};
    const struct hr_hold_out stratified = {"stratified", each, NULL},
                             grouped = {"group:x", each, same}, values = {"stratified", NULL, NULL};
    assert_int_equal(hr_hold_out_mark("x", &stratified, 0, 0, 4, 0.5, marks), HR_E_USAGE);
    assert_int_equal(hr_hold_out_mark("x", &grouped, 0, 0, 4, 0.5, marks), HR_E_USAGE);
    assert_int_equal(hr_hold_out_mark("x", &values, 0, 0, 4, 0.5, marks), HR_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_keep_their_proportions),
        cmocka_unit_test(other_numbers_for_the_classes_change_nothing),
        cmocka_unit_test(a_group_is_in_one_part),
        cmocka_unit_test(the_last_are_the_last_and_chance_is_as_it_was),
        cmocka_unit_test(what_cannot_be_parted_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

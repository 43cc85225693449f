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

/* Marks of each of K parts, and which one a sample is in: one alone. */
static void part(const char *rule, size_t K, size_t n, size_t parts[])
{
    const struct hr_hold_out shape = {"", labels, groups};
    for (size_t i = 0; i < n; i++)
        parts[i] = 0;
    for (size_t k = 1; k <= K; k++) {
        char split[40];
        uint8_t marks[COUNT] = {0};
        struct hr_hold_out how = shape;
        CHECK_OK(hr_split_with_fold(rule, (struct hr_cv_fold){k, K}, split, sizeof split));
        how.split = split;
        CHECK_OK(hr_hold_out_tests("x", &how, n, 0.2, marks));
        for (size_t i = 0; i < n; i++) {
            assert_false(marks[i] && parts[i]);
            parts[i] += marks[i] ? k : 0;
        }
    }
    for (size_t i = 0; i < n; i++)
        assert_int_not_equal(parts[i], 0);
}

/* How many samples of a kind (those of all: NULL) the largest part has more than the smallest. */
static size_t spread_of(const uint32_t *kinds, uint32_t kind, size_t K, size_t n,
                        const size_t parts[])
{
    size_t most = 0, least = SIZE_MAX;
    for (size_t k = 1; k <= K; k++) {
        size_t here = 0;
        for (size_t i = 0; i < n; i++)
            here += parts[i] == k && (!kinds || kinds[i] == kind);
        most = here > most ? here : most;
        least = here < least ? here : least;
    }
    return most - least;
}

static void folds_are_all_samples_once_and_as_equal_as_can_be(void **state)
{
    (void)state;
    static const size_t counts[] = {30, 31, 997, COUNT};
    size_t parts[COUNT];
    draw();
    for (size_t K = 2; K <= 11; K += 3)
        for (size_t c = 0; c < 4; c++) {
            part("", K, counts[c], parts);
            assert_true(spread_of(NULL, 0, K, counts[c], parts) <= 1);
            part("stratified", K, counts[c], parts);
            assert_true(spread_of(NULL, 0, K, counts[c], parts) <= 1);
            for (uint32_t class = 0; class < CLASSES; class ++)
                assert_true(spread_of(labels, class, K, counts[c], parts) <= 1);
            part("group:x", K, counts[c], parts);
            for (size_t i = 0; i < counts[c]; i++)
                for (size_t j = 0; j < i; j++)
                    assert_true(groups[i] != groups[j] || parts[i] == parts[j]);
        }
}

static void a_fold_is_written_one_way(void **state)
{
    (void)state;
    static const char *const bad[] = {"fold:0/5", "fold:6/5",      "fold:1/1",     "fold:1",
                                      "fold:",    "fold:1/5,",     "fold:1/5last", "fold:1/5,last",
                                      "fold:a/5", "fold:1/5,what", "fold:1/1001"};
    enum hr_split_rule rule;
    char out[16];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(hr_split_rule_parse(bad[i], &rule));
    assert_true(hr_split_rule_parse("fold:2/5,group:a,b", &rule) && rule == HR_SPLIT_GROUP);
    assert_string_equal(hr_hold_out_group("fold:2/5,group:a,b"), "a,b");
    assert_true(hr_split_rule_parse("fold:5/5", &rule) && rule == HR_SPLIT_RANDOM);
    assert_int_equal(hr_split_with_fold("fold:1/5", (struct hr_cv_fold){1, 5}, out, sizeof out),
                     HR_E_USAGE);
    assert_int_equal(hr_split_with_fold("group:name", (struct hr_cv_fold){1, 5}, out, sizeof out),
                     HR_E_USAGE);
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
    const struct hr_hold_out many = {"fold:1/5", each, NULL},
                             few = {"fold:1/2,group:x", each, same},
                             none = {"fold:1/2,stratified", NULL, NULL};
    assert_int_equal(hr_hold_out_tests("x", &many, 4, 0.5, marks), HR_E_USAGE);
    assert_int_equal(hr_hold_out_tests("x", &few, 4, 0.5, marks), HR_E_USAGE);
    assert_int_equal(hr_hold_out_tests("x", &none, 4, 0.5, marks), HR_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_keep_their_proportions),
        cmocka_unit_test(other_numbers_for_the_classes_change_nothing),
        cmocka_unit_test(a_group_is_in_one_part),
        cmocka_unit_test(the_last_are_the_last_and_chance_is_as_it_was),
        cmocka_unit_test(folds_are_all_samples_once_and_as_equal_as_can_be),
        cmocka_unit_test(a_fold_is_written_one_way),
        cmocka_unit_test(what_cannot_be_parted_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Labels as classes: what is one class, and what is not. */
#include <string.h>

#include "data/label_number.h"
#include "data/labels.h"
#include "support/data_files.h"

/* The classes of labels in this order, by name; the labels stay with the caller. */
static enum hr_status finish(const char *const *texts, size_t n, struct hr_labels *labels,
                             struct hr_classes *classes)
{
    *labels = (struct hr_labels){0};
    *classes = (struct hr_classes){0};
    for (size_t i = 0; i < n; i++) {
        uint32_t number;
        CHECK_OK(hr_labels_add(labels, "f", texts[i], strlen(texts[i]), &number));
    }
    return hr_labels_finish(labels, "f", classes);
}

/* Texts up to NULL become these classes, in this order. */
static void check(const char *const *texts, const char *const *names)
{
    struct hr_labels labels;
    struct hr_classes classes;
    size_t n = 0, count = 0;
    while (texts[n])
        n++;
    while (names[count])
        count++;
    CHECK_OK(finish(texts, n, &labels, &classes));
    assert_int_equal(classes.count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(classes.names[i], names[i]);
    hr_classes_free(&classes);
    hr_labels_free(&labels);
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void whole_numbers_are_told_apart_to_the_last_digit(void **state)
{
    (void)state;
    check(TEXTS("10000000000000000003", "10000000000000000001", "10000000000000000002"),
          TEXTS("10000000000000000001", "10000000000000000002", "10000000000000000003"));
    check(TEXTS("9007199254740993", "9007199254740992", "-9007199254740992", "-9007199254740993"),
          TEXTS("-9007199254740993", "-9007199254740992", "9007199254740992", "9007199254740993"));
    check(TEXTS("9223372036854775808", "9223372036854775809", "9.223372036854775810e18"),
          TEXTS("9223372036854775808", "9223372036854775809", "9.223372036854775810e18"));
}

static void forms_of_a_whole_number_are_one_class(void **state)
{
    (void)state;
    check(TEXTS("+1", "-1", "1.0", "1", "1e0", "10e-1", "-1.00"), TEXTS("-1", "1"));
    check(TEXTS("5", "-0", "0.0", "0e7", "0"), TEXTS("0", "5"));
    check(TEXTS("20", "2e1", "0.2e2", "3"), TEXTS("3", "20"));
    /* Beside words, too, which stand byte by byte. */
    check(TEXTS("1.0", "cat", "+1", "10", "1", "2", "02", "-0", "0"),
          TEXTS("0", "02", "1", "10", "2", "cat"));
    check(TEXTS("7.0", "+7", "none"), TEXTS("+7", "none"));
}

static void what_begins_with_zeros_is_a_name(void **state)
{
    (void)state;
    check(TEXTS("2139", "02139", "10001"), TEXTS("02139", "10001", "2139"));
    check(TEXTS("10", "02", "01"), TEXTS("01", "02", "10"));
    check(TEXTS("0.5", "10", "2", "0"), TEXTS("0", "0.5", "2", "10"));
}

static void a_fraction_in_two_forms_is_refused(void **state)
{
    (void)state;
    struct hr_labels labels;
    struct hr_classes classes;
    CHECK_FAILS(finish(TEXTS("1.2", "1.10", "1.1"), 3, &labels, &classes), HR_E_FORMAT);
    CHECK_MESSAGE("f: has the labels \"1.1\" and \"1.10\", one number written in two ways");
    hr_labels_free(&labels);
    check(TEXTS("v1.10", "1.10", "1.1"), TEXTS("1.1", "1.10", "v1.10"));
    check(TEXTS("0.1", "0.10000000000000000001"), TEXTS("0.1", "0.10000000000000000001"));
}

/* By all of their digits, whatever they are written like: each is below the next. */
static void numbers_are_ordered_by_their_digits(void **state)
{
    (void)state;
    static const char *const rising[] = {
        "-1e9999999999",        "-20",         "-2e0", "-0.5", "0", "1e-9999999999", "1E-3", "0.02",
        "12345678901234567890", "1E9999999999"};
    static const struct {
        const char *text;
        bool whole;
    } rows[] = {{"3", true},    {"+3", true}, {"3.0", true},    {"0.3e1", true}, {"0.3E1", true},
                {"0.3", false}, {"0", true},  {"31e-1", false}, {"1e-5", false}};
    for (size_t i = 0; i < sizeof rising / sizeof *rising; i++)
        for (size_t j = 0; j < sizeof rising / sizeof *rising; j++) {
            const int order = hr_label_compare(rising[i], rising[j]);
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    assert_int_equal(hr_label_compare("0", "-0.0e5"), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(hr_label_is_whole(rows[i].text), rows[i].whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_told_apart_to_the_last_digit),
        cmocka_unit_test(forms_of_a_whole_number_are_one_class),
        cmocka_unit_test(what_begins_with_zeros_is_a_name),
        cmocka_unit_test(numbers_are_ordered_by_their_digits),
        cmocka_unit_test(a_fraction_in_two_forms_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

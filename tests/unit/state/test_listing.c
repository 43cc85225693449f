/* Names in a message: all of them, or as many as fit and how many are left out. */
#include "state/model_tensors.h"

#include <stdio.h>
#include <string.h>

#include "support/check.h"

static void names_stand_in_a_row(void **state)
{
    (void)state;
    struct hr_listing listing = {0};
    assert_string_equal(hr_listing_text(&listing), "");
    hr_listing_add(&listing, "%s", "0.weight");
    assert_string_equal(hr_listing_text(&listing), "0.weight");
    hr_listing_add(&listing, "%d.%s", 0, "bias");
    assert_string_equal(hr_listing_text(&listing), "0.weight, 0.bias");
}

static void what_does_not_fit_is_counted(void **state)
{
    (void)state;
    struct hr_listing listing = {0};
    char last[64];
    for (int i = 100; i < 200; i++)
        hr_listing_add(&listing, "%d.weight", i);
    snprintf(last, sizeof last, "%zu.weight and %zu more", 99 + listing.shown, 100 - listing.shown);
    const char *text = hr_listing_text(&listing);
    assert_true(listing.shown > 10 && listing.shown < 100);
    assert_string_equal(text + strlen(text) - strlen(last), last);
    hr_listing_add(&listing, "x"); /* would fit, and is not the next */
    assert_null(strstr(hr_listing_text(&listing), "x,"));
    assert_int_equal(listing.n, 101);
}

static void a_name_of_strangers_is_cut_and_printable(void **state)
{
    (void)state;
    struct hr_listing listing = {0};
    char name[1000];
    memset(name, 'a', sizeof name);
    name[0] = '\033';
    name[sizeof name - 1] = '\0';
    hr_listing_add(&listing, "%s", name);
    hr_listing_add(&listing, "b");
    const char *text = hr_listing_text(&listing);
    assert_int_equal(text[0], '?');
    assert_int_equal(strlen(text), HR_LISTING_MAX - 1 + strlen(" and 1 more"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stand_in_a_row),
        cmocka_unit_test(what_does_not_fit_is_counted),
        cmocka_unit_test(a_name_of_strangers_is_cut_and_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Numbers as text: the shortest that reads back, and as many digits as tell values apart. */
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

#include "support/check.h"

static void the_shortest_text_reads_back(void **state)
{
    (void)state;
    assert_string_equal(hr_number_text(0.05).text, "0.05");
    assert_string_equal(hr_number_text(1e300).text, "1e+300");
    assert_string_equal(hr_number_text(-3).text, "-3");
    double x = 1.7e9;
    for (int i = 0; i < 1000; i++, x = x * 1.37 + 1.0 / 3) {
        const double back = strtod(hr_number_text(x).text, NULL);
        assert_memory_equal(&back, &x, sizeof x);
    }
}

static void digits_tell_values_apart(void **state)
{
    (void)state;
    assert_int_equal(hr_digits_of(350, 120), 6);
    assert_int_equal(hr_digits_of(-1.7e9, 10), 13);
    assert_int_equal(hr_digits_of(1e300, 1), 17);
    assert_int_equal(hr_digits_of(0, 0), 6);
    assert_int_equal(hr_digits_of(5, 0), 17);
    assert_int_equal(hr_digits_of((double)NAN, 1), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shortest_text_reads_back),
        cmocka_unit_test(digits_tell_values_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Colour: only where it was allowed, and nothing but colour. */
#include "terminal/output.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"

static bool append(void *arg, const char *text, size_t n)
{
    strncat(arg, text, n);
    return true;
}

static void a_stream_has_marks_where_they_are_allowed(void **state)
{
    (void)state;
    assert_string_equal(hr_style(stdout, HR_GOOD), "");
    hr_style_allow(stdout);
    assert_int_equal(strlen(hr_style(stdout, HR_GOOD)), 1);
    assert_string_equal(hr_style(stderr, HR_GOOD), "");
    assert_string_equal(hr_style(NULL, HR_GOOD), "");
    for (int style = 0; style < HR_STYLES; style++)
        assert_non_null(strchr(hr_style_marks, hr_style(stdout, (enum hr_style)style)[0]));
}

static void marks_become_what_terminals_obey(void **state)
{
    char text[64], out[200] = "";
    (void)state;
    snprintf(text, sizeof text, "a%sgood%s", hr_style(stdout, HR_GOOD), hr_style(stdout, HR_PLAIN));
    assert_true(hr_style_put(text, strlen(text), append, out));
    assert_string_equal(out, "a\x1b[32mgood\x1b[0m");
}

static void lines_are_cut_between_characters(void **state)
{
    char text[64];
    (void)state;
    snprintf(text, sizeof text, "a%s\xc3\xa9%sb", hr_style(stdout, HR_BAD),
             hr_style(stdout, HR_PLAIN));
    assert_int_equal(hr_style_columns(text), 3);
    assert_int_equal(hr_style_cut(text, 0), 0);
    assert_int_equal(hr_style_cut(text, 1), 2);
    assert_int_equal(hr_style_cut(text, 2), 5);
    assert_int_equal(hr_style_cut(text, 3), 6);
    assert_int_equal(hr_style_cut(text, 80), 6);
}

static void who_says_so_decides(void **state)
{
    (void)state;
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    assert_true(hr_style_wanted("always", -1));
    assert_false(hr_style_wanted("never", -1));
    assert_false(hr_style_wanted("auto", -1));
    setenv("NO_COLOR", "1", 1);
    assert_true(hr_style_wanted("always", -1));
    assert_false(hr_terminal_redraws(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_has_marks_where_they_are_allowed),
        cmocka_unit_test(marks_become_what_terminals_obey),
        cmocka_unit_test(lines_are_cut_between_characters),
        cmocka_unit_test(who_says_so_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

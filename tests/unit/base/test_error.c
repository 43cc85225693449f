/* Statuses and their messages. */
#include <errno.h>
#include <string.h>

#include "support/check.h"

static void a_message_may_hold_the_one_before(void **state)
{
    (void)state;
    CHECK_FAILS(hr_fail(HR_E_IO, "the disk is %s", "full"), HR_E_IO);
    CHECK_FAILS(hr_fail(HR_E_IO, "%s (%d bytes)", hr_error_message(), 12), HR_E_IO);
    assert_string_equal(hr_error_message(), "the disk is full (12 bytes)");
    CHECK_FAILS(hr_fail_within(HR_E_IO, "step %d", 3), HR_E_IO);
    assert_string_equal(hr_error_message(), "step 3: the disk is full (12 bytes)");
}

static void errno_becomes_words(void **state)
{
    (void)state;
    errno = ENOENT;
    CHECK_FAILS(hr_fail_errno(HR_E_IO, "%s", "x.json"), HR_E_IO);
    assert_string_equal(hr_error_message(), "x.json: No such file or directory");
}

static void long_messages_are_cut_and_end(void **state)
{
    (void)state;
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CHECK_FAILS(hr_fail(HR_E_IO, "%s", text), HR_E_IO);
    assert_in_range(strlen(hr_error_message()), 900, 1100);
    CHECK_FAILS(hr_fail(HR_E_USAGE, "--note %s: expected less", text), HR_E_USAGE);
    assert_non_null(strstr(hr_error_message(), "--note x"));
    assert_non_null(strstr(hr_error_message(), "x ... x"));
    assert_non_null(strstr(hr_error_message(), "x: expected less"));
    CHECK_FAILS(hr_fail_within(HR_E_USAGE, "of %s, step 3", text), HR_E_USAGE);
    assert_non_null(strstr(hr_error_message(), "x: expected less"));
    errno = ENOENT;
    CHECK_FAILS(hr_fail_errno(HR_E_IO, "%s: not read", text), HR_E_IO);
    assert_non_null(strstr(hr_error_message(), "x: not read: No such file or directory"));
    for (size_t i = 0; i + 2 < sizeof text; i += 2) /* no character is torn */
        memcpy(text + i, "\xc3\xa4", 3);
    for (int before = 0; before < 2; before++) {
        CHECK_FAILS(hr_fail(HR_E_IO, "%s%s, ", before ? "x" : "", text), HR_E_IO);
        size_t odd = 0;
        for (const char *at = hr_error_message(); *at; at++)
            odd += *at == '\xc3' ? at[1] != '\xa4' : *at == '\xa4' && at[-1] != '\xc3';
        assert_int_equal(odd, 0);
    }
}

static void exit_codes_are_the_documented_ones(void **state)
{
    (void)state;
    assert_int_equal(hr_status_exit_code(HR_OK), 0);
    assert_int_equal(hr_status_exit_code(HR_E_DIVERGED), 1);
    assert_int_equal(hr_status_exit_code(HR_E_USAGE), 2);
    assert_int_equal(hr_status_exit_code(HR_E_SHM), 3);
    assert_int_equal(hr_status_exit_code(HR_E_LOST), 4);
    assert_int_equal(hr_status_exit_code(HR_E_TIMEOUT), 4);
    assert_int_equal(hr_status_exit_code(HR_E_INTERRUPTED), 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_may_hold_the_one_before),
        cmocka_unit_test(errno_becomes_words),
        cmocka_unit_test(long_messages_are_cut_and_end),
        cmocka_unit_test(exit_codes_are_the_documented_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

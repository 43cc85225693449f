/* What a terminal might obey becomes '?'; all other text stays as it is. */
#include <string.h>

#include "base/printable.h"
#include "support/check.h"

static void becomes(const char *text, const char *wanted)
{
    assert_string_equal(hr_printable(text).text, wanted);
}

static void controls_are_masked(void **state)
{
    (void)state;
    becomes("a\033[2Jb", "a?[2Jb");
    becomes("a\r\n\tb\007\177", "a???b??");
    becomes("a\x9b"
            "2J",
            "a?2J"); /* C1 as a byte */
    becomes("\xc2\x9b"
            "2J",
            "\xc2?2J"); /* and in UTF-8 */
    becomes("\xe2\x9b", "\xe2\x9b");
}

static void text_in_utf8_stays(void **state)
{
    (void)state;
    static const char text[] = "caf\xc3\xa9 \xc2\xb1 \xe2\x82\xac \xf0\x9f\x98\x80 \xe4\xbd\xa0";
    becomes(text, text);
}

/* A second byte of UTF-8 is no second byte behind plain text, or when the character is complete. */
static void bytes_that_belong_to_no_character_are_no_excuse(void **state)
{
    (void)state;
    becomes("\xc3\xa9\x9b", "\xc3\xa9?");
    becomes("\x80\x9f\xa0", "??\xa0");
    becomes("\xc3x\x9b", "\xc3x?");
    becomes("\xff\x9b", "\xff?");
}

static void pieces_are_one_text(void **state)
{
    (void)state;
    struct hr_printable_state open = {0};
    char first[] = "\xc2", second[] = "\x9b\n";
    hr_make_printable(&open, first, 1, "\n");
    hr_make_printable(&open, second, 2, "\n");
    assert_string_equal(second, "?\n");
}

static void a_zero_is_masked(void **state)
{
    (void)state;
    char text[] = "a\0b";
    hr_make_printable(&(struct hr_printable_state){0}, text, 3, "\n\t");
    assert_string_equal(text, "a?b");
}

static void messages_are_printable(void **state)
{
    (void)state;
    CHECK_FAILS(hr_fail(HR_E_IO, "%s: no", "\033]0;x\007\xc2\x9d"), HR_E_IO);
    assert_string_equal(hr_error_message(), "?]0;x?\xc2?: no");
}

static void words_are_quoted_for_a_shell(void **state)
{
    static const char *const words[][2] = {{"--lr=0.05", "--lr=0.05"},
                                           {"", "''"},
                                           {"a b", "'a b'"},
                                           {"it's", "'it'\\''s'"},
                                           {"$(x)", "'$(x)'"}};
    char text[HR_SHELL_WORD(16)];
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_string_equal(hr_shell_word(words[i][0], text), words[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_quoted_for_a_shell),
        cmocka_unit_test(controls_are_masked),
        cmocka_unit_test(text_in_utf8_stays),
        cmocka_unit_test(bytes_that_belong_to_no_character_are_no_excuse),
        cmocka_unit_test(pieces_are_one_text),
        cmocka_unit_test(a_zero_is_masked),
        cmocka_unit_test(messages_are_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

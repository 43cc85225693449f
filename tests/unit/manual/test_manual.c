#include "manual/manual.h"

#include <string.h>

#include "support/capture.h"
#include "support/check.h"

static const char text[] = "A paragraph of\nseveral words, and more.\n\n"
                           "    literal  line\n\n    another\n\n"
                           "# Things\n"
                           "one :: the first of the\nthings that there are\n"
                           "a term that is much too long for its column :: short\n";

/* What a printer makes of a text (width 0: that for man); free it. */
static char *printed(const char *body, size_t width)
{
    struct capture capture;
    capture_begin(&capture);
    if (width)
        hr_manual_print(capture.out, body, width);
    else
        hr_manual_roff(capture.out, body);
    return capture_end(&capture);
}

static void a_page_is_filled_to_the_width(void **state)
{
    (void)state;
    char *out = printed(text, 40);
    assert_string_equal(out, "  A paragraph of several words, and\n"
                             "  more.\n"
                             "\n"
                             "    literal  line\n"
                             "\n"
                             "    another\n"
                             "\n"
                             "Things\n"
                             "  one  the first of the things that\n"
                             "       there are\n"
                             "  a term that is much too long for its column\n"
                             "       short\n");
    free(out);
}

static void a_page_is_source_for_man(void **state)
{
    (void)state;
    char *out = printed(text, 0);
    assert_string_equal(out, "A paragraph of several words, and more.\n"
                             ".PP\n.EX\n"
                             "\\&literal  line\n"
                             "\\&\n"
                             "\\&another\n"
                             ".EE\n"
                             ".SH \"Things\"\n"
                             ".TP\none\nthe first of the things that there are\n"
                             ".TP\na term that is much too long for its column\nshort\n");
    free(out);
}

/* The text of a page in words, without what is markup. */
static size_t count_words(const char *page, bool markup)
{
    struct hr_text_span rest = {page, strlen(page)}, word;
    size_t n = 0;
    while (hr_span_word(&rest, &word)) {
        const bool begins = word.text == page || word.text[-1] == '\n';
        const bool mark =
            (word.length == 2 && !strncmp(word.text, "::", 2)) || (begins && word.text[0] == '#');
        n += !(markup && mark);
    }
    return n;
}

static void no_page_loses_a_word_at_any_width(void **state)
{
    (void)state;
    const char *page;
    for (size_t i = 0; (page = hr_manual_page(i)) != NULL; i++)
        for (size_t width = 40; width <= 100; width += 20) {
            const char *body = hr_manual_title(page).body;
            char *out = printed(body, width);
            assert_int_equal(count_words(out, false), count_words(body, true));
            free(out);
        }
}

static void pages_are_found_by_name(void **state)
{
    (void)state;
    const char *page = hr_manual_find("json");
    assert_non_null(page);
    assert_string_equal(hr_manual_title(page).summary, "what --json writes, field by field");
    assert_null(hr_manual_find("jso"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_filled_to_the_width),
        cmocka_unit_test(a_page_is_source_for_man),
        cmocka_unit_test(no_page_loses_a_word_at_any_width),
        cmocka_unit_test(pages_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Long lines are broken at blanks, and what fits is as it was, however the text comes. */
#include <string.h>

#include "base/fold.h"
#include "support/check.h"

struct page {
    char text[600];
    size_t n;
};

static bool put(void *arg, const char *text, size_t n)
{
    struct page *page = arg;
    assert_true(page->n + n < sizeof page->text);
    memcpy(page->text + page->n, text, n);
    page->n += n;
    return true;
}

/* In pieces that end behind words: a word is put as soon as it comes. */
static struct page folded(const char *text, size_t width, size_t piece)
{
    struct page page = {.n = 0};
    struct hr_fold fold = {.width = width};
    for (size_t at = 0, end; at < strlen(text); at = end) {
        end = at + piece < strlen(text) ? at + piece : strlen(text);
        while (text[end] && text[end] != ' ' && text[end] != '\n')
            end++;
        assert_true(hr_fold(&fold, text + at, end - at, put, &page));
    }
    return page;
}

static void check(const char *text, size_t width, const char *want)
{
    for (size_t piece = 1; piece < 20; piece++)
        assert_string_equal(folded(text, width, piece).text, want);
}

static void a_line_goes_on_two_columns_further_in(void **state)
{
    (void)state;
    check("one two three four\n", 9, "one two\n  three\n  four\n");
    check("  one two three\n", 9, "  one two\n    three\n");
    check("one two\nthree four five\n", 10, "one two\nthree four\n  five\n");
}

static void what_a_name_stands_for_stays_beside_it(void **state)
{
    (void)state;
    check("  name  one two three\n", 24, "  name  one two three\n");
    check("  name  one two three four\n", 24, "  name  one two three\n        four\n");
    check("  a longer name  one two\n", 20, "  a longer name  one\n    two\n");
}

static void what_fits_is_as_it_was(void **state)
{
    (void)state;
    static const char table[] = "a     b\n  1.00  2\n\n   x    y  z\n";
    check(table, 12, table);
    check(table, 0, table);
    check("one two three four\n", 0, "one two three four\n");
}

static void a_word_is_never_broken(void **state)
{
    (void)state;
    check("a verylongword b\n", 6, "a\n  verylongword\n  b\n");
    check("verylongword\n", 6, "verylongword\n");
}

static void characters_are_counted_not_bytes(void **state)
{
    (void)state;
    check("h\xc3\xb6he \xc2\xb1 1\n", 8, "h\xc3\xb6he \xc2\xb1 1\n");
    check("h\xc3\xb6he \xc2\xb1 1\n", 7, "h\xc3\xb6he \xc2\xb1\n  1\n");
}

static bool full(void *arg, const char *text, size_t n)
{
    (void)text, (void)n;
    return --*(int *)arg >= 0;
}

static void it_stops_where_nothing_can_be_put(void **state)
{
    (void)state;
    for (int room = 0; room < 8; room++) {
        struct hr_fold fold = {.width = 6};
        int left = room;
        assert_false(hr_fold(&fold, "one two three\n", 14, full, &left) && room < 6);
        assert_true(left >= -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_goes_on_two_columns_further_in),
        cmocka_unit_test(what_a_name_stands_for_stays_beside_it),
        cmocka_unit_test(what_fits_is_as_it_was),
        cmocka_unit_test(a_word_is_never_broken),
        cmocka_unit_test(characters_are_counted_not_bytes),
        cmocka_unit_test(it_stops_where_nothing_can_be_put),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

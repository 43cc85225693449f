/* Vocabularies, and the windows of a text. */
#include <stdlib.h>
#include <string.h>

#include "data/tokens.h"
#include "support/check.h"

static struct hr_array text_of(const char *text)
{
    return (struct hr_array){(void *)(uintptr_t)text, strlen(text), strlen(text)};
}

static void chars_come_back_as_they_were_written(void **state)
{
    (void)state;
    const char *words = "\x01z\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 a\n";
    const struct hr_array text = text_of(words);
    struct hr_vocabulary chars, again;
    struct hr_array ids = {0};
    char *recipe, back[32];
    size_t used = 0;
    CHECK_OK(hr_vocabulary_of_text("text", &text, &chars));
    CHECK_OK(hr_vocabulary_write(&chars, &recipe));
    CHECK_OK(hr_vocabulary_read(recipe, &again));
    assert_int_equal(again.count, 8);
    assert_int_equal(hr_vocabulary_width(&again), 1);
    CHECK_OK(hr_vocabulary_encode(&again, "text", words, strlen(words), &ids));
    assert_int_equal(ids.bytes, 8);
    for (size_t i = 0; i < ids.bytes; i++)
        used += hr_vocabulary_decode(&again, ((uint8_t *)ids.data)[i], back + used);
    assert_int_equal(used, strlen(words));
    assert_memory_equal(back, words, used);
    CHECK_FAILS(hr_vocabulary_encode(&again, "text", "abc", 3, &ids), HR_E_FORMAT);
    free(ids.data);
    free(recipe);
    hr_vocabulary_free(&chars);
    hr_vocabulary_free(&again);
}

/* Overlong, cut short, a surrogate, beyond the end, a byte that leads nothing. */
static void what_is_no_utf8_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"\xc0\x80",         "a\xe2\x82", "\xed\xa0\x80",
                                        "\xf4\x90\x80\x80", "\x80",      "\xff"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct hr_array text = text_of(wrong[i]);
        struct hr_vocabulary chars;
        CHECK_FAILS(hr_vocabulary_of_text("text", &text, &chars), HR_E_FORMAT);
    }
}

static void what_is_no_vocabulary_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "{}",
                                        "[1]",
                                        "{\"tokens\": \"words\"}",
                                        "{\"tokens\": \"chars\"}",
                                        "{\"tokens\": \"chars\", \"points\": [2, 1]}",
                                        "{\"tokens\": \"chars\", \"points\": [1114112]}",
                                        "{\"tokens\": \"numbers\", \"count\": 0}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hr_vocabulary vocabulary;
        CHECK_FAILS(hr_vocabulary_read(wrong[i], &vocabulary), HR_E_FORMAT);
    }
}

/* Whatever the offset, windows lie in the split, one behind the other, but for the last. */
static void windows_stay_in_their_split(void **state)
{
    (void)state;
    enum { COUNT = 100, MOST = 12 };
    uint16_t ids[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        ids[i] = (uint16_t)(1000 + i);
    for (size_t T = 1; T <= MOST; T++)
        for (size_t end = 10 + T + 1; end <= COUNT; end++) {
            const struct hr_tokens tokens = {
                .context = T, .count = COUNT, .width = sizeof *ids, .ids = ids};
            const struct hr_split split = hr_tokens_split(&tokens, 10, end);
            assert_int_equal(split.count, (end - 11) / T);
            const size_t offset = hr_tokens_offset(&tokens, check_seed(), end);
            assert_true(offset < T);
            for (uint32_t s = 0; s < split.count; s++) {
                float x[MOST];
                uint32_t y;
                hr_tokens_gather(&tokens, &split, &s, 1, offset, x, &y);
                assert_true(y >= 10 && y + T < end);
                if (s + 1 < split.count)
                    assert_int_equal(y, 10 + s * T + offset);
                for (size_t t = 0; t < T; t++)
                    assert_int_equal((int)x[t], 1000 + y + t);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chars_come_back_as_they_were_written),
        cmocka_unit_test(what_is_no_utf8_is_refused),
        cmocka_unit_test(what_is_no_vocabulary_is_refused),
        cmocka_unit_test(windows_stay_in_their_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

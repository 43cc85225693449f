/* Pages of documents that are whole, of other versions, large, and hostile: what is written of them
 * in C. What the script draws of them, browsers show (tests/cli/browser.bats). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "page/page.h"
#include "support/check.h"
#include "support/pages.h"

/* What stands between two marks; free() it. */
static char *between(const char *page, const char *begin, const char *end)
{
    const char *from = strstr(page, begin);
    assert_non_null(from);
    from += strlen(begin);
    const char *to = strstr(from, end);
    assert_non_null(to);
    return strndup(from, (size_t)(to - from));
}

static char *conclusion_of(const char *page)
{
    return between(page, "<p class=\"conclusion\">", "</p>");
}

/* The data that the script draws from, read as a browser reads them: they end where "</" begins. */
static json_t *data_of(const char *page)
{
    char *text = between(page, "<script type=\"application/json\" id=\"data\">", "</script>");
    assert_null(strchr(text, '<'));
    json_t *data = json_loads(text, 0, NULL);
    assert_non_null(data);
    free(text);
    return data;
}

static void the_document_stands_in_its_page(void **state)
{
    (void)state;
    json_t *document = sample_document(json_pack("[oo]", sample_run("</script><b>", 1, 5, 4),
                                                 sample_run("<!--<script>", 2, 4, 4)));
    json_object_set_new(json_object_get(document, "config"), "__proto__", json_string("\u2028"));
    json_t *kept = json_deep_copy(document);
    char *page = page_of(document);
    json_t *data = data_of(page);
    const json_t *found =
        json_object_get(json_array_get(json_object_get(data, "documents"), 0), "document");
    assert_true(json_equal(found, kept));
    json_decref(data);
    json_decref(kept);
    free(page);
}

static void the_same_document_is_the_same_page(void **state)
{
    (void)state;
    char *pages[2];
    for (size_t i = 0; i < 2; i++)
        pages[i] = page_of(sample_document(json_pack("[o]", sample_run("ssp", 1, 5, 4))));
    assert_string_equal(pages[0], pages[1]);
    free(pages[0]);
    free(pages[1]);
}

static void text_breaks_out_of_nothing(void **state)
{
    static const char *const cases[][2] = {
        {"<b a='1' c=\"2\">&amp;", "&#60;b a=&#39;1&#39; c=&#34;2&#34;&#62;&#38;amp;"},
        {"a\tb\nc", "a\tb\nc"},
        {"\x1b[31m\x7f\r", "\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc2\x85 \xe2\x80\xae \xe2\x81\xa7", "\xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd"},
        {"\xc2\xa0\xe2\x80\x93\xe2\x81\xaf", "\xc2\xa0\xe2\x80\x93\xe2\x81\xaf"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *page = page_of(sample_document(json_pack("[o]", sample_run(cases[i][0], 1, 3, 2))));
        char *head = between(page, "<th scope=\"row\">", "</th>");
        assert_string_equal(head, cases[i][1]);
        free(head);
        free(page);
    }
}

/* Its conclusion, and a row for each strategy with the mean of its seeds. */
static void without_scripts_there_are_conclusion_and_table(void **state)
{
    (void)state;
    json_t *document = sample_document(
        json_pack("[oo]", sample_run("ssp", 1, 3, 2), sample_run("hogwild", 1, 3, 2)));
    json_object_set_new(json_array_get(json_object_get(document, "runs"), 1), "test_accuracy",
                        json_real(0.95));
    char *page = page_of(document), *said = conclusion_of(page);
    assert_string_equal(said, "One seed: differences are not tested. The highest test accuracy is "
                              "that of hogwild, 95.00 %.");
    assert_non_null(strstr(page, "<tr><th scope=\"row\">ssp</th><td>90.00</td>"));
    assert_non_null(strstr(page, "<tr><th scope=\"row\">hogwild</th><td>95.00</td>"));
    free(said);
    free(page);
    document =
        sample_document(json_pack("[oo]", sample_run("ssp", 1, 3, 2), sample_run("ssp", 2, 3, 2)));
    json_object_set_new(
        document, "comparison",
        json_pack("{s[{ss s{sf}}]}", "strategies", "label", "ssp", "test_accuracy", "mean", 0.25));
    page = page_of(document);
    assert_non_null(strstr(page, "<tr><th scope=\"row\">ssp</th><td>25.00</td>"));
    free(page);
}

/* What is concluded is what the document says of its score: nothing is claimed besides. */
static void the_verdict_is_the_documents(void **state)
{
    static const char *const cases[][2] = {
        {"[\"Speed: a.\", \"Accuracy: no difference.\", \"The best mean is b's.\", \"Power: 4.\"]",
         "Accuracy: no difference. The best mean is b&#39;s."},
        {"[\"Not like for like: hogring compare --tune\", \"Speed: a\"]",
         "Not like for like: hogring compare --tune"},
        {"[\"Loss: a is the best.\", \"Below:\", \"b, p 1\"]", "Loss: a is the best."},
        {"[3, null, \"\", \"Orders: c\"]", "One seed: differences are not tested."}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *document =
            sample_document(json_pack("[oo]", sample_run("a", 1, 2, 1), sample_run("b", 1, 2, 1)));
        json_object_set_new(document, "comparison",
                            json_pack("{so}", "sentences", json_loads(cases[i][0], 0, NULL)));
        char *page = page_of(document), *said = conclusion_of(page);
        if (strncmp(said, cases[i][1], strlen(cases[i][1])) != 0 ||
            (i < 3 && strlen(said) != strlen(cases[i][1])))
            fail_msg("it says: %s", said);
        free(said);
        free(page);
    }
}

/* As it stands in the document, however its sentences begin. */
static void the_conclusion_is_that_of_the_document(void **state)
{
    (void)state;
    json_t *document =
        sample_document(json_pack("[oo]", sample_run("a", 1, 2, 1), sample_run("b", 1, 2, 1)));
    json_object_set_new(document, "comparison",
                        json_pack("{s[ss] s[s]}", "conclusion", "Whatever is so.", "And fast",
                                  "sentences", "Accuracy: long."));
    char *page = page_of(document), *said = conclusion_of(page);
    assert_string_equal(said, "Whatever is so.\nAnd fast");
    free(said);
    free(page);
}

static void fields_may_be_missing(void **state)
{
    static const char *const documents[] = {
        "{\"hogring\":\"9\",\"config\":{},\"runs\":[]}",
        "{\"hogring\":\"9\",\"config\":{},\"runs\":[{}]}",
        "{\"hogring\":\"9\",\"config\":{},\"runs\":[null,3,\"x\",[]]}",
        "{\"hogring\":\"9\",\"config\":{},\"runs\":[{\"strategy\":\"ssp\",\"curve\":[{}]}]}",
        "{\"hogring\":\"9\",\"rows\":[]}",
        "{\"hogring\":\"9\",\"rows\":[{}]}",
        "{\"hogring\":\"9\",\"rows\":[{\"op\":\"x\",\"time_us\":{\"p50\":null}},7]}",
        "{\"hogring\":\"9\",\"classes\":[{}]}",
        "{\"hogring\":\"9\",\"classes\":[]}",
        "{\"hogring\":\"9\",\"config\":{},\"runs\":[],\"failed\":[{\"message\":\"why\"}]}"};
    (void)state;
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
        free(page_of(json_loads(documents[i], 0, NULL)));
}

static void what_is_not_ours_is_refused_by_name(void **state)
{
    static const char *const documents[] = {"[]", "{}", "{\"hogring\":1,\"runs\":[]}",
                                            "{\"hogring\":\"1\"}",
                                            "{\"hogring\":\"1\",\"runs\":[]}"}; /* doctor's */
    (void)state;
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        json_t *document = json_loads(documents[i], 0, NULL);
        const struct hr_page_source source = {.name = "b.json", .document = document};
        CHECK_FAILS(hr_page_check(&source), HR_E_FORMAT);
        CHECK_MESSAGE("b.json: ");
        json_decref(document);
    }
}

/* A page is as large as its document, and the script that draws it. */
static void large_documents_have_pages(void **state)
{
    char label[32];
    (void)state;
    json_t *runs = json_array();
    for (int i = 0; i < 1000; i++) {
        snprintf(label, sizeof label, "ssp s=%d", i);
        json_array_append_new(runs, sample_run(label, 1, 3, 2));
    }
    json_t *document = sample_document(runs);
    char *text = json_dumps(document, JSON_COMPACT), *page = page_of(document);
    assert_true(strlen(page) < strlen(text) + 300000);
    assert_non_null(strstr(page, "<th scope=\"row\">ssp s=999</th>"));
    free(text);
    free(page);
}

/* --- hostile --- */

static const char *const hostile[] = {"</script><script>alert(1)</script>",
                                      "\"><img src=x onerror=alert(1)>",
                                      "'--><svg/onload=alert(1)>",
                                      "]]>&lt;&#60;b&#62;",
                                      "\xe2\x80\xae gnp.exe \x1b]0;x\x07",
                                      "%s%n%99999d",
                                      ""};

static uint32_t draw(uint64_t *counter)
{
    return hr_random_block(check_seed(), HR_STREAM_TEST, (*counter)++, 0).v[0];
}

static json_t *anything(uint64_t *counter)
{
    static const double numbers[] = {0, -1, 1e308, -1e308, 5e-324, 1e15, 0.5, 4294967296.0};
    switch (draw(counter) % 7) {
    case 0:
        return json_null();
    case 1:
        return json_real(numbers[draw(counter) % 8]);
    case 2:
        return json_integer((json_int_t)((uint64_t)draw(counter) << 31));
    case 3:
        return json_array();
    case 4:
        return json_object();
    case 5:
        return json_true();
    default:
        return json_string(hostile[draw(counter) % 7]);
    }
}

/* Puts something else in one of `odds` places. */
static void spoil(json_t *value, uint64_t *counter, uint32_t odds)
{
    const char *key;
    json_t *inner;
    void *next;
    json_object_foreach_safe(value, next, key, inner)
    {
        if (strcmp(key, "hogring") != 0 && strcmp(key, "config") != 0 && strcmp(key, "runs") != 0 &&
            draw(counter) % odds == 0)
            json_object_set_new(value, key, anything(counter));
        else
            spoil(inner, counter, odds);
    }
    for (size_t i = 0; i < json_array_size(value); i++)
        if (draw(counter) % odds == 0)
            json_array_set_new(value, i, anything(counter));
        else
            spoil(json_array_get(value, i), counter, odds);
}

static void no_document_breaks_a_page(void **state)
{
    uint64_t counter = 0;
    (void)state;
    for (size_t n = 0; n < check_count(150, 20000); n++) {
        json_t *runs = json_array();
        for (int i = 0; i < 3; i++)
            json_array_append_new(runs, sample_run(hostile[draw(&counter) % 7], i / 2, 4, 2));
        json_t *document = sample_document(runs);
        json_object_set_new(
            document, "rows",
            json_loads("[{\"op\":\"a\",\"algorithm\":\"b\",\"bytes\":4,\"time_us\":"
                       "{\"p50\":1}},{\"op\":\"a\",\"bytes\":8,\"time_us\":{\"p50\":2}},"
                       "{\"op\":\"a\",\"bytes\":16,\"time_us\":{\"p50\":2}}]",
                       0, NULL));
        json_object_set_new(
            document, "classes",
            json_loads("[{\"name\":\"a\",\"samples\":3,\"taken_for\":{\"b\":1}},{\"name\":\"b\"}]",
                       0, NULL));
        spoil(document, &counter, 4 + draw(&counter) % 60);
        char *page = page_of(document);
        assert_null(strstr(page, "<script>alert"));
        json_decref(data_of(page));
        assert_null(strstr(page, "<img"));
        assert_null(strstr(page, "<svg/onload"));
        free(page);
    }
}

static void documents_are_not_compared(void **state)
{
    (void)state;
    json_t *one = sample_document(json_pack("[o]", sample_run("ssp", 1, 3, 2)));
    const struct hr_page_source sources[] = {{"runs/monday\xff.json", one}, {"tuesday.json", one}};
    char *page;
    size_t bytes;
    CHECK_OK(hr_page_make(sources, 2, &page, &bytes));
    check_page(page);
    char *said = conclusion_of(page);
    assert_non_null(strstr(said, "differences are not tested"));
    json_t *data = data_of(page);
    assert_int_equal(json_array_size(json_object_get(data, "documents")), 2);
    json_decref(data);
    free(said);
    free(page);
    json_decref(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_stands_in_its_page),
        cmocka_unit_test(the_same_document_is_the_same_page),
        cmocka_unit_test(text_breaks_out_of_nothing),
        cmocka_unit_test(without_scripts_there_are_conclusion_and_table),
        cmocka_unit_test(the_verdict_is_the_documents),
        cmocka_unit_test(the_conclusion_is_that_of_the_document),
        cmocka_unit_test(fields_may_be_missing),
        cmocka_unit_test(what_is_not_ours_is_refused_by_name),
        cmocka_unit_test(large_documents_have_pages),
        cmocka_unit_test(no_document_breaks_a_page),
        cmocka_unit_test(documents_are_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

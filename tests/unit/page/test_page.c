/* Pages of documents that are whole, of other versions, large, and hostile. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "page/html.h"
#include "page/page.h"
#include "support/check.h"
#include "support/pages.h"

static char *escaped(const char *text)
{
    char *out = NULL;
    size_t bytes;
    FILE *file = open_memstream(&out, &bytes);
    hr_html_text(file, text);
    fclose(file);
    return out;
}

static void text_breaks_out_of_nothing(void **state)
{
    static const char *const cases[][2] = {
        {"<b a='1' c=\"2\">&amp;", "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;"},
        {"a\tb\nc", "a\tb\nc"},
        {"\x1b[31m\x7f\r", "\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc2\x85 \xe2\x80\xae \xe2\x81\xa7", "\xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd"},
        {"\xc2\xa0\xe2\x80\x93\xe2\x81\xaf", "\xc2\xa0\xe2\x80\x93\xe2\x81\xaf"},
        {"", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = escaped(cases[i][0]);
        assert_string_equal(text, cases[i][1]);
        free(text);
    }
}

static void numbers_read_well(void **state)
{
    char text[HR_NUMBER_MAX];
    (void)state;
    assert_string_equal(hr_number_text(text, 0.123456789, 6), "0.123457");
    assert_string_equal(hr_number_text(text, 12345678, 3), "12345678");
    assert_string_equal(hr_number_text(text, -0.0, 3), "0");
    assert_string_equal(hr_number_text(text, 1e30, 3), "1e+30");
    assert_string_equal(hr_number_text(text, NAN, 3), "–");
    assert_string_equal(hr_number_text(text, -INFINITY, 3), "–");
    assert_string_equal(hr_number_time(text, 0.0123), "12.3 ms");
    assert_string_equal(hr_number_time(text, 1.2e-5), "12 µs");
    assert_string_equal(hr_number_time(text, 200), "3 min 20 s");
}

static void a_comparison_has_all_its_sections(void **state)
{
    static const char *const held[] = {"<h2 id=\"results\">",  "<h2 id=\"curves\">",
                                       "<h2 id=\"time\">",     "<h2 id=\"staleness\">",
                                       "<h2 id=\"settings\">", "2 strategies on digits, 3 runs"};
    (void)state;
    json_t *runs = json_array();
    json_array_append_new(runs, sample_run("ssp", 1, 5, 4));
    json_array_append_new(runs, sample_run("ssp", 2, 4, 4));
    json_array_append_new(runs, sample_run("hogwild", 1, 5, 4));
    char *page = page_of(sample_document(runs));
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        assert_non_null(strstr(page, held[i]));
    free(page);
}

/* Means over two runs, the least and the most, in the table of curves. */
static void values_of_seeds_are_joined(void **state)
{
    (void)state;
    json_t *runs = json_array();
    json_array_append_new(runs, sample_run("ssp", 1, 2, 1));
    json_array_append_new(runs, sample_run("ssp", 3, 2, 1));
    char *page = page_of(sample_document(runs));
    const char *rows = strstr(page, "<tr data-g=\"0\">");
    assert_non_null(strstr(rows, "<td class=\"n\">2</td><td class=\"n\">100</td>"));
    assert_non_null(strstr(rows, "<td class=\"n\">2.02</td><td class=\"n\">2.01</td>"
                                 "<td class=\"n\">2.03</td>"));
    free(page);
}

/* Who waited for whom, over two runs of which one has no account of it; and metrics of values. */
static void waiting_and_fits_are_shown(void **state)
{
    (void)state;
    json_t *runs = json_pack("[oo]", sample_run("ssp", 1, 3, 2), sample_run("ssp", 2, 3, 2));
    json_object_set_new(
        json_array_get(runs, 1), "waiting",
        json_loads("{\"for_others\":2.0,\"by_rank\":[{\"cost_s\":0.5,\"load\":0.5},{\"cost_s\":1.5,"
                   "\"compute\":1.5}],\"matrix\":[[0,1.5],[0.5,0]]}",
                   0, NULL));
    json_object_set_new(json_array_get(runs, 0), "test_fit",
                        json_loads("{\"rmse\":0.25,\"mae\":0.125,\"r2\":null}", 0, NULL));
    char *page = page_of(sample_document(runs));
    assert_non_null(strstr(page, "Rank 1 cost 75 % of that; it computed longer."));
    assert_non_null(strstr(page, "<h2 id=\"waits\">"));
    assert_non_null(strstr(page, ">Test RMSE</th>"));
    assert_non_null(strstr(page, ">Test MAE</th>"));
    assert_null(strstr(page, "R²"));
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

/* A thousand runs; a thousand and twenty-four workers; ten thousand evaluations. */
static void large_documents_have_pages_that_can_be_read(void **state)
{
    char label[32];
    (void)state;
    json_t *runs = json_array();
    for (int i = 0; i < 1000; i++) {
        snprintf(label, sizeof label, "ssp s=%d", i);
        json_array_append_new(runs, sample_run(label, 1, 3, 2));
    }
    char *page = page_of(sample_document(runs));
    assert_true(strlen(page) < 1200000);
    assert_non_null(strstr(page, "Of 1000 strategies those 8 are drawn that ended best"));
    free(page);
    page = page_of(sample_document(json_pack("[o]", sample_run("ssp", 1, 3, 1024))));
    assert_true(strlen(page) < 150000);
    free(page);
    page = page_of(sample_document(json_pack("[o]", sample_run("ssp", 1, 10000, 2))));
    assert_true(strlen(page) < 150000);
    assert_non_null(strstr(page, "10000 evaluations are shown"));
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
        assert_null(strstr(page, "<img"));
        assert_null(strstr(page, "<svg/onload"));
        free(page);
    }
}

static void documents_of_one_label_are_told_apart(void **state)
{
    (void)state;
    json_t *one = sample_document(json_pack("[o]", sample_run("ssp", 1, 3, 2)));
    const struct hr_page_source sources[] = {
        {"runs/monday.json", one}, {"tuesday.json", one}, {"tuesday.json", one}};
    char *page;
    size_t bytes;
    CHECK_OK(hr_page_make(sources, 3, &page, &bytes));
    check_page(page);
    assert_non_null(strstr(page, "ssp (monday)"));
    assert_non_null(strstr(page, "ssp (tuesday)"));
    assert_non_null(strstr(page, "3 rows of 3 documents on digits"));
    free(page);
    json_decref(one);
}

/* Two settings are varied: neither the ends of labels nor their rows say which curve is whose. */
static void curves_go_by_what_differs(void **state)
{
    static const char *const labels[] = {
        "ps-async lr 0.05 momentum 0.9 batch 16", "ps-async lr 0.1 momentum 0.9 batch 16",
        "local-sgd lr 0.05 momentum 0.9 batch 32", "local-sgd lr 0.1 momentum 0.9 batch 32"};
    static const char *const curves[] = {
        ">ps-async lr 0.05 batch 16<", ">ps-async lr 0.1 batch 16<", ">local-sgd lr 0.05 batch 32<",
        ">local-sgd lr 0.1 batch 32<"};
    (void)state;
    json_t *runs = json_array();
    for (size_t i = 0; i < 4; i++)
        json_array_append_new(runs, sample_run(labels[i], 1, 3, 2));
    char *page = page_of(sample_document(runs));
    for (size_t i = 0; i < 4; i++)
        assert_non_null(strstr(page, curves[i]));
    assert_null(strstr(page, ">row "));
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_breaks_out_of_nothing),
        cmocka_unit_test(numbers_read_well),
        cmocka_unit_test(a_comparison_has_all_its_sections),
        cmocka_unit_test(values_of_seeds_are_joined),
        cmocka_unit_test(waiting_and_fits_are_shown),
        cmocka_unit_test(fields_may_be_missing),
        cmocka_unit_test(what_is_not_ours_is_refused_by_name),
        cmocka_unit_test(large_documents_have_pages_that_can_be_read),
        cmocka_unit_test(no_document_breaks_a_page),
        cmocka_unit_test(documents_of_one_label_are_told_apart),
        cmocka_unit_test(curves_go_by_what_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

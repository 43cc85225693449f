#include "support/pages.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "page/page.h"
#include "support/check.h"

json_t *sample_run(const char *label, int seed, size_t points, size_t workers)
{
    json_t *curve = json_array(), *times = json_array(), *stale = json_array();
    for (size_t i = 0; i < points; i++)
        json_array_append_new(
            curve,
            json_pack("{sI sf sf sf sf sf}", "samples", (json_int_t)(100 * (i + 1)), "seconds",
                      0.01 * (double)(i + 1) + 0.001 * seed, "epoch", (double)(i + 1), "train_loss",
                      2.0 / (double)(i + 1) + 0.01 * seed, "test_loss", 2.5 / (double)(i + 1),
                      "test_accuracy", 1 - 0.5 / (double)(i + 1)));
    for (size_t w = 0; w < workers; w++) {
        json_array_append_new(times, json_pack("{sf sf sf sf sf}", "load", 0.1, "compute", 0.5,
                                               "communicate", 0.1, "wait", 0.3, "absent", 0.0));
        json_array_append_new(stale, json_pack("{sf si si si si}", "mean", 1.5, "p50", 1, "p99", 4,
                                               "max", 5, "updates", 10));
    }
    return json_pack(
        "{ss ss si sI sI sI sf sf sf sf sf s{sf si s[iiiiii] so} s{sf sf sf sf so} so}", "label",
        label, "strategy", label, "seed", seed, "workers", (json_int_t)workers, "samples",
        (json_int_t)(100 * points), "updates", (json_int_t)(10 * points), "seconds", 0.5,
        "samples_per_s", 1e5, "train_loss", 0.2, "test_loss", 0.25, "test_accuracy", 0.9,
        "staleness", "mean", 1.5, "max", 5, "histogram", 1, 2, 3, 0, 0, 4, "workers", stale, "time",
        "load", 1.0, "compute", 5.0, "communicate", 1.0, "wait", 3.0, "workers", times, "curve",
        curve);
}

json_t *sample_document(json_t *runs)
{
    return json_pack("{ss s[ss] s{ss} s{ss s{ss}} so}", "hogring", "0.1.0", "command", "hogring",
                     "compare", "machine", "cpu", "a processor", "config", "strategy", "ssp",
                     "data", "name", "digits", "runs", runs);
}

static void check_has_no_word(const char *page, const char *end, const char *word)
{
    for (const char *at = strstr(page, word); at && at < end; at = strstr(at + 1, word))
        if (!isalpha((unsigned char)at[-1]) && !isalpha((unsigned char)at[strlen(word)]))
            fail_msg("the page says %s: %.60s", word, at - 30);
}

void check_page(const char *page)
{
    static const char *const empty[] = {"meta", "path", "rect", "!DOCTYPE"};
    char stack[64][16];
    size_t depth = 0;
    const char *script = strstr(page, "<script");
    for (const char *at = strchr(page, '<'); at && at < script; at = strchr(at + 1, '<')) {
        const bool closes = at[1] == '/';
        const char *name = at + 1 + closes;
        const size_t length = strcspn(name, " >/");
        bool is_empty = false;
        assert_true(length > 0 && length < 16);
        for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
            is_empty = is_empty || (strlen(empty[i]) == length && !memcmp(name, empty[i], length));
        if (is_empty)
            continue;
        if (closes) {
            assert_true(depth > 0);
            depth--;
            assert_true(strlen(stack[depth]) == length && !memcmp(stack[depth], name, length));
        } else {
            assert_true(depth < 64);
            snprintf(stack[depth++], sizeof *stack, "%.*s", (int)length, name);
        }
    }
    assert_int_equal(depth, 2); /* html, body */
    assert_non_null(strstr(page, "</body>\n</html>\n"));
    check_has_no_word(page, script, "nan");
    check_has_no_word(page, script, "inf");
}

char *page_of(json_t *document)
{
    const struct hr_page_source source = {.name = "a.json", .document = document};
    char *text = NULL;
    size_t bytes = 0;
    CHECK_OK(hr_page_check(&source));
    CHECK_OK(hr_page_make(&source, 1, &text, &bytes));
    assert_int_equal(strlen(text), bytes);
    check_page(text);
    json_decref(document);
    return text;
}

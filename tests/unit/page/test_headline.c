/* The first sentence of a page claims no more than was tested. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/page.h"
#include "support/check.h"
#include "support/pages.h"

static json_t *judged(const char *label, double mean, json_t *p, int worse)
{
    return json_pack("{ss si s{sf} so sb}", "label", label, "seeds", 2, "test_accuracy", "mean",
                     mean, "p_against_best", p, "worse_than_best", worse);
}

/* Two seeds of a, b and c, at such speeds. */
static json_t *compared(const double speeds[6], json_t *strategies, int told_apart)
{
    static const char *const labels[] = {"a", "b", "c"};
    json_t *runs = json_array();
    for (size_t i = 0; i < 6; i++) {
        json_t *run = sample_run(labels[i / 2], 1 + (int)(i % 2), 2, 1);
        json_object_set_new(run, "samples_per_s", json_real(speeds[i]));
        json_array_append_new(runs, run);
    }
    json_t *document = sample_document(runs);
    json_object_set_new(document, "comparison",
                        json_pack("{ss ss so s[{sb}]}", "metric", "accuracy", "best", "a",
                                  "strategies", strategies, "pairs", "told_apart", told_apart));
    return document;
}

static void expect(json_t *document, const char *verdict)
{
    char *page = page_of(document);
    const char *at = strstr(page, "<p class=\"verdict\">");
    assert_non_null(at);
    at += strlen("<p class=\"verdict\">");
    if (strncmp(at, verdict, strlen(verdict)) != 0)
        fail_msg("it says: %.*s", (int)strcspn(at, "<"), at);
    free(page);
}

static void those_level_with_the_best_are_named(void **state)
{
    static const double apart[] = {300, 310, 200, 210, 100, 110};
    static const double overlap[] = {200, 310, 200, 210, 100, 110};
    (void)state;
    expect(compared(apart,
                    json_pack("[ooo]", judged("a", 0.9, json_null(), 0),
                              judged("b", 0.89, json_real(0.3), 0),
                              judged("c", 0.4, json_real(0.001), 1)),
                    1),
           "a has the best mean test accuracy, 90.00 %; not to be told from it: b. "
           "a was the fastest, 305 samples/s on average.</p>");
    expect(compared(overlap,
                    json_pack("[ooo]", judged("a", 0.9, json_null(), 0),
                              judged("b", 0.4, json_real(0.001), 1),
                              judged("c", 0.95, json_null(), 0)),
                    1),
           "a has the best mean test accuracy, 90.00 %; not tested: c. "
           "No fastest can be told: speeds overlap.</p>");
}

static void no_difference_is_no_winner(void **state)
{
    static const double same[] = {100, 100, 100, 100, 100, 100};
    (void)state;
    expect(
        compared(same,
                 json_pack("[ooo]", judged("a", 0.9, json_null(), 0),
                           judged("b", 0.89, json_real(0.3), 0), judged("c", 0.9, json_real(1), 0)),
                 0),
        "No difference in test accuracy can be told from 2 seeds; the best mean is that of a, "
        "90.00 %. All were equally fast, 100 samples/s.</p>");
    expect(
        compared(same,
                 json_pack("[ooo]", judged("a", 0.9, json_null(), 0),
                           judged("b", 0.9, json_real(1), 0), judged("c", 0.9, json_real(1), 0)),
                 0),
        "No difference in test accuracy can be told from 2 seeds; the means are equal, 90.00 %.");
}

static void what_is_not_like_for_like_has_no_winner(void **state)
{
    static const double apart[] = {300, 310, 200, 210, 100, 110};
    (void)state;
    for (int tuned = 0; tuned < 2; tuned++) {
        json_t *document = compared(apart,
                                    json_pack("[oo]", judged("a", 0.9, json_null(), 0),
                                              judged("b", 0.4, json_real(0.001), 1)),
                                    1);
        json_object_update_new(json_object_get(document, "comparison"),
                               json_pack("{ss ss sb}", "like_for_like", "no", "at",
                                         tuned ? "the values chosen" : "lr 0.05", "tuned", tuned));
        expect(document,
               tuned ? "a has the best mean test accuracy, 90.00 %, at the values chosen. a was"
                     : "Not like for like, so nothing is claimed but speed, at lr 0.05. a was the "
                       "fastest, 305 samples/s on average.</p>");
    }
}

static void one_seed_tells_nothing(void **state)
{
    (void)state;
    expect(sample_document(json_pack("[oo]", sample_run("a", 1, 2, 1), sample_run("b", 1, 2, 1))),
           "With one seed no difference can be told; the highest test accuracy was that of a, "
           "90.00 %.</p>");
}

static void documents_are_not_compared(void **state)
{
    (void)state;
    json_t *one = sample_document(json_pack("[o]", sample_run("ssp", 1, 3, 2)));
    const struct hr_page_source sources[] = {{"a.json", one}, {"b.json", one}};
    char *page;
    size_t bytes;
    CHECK_OK(hr_page_make(sources, 2, &page, &bytes));
    assert_non_null(strstr(page, "<h1>2 rows of 2 documents on digits</h1>\n<p class=\"verdict\">"
                                 "2 documents side by side; nothing was tested across them.</p>"));
    free(page);
    json_decref(one);
}

static void settings_are_no_strategies(void **state)
{
    (void)state;
    json_t *runs = json_array();
    for (int i = 0; i < 4; i++) {
        char label[32];
        snprintf(label, sizeof label, "%s lr 0.%d", i < 2 ? "ssp" : "hogwild", 1 + i % 2);
        json_t *run = sample_run(label, 1, 2, 1);
        json_object_set_new(run, "strategy", json_string(i < 2 ? "ssp" : "hogwild"));
        json_array_append_new(runs, run);
    }
    char *page = page_of(sample_document(runs));
    assert_non_null(strstr(page, "<h1>2 strategies, 4 settings on digits"));
    free(page);
}

/* Of labels that are long what they share is left out, and no two become one. */
static void curves_have_labels_of_their_own(void **state)
{
    static const char *const long_ones[] = {"allreduce direct workers 4 lr 0.01",
                                            "allreduce direct workers 2 lr 0.01"};
    static const char *const alike[] = {"stochastic one with other words",
                                        "stochastic two with other words", "hogwild"};
    static const char *const longer[] = {"stochastic one with several other words",
                                         "stochastic two with several other words"};
    (void)state;
    char *page = page_of(sample_document(
        json_pack("[oo]", sample_run(long_ones[0], 1, 3, 1), sample_run(long_ones[1], 1, 3, 1))));
    assert_non_null(strstr(page, "</title>workers 4</text>"));
    assert_non_null(strstr(page, "</title>workers 2</text>"));
    free(page);
    page = page_of(
        sample_document(json_pack("[oo]", sample_run("allreduce direct 4 workers lr 0.01", 1, 3, 1),
                                  sample_run("allreduce direct 2 workers lr 0.01", 1, 3, 1))));
    assert_non_null(strstr(page, "</title>direct 4 workers</text>"));
    free(page);
    page = page_of(
        sample_document(json_pack("[ooo]", sample_run(alike[0], 1, 3, 1),
                                  sample_run(alike[1], 1, 3, 1), sample_run(alike[2], 1, 3, 1))));
    assert_non_null(strstr(page, "</title>stochastic one with other words</text>"));
    assert_non_null(strstr(page, "</title>stochastic two with other words</text>"));
    assert_non_null(strstr(page, "</title>hogwild</text>"));
    free(page);
    page = page_of(
        sample_document(json_pack("[ooo]", sample_run(longer[0], 1, 3, 1),
                                  sample_run(longer[1], 1, 3, 1), sample_run(alike[2], 1, 3, 1))));
    assert_non_null(strstr(page, "</title>row 1</text>"));
    assert_non_null(strstr(page, "</title>row 2</text>"));
    assert_non_null(strstr(page, "</title>hogwild</text>"));
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_level_with_the_best_are_named),
        cmocka_unit_test(no_difference_is_no_winner),
        cmocka_unit_test(what_is_not_like_for_like_has_no_winner),
        cmocka_unit_test(one_seed_tells_nothing),
        cmocka_unit_test(documents_are_not_compared),
        cmocka_unit_test(settings_are_no_strategies),
        cmocka_unit_test(curves_have_labels_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

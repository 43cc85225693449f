/* What is said of a judgement: the summary, JUnit's XML, annotations, ratios of speed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gate/findings.h"
#include "sample_documents.h"
#include "support/check.h"

static struct hr_gate_strategy strategies[] = {
    {.label = "allreduce", .rule = HR_GATE_BY_DIGESTS, .seeds = 5, .why = "the same bits"},
    {.label = "ps <sync> \"a\"\x01",
     .rule = HR_GATE_BY_DIGESTS,
     .verdict = HR_GATE_FAILED,
     .seeds = 5,
     .why = "2 of 5 seeds have other bits, first 3"},
    {.label = "ssp",
     .rule = HR_GATE_BY_BAND,
     .verdict = HR_GATE_FAILED,
     .seeds = 5,
     .nmetrics = 2,
     .metric = {{"accuracy", {.now = 0.5, .interval = {0.8, 0.9}, .outside = true}},
                {"loss", {.now = 0.5, .interval = {0.4, 0.6}}}}},
    {.label = "hogwild", .rule = HR_GATE_BY_NOTHING, .verdict = HR_GATE_NOT_JUDGED, .why = "few"},
};

static struct hr_gate_judgement judgement = {.strategy = strategies, .n = 4};
static struct hr_gate_more more[4] = {[1] = {.where = "seed 3: 100% at step 4\n"}};
static struct hr_gate_document baseline = {.name = "base.json"};

static struct hr_gate_findings of(size_t first, size_t n)
{
    judgement.strategy = strategies + first;
    judgement.n = n;
    return (struct hr_gate_findings){
        .baseline = &baseline, .judgement = &judgement, .more = more + first, .slower = 0.2};
}

static void expect_summary(size_t first, size_t n, enum hr_gate_verdict verdict, const char *want)
{
    const struct hr_gate_findings findings = of(first, n);
    char text[400];
    assert_int_equal(hr_gate_verdict_of_all(&findings), verdict);
    assert_string_equal(hr_gate_summary(&findings, text, sizeof text), want);
}

static void the_summary_is_one_line(void **state)
{
    (void)state;
    expect_summary(0, 1, HR_GATE_PASSED, "gate: passed: 1 strategy (1 by digests, 0 by band)");
    expect_summary(2, 2, HR_GATE_FAILED, "gate: FAILED: ssp (accuracy); 0 of 2 strategies passed");
    expect_summary(3, 1, HR_GATE_NOT_JUDGED, "gate: NOT JUDGED: hogwild; 0 of 1 strategy passed");
    expect_summary(0, 4, HR_GATE_FAILED,
                   "gate: FAILED: ps <sync> \"a\"? (digests), ssp (accuracy); 1 of 4 strategies "
                   "passed");
}

static void a_label_forges_no_line(void **state)
{
    (void)state;
    char text[400], *page = NULL, longest[301] = "";
    size_t bytes;
    struct hr_gate_strategy *last = &strategies[3];
    const struct hr_gate_strategy was = *last;
    last->label = "x\ngate: passed: 9 strategies";
    expect_summary(3, 1, HR_GATE_NOT_JUDGED,
                   "gate: NOT JUDGED: x?gate: passed: 9 strategies; 0 of 1 strategy passed");
    snprintf(last->why, sizeof last->why, "few\n::error::forged");
    const struct hr_gate_findings findings = of(3, 1);
    FILE *out = open_memstream(&page, &bytes);
    hr_gate_print(out, &findings);
    fclose(out);
    assert_null(strstr(page, "\ngate: passed"));
    assert_null(strstr(page, "\n::error"));
    assert_non_null(strstr(page, "\nx?gate: passed: 9 strategies: few?::error::forged\n"));
    free(page);
    memset(longest, 'l', sizeof longest - 1);
    last->label = longest;
    assert_int_equal(strlen(hr_gate_label(longest).text), 60);
    assert_null(strstr(hr_gate_summary(&findings, text, sizeof text), longest));
    memcpy(longest + 56, "\xc3\xa9", 2); /* cut before this, not within */
    assert_int_equal(strlen(hr_gate_label(longest).text), 59);
    *last = was;
}

static void a_gate_that_judged_nothing_has_not_passed(void **state)
{
    (void)state;
    expect_summary(0, 0, HR_GATE_NOT_JUDGED, "gate: NOT JUDGED: ; 0 of 0 strategies passed");
}

static void speed_fails_what_else_passed(void **state)
{
    (void)state;
    struct hr_gate_findings findings = of(0, 1);
    char text[400];
    more[0].ratio[HR_GATE_CPU] = (struct hr_gate_ratio){1.5, {1.3, 1.7}, true};
    assert_int_equal(hr_gate_verdict_of_all(&findings), HR_GATE_PASSED); /* it was not asked */
    findings.timed = true;
    assert_int_equal(hr_gate_verdict_of_all(&findings), HR_GATE_FAILED);
    assert_string_equal(hr_gate_reason(&findings, 0, text, sizeof text),
                        "processor time: 1.50 times the old one's (1.30 to 1.70), more than 1.2");
    more[0] = (struct hr_gate_more){0};
}

static void xml_and_annotations_are_spelled_safely(void **state)
{
    (void)state;
    const struct hr_gate_findings findings = of(0, 4);
    char *text = NULL, *said = NULL;
    size_t bytes;
    CHECK_OK(hr_gate_junit(&findings, &text, &bytes));
    assert_non_null(strstr(text, "tests=\"5\" failures=\"2\" errors=\"0\" skipped=\"1\""));
    assert_non_null(strstr(text, "classname=\"hogring.gate.ps &lt;sync&gt; &quot;a&quot;?\""));
    assert_non_null(strstr(text, "first 3; seed 3: 100% at step 4?\"/>"));
    assert_non_null(strstr(text, "<skipped message=\"few\"/>"));
    free(text);
    FILE *out = open_memstream(&said, &bytes);
    hr_gate_annotate(out, &findings);
    fclose(out);
    assert_non_null(strstr(said, "::error title=hogring gate%3A ps <sync> \"a\"?::2 of 5 seeds"));
    assert_non_null(strstr(said, "100%25 at step 4%0A\n"));
    assert_non_null(strstr(said, "::warning title=hogring gate%3A hogwild::few\n"));
    free(said);
}

static void a_ratio_is_students_of_logarithms(void **state)
{
    (void)state;
    static const double ratios[] = {0.25, 0.26, 0.27};
    const struct hr_gate_ratio r = hr_gate_ratio_of(ratios, 3, 0.025, 0.2);
    CHECK_NEAR(r.mean, exp(0.26), 1e-12, 0);
    /* t.ppf(0.975, 2) 0.01 / sqrt(3) */
    CHECK_NEAR(r.interval.low, exp(0.26 - 4.302652729911275 * 0.01 / sqrt(3)), 1e-9, 0);
    assert_true(r.slower);
    assert_false(hr_gate_ratio_of(ratios, 3, 0.025, 0.27).slower);
    assert_false(hr_gate_ratio_of(ratios, 1, 0.025, 0.2).slower);
    assert_true(isnan(hr_gate_ratio_of(ratios, 0, 0.025, 0.2).mean));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_summary_is_one_line),
        cmocka_unit_test(a_label_forges_no_line),
        cmocka_unit_test(a_gate_that_judged_nothing_has_not_passed),
        cmocka_unit_test(speed_fails_what_else_passed),
        cmocka_unit_test(xml_and_annotations_are_spelled_safely),
        cmocka_unit_test(a_ratio_is_students_of_logarithms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

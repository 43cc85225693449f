/* Which rule judges a strategy, and what it says. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "gate/findings.h"
#include "sample_documents.h"
#include "support/check.h"

enum { SEEDS = 6 };

/* allreduce repeats its bits, ssp does not: one run a seed of each. */
static struct hr_gate_document runs_of(size_t seeds, const char *digest, double shift,
                                       const char *isa)
{
    struct sample samples[2 * SEEDS];
    for (size_t i = 0; i < seeds; i++) {
        samples[2 * i] = (struct sample){"allreduce", (int)i, digest, 0.9, 0.1, true};
        samples[2 * i + 1] = (struct sample){
            "ssp", (int)i, digest, 0.9 + 0.01 * (double)(i % 3) + shift, 0.1 + shift, false};
    }
    return sample_document(samples, 2 * seeds, isa);
}

struct pair {
    struct hr_gate_document there, here;
    struct hr_gate_judgement judgement;
};

static const struct hr_gate_strategy *judged(struct pair *pair, const char *label)
{
    CHECK_OK(hr_gate_judge(&pair->there, &pair->there, &pair->here, 0, &pair->judgement));
    for (size_t i = 0; i < pair->judgement.n; i++)
        if (!strcmp(pair->judgement.strategy[i].label, label))
            return &pair->judgement.strategy[i];
    fail_msg("no %s", label);
    return NULL;
}

static void close_pair(struct pair *pair)
{
    hr_gate_judgement_free(&pair->judgement);
    hr_gate_document_free(&pair->there);
    hr_gate_document_free(&pair->here);
}

/* What is found of a strategy, new runs having that digest, shift and isa. */
static void expect(size_t seeds, const char *digest, double shift, const char *isa,
                   const char *label, enum hr_gate_rule rule, enum hr_gate_verdict verdict,
                   const char *why)
{
    struct pair pair = {.there = runs_of(seeds, "aa", 0, "v4"),
                        .here = runs_of(seeds, digest, shift, isa)};
    const struct hr_gate_strategy *strategy = judged(&pair, label);
    assert_int_equal(strategy->rule, rule);
    assert_int_equal(strategy->verdict, verdict);
    if (!strstr(strategy->why, why))
        fail_msg("\"%s\" has no \"%s\"", strategy->why, why);
    close_pair(&pair);
}

static void equal_digests_pass_anywhere(void **state)
{
    (void)state;
    expect(1, "aa", 0, "v4", "allreduce", HR_GATE_BY_DIGESTS, HR_GATE_PASSED, "same bits");
    expect(1, "aa", 0, "v3", "allreduce", HR_GATE_BY_DIGESTS, HR_GATE_PASSED, "same bits");
    expect(1, "aa", 0, "v4", "ssp", HR_GATE_BY_DIGESTS, HR_GATE_PASSED, "same bits");
}

static void other_digests_fail_where_bits_repeat(void **state)
{
    (void)state;
    expect(SEEDS, "bb", 0, "v4", "allreduce", HR_GATE_BY_DIGESTS, HR_GATE_FAILED,
           "6 of 6 seeds have other bits, first 0");
    expect(SEEDS, "bb", 0, "v3", "allreduce", HR_GATE_BY_BAND, HR_GATE_PASSED,
           "the baseline's machine has another isa");
    expect(SEEDS, "bb", 0, "v4", "ssp", HR_GATE_BY_BAND, HR_GATE_PASSED, "not bit-reproducible");
    expect(SEEDS, "bb", 0.2, "v4", "ssp", HR_GATE_BY_BAND, HR_GATE_FAILED, "not bit-reproducible");
    expect(SEEDS, "bb", -0.2, "v4", "ssp", HR_GATE_BY_BAND, HR_GATE_FAILED, "not bit-reproducible");
}

static void too_few_seeds_are_no_pass(void **state)
{
    (void)state;
    expect(4, "bb", 0, "v4", "ssp", HR_GATE_BY_NOTHING, HR_GATE_NOT_JUDGED,
           "a band needs 5 seeds: the baseline has 4");
    expect(4, "bb", 0, "v3", "allreduce", HR_GATE_BY_NOTHING, HR_GATE_NOT_JUDGED,
           "another isa, and a band needs 5 seeds");
    expect(5, "bb", 0, "v4", "ssp", HR_GATE_BY_BAND, HR_GATE_PASSED, "not bit-reproducible");
}

static void a_baseline_without_bits_is_named(void **state)
{
    (void)state;
    struct pair pair = {.there = runs_of(2, "aa", 0, "v4"), .here = runs_of(2, "bb", 0, "v4")};
    json_object_del(pair.there.json, "bits");
    assert_non_null(strstr(judged(&pair, "allreduce")->why, "does not say its machine's bits"));
    assert_string_equal(pair.judgement.bits, "");
    close_pair(&pair);
}

static void false_alarms_are_shared(void **state)
{
    (void)state;
    struct pair pair = {.there = runs_of(5, "aa", 0, "v4"), .here = runs_of(5, "bb", 0, "v3")};
    CHECK_OK(hr_gate_judge(&pair.there, &pair.there, &pair.here, 4, &pair.judgement));
    assert_int_equal(pair.judgement.intervals, 2 * 2 + 4);
    CHECK_NEAR(pair.judgement.level, 0.01 / 8, 1e-12, 0);
    close_pair(&pair);
}

static void a_missing_run_fails(void **state)
{
    (void)state;
    struct pair pair = {.there = runs_of(3, "aa", 0, "v4"), .here = runs_of(2, "aa", 0, "v4")};
    json_object_set_new(
        pair.here.json, "failed",
        json_pack("[{ss si ss}]", "label", "ssp:x=1", "seed", 2, "message", "diverged"));
    const struct hr_gate_strategy *strategy = judged(&pair, "ssp");
    assert_int_equal(strategy->verdict, HR_GATE_FAILED);
    assert_string_equal(strategy->why, "seed 2 failed: diverged");
    assert_string_equal(pair.judgement.strategy[0].why,
                        "seed 2 failed: it is not among the new runs");
    close_pair(&pair);
}

static void other_options_and_data_are_refused(void **state)
{
    (void)state;
    struct pair pair = {.there = runs_of(1, "aa", 0, "v4"), .here = runs_of(1, "aa", 0, "v4")};
    json_t *config = json_object_get(pair.here.json, "config");
    json_object_set_new(config, "lr", json_real(0.2));
    CHECK_FAILS(hr_gate_judge(&pair.there, &pair.there, &pair.here, 0, &pair.judgement),
                HR_E_USAGE);
    CHECK_MESSAGE("--lr was 0.1 in the baseline and is 0.2");
    json_object_set_new(config, "lr", json_real(0.1));
    json_object_set_new(json_object_get(config, "data"), "digest", json_string("abd"));
    CHECK_FAILS(hr_gate_judge(&pair.there, &pair.there, &pair.here, 0, &pair.judgement),
                HR_E_USAGE);
    CHECK_MESSAGE("its data are others");
    close_pair(&pair);
    pair = (struct pair){.there = runs_of(1, "aa", 0, "v4"), .here = runs_of(1, "aa", 0, "v4")};
    json_object_set_new(json_array_get(json_object_get(pair.here.json, "runs"), 0), "workers",
                        json_integer(3));
    CHECK_FAILS(hr_gate_judge(&pair.there, &pair.there, &pair.here, 0, &pair.judgement),
                HR_E_USAGE);
    CHECK_MESSAGE("other workers");
    close_pair(&pair);
}

/* The floor of a count: equal accuracies vary by half a sample. */
static void a_band_is_of_trimmed_means_and_ranks(void **state)
{
    (void)state;
    double seen[] = {95, 50, 97, 98, 96}, fresh[] = {96, 98, 97, 96, 0}, far[] = {9, 8, 7, 6, 5};
    double same[] = {1, 1, 1, 1, 1}, some[] = {1, 1, 1, 1, 2}, unknown[] = {1, 2, 3, 4, NAN};
    const struct hr_gate_band band = hr_gate_band_of(seen, 5, fresh, 5, 0, 0.05);
    /* Of 95, 96, 97: winsorized 95, 95, 96, 97, 97 have squares of 4; t.ppf(0.975, 2) */
    const double half = 4.302652729911275 * sqrt(5 * 4.0 / 6) * sqrt(0.4);
    CHECK_NEAR(band.interval.low, 96 - half, 1e-9, 0);
    CHECK_NEAR(band.now, (96 + 96 + 97) / 3.0, 1e-12, 0);
    assert_false(band.outside);
    assert_true(hr_gate_band_of(seen, 5, far, 5, 0, 0.001).outside); /* as sure as five can be */
    assert_false(hr_gate_band_of(same, 5, some, 5, 0, 0.05).outside);
    CHECK_NEAR(hr_gate_band_of(same, 5, same, 5, 0.5, 0.05).sd, 0.25, 1e-12, 0);
    assert_true(hr_gate_band_of(seen, 5, unknown, 5, 0, 0.05).outside);
}

/* A gate of many labels takes no time that grows with their square: that was 8 s. */
static void thousands_of_labels_are_no_work(void **state)
{
    (void)state;
    static struct sample samples[HR_GATE_RUNS_MAX];
    static char labels[HR_GATE_RUNS_MAX][16];
    struct hr_gate_judgement judgement;
    for (size_t i = 0; i < HR_GATE_RUNS_MAX; i++) {
        snprintf(labels[i], sizeof labels[i], "label %zu", i);
        samples[i] = (struct sample){labels[i], 1, "aa", 0.9, 0.1, true};
    }
    struct hr_gate_document there = sample_document(samples, HR_GATE_RUNS_MAX, "v4");
    struct hr_gate_document here = sample_document(samples, HR_GATE_RUNS_MAX, "v4");
    const clock_t begun = clock();
    CHECK_OK(hr_gate_check(&there, false));
    CHECK_OK(hr_gate_judge(&there, &there, &here, 0, &judgement));
    assert_true(clock() - begun < 2 * CLOCKS_PER_SEC);
    assert_int_equal(judgement.passed, HR_GATE_RUNS_MAX);
    assert_string_equal(judgement.strategy[4095].label, "label 4095");
    hr_gate_judgement_free(&judgement);
    hr_gate_document_free(&there);
    hr_gate_document_free(&here);
}

/* A mean near the end of what can be has a band that ends there. */
static void no_accuracy_is_expected_above_all_samples(void **state)
{
    (void)state;
    static const double there[] = {0.9, 0.95, 1, 1, 1}, loss[] = {0.01, 0.2, 0.02, 0.3, 0.1};
    struct sample old[5], new[5];
    struct hr_gate_judgement judgement;
    for (int i = 0; i < 5; i++) {
        old[i] = (struct sample){"a", i, "aa", there[i], loss[i], false};
        new[i] = (struct sample){"a", i, "bb", there[4 - i], loss[4 - i], false};
    }
    struct hr_gate_document baseline = sample_document(old, 5, "v4");
    struct hr_gate_document fresh = sample_document(new, 5, "v4");
    CHECK_OK(hr_gate_judge(&baseline, &baseline, &fresh, 0, &judgement));
    const struct hr_gate_metric *metric = judgement.strategy[0].metric;
    CHECK_NEAR(metric[0].band.interval.high, 1, 0, 0);
    assert_true(metric[0].band.interval.low < 0.9);
    CHECK_NEAR(metric[1].band.interval.low, 0, 0, 0);
    assert_int_equal(judgement.passed, 1);
    hr_gate_judgement_free(&judgement);
    hr_gate_document_free(&baseline);
    hr_gate_document_free(&fresh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_digests_pass_anywhere),
        cmocka_unit_test(other_digests_fail_where_bits_repeat),
        cmocka_unit_test(too_few_seeds_are_no_pass),
        cmocka_unit_test(a_baseline_without_bits_is_named),
        cmocka_unit_test(false_alarms_are_shared),
        cmocka_unit_test(a_missing_run_fails),
        cmocka_unit_test(other_options_and_data_are_refused),
        cmocka_unit_test(no_accuracy_is_expected_above_all_samples),
        cmocka_unit_test(thousands_of_labels_are_no_work),
        cmocka_unit_test(a_band_is_of_trimmed_means_and_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

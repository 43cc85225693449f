/* What is no baseline is refused in a line that says why. */
#include <string.h>

#include "sample_documents.h"
#include "support/check.h"

static const struct sample two[] = {{"allreduce", 1, "aa", 0.9, 0.1, true},
                                    {"allreduce", 2, "bb", 0.9, 0.1, true}};

static void what_compare_writes_is_one(void **state)
{
    (void)state;
    struct hr_gate_document document = sample_document(two, 2, "v4");
    CHECK_OK(hr_gate_check(&document, false));
    assert_string_equal(hr_gate_command(&document), "compare");
    assert_non_null(hr_gate_run_find(&document, "allreduce", "2"));
    assert_null(hr_gate_run_find(&document, "allreduce", "3"));
    hr_gate_document_free(&document);
}

/* The sample with a field changed is refused with that text. */
static void refused(const char *field, json_t *value, const char *text)
{
    struct hr_gate_document document = sample_document(two, 2, "v4");
    assert_int_equal(value ? json_object_set_new(document.json, field, value)
                           : json_object_del(document.json, field),
                     0);
    CHECK_FAILS(hr_gate_check(&document, false), HR_E_FORMAT);
    CHECK_MESSAGE(text);
    hr_gate_document_free(&document);
}

/* The same of its second run. */
static void refused_run(const char *field, json_t *value, const char *text)
{
    struct hr_gate_document document = sample_document(two, 2, "v4");
    json_t *run = json_array_get(json_object_get(document.json, "runs"), 1);
    assert_int_equal(value ? json_object_set_new(run, field, value) : json_object_del(run, field),
                     0);
    CHECK_FAILS(hr_gate_check(&document, false), HR_E_FORMAT);
    CHECK_MESSAGE(text);
    hr_gate_document_free(&document);
}

static void other_documents_are_refused(void **state)
{
    (void)state;
    refused("hogring", NULL, "not a document of hogring's --json");
    refused("hogring", json_integer(1), "not a document of hogring's --json");
    refused("hogring", json_string("1000.0.0"), "later than this");
    refused("runs", NULL, "no runs of training");
    refused("config", NULL, "no runs of training");
    refused("command", json_pack("[ss]", "hogring", "replay"), "written by hogring replay");
    refused("runs", json_array(), "has no runs");
    refused("failed", json_pack("[{ss si}]", "label", "ssp", "seed", 3), "ssp, seed 3, failed");
}

static void runs_that_cannot_be_judged_are_refused(void **state)
{
    (void)state;
    refused_run("weights_digest", NULL, "runs[1] has no \"weights_digest\"");
    refused_run("label", json_null(), "runs[1] has no \"label\"");
    refused_run("seed", json_true(), "runs[1] has no \"seed\"");
    refused_run("seed", json_integer(1), "allreduce, seed 1, twice");
    refused_run("interrupted", json_true(), "was interrupted");
}

static void fresh_runs_may_have_failed(void **state)
{
    (void)state;
    struct hr_gate_document document = sample_document(NULL, 0, "v4");
    json_object_set_new(document.json, "failed", json_pack("[{ss si}]", "label", "ssp", "seed", 3));
    CHECK_OK(hr_gate_check(&document, true));
    hr_gate_document_free(&document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_compare_writes_is_one),
        cmocka_unit_test(other_documents_are_refused),
        cmocka_unit_test(runs_that_cannot_be_judged_are_refused),
        cmocka_unit_test(fresh_runs_may_have_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

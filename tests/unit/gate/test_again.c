/* A baseline's command line: what was given, without where it went. */
#include <stdlib.h>
#include <string.h>

#include "gate/document.h"
#include "sample_documents.h"
#include "support/check.h"

static const struct sample one[] = {{"allreduce", 1, "aa", 0.9, 0.1, true}};

/* Its words, with blanks between. */
static void expect_words(const struct hr_gate_words *words, const char *want)
{
    char text[400] = "";
    for (size_t i = 0; i < words->n; i++) {
        strcat(text, i ? " " : "");
        strcat(text, words->word[i]);
    }
    assert_string_equal(text, want);
}

static void take(struct hr_gate_document *document)
{
    CHECK_OK(hr_gate_take_given(document, NULL, true));
}

static void what_was_given_is_said_again(void **state)
{
    (void)state;
    struct hr_gate_document document = sample_document(one, 1, "v4");
    struct hr_gate_words words;
    json_t *given = json_object_get(document.json, "given");
    json_object_set_new(given, "json", json_string("old.json"));
    json_object_set_new(given, "checkpoint-dir", json_string("ck"));
    json_object_set_new(given, "nesterov", json_string("off"));
    json_object_set_new(given, "max-steps", json_string("0"));
    json_object_set_new(given, "seeds", json_string("5"));
    take(&document);
    CHECK_OK(hr_gate_words_of(&document, &words));
    expect_words(&words, "compare --lr=0.1 --normalize --seeds=5 --workers=2");
    CHECK_OK(hr_gate_words_cut(&words, "7", 40, 3));
    expect_words(&words, "compare --lr=0.1 --normalize --workers=2 --seed=7 --max-steps=40 "
                         "--digest-every=3");
    CHECK_OK(hr_gate_words_set(&words, "lr", NULL));
    CHECK_OK(hr_gate_words_cut(&words, "7", 20, 0));
    expect_words(&words, "compare --normalize --workers=2 --seed=7 --max-steps=20");
    hr_gate_words_free(&words);
    hr_gate_document_free(&document);
}

static void parameters_stand_behind_their_option(void **state)
{
    static const char *const given[][2] = {
        {"lr-schedule", "step"}, {"lr-gamma", "0.1"}, {"momentum", "0.5"}};
    struct hr_gate_document document = sample_document(one, 1, "v4");
    struct hr_gate_words words;
    char text[200], small[24];
    (void)state;
    for (size_t i = 0; i < 3; i++)
        json_object_set_new(json_object_get(document.json, "given"), given[i][0],
                            json_string(given[i][1]));
    take(&document);
    CHECK_OK(hr_gate_words_of(&document, &words));
    hr_gate_words_say(&words, text, sizeof text);
    assert_string_equal(text, "compare --lr=0.1 --normalize --lr-schedule=step:,0.1 "
                              "--momentum=0.5 --workers=2");
    hr_gate_words_say(&words, small, sizeof small);
    assert_int_equal(strlen(small), sizeof small - 1);
    hr_gate_words_free(&words);
    hr_gate_document_free(&document);
}

static void what_cannot_be_repeated_is_refused(void **state)
{
    (void)state;
    static const char *const never[] = {"resume", "record", "max-seconds"};
    for (size_t i = 0; i < 3; i++) {
        struct hr_gate_document document = sample_document(one, 1, "v4");
        json_object_set_new(json_object_get(document.json, "given"), never[i], json_string("1"));
        CHECK_FAILS(hr_gate_take_given(&document, NULL, true), HR_E_USAGE);
        CHECK_MESSAGE(never[i]);
        hr_gate_document_free(&document);
    }
    struct hr_gate_document document = sample_document(one, 1, "v4");
    json_object_del(document.json, "given");
    CHECK_FAILS(hr_gate_take_given(&document, NULL, true), HR_E_FORMAT);
    CHECK_MESSAGE("does not say what was given");
    hr_gate_document_free(&document);
}

/* Nothing of it is written to, nor its limits are ours, inside of entries either. */
static void outputs_and_limits_are_left_out(void **state)
{
    (void)state;
    static const char *const foreign[] = {"log",         "report",   "plot",       "timeline",
                                          "tensorboard", "export",   "config",     "keep",
                                          "overwrite",   "timeout",  "max-memory", "max-data",
                                          "stall-warn",  "forecast", "margins",    "tim",
                                          "log=/x/y",    "json=x",   "",           "lr\n"};
    enum { OPTIONS = 13 }; /* of these, of compare or of train */
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        struct hr_gate_document document = sample_document(one, 1, "v4");
        struct hr_gate_words words;
        json_object_set_new(json_object_get(document.json, "given"), foreign[i], json_string("1"));
        const bool known = i < OPTIONS && strcmp(foreign[i], "export") != 0;
        if (!known) {
            CHECK_FAILS(hr_gate_take_given(&document, NULL, true), HR_E_FORMAT);
            CHECK_MESSAGE("which is no option of hogring compare");
        } else {
            take(&document);
            CHECK_OK(hr_gate_words_of(&document, &words));
            expect_words(&words, "compare --lr=0.1 --normalize --workers=2");
            hr_gate_words_free(&words);
        }
        hr_gate_document_free(&document);
    }
    struct hr_gate_document document = sample_document(one, 1, "v4");
    struct hr_gate_words words;
    json_object_set_new(
        json_object_get(document.json, "given"), "strategies",
        json_string("ssp:checkpoint-dir=a:lr=0.2:keep=1:link=\"1GB/s,5us\",ssp:overwrite=on,"
                    "hogwild:stall-warn=1s:inject=(slow:0x2)"));
    json_t *limits = json_pack("{ss}", "timeout", "60s");
    CHECK_OK(hr_gate_take_given(&document, limits, true));
    json_decref(limits);
    CHECK_OK(hr_gate_words_of(&document, &words));
    expect_words(&words, "compare --lr=0.1 --normalize --strategies=ssp:lr=0.2:link=\"1GB/s,5us\","
                         "ssp,hogwild:inject=(slow:0x2) --workers=2 --timeout=60s");
    hr_gate_words_free(&words);
    hr_gate_document_free(&document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_given_is_said_again),
        cmocka_unit_test(parameters_stand_behind_their_option),
        cmocka_unit_test(what_cannot_be_repeated_is_refused),
        cmocka_unit_test(outputs_and_limits_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

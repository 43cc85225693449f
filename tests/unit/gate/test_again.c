/* A baseline's command line: what was given, without where it went. */
#include <stdlib.h>
#include <string.h>

#include "gate/again.h"
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

static void what_was_given_is_said_again(void **state)
{
    (void)state;
    struct hr_gate_document document = sample_document(one, 1, "v4");
    struct hr_gate_words words;
    json_t *given = json_object_get(document.json, "given");
    json_object_set_new(given, "json", json_string("old.json"));
    json_object_set_new(given, "checkpoint-dir", json_string("ck"));
    json_object_set_new(given, "nesterov", json_string("off"));
    json_object_set_new(given, "seeds", json_string("5"));
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

static void what_cannot_be_repeated_is_refused(void **state)
{
    (void)state;
    static const char *const never[] = {"resume", "record", "max-seconds"};
    for (size_t i = 0; i < 3; i++) {
        struct hr_gate_document document = sample_document(one, 1, "v4");
        struct hr_gate_words words;
        json_object_set_new(json_object_get(document.json, "given"), never[i], json_string("1"));
        CHECK_FAILS(hr_gate_words_of(&document, &words), HR_E_USAGE);
        CHECK_MESSAGE(never[i]);
        hr_gate_document_free(&document);
    }
    struct hr_gate_document document = sample_document(one, 1, "v4");
    struct hr_gate_words words;
    json_object_del(document.json, "given");
    CHECK_FAILS(hr_gate_words_of(&document, &words), HR_E_FORMAT);
    CHECK_MESSAGE("does not say what was given");
    hr_gate_document_free(&document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_given_is_said_again),
        cmocka_unit_test(what_cannot_be_repeated_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

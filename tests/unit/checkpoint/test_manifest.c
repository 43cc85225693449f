/* Manifests whose digest is right, and that say something else than they should. */
#include "checkpoint/manifest.h"

#include <stdio.h>
#include <string.h>

#include "checkpoint/digest.h"
#include "support/check.h"

#define DIGEST "\"0123456789abcdef\""
#define FILE_(bytes, header, tensors)                                                              \
    "{\"bytes\": " bytes ", \"header\": " header ", \"tensors\": " tensors "}"
#define GOOD FILE_("10", DIGEST, "{\"w\": " DIGEST "}")
#define ALL(format, version, step, model, trainer)                                                 \
    "{\"format\": " format ", \"version\": " version ", \"step\": " step                           \
    ", \"files\": {\"model.safetensors\": " model ", \"trainer.safetensors\": " trainer "}"
#define FORMAT "\"hogring checkpoint\""
#define OF(model) ALL(FORMAT, "1", "500", model, GOOD)

/* With the last line that belongs to it. */
static enum hr_status parse(const char *body, struct hr_manifest *manifest)
{
    char text[2000];
    const int length = snprintf(text, sizeof text, "%s,\n  \"xxh3_64\": \"%s\"\n}\n", body,
                                hr_digest64_text(hr_digest64(body, strlen(body))).hex);
    return hr_manifest_parse("m.json", text, (size_t)length, manifest);
}

static void what_cannot_be_used_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *body, *message;
    } wrong[] = {
        {"", "m.json: is not JSON: line 1"},
        {"{\"format\": \"hogring checkpoint\"", "is of another version than 1"},
        {"{\"format\": 1", "format is not \"hogring checkpoint\""},
        {"{\"version\": 1", "format is not \"hogring checkpoint\""},
        {ALL("\"other\"", "1", "500", GOOD, GOOD), "format is not \"hogring checkpoint\""},
        {ALL(FORMAT, "2", "500", GOOD, GOOD), "is of another version than 1, which hogring"},
        {ALL(FORMAT, "\"1\"", "500", GOOD, GOOD), "is of another version than 1"},
        {ALL(FORMAT, "-1", "500", GOOD, GOOD), "is of another version than 1"},
        {ALL(FORMAT, "1", "-500", GOOD, GOOD), "step is not a count"},
        {ALL(FORMAT, "1", "5e2", GOOD, GOOD), "step is not a count"},
        {ALL(FORMAT, "1", "null", GOOD, GOOD), "step is not a count"},
        {ALL(FORMAT, "1", "500", GOOD, "[]"), "says nothing usable of trainer.safetensors"},
        {OF("3"), "says nothing usable of model.safetensors"},
        {OF("{}"), "says nothing usable of model.safetensors"},
        {OF(FILE_("-1", DIGEST, "{}")), "says nothing usable of model.safetensors"},
        {OF(FILE_("10", "7", "{}")), "says nothing usable of model.safetensors"},
        {OF(FILE_("10", "null", "{}")), "says nothing usable of model.safetensors"},
        {OF(FILE_("10", "\"0123\"", "{}")), "says nothing usable of model.safetensors"},
        {OF(FILE_("10", "\"+123456789abcdef\"", "{}")), "says nothing usable of model"},
        {OF(FILE_("10", "\"0123456789ABCDEF\"", "{}")), "says nothing usable of model"},
        {OF(FILE_("10", DIGEST, "[]")), "says nothing usable of model.safetensors"},
        {OF(FILE_("10", DIGEST, "null")), "says nothing usable of model.safetensors"},
        {OF(FILE_("10", DIGEST, "{\"w\\n\": 7}")), "tensor \"w?\" has no digest of 16 hex digits"},
        {OF(FILE_("10", DIGEST, "{\"w\": \"xyz\"}")), "tensor \"w\" has no digest of 16"},
        {OF(FILE_("10", DIGEST,
                  "{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\": " DIGEST "}")),
         "has no digest of 16 hex digits"},
        {OF(GOOD) "}, \"step\": 4", "is not JSON"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hr_manifest manifest = {.step = 77};
        if (parse(wrong[i].body, &manifest) != HR_E_FORMAT)
            fail_msg("%s: taken", wrong[i].body);
        CHECK_MESSAGE("m.json: ");
        CHECK_MESSAGE(wrong[i].message);
        assert_int_equal(manifest.step, 77);
    }
}

static void what_is_right_is_taken(void **state)
{
    (void)state;
    struct hr_manifest manifest;
    CHECK_OK(parse(OF(GOOD), &manifest));
    assert_int_equal(manifest.step, 500);
    assert_int_equal(manifest.model.bytes, 10);
    assert_true(manifest.model.header == 0x0123456789abcdef);
    assert_int_equal(manifest.trainer.ntensors, 1);
    assert_string_equal(manifest.trainer.tensors[0].name, "w");
    hr_manifest_free(&manifest);
}

static void a_last_line_of_another_text_is_damage(void **state)
{
    (void)state;
    struct hr_manifest manifest;
    static const char line[] = ",\n  \"xxh3_64\": \"0123456789abcdef\"\n}\n";
    CHECK_FAILS(hr_manifest_parse("m.json", line, sizeof line - 1, &manifest), HR_E_FORMAT);
    CHECK_MESSAGE("m.json: is damaged: its last line does not hold its XXH3-64, ");
    CHECK_FAILS(hr_manifest_parse("m.json", line, 7, &manifest), HR_E_FORMAT);
    CHECK_MESSAGE("m.json: is damaged: 7 bytes, its last line alone has ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_used_is_named),
        cmocka_unit_test(what_is_right_is_taken),
        cmocka_unit_test(a_last_line_of_another_text_is_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

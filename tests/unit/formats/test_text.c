/* Text, and tokens that were made of it: as files, folders, packed; and what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/held_out.h"
#include "formats/token_file.h"
#include "support/data_files.h"

static const char *const poem = "the zw\xc3\xb6lf cats\nsat on \xe2\x82\xac mats\nand purred\n"
                                "until the dog came by\nwhen they ran away\n";

static struct hr_data_options small(void)
{
    struct hr_data_options options = data_options();
    options.context = 4;
    return options;
}

/* NumPy's array of n numbers. */
static void write_npy(const char *name, const char *type, const char *shape, const void *data,
                      size_t bytes)
{
    char file[4096] = "\x93NUMPY\x01";
    const int used = snprintf(file + 10, 118,
                              "{'fortran_order': False, 'descr': '%s', 'shape': %s}", type, shape);
    memset(file + 10 + used, ' ', (size_t)(118 - used));
    file[8] = 118;
    memcpy(file + 128, data, bytes);
    scratch_write(name, file, 128 + bytes);
}

static void write_bin(const char *name, uint32_t magic, uint32_t version, uint32_t count,
                      const void *data, size_t bytes)
{
    char file[2048] = {0};
    const uint32_t head[] = {magic, version, count};
    memcpy(file, head, sizeof head);
    memcpy(file + 1024, data, bytes);
    scratch_write(name, file, 1024 + bytes);
}

static void same_text(const char *a, const char *b, const struct hr_data_options *options)
{
    struct hr_dataset one = data_open(a, options), other = data_open(b, options);
    assert_string_equal(one.digest, other.digest);
    assert_int_equal(one.classes, other.classes);
    assert_int_equal(hr_tokens_bytes(&one.tokens, &one.test),
                     hr_tokens_bytes(&other.tokens, &other.test));
    assert_string_equal(one.recipe, other.recipe);
    hr_dataset_close(&one);
    hr_dataset_close(&other);
}

static void a_text_is_itself_however_it_is_kept(void **state)
{
    (void)state;
    struct hr_data_options options = small(), plain = small();
    struct hr_text_packed packed;
    char out[512];
    data_text("poem.txt", poem);
    mkdir(scratch("poems"), 0700);
    data_text("poems/b.txt", strchr(poem, '\n') + 1);
    scratch_write("poems/a.txt", poem, (size_t)(strchr(poem, '\n') - poem)); /* no line end */
    data_text("poems/c.md", "not read\n");
    same_text("poem.txt", "poems", &options);
    snprintf(out, sizeof out, "%s", scratch("poem.npy"));
    for (unsigned how = 0; how < 4; how++) {
        snprintf(options.vocabulary, sizeof options.vocabulary, how & 1 ? "chars" : "bytes");
        options.lines = how & 2;
        CHECK_OK(hr_text_pack(scratch("poem.txt"), &options, out, &packed));
        struct hr_dataset text = data_open("poem.txt", &options),
                          tokens = data_open("poem.npy", &plain);
        assert_string_equal(text.digest, tokens.digest);
        assert_string_equal(text.recipe, tokens.recipe);
        assert_int_equal(hr_tokens_bytes(&text.tokens, &text.test),
                         hr_tokens_bytes(&tokens.tokens, &tokens.test));
        hr_dataset_close(&text);
        hr_dataset_close(&tokens);
    }
    data_text("other.txt", "cats and the dog\n");
    snprintf(plain.test_data, sizeof plain.test_data, "%s", scratch("other.txt"));
    struct hr_dataset beside = data_open("poem.npy", &plain);
    assert_int_equal(beside.test.end - beside.test.first, 17);
    hr_dataset_close(&beside);
}

/* The end of the text has other characters than the rest. */
static void a_part_has_its_own_bytes(void **state)
{
    (void)state;
    struct hr_data_options options = small();
    char text[80 + 20 * 3 + 1];
    for (size_t i = 0; i < 80; i++)
        text[i] = "abcde"[i % 5];
    for (size_t i = 0; i < 20; i++)
        memcpy(text + 80 + 3 * i, i % 2 ? "\xe7\x8c\xab" : "\xe7\x8b\x97", 4);
    data_text("parts.txt", text);
    snprintf(options.vocabulary, sizeof options.vocabulary, "chars");
    options.test_fraction = 0.2;
    struct hr_dataset dataset = data_open("parts.txt", &options);
    assert_int_equal(dataset.test.end - dataset.test.first, 20);
    const size_t predicted = dataset.test.count * dataset.tokens.context;
    assert_true(predicted > 10 && predicted < 20);
    assert_int_equal(hr_tokens_bytes(&dataset.tokens, &dataset.test), 3 * predicted);
    assert_int_equal(hr_tokens_bytes(&dataset.tokens, &dataset.train),
                     dataset.train.count * dataset.tokens.context);
    struct hr_held_out held;
    CHECK_OK(hr_held_out_open(&dataset, 0.2, 1, &held));
    const struct hr_dataset *part = &held.dataset;
    assert_int_equal(hr_tokens_bytes(&part->tokens, &part->test),
                     part->test.count * part->tokens.context);
    hr_held_out_close(&held);
    hr_dataset_close(&dataset);
}

/* 64 MiB and more are mapped, and are no memory. */
static void a_large_text_stays_in_its_file(void **state)
{
    (void)state;
    const struct hr_data_options options = small();
    data_text("large.txt", poem);
    assert_int_equal(truncate(scratch("large.txt"), 65 << 20), 0);
    struct hr_dataset dataset = data_open("large.txt", &options);
    assert_int_equal(hr_dataset_bytes(&dataset), 0);
    assert_int_equal(dataset.tokens.count, 65 << 20);
    assert_int_equal(hr_token(&dataset.tokens, 4), 'z');
    hr_dataset_close(&dataset);
    unlink(scratch("large.txt"));
}

static void tokens_made_elsewhere_are_numbers(void **state)
{
    (void)state;
    struct hr_data_options options = small();
    uint16_t narrow[40];
    uint32_t wide[40];
    for (size_t i = 0; i < 40; i++)
        wide[i] = narrow[i] = (uint16_t)(i * 7 % 301);
    write_npy("narrow.npy", "<u2", "(40,)", narrow, sizeof narrow);
    write_npy("wide.npy", "<u4", "(40,)", wide, sizeof wide);
    write_bin("narrow.bin", 20240520, 1, 40, narrow, sizeof narrow);
    write_bin("wide.bin", 20240801, 1, 40, wide, sizeof wide);
    same_text("narrow.npy", "wide.npy", &options);
    same_text("narrow.npy", "narrow.bin", &options);
    same_text("narrow.npy", "wide.bin", &options);
    struct hr_dataset dataset = data_open("wide.bin", &options);
    assert_int_equal(dataset.classes, 274);
    assert_int_equal(dataset.train.count, 7);
    assert_int_equal(hr_tokens_bytes(&dataset.tokens, &dataset.test), 0);
    hr_dataset_close(&dataset);
    snprintf(options.classes, sizeof options.classes, "50257");
    dataset = data_open("narrow.npy", &options);
    assert_int_equal(dataset.classes, 50257);
    hr_dataset_close(&dataset);
    snprintf(options.classes, sizeof options.classes, "273");
    data_refused("narrow.npy", &options, HR_E_FORMAT, "token 39, from 0, is 273");
    snprintf(options.classes, sizeof options.classes, "a,b");
    data_refused("narrow.npy", &options, HR_E_USAGE, "expected how many tokens");
    options.classes[0] = '\0';
    options.recipe = "{\"tokens\": \"numbers\", \"count\": 100}"; /* of a model */
    data_refused("narrow.npy", &options, HR_E_FORMAT, "token 15, from 0, is 105");
    data_text("t.txt", poem);
    data_refused("t.txt", &options, HR_E_USAGE, "knows tokens as numbers alone");
    options.recipe = "{\"tokens\": \"bytes\"}";
    data_refused("narrow.npy", &options, HR_E_FORMAT, "tokens are numbers, expected bytes");
    options.recipe = NULL;
    options.lines = true;
    data_refused("narrow.npy", &options, HR_E_USAGE, "--text lines");
}

static void files_that_hold_no_tokens_are_refused(void **state)
{
    (void)state;
    const struct hr_data_options options = small();
    const uint16_t ids[40] = {1};
    const struct {
        const char *type, *shape;
        size_t bytes;
        const char *said;
    } npy[] = {{"<u2", "()", 2, "0 dimensions"},
               {"<u2", "(5, 8)", 80, "2 dimensions"},
               {"<i4", "(20,)", 80, "holds i4"},
               {"<f4", "(20,)", 80, "holds f4"},
               {"<u8", "(10,)", 80, "holds u8"},
               {"<U5", "(4,)", 80, "holds U20"},
               {">u2", "(40,)", 80, "is big-endian"},
               {"<u2", "(0,)", 0, "is empty"},
               {"<u2", "(41,)", 80, "expected 41 elements"}};
    for (size_t i = 0; i < sizeof npy / sizeof *npy; i++) {
        write_npy("wrong.npy", npy[i].type, npy[i].shape, ids, npy[i].bytes);
        data_refused("wrong.npy", &options, HR_E_FORMAT, npy[i].said);
    }
    data_text("wrong.npy", "1,2,3\n4,5,6\n");
    data_refused("wrong.npy", &options, HR_E_FORMAT, "does not begin as an npy file does");
    write_bin("wrong.bin", 20240521, 1, 40, ids, sizeof ids);
    data_refused("wrong.bin", &options, HR_E_FORMAT, "begins with 20240521, version 1");
    write_bin("wrong.bin", 20240520, 2, 40, ids, sizeof ids);
    data_refused("wrong.bin", &options, HR_E_FORMAT, "version 2");
    write_bin("wrong.bin", 20240520, 1, UINT32_MAX, ids, sizeof ids);
    data_refused("wrong.bin", &options, HR_E_FORMAT, "expected 4294967295 tokens of 2");
    scratch_write("wrong.bin", "\0\0\0", 3);
    data_refused("wrong.bin", &options, HR_E_FORMAT, "has 3 bytes");
    write_bin("wrong.bin", 20240801, 1, 1, (uint32_t[]){1 << 24}, 4);
    data_refused("wrong.bin", &options, HR_E_FORMAT, "is 16777216, expected less than 16777216");
}

static void what_says_nothing_of_its_tokens_is_refused(void **state)
{
    (void)state;
    const struct hr_data_options options = small();
    const uint16_t ids[40] = {1};
    static const char *const wrong[] = {"", "{}", "{\"tokens\": \"bytes\"}",
                                        "{\"tokens\": \"bytes\", \"length\": 39}"};
    write_npy("t.npy", "<u2", "(40,)", ids, sizeof ids);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        data_text("t.npy.json", wrong[i]);
        data_refused("t.npy", &options, HR_E_FORMAT, "t.npy.json: ");
    }
    data_text("t.npy.json", "{\"tokens\": \"chars\", \"points\": [10], \"length\": 40}");
    data_refused("t.npy", &options, HR_E_FORMAT, "token 0, from 0, is 1, expected less than 1");
}

static void texts_that_are_too_short_or_no_utf8_are_refused(void **state)
{
    (void)state;
    struct hr_data_options options = small();
    data_text("t.txt", "");
    data_refused("t.txt", &options, HR_E_FORMAT, "is empty");
    data_text("t.txt", "x");
    data_refused("t.txt", &options, HR_E_FORMAT, "has 1 training tokens, expected at least 5");
    data_text("t.txt", "12345678");
    data_refused("t.txt", &options, HR_E_FORMAT, "has 2 test tokens, expected at least 5");
    scratch_write("t.txt", "a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0k\0l\0m\0n\0", 28); /* zeros are bytes */
    struct hr_dataset dataset = data_open("t.txt", &options);
    assert_int_equal(dataset.tokens.count, 28);
    hr_dataset_close(&dataset);
    options.context = 1000;
    data_refused("t.txt", &options, HR_E_FORMAT, "one more than --text context=1000");
    options.context = 0;
    data_refused("t.txt", &options, HR_E_USAGE, "--text context=0");
    options = small();
    snprintf(options.classes, sizeof options.classes, "300");
    data_refused("t.txt", &options, HR_E_USAGE, "--classes: is not supported for text");
    options = small();
    snprintf(options.vocabulary, sizeof options.vocabulary, "chars");
    data_text("t.txt", "good, then \xff bad");
    data_refused("t.txt", &options, HR_E_FORMAT, "byte 12 is no UTF-8");
    data_text("words", "one\ntwo\nthree\n");
    options = data_options();
    data_refused("words", &options, HR_E_FORMAT, "--text lines reads a list of words as text");
}

/* Tables may be called so; then their options say that they are. */
static void a_table_may_have_the_name_of_a_text(void **state)
{
    (void)state;
    struct hr_data_options options = data_options();
    data_text("table.txt", "a,b,kind\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n");
    snprintf(options.label_column, sizeof options.label_column, "kind");
    struct hr_dataset dataset = data_open("table.txt", &options);
    assert_string_equal(dataset.format, "csv");
    hr_dataset_close(&dataset);
}

static void what_is_measured_is_no_more_than_asked_for(void **state)
{
    (void)state;
    struct hr_data_options options = small();
    data_text("t.txt", poem);
    data_text("v.txt", poem);
    options.eval_tokens = 9;
    snprintf(options.validation_data, sizeof options.validation_data, "%s", scratch("v.txt"));
    struct hr_dataset dataset = data_open("t.txt", &options);
    assert_int_equal(dataset.test.count, 2);
    assert_int_equal(dataset.validation.count, 2);
    hr_dataset_close(&dataset);
    options.eval_tokens = 0;
    data_refused("t.txt", &options, HR_E_USAGE, "--text eval-tokens=0");
    options.eval_tokens = 1;
    options.test_all = 1;
    dataset = data_open("t.txt", &options);
    assert_int_equal(dataset.test.count, 1);
    assert_int_equal(dataset.train.end, strlen(poem));
    hr_dataset_close(&dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_itself_however_it_is_kept),
        cmocka_unit_test(a_part_has_its_own_bytes),
        cmocka_unit_test(a_large_text_stays_in_its_file),
        cmocka_unit_test(tokens_made_elsewhere_are_numbers),
        cmocka_unit_test(files_that_hold_no_tokens_are_refused),
        cmocka_unit_test(what_says_nothing_of_its_tokens_is_refused),
        cmocka_unit_test(texts_that_are_too_short_or_no_utf8_are_refused),
        cmocka_unit_test(a_table_may_have_the_name_of_a_text),
        cmocka_unit_test(what_is_measured_is_no_more_than_asked_for),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

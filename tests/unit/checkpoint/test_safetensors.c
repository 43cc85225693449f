/* The safetensors reader and writer: a golden file, round trips, damage. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "checkpoint/safetensors.h"
#include "support/check.h"
#include "support/scratch.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* sha256 9d554be596e139d506906b102a68f9512aa4aae0a3b8db81c3bff2499203ee61; PyTorch reads it. */
static const char golden[200] =
    "\xa0\0\0\0\0\0\0\0"
    "{\"__metadata__\":{\"format\":\"pt\"},"
    "\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
    "\"0.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]}}       "
    "\0\0\0\x3f\0\0\0\xbf"
    "\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40";

static float bias[2] = {0.5f, -0.5f};
static float weight[6] = {0, 1, 2, 3, 4, 5};
static struct hr_tensor golden_tensors[2] = {
    {"0.bias", HR_F32, 1, {2}, sizeof bias, bias},
    {"0.weight", HR_F32, 2, {2, 3}, sizeof weight, weight},
};
static struct hr_metadata golden_metadata[1] = {{"format", "pt"}};
static const struct hr_tensor_file golden_file = {2, golden_tensors, 1, golden_metadata, NULL};

static void the_golden_file_is_written_byte_for_byte(void **state)
{
    (void)state;
    size_t bytes;
    CHECK_OK(hr_safetensors_write(scratch("f"), &golden_file, NULL));
    unsigned char *written = scratch_read("f", &bytes);
    assert_int_equal(bytes, sizeof golden);
    assert_memory_equal(written, golden, sizeof golden);
    free(written);
}

static void the_golden_file_is_read_back(void **state)
{
    (void)state;
    struct hr_tensor_file file;
    scratch_write("f", golden, sizeof golden);
    CHECK_OK(hr_safetensors_read(scratch("f"), &file));
    assert_int_equal(file.ntensors, 2);
    assert_string_equal(file.tensors[0].name, "0.bias");
    const struct hr_tensor *read = hr_tensor_get(&file, "0.weight");
    assert_non_null(read);
    assert_int_equal(read->ndim, 2);
    assert_int_equal(read->shape[0], 2);
    assert_int_equal(read->shape[1], 3);
    CHECK_SAME_FLOATS((const float *)read->data, weight, 6);
    CHECK_SAME_FLOATS((const float *)file.tensors[0].data, bias, 2);
    assert_string_equal(hr_metadata_get(&file, "format"), "pt");
    assert_null(hr_metadata_get(&file, "none"));
    assert_null(hr_tensor_get(&file, "1.weight"));
    hr_tensor_file_free(&file);
}

static void check_same_file(const struct hr_tensor_file *got, const struct hr_tensor_file *want)
{
    assert_int_equal(got->ntensors, want->ntensors);
    assert_int_equal(got->nmetadata, want->nmetadata);
    for (size_t i = 0; i < want->ntensors; i++) {
        const struct hr_tensor *a = &got->tensors[i], *b = &want->tensors[i];
        assert_string_equal(a->name, b->name);
        assert_int_equal(a->dtype, b->dtype);
        assert_int_equal(a->ndim, b->ndim);
        assert_memory_equal(a->shape, b->shape, a->ndim * sizeof *a->shape);
        assert_int_equal(a->bytes, b->bytes);
        assert_int_equal((uintptr_t)a->data % HR_SAFETENSORS_ALIGN, 0);
        if (a->bytes)
            assert_memory_equal(a->data, b->data, a->bytes);
    }
    for (size_t i = 0; i < want->nmetadata; i++) {
        assert_string_equal(got->metadata[i].key, want->metadata[i].key);
        assert_string_equal(got->metadata[i].value, want->metadata[i].value);
    }
}

static void every_dtype_scalars_and_empty_tensors_make_the_round_trip(void **state)
{
    (void)state;
    double f64[3] = {1.0 / 3, -0.0, 1e308};
    int64_t i64[1] = {INT64_MIN};
    uint8_t u8[5] = {0, 1, 127, 128, 255};
    float f32[2] = {__builtin_nanf("0x123"), -__builtin_inff()};
    struct hr_tensor tensors[] = {
        {"odd", HR_U8, 1, {5}, 5, u8}, /* first: all behind it are unaligned in the file */
        {"empty", HR_F32, 3, {2, 0, 7}, 0, NULL},
        {"scalar", HR_I64, 0, {0}, 8, i64},
        {"double", HR_F64, 2, {3, 1}, 24, f64},
        {"eight", HR_F32, 8, {1, 1, 1, 2, 1, 1, 1, 1}, 8, f32},
        {"", HR_U8, 1, {0}, 0, NULL}, /* a name like any other */
    };
    struct hr_tensor_file back, file = {COUNT(tensors), tensors, 0, NULL, NULL};
    memset(tensors[3].name, 'n', sizeof tensors[3].name - 1);
    CHECK_OK(hr_safetensors_write(scratch("f"), &file, NULL));
    CHECK_OK(hr_safetensors_read(scratch("f"), &back));
    check_same_file(&back, &file);
    hr_tensor_file_free(&back);
}

static void metadata_of_any_bytes_make_the_round_trip(void **state)
{
    (void)state;
    struct hr_metadata metadata[] = {
        {"format", "pt"},
        {"quotes \" and \\ and /", "{\"json\": [\"in\", \"json\"]}\n\t\r\b\f\x01\x1f\x7f"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xb7", "\xf4\x8f\xbf\xbf \xe2\x80\xa8 \xef\xbf\xbf"},
        {"", ""},
        {"no UTF-8", "caf\xe9, \x80\xff, \xe2\x82, \xed\xa0\x80, \xc0\xaf, \xf4\x90\x80\x80"},
        {"long", ""},
    };
    struct hr_tensor_file back, file = {0, NULL, COUNT(metadata), metadata, NULL};
    memset(metadata[5].value, 'v', sizeof metadata[4].value - 1);
    CHECK_OK(hr_safetensors_write(scratch("f"), &file, NULL));
    CHECK_OK(hr_safetensors_read(scratch("f"), &back));
    check_same_file(&back, &file);
    hr_tensor_file_free(&back);
}

static void a_truncated_file_is_refused_at_every_byte(void **state)
{
    (void)state;
    struct hr_tensor_file file;
    for (size_t bytes = 0; bytes < sizeof golden; bytes++) {
        scratch_write("f", golden, bytes);
        CHECK_FAILS(hr_safetensors_read(scratch("f"), &file), HR_E_FORMAT);
    }
    char longer[sizeof golden + 1] = {0};
    memcpy(longer, golden, sizeof golden);
    scratch_write("f", longer, sizeof longer);
    CHECK_FAILS(hr_safetensors_read(scratch("f"), &file), HR_E_FORMAT);
}

static void any_bit_of_a_strangers_file_may_flip_without_harm(void **state)
{
    (void)state;
    scratch_write("f", golden, sizeof golden);
    for (size_t byte = 0; byte < sizeof golden; byte++)
        for (unsigned bit = 0; bit < 8; bit++) {
            struct hr_tensor_file file;
            scratch_flip("f", byte, bit);
            const enum hr_status status = hr_safetensors_read(scratch("f"), &file);
            if (status == HR_OK)
                hr_tensor_file_free(&file);
            else
                CHECK_FAILS(status, HR_E_FORMAT);
            scratch_flip("f", byte, bit);
        }
}

static void a_digest_of_what_was_written_verifies_what_is_read(void **state)
{
    (void)state;
    struct hr_file_digest digest;
    struct hr_tensor_file file;
    CHECK_OK(hr_safetensors_write(scratch("f"), &golden_file, &digest));
    CHECK_OK(hr_safetensors_read_verified(scratch("f"), &digest, &file));
    hr_tensor_file_free(&file);
    scratch_flip("f", 8 + 158, 0); /* a space becomes '!', or a tab: only the digest can tell */
    CHECK_FAILS(hr_safetensors_read_verified(scratch("f"), &digest, &file), HR_E_FORMAT);
    CHECK_MESSAGE("/f: its header is damaged: XXH3-64 is ");
    scratch_flip("f", 8 + 158, 0);
    scratch_flip("f", 199, 7);
    CHECK_FAILS(hr_safetensors_read_verified(scratch("f"), &digest, &file), HR_E_FORMAT);
    CHECK_MESSAGE("/f: tensor \"0.weight\" is damaged: XXH3-64 is ");
    scratch_flip("f", 199, 7);
    digest.ntensors++;
    CHECK_FAILS(hr_safetensors_read_verified(scratch("f"), &digest, &file), HR_E_FORMAT);
    CHECK_MESSAGE("tensors, the manifest says ");
    digest.ntensors = 0;
    CHECK_FAILS(hr_safetensors_read_verified(scratch("f"), &digest, &file), HR_E_FORMAT);
    CHECK_MESSAGE("is not in the manifest");
    digest.ntensors = 1;
    CHECK_FAILS(hr_safetensors_read_verified(scratch("f"), &digest, &file), HR_E_FORMAT);
    CHECK_MESSAGE("tensor \"0.weight\" is not in the manifest");
    hr_file_digest_free(&digest);
}

static void check_not_written(const struct hr_tensor_file *file, const char *message)
{
    CHECK_FAILS(hr_safetensors_write(scratch("w"), file, NULL), HR_E_USAGE);
    CHECK_MESSAGE(message);
    assert_false(scratch_exists("w"));
}

static void what_no_reader_would_take_is_not_written(void **state)
{
    (void)state;
    struct hr_tensor twice[2] = {{"a", HR_U8, 0, {0}, 1, bias}, {"a", HR_U8, 0, {0}, 1, bias}};
    struct hr_tensor bad = {"a", HR_F32, 1, {3}, 8, bias};
    struct hr_metadata metadata = {"k", "v"};
    check_not_written(&(struct hr_tensor_file){2, twice, 0, NULL, NULL}, "\"a\" is there twice");
    check_not_written(&(struct hr_tensor_file){1, &bad, 0, NULL, NULL}, "said to be 8 bytes");
    bad = (struct hr_tensor){"a", HR_F32, 2, {SIZE_MAX, 2}, 8, bias};
    check_not_written(&(struct hr_tensor_file){1, &bad, 0, NULL, NULL}, "said to be 8 bytes");
    bad = (struct hr_tensor){"a", HR_F32, 9, {2}, 8, bias};
    check_not_written(&(struct hr_tensor_file){1, &bad, 0, NULL, NULL}, "9 dimensions, at most 8");
    bad = (struct hr_tensor){"__metadata__", HR_F32, 1, {2}, 8, bias};
    check_not_written(&(struct hr_tensor_file){1, &bad, 0, NULL, NULL},
                      "can be named __metadata__");
    bad = (struct hr_tensor){"\xff", HR_F32, 1, {2}, 8, bias};
    check_not_written(&(struct hr_tensor_file){1, &bad, 0, NULL, NULL}, "is not UTF-8");
    check_not_written(
        &(struct hr_tensor_file){0, NULL, HR_SAFETENSORS_METADATA_MAX + 1, &metadata, NULL},
        "4097 metadata entries, at most 4096");
    const size_t half = (size_t)1 << 62;
    struct hr_tensor huge[2] = {{"a", HR_U8, 1, {half}, half, bias},
                                {"b", HR_U8, 1, {half}, half, bias}};
    check_not_written(&(struct hr_tensor_file){2, huge, 0, NULL, NULL}, "too large together");
}

static void a_limit_of_memory_is_obeyed(void **state)
{
    (void)state;
    enum { BYTES = 4 << 20 };
    struct hr_tensor_file file;
    struct hr_tensor large = {"a", HR_U8, 1, {BYTES}, BYTES, calloc(BYTES, 1)};
    assert_non_null(large.data);
    CHECK_OK(hr_safetensors_write(scratch("f"), &(struct hr_tensor_file){1, &large, 0, NULL, NULL},
                                  NULL));
    free(large.data);
    hr_memory_limit_set(1 << 20);
    const enum hr_status status = hr_safetensors_read(scratch("f"), &file);
    hr_memory_limit_set(0);
    CHECK_FAILS(status, HR_E_NOMEM);
    CHECK_MESSAGE("f: needs 4.0 MiB of memory");
}

static void a_missing_file_is_an_io_error(void **state)
{
    (void)state;
    struct hr_tensor_file file;
    CHECK_FAILS(hr_safetensors_read(scratch("none"), &file), HR_E_IO);
    CHECK_MESSAGE("/none: cannot be opened: No such file or directory");
}

static void the_digest_of_floats_is_xxh3_128(void **state)
{
    (void)state;
    char text[33];
    hr_digest_floats(NULL, 0, text); /* the known answer of xxhsum -H2 for nothing */
    assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
    hr_digest_floats(weight, 6, text);
    assert_string_equal(text, "2d0408b485dd77b108c27fcd95d1fea5");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_golden_file_is_written_byte_for_byte),
        TEST(the_golden_file_is_read_back),
        TEST(every_dtype_scalars_and_empty_tensors_make_the_round_trip),
        TEST(metadata_of_any_bytes_make_the_round_trip),
        TEST(a_truncated_file_is_refused_at_every_byte),
        TEST(any_bit_of_a_strangers_file_may_flip_without_harm),
        TEST(a_digest_of_what_was_written_verifies_what_is_read),
        TEST(what_no_reader_would_take_is_not_written),
        TEST(a_limit_of_memory_is_obeyed),
        TEST(a_missing_file_is_an_io_error),
        TEST(the_digest_of_floats_is_xxh3_128),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

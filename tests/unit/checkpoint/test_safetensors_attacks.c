/* Safetensors files that lie: each is refused with a message, at once, without taking memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/printable.h"
#include "checkpoint/safetensors.h"
#include "support/check.h"
#include "support/scratch.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A file of this header, as it stands, and `data` bytes of zero behind it. */
static void write_file(const char *header, size_t header_bytes, size_t data)
{
    const uint64_t length = header_bytes;
    const size_t bytes = 8 + header_bytes + data;
    unsigned char *file = calloc(bytes, 1);
    memcpy(file, &length, 8);
    memcpy(file + 8, header, header_bytes);
    scratch_write("f", file, bytes);
    free(file);
}

#define T(name, dtype, shape, offsets)                                                             \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

/* Headers of strangers that say something we do not write, and mean no harm. */
static void harmless_headers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t data;
    } cases[] = {
        {"{}", 0},
        {" \n\t{} \n ", 0},
        {"{\"__metadata__\":{}}", 0},
        {"{" T("b", "F32", "[1]", "[4,8]") "," T("a", "F32", "[1]", "[0,4]") "}", 8},
        {"{" T("a", "F32", "[1]", "[0,4]") "," T("e", "F32", "[0]", "[4,4]") "," T(
             "b", "U8", "[]", "[4,5]") "," T("d", "U8", "[0]", "[4,4]") "}",
         5},
        {"{\"a\":{\"shape\":[],\"data_offsets\":[0,1],\"dtype\":\"U8\",\"extra\":null}}", 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hr_tensor_file file;
        write_file(cases[i].header, strlen(cases[i].header), cases[i].data);
        CHECK_OK(hr_safetensors_read(scratch("f"), &file));
        hr_tensor_file_free(&file);
    }
}

static const struct attack {
    const char *header;
    size_t data;
    const char *message;
} attacks[] = {
    /* not the JSON it should be */
    {"", 0, "the header is not JSON"},
    {"{", 0, "the header is not JSON"},
    {"[]", 0, "the header is not a JSON object"},
    {"null", 0, "the header is not JSON"},
    {"{}x", 0, "the header is not JSON"},
    {"{}{}", 0, "the header is not JSON"},
    {"{'a':1}", 0, "the header is not JSON"},
    {"{\"a\":1,}", 0, "the header is not JSON"},
    {"{\"\xff\":{}}", 0, "the header is not JSON"},
    {"{\"\xc0\xaf\":{}}", 0, "the header is not JSON"},
    {"{\"\xed\xa0\x80\":{}}", 0, "the header is not JSON"},
    {"{\"\\ud800\":{}}", 0, "the header is not JSON"},
    {"{\"a\\u0000b\":{}}", 0, "the header is not JSON"},
    {"\xef\xbb\xbf{}", 0, "the header is not JSON"},
    /* the same name twice: two readers could take different ones */
    {"{" T("a", "U8", "[1]", "[0,1]") "," T("a", "U8", "[1]", "[0,1]") "}", 1, "duplicate"},
    {"{" T("a", "U8", "[1]", "[0,1]") "," T("\\u0061", "U8", "[1]", "[1,2]") "}", 2, "duplicate"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "duplicate"},
    {"{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0, "duplicate"},
    {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1,
     "duplicate"},
    /* fields of the wrong type, or none */
    {"{\"__metadata__\":[]}", 0, "__metadata__ is not an object"},
    {"{\"__metadata__\":null}", 0, "__metadata__ is not an object"},
    {"{\"__metadata__\":{\"k\":1}}", 0, "metadata \"k\" is not a string"},
    {"{\"__metadata__\":{\"k\":{}}}", 0, "metadata \"k\" is not a string"},
    {"{\"a\":1}", 0, "tensor \"a\" is not an object"},
    {"{\"a\":{}}", 0, "tensor \"a\": dtype is not a string"},
    {"{\"a\":{\"dtype\":1,\"shape\":[],\"data_offsets\":[0,1]}}", 1, "dtype is not a string"},
    {"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, "shape is not an array"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":1,\"data_offsets\":[0,1]}}", 1, "shape is not an array"},
    {"{" T("a", "U8", "[\"1\"]", "[0,1]") "}", 1, "dimension 0 is not a count"},
    {"{" T("a", "U8", "[1,-1]", "[0,1]") "}", 1, "dimension 1 is not a count"},
    {"{" T("a", "U8", "[1.0]", "[0,1]") "}", 1, "dimension 0 is not a count"},
    {"{" T("a", "U8", "[true]", "[0,1]") "}", 1, "dimension 0 is not a count"},
    {"{" T("a", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", 1, "9 dimensions, at most 8"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[]}}", 1, "data_offsets are not two counts"},
    {"{" T("a", "U8", "[]", "{}") "}", 1, "data_offsets are not two counts"},
    {"{" T("a", "U8", "[]", "[1]") "}", 1, "data_offsets are not two counts"},
    {"{" T("a", "U8", "[]", "[0,1,2]") "}", 1, "data_offsets are not two counts"},
    {"{" T("a", "U8", "[]", "[0,\"1\"]") "}", 1, "data_offsets are not two counts"},
    {"{" T("a", "U8", "[]", "[-1,0]") "}", 1, "data_offsets are not two counts"},
    {"{" T("a", "U8", "[]", "[0.0,1.0]") "}", 1, "data_offsets are not two counts"},
    {"{" T("a", "U8", "[]", "[0,1e0]") "}", 1, "data_offsets are not two counts"},
    /* dtypes */
    {"{" T("a", "C64", "[1]", "[0,2]") "}", 2, "tensor \"a\": dtype \"C64\" is none of F32"},
    {"{" T("a", "F8_E4M3", "[2]", "[0,2]") "}", 2, "dtype \"F8_E4M3\" is none of"},
    {"{" T("a", "f32", "[1]", "[0,4]") "}", 4, "dtype \"f32\" is none of"},
    {"{" T("a", "", "[1]", "[0,4]") "}", 4, "dtype \"\" is none of"},
    /* holes, overlap, things before and behind */
    {"{" T("a", "U8", "[1]", "[1,2]") "}", 2, "tensor \"a\" is at [1, 2), expected to begin at 0"},
    {"{" T("a", "U8", "[1]", "[0,1]") "," T("b", "U8", "[1]", "[2,3]") "}", 3,
     "tensor \"b\" is at [2, 3), expected to begin at 1"},
    {"{" T("a", "U8", "[2]", "[0,2]") "," T("b", "U8", "[2]", "[1,3]") "}", 3,
     "tensor \"b\" is at [1, 3), expected to begin at 2"},
    {"{" T("a", "U8", "[2]", "[0,2]") "," T("b", "U8", "[2]", "[0,2]") "}", 2,
     "is at [0, 2), expected to begin at 2"},
    {"{" T("a", "U8", "[0]", "[1,0]") "}", 0, "is at [1, 0)"},
    {"{" T("a", "U8", "[2]", "[0,2]") "," T("b", "U8", "[0]", "[2,1]") "}", 2, "is at [2, 1)"},
    {"{" T("a", "U8", "[0]", "[5,5]") "}", 0, "is at [5, 5), expected to begin at 0"},
    {"{" T("a", "U8", "[1]", "[0,1]") "}", 2,
     "the tensors are 1 bytes, behind the header there are 2"},
    {"{}", 1, "the tensors are 0 bytes, behind the header there are 1"},
    {"{" T("a", "U8", "[2]", "[0,2]") "}", 1,
     "the tensors are 2 bytes, behind the header there are 1"},
    /* lying sizes and overflow; nothing of this size may be allocated */
    {"{" T("a", "F32", "[2]", "[0,4]") "}", 4, "tensor \"a\" has 4 bytes, its shape says 8"},
    {"{" T("a", "F32", "[]", "[0,8]") "}", 8, "tensor \"a\" has 8 bytes, its shape says 4"},
    {"{" T("a", "F32", "[0]", "[0,4]") "}", 4, "tensor \"a\" has 4 bytes, its shape says 0"},
    {"{" T("a", "U8", "[9223372036854775807]", "[0,9223372036854775807]") "}", 8,
     "behind the header there are 8"},
    {"{" T("a", "F64", "[2305843009213693952]", "[0,0]") "}", 0, "its shape overflows"},
    {"{" T("a", "F32", "[4294967296,4294967296]", "[0,0]") "}", 0, "its shape overflows"},
    {"{" T("a", "F32", "[4294967296,4294967296,0]", "[0,0]") "}", 0, "its shape overflows"},
    {"{" T("a", "U8", "[9223372036854775808]", "[0,0]") "}", 0, "the header is not JSON"},
    {"{" T("a", "U8", "[1]", "[0,18446744073709551616]") "}", 1, "the header is not JSON"},
    {"{" T("a", "U8", "[1]", "[0,1e999]") "}", 1, "the header is not JSON"},
    {"{" T("a", "U8", "[9223372036854775807]", "[0,9223372036854775807]") "," T(
         "b", "U8", "[1]", "[9223372036854775807,9223372036854775807]") "}",
     1, "tensor \"b\" has 0 bytes, its shape says 1"},
};

static void headers_that_lie_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(attacks); i++) {
        struct hr_tensor_file file = {.ntensors = 77};
        print_message("attack %zu: %s\n", i, hr_printable(attacks[i].header).text);
        write_file(attacks[i].header, strlen(attacks[i].header), attacks[i].data);
        CHECK_FAILS(hr_safetensors_read(scratch("f"), &file), HR_E_FORMAT);
        CHECK_MESSAGE(attacks[i].message);
        CHECK_MESSAGE("/f: ");
        assert_null(strchr(hr_error_message(), '\n'));
        assert_int_equal(file.ntensors, 77); /* untouched */
    }
}

/* `before`, n times `piece`, `behind`: refused with this message. */
static void check_refused_repeated(const char *before, const char *piece, size_t n,
                                   const char *behind, const char *message)
{
    struct hr_tensor_file file;
    char *header = malloc(strlen(before) + n * strlen(piece) + strlen(behind) + 1);
    char *end = stpcpy(header, before);
    for (size_t i = 0; i < n; i++)
        end = stpcpy(end, piece);
    strcpy(end, behind);
    write_file(header, strlen(header), 0);
    free(header);
    CHECK_FAILS(hr_safetensors_read(scratch("f"), &file), HR_E_FORMAT);
    CHECK_MESSAGE(message);
}

static void bombs_are_refused(void **state)
{
    (void)state;
    check_refused_repeated("", "[", 1000000, "", "maximum parsing depth");
    check_refused_repeated("", "{\"a\":", 1000000, "", "maximum parsing depth");
    check_refused_repeated("{\"a\":{\"shape\":", "[", 100000, "", "maximum parsing depth");
    check_refused_repeated("{\"a\":[0", ",0", 1 << 20, "]}", "more than 1048576 values");
    check_refused_repeated("{\"", "n", 128, "\":{}}", "a tensor name of 128 bytes, at most 127");
    check_refused_repeated("{\"__metadata__\":{\"k\":\"", "v", 1024, "\"}}", "1024 of text");
    check_refused_repeated("{\"__metadata__\":{\"", "k", 64, "\":\"\"}}", "64 bytes of key");
    check_refused_repeated("{", " ", 1000000, "", "the header is not JSON");
}

static void too_many_metadata_entries_are_refused(void **state)
{
    (void)state;
    struct hr_tensor_file file;
    char *header = malloc(100000), *end = stpcpy(header, "{\"__metadata__\":{\"0\":\"\"");
    for (int i = 1; i <= HR_SAFETENSORS_METADATA_MAX; i++)
        end += sprintf(end, ",\"%d\":\"\"", i);
    strcpy(end, "}}");
    write_file(header, strlen(header), 0);
    free(header);
    CHECK_FAILS(hr_safetensors_read(scratch("f"), &file), HR_E_FORMAT);
    CHECK_MESSAGE("4097 metadata entries, at most 4096");
}

static void names_cannot_write_to_the_terminal(void **state)
{
    (void)state;
    struct hr_tensor_file file;
    static const char header[] = "{\"a\\n\\u001b[2J\xc2\x9b\":{}}";
    write_file(header, strlen(header), 0);
    CHECK_FAILS(hr_safetensors_read(scratch("f"), &file), HR_E_FORMAT);
    CHECK_MESSAGE("tensor \"a??[2J\xc2?\": dtype");
}

static void lengths_that_lie_allocate_nothing(void **state)
{
    (void)state;
    static const struct {
        uint64_t length;
        const char *message;
    } cases[] = {
        {193, "the header is said to be 193 bytes, the file has 192"},
        {100000000, "the header is said to be 100000000 bytes, the file has 192"},
        {100000001, "the header is said to be 100000001 bytes, at most 100000000"},
        {UINT64_MAX, "at most 100000000"},
        {UINT64_MAX - 7, "at most 100000000"},
        {INT64_MAX, "at most 100000000"},
    };
    struct hr_tensor_file file;
    char lie[200] = {0};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rusage before, after;
        memcpy(lie, &cases[i].length, 8);
        scratch_write("f", lie, sizeof lie);
        getrusage(RUSAGE_SELF, &before);
        CHECK_FAILS(hr_safetensors_read(scratch("f"), &file), HR_E_FORMAT);
        CHECK_MESSAGE(cases[i].message);
        getrusage(RUSAGE_SELF, &after);
        assert_true(after.ru_maxrss - before.ru_maxrss < 16 << 10);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(harmless_headers_are_read),
        TEST(headers_that_lie_are_refused),
        TEST(bombs_are_refused),
        TEST(too_many_metadata_entries_are_refused),
        TEST(names_cannot_write_to_the_terminal),
        TEST(lengths_that_lie_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Headers of npy arrays, in memory: what is read, and what is refused. */
#include <stdlib.h>
#include <string.h>

#include "formats/npy.h"
#include "support/check.h"

static enum hr_status parse(int version, const char *header, size_t bytes, struct hr_npy *npy)
{
    static unsigned char file[HR_NPY_MAX_HEADER + 4096];
    const size_t before = version == 1 ? 10 : 12, length = strlen(header);
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (unsigned char)version;
    file[7] = 0;
    memset(file + 8, 0, 4);
    file[8] = (unsigned char)length;
    file[9] = (unsigned char)(length >> 8);
    memcpy(file + before, header, length);
    memset(file + before + length, 0, bytes);
    *npy = (struct hr_npy){0};
    return hr_npy_parse("a.npy", file, before + length + bytes, npy);
}

#define AS_EXPECTED "expected {'descr': ..., 'fortran_order': ..., 'shape': ...}"
#define REST "'fortran_order': False, 'shape': (2,)}"

static void wrong_headers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header, *message;
    } wrong[] = {
        {"", AS_EXPECTED},
        {"(2,)", AS_EXPECTED},
        {"{", AS_EXPECTED},
        {"{descr: '<f4', " REST, AS_EXPECTED},
        {"{'descr", AS_EXPECTED},
        {"{'descr' '<f4', " REST, AS_EXPECTED},
        {"{'a name that is too long': '<f4', " REST, AS_EXPECTED},
        {"{'de\\scr': '<f4', " REST, AS_EXPECTED},
        {"{'descr': '<f4<f4<f4', " REST, AS_EXPECTED},
        {"{'descr': <f4, " REST, AS_EXPECTED},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}", AS_EXPECTED},
        {"{'descr': '<f4'", AS_EXPECTED},
        {"{'descr': '<f4', 'fortran_order': None, 'shape': (2,)}", AS_EXPECTED},
        {"{'descr': '<f4', 'fortran_order': F", AS_EXPECTED},
        {"{'descr': '<f4', 'order': True, 'shape': (2,)}", AS_EXPECTED},
        {"{'descr': '<f4', 'fortran_order': False}", AS_EXPECTED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 2}", AS_EXPECTED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2", AS_EXPECTED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (x,)}", AS_EXPECTED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", AS_EXPECTED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1)}", AS_EXPECTED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", AS_EXPECTED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,)}", AS_EXPECTED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (184467440737095516150,)}",
         AS_EXPECTED},
        {"{'descr': '<f4', " REST " and more", AS_EXPECTED},
        {"{'descr': '', " REST, "holds elements of type , expected u1"},
        {"{'descr': 'c8', " REST, "holds elements of type c8, expected"},
        {"{'descr': '<f8', " REST, "holds 8 bytes after the header, expected 2 elements of 8"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,)}",
         "holds 8 bytes after the header, expected 2305843009213693952 elements"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
         "its shape is too large, expected at most 8 GiB"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1)}", "is in Fortran order"},
    };
    struct hr_npy npy;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (int version = 1; version <= 3; version++) {
            if (parse(version, wrong[i].header, 8, &npy) != HR_E_FORMAT)
                fail_msg("%s: taken", wrong[i].header);
            CHECK_MESSAGE("a.npy: ");
            CHECK_MESSAGE(wrong[i].message);
        }
}

static void right_headers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t bytes, ndim, count;
        char kind;
        bool swapped;
    } right[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 8, 1, 2, 'f', false},
        {"\t{\t\"descr\": \">i2\" , 'shape': (2, 3) , 'fortran_order': False}", 12, 2, 6, 'i',
         true},
        {"{'descr':'|b1','fortran_order':False,'shape':(1,2,3,4)}", 24, 4, 24, 'b', false},
        {"{'descr': 'u8', 'fortran_order': True, 'shape': (3,)}", 24, 1, 3, 'u', false},
        {"{'descr': '=f8', 'fortran_order': False, 'shape': ()}", 8, 0, 1, 'f', false},
    };
    struct hr_npy npy;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        for (int version = 1; version <= 3; version++) {
            CHECK_OK(parse(version, right[i].header, right[i].bytes, &npy));
            assert_int_equal(npy.ndim, right[i].ndim);
            assert_int_equal(npy.count, right[i].count);
            assert_int_equal(npy.kind, right[i].kind);
            assert_int_equal(npy.swapped, right[i].swapped);
        }
}

/* In blocks of their own, so that a sanitizer sees each byte too far. */
static void short_files_are_refused(void **state)
{
    (void)state;
    static const char file[] = "\x93NUMPY\2\0\1\0\0\0{";
    struct hr_npy npy;
    for (size_t bytes = 0; bytes < sizeof file; bytes++) {
        char *copy = malloc(bytes + 1);
        memcpy(copy, file, bytes);
        CHECK_FAILS(hr_npy_parse("a.npy", copy, bytes, &npy), HR_E_FORMAT);
        CHECK_MESSAGE(bytes < 10   ? "does not begin as an npy file does"
                      : bytes < 13 ? "its header has 1 bytes, expected at most"
                                   : "expected {'descr'");
        free(copy);
    }
    static char longest[HR_NPY_MAX_HEADER + 2];
    memset(longest, ' ', sizeof longest - 1);
    CHECK_FAILS(parse(2, longest, 8, &npy), HR_E_FORMAT);
    CHECK_MESSAGE("its header has 10001 bytes, expected at most 10000");
    CHECK_FAILS(hr_npy_parse("a.npy", "\x93NUMPY\0\0\1\0{", 11, &npy), HR_E_FORMAT);
    CHECK_MESSAGE("has version 0, expected 1 to 3");
}

static const char *label(char kind, const void *data, size_t bytes)
{
    static struct hr_labels labels;
    struct hr_table table = {.count = 1};
    struct hr_npy npy = {
        .kind = kind, .item = bytes, .ndim = 1, .shape = {1}, .count = 1, .data = data};
    hr_labels_free(&labels);
    CHECK_OK(hr_npy_take_labels("y.npy", &npy, &labels, &table));
    free(table.labels);
    return hr_labels_text(&labels, 0);
}

static void labels_are_written_as_they_are(void **state)
{
    (void)state;
    assert_string_equal(label('b', &(bool){true}, 1), "1");
    assert_string_equal(label('u', &(uint64_t){UINT64_MAX}, 8), "18446744073709551615");
    assert_string_equal(label('i', &(int64_t){INT64_MIN}, 8), "-9223372036854775808");
    assert_string_equal(label('f', &(float){3}, 4), "3");
    assert_string_equal(label('f', &(float){0.1f}, 4), "0.100000001");
    assert_string_equal(label('f', &(double){0.1}, 8), "0.10000000000000001");
    assert_string_equal(label('f', &(double){1e300}, 8), "1.0000000000000001e+300");
    struct hr_npy npy = {.kind = 'u', .item = 2, .ndim = 2, .shape = {1, 1}, .count = 1};
    struct hr_table table = {0};
    npy.data = (const uint8_t *)"\1\1";
    CHECK_OK(hr_npy_take_features("X.npy", &npy, &table));
    assert_int_equal(table.features, HR_FEATURES_FLOATS);
    assert_true(table.values[0] == 257);
    hr_table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_headers_are_refused),
        cmocka_unit_test(right_headers_are_read),
        cmocka_unit_test(short_files_are_refused),
        cmocka_unit_test(labels_are_written_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

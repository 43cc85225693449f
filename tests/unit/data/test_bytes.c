/* Arrays and files that are too large, or packed; and what is shown of a stranger's text. */
#include "data/bytes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "data/gzip_stream.h"
#include "support/data_files.h"
#include "support/idx_files.h"

static void more_than_8_gib_are_refused(void **state)
{
    (void)state;
    struct hr_array array = {0};
    void *taken;
    CHECK_FAILS(hr_take("f", HR_DATA_MAX_BYTES + 1, &taken), HR_E_FORMAT);
    CHECK_MESSAGE("f: needs 8589934593 bytes for one array, expected at most 8 GiB");
    CHECK_FAILS(hr_array_add(&array, "f", "", HR_DATA_MAX_BYTES + 1), HR_E_FORMAT);
    CHECK_MESSAGE("f: needs more than 8 GiB for one array");
    CHECK_OK(hr_array_add(&array, "f", NULL, 0));
    CHECK_OK(hr_array_add(&array, "f", "abc", 3));
    CHECK_OK(hr_array_add(&array, "f", NULL, 0));
    assert_int_equal(array.bytes, 3);
    CHECK_FAILS(hr_array_add(&array, "f", "", HR_DATA_MAX_BYTES), HR_E_FORMAT);
    free(array.data);
    scratch_write("hole", "", 0);
    assert_int_equal(truncate(scratch("hole"), (off_t)HR_DATA_MAX_BYTES + 1), 0);
    CHECK_FAILS(hr_bytes_read_file(scratch("hole"), &array), HR_E_FORMAT);
    CHECK_MESSAGE("hole: has 8589934593 bytes, expected at most 8 GiB");
}

/* The limit is of this process: what it has already counts. */
static void a_limit_of_memory_is_obeyed(void **state)
{
    (void)state;
    struct hr_array array = {0};
    void *taken;
    scratch_write("hole", "", 0);
    assert_int_equal(truncate(scratch("hole"), 64 << 20), 0);
    hr_memory_limit_set(16 << 20);
    CHECK_FAILS(hr_take("f", 64 << 20, &taken), HR_E_NOMEM);
    CHECK_MESSAGE("f: needs 64 MiB of memory, and there is ");
    CHECK_FAILS(hr_array_add(&array, "f", "", 64 << 20), HR_E_NOMEM);
    CHECK_FAILS(hr_bytes_read_file(scratch("hole"), &array), HR_E_NOMEM);
    hr_memory_limit_set(0);
}

/* A file that was packed, with the length at its end as it is, or as a liar has it. */
static void check_packed(size_t content, uint32_t said)
{
    unsigned char *data = malloc(content);
    struct hr_array array;
    for (size_t i = 0; i < content; i++)
        data[i] = (unsigned char)(i * i >> 7);
    struct blob packed = blob_gzip(data, content);
    scratch_write("a.gz", packed.data, packed.size);
    CHECK_OK(hr_bytes_read_file(scratch("a.gz"), &array));
    assert_int_equal(array.bytes, content);
    assert_memory_equal(array.data, data, content);
    free(array.data);
    for (size_t i = 0; i < 4; i++)
        packed.data[packed.size - 4 + i] = (unsigned char)(said >> 8 * i);
    scratch_write("a.gz", packed.data, packed.size);
    CHECK_FAILS(hr_bytes_read_file(scratch("a.gz"), &array), HR_E_FORMAT);
    CHECK_MESSAGE("a.gz: the gzip data is damaged");
    free(packed.data);
    free(data);
}

static void packed_files_are_as_long_as_they_are(void **state)
{
    (void)state;
    static const char half[] = "\x1f\x8b\x08";
    struct hr_gzip_stream stream;
    struct hr_array array;
    check_packed(100, UINT32_MAX);
    check_packed(100 * 1000, 17);
    check_packed(3 << 20, 0);
    for (size_t bytes = 2; bytes < sizeof half; bytes++) {
        scratch_write("half", half, bytes);
        CHECK_FAILS(hr_bytes_read_file(scratch("half"), &array), HR_E_FORMAT);
        CHECK_MESSAGE("half: the gzip data is cut off");
    }
    scratch_write("plain", "\x1f,1\n", 4);
    CHECK_OK(hr_bytes_read_file(scratch("plain"), &array));
    assert_int_equal(array.bytes, 4);
    free(array.data);
    CHECK_OK(hr_gzip_stream_open_memory("m", half, 3, &stream));
    assert_int_equal(hr_gzip_stream_least(&stream), 0);
    hr_gzip_stream_close(&stream);
    CHECK_FAILS(hr_bytes_read_file(scratch(""), &array), HR_E_IO);
    CHECK_MESSAGE("is not a regular file");
}

static void long_text_is_cut(void **state)
{
    (void)state;
    static const char text[] = "0123456789012345678901234567890123456789";
    assert_string_equal(hr_shown(text, 40).text, text);
    assert_string_equal(hr_shown(text, 3).text, "012");
    assert_string_equal(hr_shown("01234567890123456789012345678901234567890", 41).text,
                        "0123456789012345678901234567890123456789...");
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(more_than_8_gib_are_refused),
        IN_SCRATCH(a_limit_of_memory_is_obeyed),
        IN_SCRATCH(packed_files_are_as_long_as_they_are),
        cmocka_unit_test(long_text_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Packed data: what comes out is what went in, and no byte of a file can be changed unnoticed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "formats/packed.h"
#include "formats/packed_layout.h"
#include "support/data_files.h"

static void round_trip(const char *name, const struct hr_data_options *options)
{
    struct hr_dataset source;
    CHECK_OK(hr_dataset_open_with(name, options, &source));
    CHECK_OK(hr_packed_write(scratch("p"), &source));
    struct hr_dataset packed = data_open("p", NULL);
    assert_string_equal(packed.format, "packed");
    assert_true(packed.scale == source.scale);
    data_same(&source, &packed);
    CHECK_OK(hr_packed_verify(scratch("p")));
    hr_dataset_close(&packed);
    hr_dataset_close(&source);
}

static void what_comes_out_is_what_went_in(void **state)
{
    (void)state;
    round_trip("digits", NULL);
    data_text("csv", "a,b,y\n1,2,cat\n3,4,dog\n5,6,cat\n");
    round_trip(scratch("csv"), NULL);
    data_text("svm", "1 2:3\n0 1:1 7:2\n1\n0 7:1\n");
    round_trip(scratch("svm"), NULL);
    assert_int_equal(scratch_entries(""), 3);
    round_trip(data_stamps("stamps"), NULL);
}

/* Doubles go with floats that cannot tell values apart, and must be what the floats come from. */
static void what_floats_lose_is_packed(void **state)
{
    (void)state;
    struct hr_dataset source;
    size_t size;
    CHECK_OK(hr_dataset_open(data_stamps("stamps"), &source));
    CHECK_OK(hr_packed_write(scratch("p"), &source));
    struct hr_dataset packed = data_open("p", NULL);
    const size_t bytes = packed.train.count * hr_shape_elems(packed.shape) * sizeof(double);
    assert_int_equal(packed.rounding[0].distinct, source.rounding[0].distinct);
    assert_memory_equal(packed.train.exact, source.train.exact, bytes);
    hr_dataset_close(&packed);
    hr_dataset_close(&source);
    unsigned char *file = scratch_read("p", &size);
    struct hr_packed_header *h = (void *)file;
    double *exact = (void *)(file + h->sections[HR_PACKED_ROWS].offset);
    exact[0] += 1000;
    h->sections[HR_PACKED_ROWS].xxh3 = XXH3_64bits(exact, bytes);
    h->xxh3 = XXH3_64bits(file, 504);
    scratch_write("q", file, size);
    free(file);
    data_refused("q", NULL, HR_E_FORMAT, "before it was rounded");
}

/* Change bytes of the header, and make its digest right again. */
static void spoil(size_t at, uint64_t value, size_t bytes)
{
    size_t size;
    unsigned char *file = scratch_read("p", &size);
    memcpy(file + at, &value, bytes);
    const uint64_t digest = XXH3_64bits(file, 504);
    memcpy(file + 504, &digest, sizeof digest);
    scratch_write("q", file, size);
    free(file);
}

static void pack_sparse(void)
{
    struct hr_dataset source;
    data_text("svm", "1 2:3\n0 1:1 7:2\n1\n0 7:1\n");
    CHECK_OK(hr_dataset_open(scratch("svm"), &source));
    CHECK_OK(hr_packed_write(scratch("p"), &source));
    hr_dataset_close(&source);
}

static void every_field_is_checked(void **state)
{
    (void)state;
    pack_sparse();
    const size_t sections = offsetof(struct hr_packed_header, sections);
    const struct {
        size_t at;
        uint64_t value;
        size_t bytes;
        const char *text;
    } cases[] = {
        {8, 3, 4, "has version 3, expected 1 or 2"},
        {8, 2, 4, "has 0 targets, expected 1 to 1024"},
        {52, 1, 4, "bytes 52 to 55 are not 0"},
        {304, 1, 1, "bytes 304 to 503 are not 0"},
        {496, 1ull << 63, 8, "bytes 304 to 503 are not 0"},
        {12, 3, 4, "features are of type 3"},
        {48, 0x7f800000, 4, "scale inf"},
        {16, 0, 8, "samples of 0x1x1, expected 1 to 2^31 - 1 features"},
        {16, UINT64_MAX, 8, "expected 1 to 2^31 - 1 features"},
        {16, 3, 8, "has column 6, expected ascending ones below 3"},
        {40, 0, 8, "has 0 classes, expected 1 to"},
        {40, 1, 8, "is 1, expected less than 1"},
        {40, (1 << 24) + 1, 8, "classes, expected 1 to"},
        {72, 0, 8, "has 0 samples"},
        {80, (uint64_t)1 << 40, 8, "samples, expected 1 to"},
        {80, 2, 8, "section 5 has 16 bytes, expected 24"},
        {sections, 513, 8, "section 0 is bytes 513"},
        {sections + 8, UINT64_MAX, 8, "section 0 is bytes"},
        {sections + 24 * 3 + 8, 4, 8, "section 3 has 4 bytes, expected 12"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spoil(cases[i].at, cases[i].value, cases[i].bytes);
        data_refused("q", NULL, HR_E_FORMAT, cases[i].text);
    }
    struct hr_data_options options = data_options();
    strcpy(options.test_data, "x");
    data_refused("p", &options, HR_E_USAGE, "--test FILE: is not supported for packed data");
}

/* Cut, or with one bit flipped, at every third byte but in the zeros between sections. */
static void no_byte_can_be_changed_unnoticed(void **state)
{
    (void)state;
    pack_sparse();
    size_t size;
    unsigned char *file = scratch_read("p", &size);
    struct hr_packed_header header;
    memcpy(&header, file, sizeof header);
    for (size_t at = 8; at < size; at += 3) {
        scratch_write("q", file, at);
        data_refused("q", NULL, HR_E_FORMAT, "q: ");
        bool used = at < sizeof header;
        for (size_t i = 0; i < HR_PACKED_SECTIONS; i++)
            used = used || at - header.sections[i].offset < header.sections[i].bytes;
        file[at] ^= 1;
        scratch_write("q", file, size);
        if (used)
            CHECK_FAILS(hr_packed_verify(scratch("q")), HR_E_FORMAT);
        if (used)
            data_refused("q", NULL, HR_E_FORMAT, "q: "); /* nor be trained on */
        file[at] ^= 1;
    }
    free(file);
}

static void a_file_is_replaced_whole_or_not_at_all(void **state)
{
    (void)state;
    pack_sparse();
    pack_sparse();
    struct hr_dataset digits;
    CHECK_OK(hr_dataset_open("digits", &digits));
    CHECK_FAILS(hr_packed_write(scratch("nowhere/p"), &digits), HR_E_IO);
    hr_dataset_close(&digits);
    assert_int_equal(scratch_entries(""), 2);
    CHECK_FAILS(hr_packed_verify(scratch("svm")), HR_E_FORMAT);
}

/* A FIFO stands for /dev/null, over which a root's rename would go. */
static void only_regular_files_are_replaced_and_links_followed(void **state)
{
    (void)state;
    struct stat there;
    struct hr_dataset digits;
    CHECK_OK(hr_dataset_open("digits", &digits));
    assert_int_equal(mkfifo(scratch("fifo"), 0600), 0);
    CHECK_FAILS(hr_packed_write(scratch("fifo"), &digits), HR_E_IO);
    assert_int_equal(lstat(scratch("fifo"), &there), 0);
    assert_true(S_ISFIFO(there.st_mode));
    CHECK_OK(hr_packed_write(scratch("p"), &digits));
    assert_int_equal(symlink("p", scratch("link")), 0);
    CHECK_OK(hr_packed_write(scratch("link"), &digits));
    assert_int_equal(lstat(scratch("link"), &there), 0);
    assert_true(S_ISLNK(there.st_mode));
    hr_dataset_close(&digits);
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(what_comes_out_is_what_went_in),
        IN_SCRATCH(what_floats_lose_is_packed),
        IN_SCRATCH(every_field_is_checked),
        IN_SCRATCH(no_byte_can_be_changed_unnoticed),
        IN_SCRATCH(a_file_is_replaced_whole_or_not_at_all),
        IN_SCRATCH(only_regular_files_are_replaced_and_links_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

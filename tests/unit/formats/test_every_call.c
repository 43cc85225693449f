/* Each format is read while each call for memory or on files fails in turn; what is read then is
 * the whole data, to the digest, or nothing. */
#include <stdio.h>
#include <sys/stat.h>

#include "data/look.h"
#include "formats/packed.h"
#include "support/data_files.h"
#include "support/every_call.h"
#include "support/idx_files.h"

static char folder[512]; /* of the format, or its file */
static const char *made; /* its name in the scratch folder */
static char digest[33];  /* of its data; "": not known yet */

static enum hr_status read_data(const char *name)
{
    struct hr_dataset dataset;
    char found[33];
    HR_TRY(hr_dataset_open(name, &dataset));
    memcpy(found, dataset.digest, sizeof found);
    hr_dataset_close(&dataset);
    if (!digest[0])
        memcpy(digest, found, sizeof digest);
    assert_string_equal(found, digest);
    return HR_OK;
}

static enum hr_status read_folder(void)
{
    return read_data(folder);
}

static enum hr_status read_digits(void)
{
    return read_data("digits");
}

static enum hr_status look(const struct hr_dataset *dataset)
{
    struct hr_label_look labels;
    struct hr_scale_look scales;
    size_t untaught, example;
    HR_TRY(hr_look_at_labels(dataset, &labels));
    HR_TRY(hr_look_at_splits(dataset, &untaught, &example));
    HR_TRY(hr_look_at_scales(dataset, &scales));
    assert_int_equal(labels.distinct, 2);
    assert_int_equal(untaught, 0);
    assert_true(dataset->features == HR_FEATURES_SPARSE || scales.large == 1);
    return HR_OK;
}

/* With files of their own for tests and validation, and a list of classes. */
static enum hr_status read_and_look(void)
{
    struct hr_dataset dataset;
    struct hr_data_options options = data_options();
    char found[33];
    snprintf(options.test_data, sizeof options.test_data, "%s", scratch("test"));
    snprintf(options.validation_data, sizeof options.validation_data, "%s", scratch("validation"));
    snprintf(options.classes, sizeof options.classes, "1,2,3");
    HR_TRY(hr_dataset_open_with(folder, &options, &dataset));
    memcpy(found, dataset.digest, sizeof found);
    const enum hr_status status = look(&dataset);
    hr_dataset_close(&dataset);
    HR_TRY(status);
    if (!digest[0])
        memcpy(digest, found, sizeof digest);
    assert_string_equal(found, digest);
    return HR_OK;
}

static enum hr_status pack_and_verify(void)
{
    struct hr_dataset dataset;
    char path[600];
    snprintf(path, sizeof path, "%s.packed", folder);
    HR_TRY(hr_dataset_open(folder, &dataset));
    const enum hr_status status = hr_packed_write(path, &dataset);
    hr_dataset_close(&dataset);
    HR_TRY(status);
    return hr_packed_verify(path);
}

/* --- the files --- */

static void write_npy(const char *name, const char *header, const void *data, size_t bytes)
{
    unsigned char file[512] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    const size_t length = strlen(header);
    file[8] = (unsigned char)length;
    memcpy(file + 10, header, length);
    memcpy(file + 10 + length, data, bytes);
    scratch_write(name, file, 10 + length + bytes);
}

#define NPY(descr, shape) "{'descr': '" descr "', 'fortran_order': False, 'shape': " shape ", }\n"

static void npy(void)
{
    write_npy("X_train.npy", NPY("<f4", "(3, 2)"), (float[]){1, 2, 3, 4, 5, 6}, 24);
    write_npy("y_train.npy", NPY("<i8", "(3,)"), (int64_t[]){5, -1, 5}, 24);
    write_npy("X_test.npy", NPY("<f8", "(2, 2)"), (double[]){7, 8, 9, 10}, 32);
    write_npy("y_test.npy", NPY("|u1", "(2,)"), (uint8_t[]){5, 5}, 2);
}

static void npy_of_bytes(void)
{
    write_npy("X_train.npy", NPY("|u1", "(5, 2)"), (uint8_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 0}, 10);
    write_npy("y_train.npy", NPY("<u2", "(5,)"), (uint16_t[]){5, 7, 5, 7, 5}, 10);
}

static void put_idx(const char *name, size_t ndim, bool gzip)
{
    const uint32_t dims[] = {10, 4, 4};
    struct blob blob = blob_idx(8, ndim, dims, ndim == 1 ? 10 : 160);
    if (gzip) {
        const struct blob packed = blob_gzip(blob.data, blob.size);
        free(blob.data);
        blob = packed;
    }
    scratch_write(name, blob.data, blob.size);
    free(blob.data);
}

static void idx(void)
{
    put_idx("train-images-idx3-ubyte.gz", 3, true);
    put_idx("train-labels-idx1-ubyte", 1, false);
    put_idx("t10k-images-idx3-ubyte", 3, false);
    put_idx("t10k-labels-idx1-ubyte.gz", 1, true);
}

static void cifar(void)
{
    static uint8_t file[2 * 3073];
    char name[32];
    for (int i = 1; i <= 6; i++) {
        snprintf(name, sizeof name, i < 6 ? "data_batch_%d.bin" : "test_batch.bin", i);
        file[0] = (uint8_t)i;
        file[1] = (uint8_t)(10 * i);
        scratch_write(name, file, sizeof file);
    }
}

static void cifar_100(void)
{
    static uint8_t file[2 * 3074];
    file[1] = 99;
    scratch_write("train.bin", file, sizeof file);
    scratch_write("test.bin", file, sizeof file);
}

static void three_csv(void)
{
    data_text(made, "a,b,y\n1,2,1\n3,4,2\n5,6,1\n");
    data_text("test", "a,c,y\n7,8,1\n");
    data_text("validation", "a,b,y\n9,0,2\n");
}

static void three_libsvm(void)
{
    data_text(made, "1 2:3\n2 1:1 7:2\n");
    data_text("test", "1 3:3\n");
    data_text("validation", "2 7:1\n");
}

/* Longer than what is taken at first. */
static void packed_csv(void)
{
    static char text[40000] = "a,y\n";
    for (size_t i = 0; strlen(text) < sizeof text - 40; i++)
        sprintf(strchr(text, '\0'), "%zu,%zu\n%zu,%zu\n", i * i, i % 3, 7 * i, i % 3);
    struct blob blob = blob_gzip((const uint8_t *)text, strlen(text));
    scratch_write(made, blob.data, blob.size);
    free(blob.data);
}

static void csv(void)
{
    data_text(made, "a,b,y\n1,2,cat\n3,4,dog\n5,6,cat\n7,8,cat\n9,0,dog\n");
}

static void libsvm(void)
{
    data_text(made, "1 2:3\n0 1:1 7:2\n1\n0 7:1\n1 3:3 # note\n");
}

static void packed(void)
{
    data_text("source.csv", "a,y\n1,2\n3,4\n5,2\n7,4\n8,4\n");
    struct hr_dataset source = data_open("source.csv", NULL);
    CHECK_OK(hr_packed_write(folder, &source));
    hr_dataset_close(&source);
}

/* Two classes of two pictures, of the fuzzers'. */
static void images(void)
{
    static const char *const names[] = {"a/1.png", "a/2.jpg", "b/1.png", "b/2.jpg"};
    uint8_t bytes[1024];
    assert_int_equal(mkdir(scratch("a"), 0755) | mkdir(scratch("b"), 0755), 0);
    for (size_t i = 0; i < 4; i++) {
        FILE *file = fopen(
            i % 2 ? "tests/fuzz/corpus/image/grey.jpg" : "tests/fuzz/corpus/image/large.png", "rb");
        assert_non_null(file);
        const size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        scratch_write(names[i], bytes + 1, size - 1); /* the first is the fuzzer's choice */
    }
}

/* --- */

static const struct format {
    struct task task;
    void (*make)(void);
    const char *file; /* "": a folder */
} formats[] = {
    {{"digits", read_digits, NULL}, NULL, ""},
    {{"npy", read_folder, NULL}, npy, ""},
    {{"idx", read_folder, NULL}, idx, ""},
    {{"cifar", read_folder, NULL}, cifar, ""},
    {{"csv", read_folder, NULL}, csv, "t.csv"},
    {{"libsvm", read_folder, NULL}, libsvm, "t.svm"},
    {{"npy of bytes", read_folder, NULL}, npy_of_bytes, ""},
    {{"cifar-100", read_folder, NULL}, cifar_100, ""},
    {{"three csv", read_and_look, NULL}, three_csv, "t.csv"},
    {{"three libsvm", read_and_look, NULL}, three_libsvm, "t.svm"},
    {{"csv.gz", read_folder, NULL}, packed_csv, "t.csv.gz"},
    {{"packed", read_folder, NULL}, packed, "t"},
    {{"images", read_folder, NULL}, images, ""},
    {{"pack", pack_and_verify, NULL}, csv, "t.csv"},
};

enum { FORMATS = sizeof formats / sizeof *formats };

static size_t for_each_format(size_t (*what)(const struct task *task))
{
    size_t calls = 0;
    for (size_t i = 0; i < FORMATS; i++) {
        assert_int_equal(scratch_setup(NULL), 0);
        snprintf(folder, sizeof folder, "%s", scratch(formats[i].file));
        made = formats[i].file;
        digest[0] = 0;
        if (formats[i].make)
            formats[i].make();
        calls += what(&formats[i].task);
        assert_int_equal(scratch_teardown(NULL), 0);
    }
    return calls;
}

static size_t fail_memory(const struct task *task)
{
    return fail_every_call(task, OF_MEMORY, ENOMEM, 1);
}

static size_t fail_files(const struct task *task)
{
    return fail_every_call(task, OF_FILES, EIO, 1);
}

static size_t in_pieces(const struct task *task)
{
    do_in_pieces(task);
    return 0;
}

static void without_memory_a_status_says_so(void **state)
{
    (void)state;
    print_message("%zu allocations have failed\n", for_each_format(fail_memory));
}

static void a_failed_call_on_a_file_is_said(void **state)
{
    (void)state;
    print_message("%zu calls on files have failed\n", for_each_format(fail_files));
}

static void pieces_and_interruptions_change_nothing(void **state)
{
    (void)state;
    for_each_format(in_pieces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory_a_status_says_so),
        cmocka_unit_test(a_failed_call_on_a_file_is_said),
        cmocka_unit_test(pieces_and_interruptions_change_nothing),
    };
    scratch_in_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

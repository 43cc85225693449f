/* Each format is read while each call for memory or on files fails in turn; what is read then is
 * the whole data, to the digest, or nothing. */
#include <stdio.h>

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

/* --- */

static const struct format {
    struct task task;
    void (*make)(void);
    const char *file; /* "": a folder */
} formats[] = {
    {{"digits", read_digits, NULL}, NULL, ""},    {{"npy", read_folder, NULL}, npy, ""},
    {{"idx", read_folder, NULL}, idx, ""},        {{"cifar", read_folder, NULL}, cifar, ""},
    {{"csv", read_folder, NULL}, csv, "t.csv"},   {{"libsvm", read_folder, NULL}, libsvm, "t.svm"},
    {{"packed", read_folder, NULL}, packed, "t"}, {{"pack", pack_and_verify, NULL}, csv, "t.csv"},
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

/* npy folders and CIFAR folders: every accepted layout, and each way of being wrong. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/data_files.h"

static void npy(const char *name, const char *header, const void *data, size_t bytes)
{
    unsigned char file[4096] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    const size_t length = strlen(header);
    file[8] = (unsigned char)length;
    memcpy(file + 10, header, length);
    memcpy(file + 10 + length, data, bytes);
    scratch_write(name, file, 10 + length + bytes);
}

#define HEADER(descr, shape)                                                                       \
    "{'descr': '" descr "', 'fortran_order': False, 'shape': " shape ", }\n"

/* Three and two samples of two features. */
static void write_folder(void)
{
    npy("X_train.npy", HEADER("<f4", "(3, 2)"), (float[]){1, 2, 3, 4, 5, 6}, 24);
    npy("y_train.npy", HEADER("<i8", "(3,)"), (int64_t[]){5, -1, 5}, 24);
    npy("X_test.npy", HEADER("<f8", "(2, 2)"), (double[]){7, 8, 9, 10}, 32);
    npy("y_test.npy", HEADER("|u1", "(2,)"), (uint8_t[]){5, 7}, 2);
}

static void types_are_converted_and_labels_shared(void **state)
{
    (void)state;
    write_folder();
    struct hr_data_options options = data_options();
    data_refused("", NULL, HR_E_FORMAT, "only test samples have the label \"7\"");
    strcpy(options.classes, "-1,5,7");
    struct hr_dataset d = data_open("", &options);
    assert_string_equal(d.format, "npy");
    assert_int_equal(d.classes, 3);
    assert_string_equal(d.class_names[0], "-1");
    data_sample(&d, &d.train, 1, (float[]){3, 4}, 0);
    data_sample(&d, &d.test, 1, (float[]){9, 10}, 2);
    hr_dataset_close(&d);
    npy("X_train.npy", HEADER(">i2", "(3, 2)"), "\0\1\xff\xff\1\0\0\0\0\0\0\0", 12);
    npy("y_train.npy", "{\"shape\":(3,),'fortran_order':False, 'descr':'<f4'}", (float[]){0, 1, 0},
        12);
    npy("y_test.npy", HEADER("|u1", "(2,)"), (uint8_t[]){1, 0}, 2);
    d = data_open("", NULL);
    data_sample(&d, &d.train, 0, (float[]){1, -1}, 0);
    data_sample(&d, &d.train, 1, (float[]){256, 0}, 1);
    hr_dataset_close(&d);
}

static void images_of_bytes_stay_bytes(void **state)
{
    (void)state;
    write_folder();
    npy("X_train.npy", HEADER("|u1", "(3, 1, 2, 2)"), "\0\1\2\3\4\5\6\7\xff\t\n\v", 12);
    unlink(scratch("X_test.npy"));
    data_refused("", NULL, HR_E_IO, "X_test.npy: cannot be opened");
    unlink(scratch("y_test.npy"));
    struct hr_dataset d = data_open("", NULL);
    assert_int_equal(d.features, HR_FEATURES_BYTES);
    assert_int_equal(d.shape.height, 2);
    assert_int_equal(d.train.count, 2);
    assert_int_equal(d.test.count, 1);
    assert_true(d.scale == 1.0f / 255.0f);
    hr_dataset_close(&d);
}

static void texts_are_labels_and_columns_have_names(void **state)
{
    (void)state;
    write_folder();
    npy("y_train.npy", HEADER("<U3", "(3,)"), U"dogca\u1e9edog", 36);
    npy("y_test.npy", HEADER("|S3", "(2,)"), "dogdog", 6);
    data_text("feature_names.txt", "height\nage, years\n");
    struct hr_dataset d = data_open("", NULL);
    assert_int_equal(d.classes, 2);
    assert_string_equal(d.class_names[0], "ca\u1e9e");
    assert_string_equal(d.class_names[1], "dog");
    data_sample(&d, &d.train, 1, (float[]){3, 4}, 0);
    data_sample(&d, &d.test, 1, (float[]){9, 10}, 1);
    assert_string_equal(d.feature_names[1], "age, years");
    hr_dataset_close(&d);
    data_text("feature_names.txt", "height\nage");
    data_refused("", NULL, HR_E_FORMAT, "has 1 lines, expected a name for each of 2 columns");
    unlink(scratch("feature_names.txt"));
    npy("y_train.npy", HEADER(">U1", "(3,)"), "\0\0\0a\0\0\0\0\0\0\0a", 12);
    data_refused("", NULL, HR_E_FORMAT, "label 1 has 0 bytes, expected 1 to 255");
    npy("y_train.npy", HEADER("<U1", "(3,)"), (uint32_t[]){'a', 0xd800, 'a'}, 12);
    data_refused("", NULL, HR_E_FORMAT, "label 1 has a letter 0xd800, expected text");
    npy("y_train.npy", HEADER("|S3", "(3,)"), "dogd\0gdog", 9);
    data_refused("", NULL, HR_E_FORMAT, "label 1 has a letter 0, expected text");
    npy("y_train.npy", HEADER("<U5000", "(3,)"), "", 0);
    data_refused("", NULL, HR_E_FORMAT, "texts of type <U5000, expected 1 to 4096 letters each");
    struct hr_data_options options = data_options();
    options.values = 1;
    npy("y_train.npy", HEADER("|S1", "(3,)"), "abc", 3);
    data_refused("", &options, HR_E_FORMAT, "holds texts, expected numbers for targets");
    npy("X_train.npy", HEADER("|S1", "(3, 2)"), "abcdef", 6);
    data_refused("", NULL, HR_E_FORMAT, "holds texts, expected numbers for features");
}

static void refuses(const char *file, const char *header, const void *data, size_t bytes,
                    const char *message)
{
    write_folder();
    npy(file, header, data, bytes);
    data_refused("", NULL, HR_E_FORMAT, message);
}

static void wrong_arrays_are_refused(void **state)
{
    (void)state;
    const float bad[] = {1, 2, 3, 4, 5, __builtin_nanf("")};
    refuses("X_train.npy", HEADER("<f4", "(3, 2)"), bad, 24, "row 2, column 1 is nan, counted");
    refuses("X_train.npy", HEADER("<f4", "(3, 2)"), bad, 23, "holds 23 bytes after the header");
    refuses("X_train.npy", HEADER("<f4", "(4611686018427387904, 9)"), bad, 24, "too large");
    refuses("X_train.npy", HEADER("|O", "(3, 2)"), bad, 24, "elements of type |O, expected u1");
    refuses("X_train.npy", HEADER("<c8", "(3, 1)"), bad, 24, "elements of type <c8");
    refuses("X_train.npy", HEADER("<f4", "(6,)"), bad, 24, "has 1 dimensions, expected 2 to 4");
    refuses("X_train.npy", HEADER("<f4", "(0, 2)"), bad, 0, "has no elements");
    refuses("X_train.npy", "{'descr': '<f4', 'shape': (3, 2)}", bad, 24, "expected {'descr'");
    refuses("X_train.npy", "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2)}", bad, 24,
            "is in Fortran order, expected C order");
    refuses("y_train.npy", HEADER("<f4", "(3,)"), (float[]){0, INFINITY, 1}, 12,
            "label 1 is inf, expected a number");
    refuses("y_train.npy", HEADER("|u1", "(2,)"), "\0\1", 2, "2 labels, expected 1 dimension, 3");
    refuses("X_test.npy", HEADER("|b1", "(2, 3)"), "\1\1\0\0\1\1", 6,
            "train samples are 2x1x1, test samples");
    write_folder();
    data_text("X_train.npy", "numpy or what");
    data_refused("", NULL, HR_E_FORMAT, "does not begin as an npy file does");
    write_folder();
    scratch_write("X_train.npy", "\x93NUMPY\4\0\1\0{", 11);
    data_refused("", NULL, HR_E_FORMAT, "has version 4, expected 1 to 3");
    scratch_write("X_train.npy", "\x93NUMPY\1\0\xff\xff{", 11);
    data_refused("", NULL, HR_E_FORMAT, "its header has 65535 bytes, expected at most");
    write_folder();
    struct hr_data_options options = data_options();
    options.header[0] = 'y', options.header[1] = 'e', options.header[2] = 's';
    options.header[3] = 0;
    data_refused("", &options, HR_E_USAGE, "--header: is not supported for npy data");
}

/* --- CIFAR */

/* `count` records; the pixels of record i are 7 i, 7 i + 1, ... */
static void cifar(const char *name, size_t labels, size_t count, uint8_t first_label)
{
    const size_t record = labels + 3072;
    uint8_t *file = calloc(count, record);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < labels; k++)
            file[i * record + k] = (uint8_t)(first_label + i);
        for (size_t k = 0; k < 3072; k++)
            file[i * record + labels + k] = (uint8_t)(7 * i + k);
    }
    scratch_write(name, file, count * record);
    free(file);
}

static void write_cifar_10(void)
{
    char name[32];
    for (int i = 1; i <= 5; i++) {
        snprintf(name, sizeof name, "data_batch_%d.bin", i);
        cifar(name, 1, 2, (uint8_t)i);
    }
    cifar("test_batch.bin", 1, 1, 9);
}

static void cifar_10_is_read_in_order(void **state)
{
    (void)state;
    write_cifar_10();
    struct hr_dataset d = data_open("", NULL);
    assert_memory_equal(&d.shape, (&(struct hr_shape){3, 32, 32}), sizeof d.shape);
    assert_int_equal(d.classes, 10);
    assert_int_equal(d.train.count, 10);
    static const uint32_t labels[] = {1, 2, 2, 3, 3, 4, 4, 5, 5, 6};
    assert_memory_equal(d.train.labels, labels, sizeof labels);
    assert_int_equal(d.train.pixels[3072 + 5], 12);
    assert_int_equal(d.test.labels[0], 9);
    assert_true(d.scale == 1.0f / 255.0f);
    hr_dataset_close(&d);
    cifar("data_batch_3.bin", 1, 2, 9);
    data_refused("", NULL, HR_E_FORMAT, "data_batch_3.bin: record 1 has label 10, expected 0 to 9");
    data_text("data_batch_3.bin", "short");
    data_refused("", NULL, HR_E_FORMAT, "has 5 bytes, expected a multiple of 3073 (cifar-10)");
    unlink(scratch("data_batch_3.bin"));
    data_refused("", NULL, HR_E_IO, "data_batch_3.bin: cannot be opened");
}

static void cifar_100_takes_the_fine_label(void **state)
{
    (void)state;
    cifar("train.bin", 2, 3, 97);
    cifar("test.bin", 2, 1, 0);
    uint8_t coarse = 19;
    size_t bytes;
    unsigned char *file = scratch_read("train.bin", &bytes);
    file[0] = coarse;
    scratch_write("train.bin", file, bytes);
    free(file);
    struct hr_dataset d = data_open("", NULL);
    assert_int_equal(d.classes, 100);
    assert_int_equal(d.train.labels[0], 97);
    assert_int_equal(d.train.labels[2], 99);
    hr_dataset_close(&d);
    cifar("train.bin", 2, 4, 97);
    data_refused("", NULL, HR_E_FORMAT, "record 3 has label 100, expected 0 to 99 (cifar-100)");
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(types_are_converted_and_labels_shared),
        IN_SCRATCH(texts_are_labels_and_columns_have_names),
        IN_SCRATCH(images_of_bytes_stay_bytes),
        IN_SCRATCH(wrong_arrays_are_refused),
        IN_SCRATCH(cifar_10_is_read_in_order),
        IN_SCRATCH(cifar_100_takes_the_fine_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

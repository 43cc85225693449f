/* Data sets: the named ones are what they should be, and folders are checked as a whole. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/philox.h"
#include "hogring/data.h"
#include "support/check.h"
#include "support/idx_files.h"

enum { U8 = 0x08 };
#define FASHION_FOLDER "/usr/share/datasets/fashion-mnist"

static void write_idx(const char *folder, const char *name, size_t ndim, const uint32_t *dims)
{
    size_t bytes = 1;
    for (size_t i = 0; i < ndim; i++)
        bytes *= dims[i];
    const struct blob blob = blob_idx(U8, ndim, dims, bytes);
    write_file(path_in(folder, name), blob.data, blob.size);
    free(blob.data);
}

/* A folder that is right: 5 and 2 images of 3x4. Tests then spoil one file. */
static void write_folder(const char *folder)
{
    write_idx(folder, "train-images-idx3-ubyte", 3, (uint32_t[]){5, 3, 4});
    write_idx(folder, "train-labels-idx1-ubyte", 1, (uint32_t[]){5});
    write_idx(folder, "t10k-images-idx3-ubyte", 3, (uint32_t[]){2, 3, 4});
    write_idx(folder, "t10k-labels-idx1-ubyte", 1, (uint32_t[]){2});
}

static void refuses(const char *name, enum hr_status status, const char *text)
{
    struct hr_dataset dataset, untouched;
    memset(&dataset, 0x5a, sizeof dataset);
    untouched = dataset;
    CHECK_FAILS(hr_dataset_open(name, &dataset), status);
    CHECK_MESSAGE(text);
    assert_null(strchr(hr_error_message(), '\n'));
    assert_memory_equal(&dataset, &untouched, sizeof dataset);
}

static void check_histogram(const struct hr_split *split, const size_t *want)
{
    size_t found[10] = {0};
    for (size_t i = 0; i < split->count; i++)
        found[split->labels[i]]++;
    assert_memory_equal(found, want, sizeof found);
}

static void digits_are_what_they_were(void **state)
{
    (void)state;
    static const uint8_t first_train[] = {0, 0, 5, 13, 9, 1, 0, 0, 0, 0, 13, 15, 10, 15, 5, 0};
    static const uint8_t first_test[] = {0, 0, 0, 1, 11, 0, 0, 0, 0, 0, 0, 7, 8, 0, 0, 0};
    static const uint32_t train_labels[] = {0, 1, 2, 3, 5, 6, 7, 8, 0, 1};
    static const size_t train[] = {151, 161, 143, 131, 147, 154, 150, 136, 127, 138};
    static const size_t test[] = {27, 21, 34, 52, 34, 28, 31, 43, 47, 42};
    struct hr_dataset digits;
    CHECK_OK(hr_dataset_open("digits", &digits));
    assert_string_equal(digits.name, "digits");
    assert_memory_equal(&digits.shape, (&(struct hr_shape){1, 8, 8}), sizeof digits.shape);
    assert_int_equal(digits.classes, 10);
    assert_true(digits.scale == 1.0f / 16.0f);
    assert_int_equal(digits.train.count, 1438);
    assert_int_equal(digits.test.count, 359);
    check_histogram(&digits.train, train);
    check_histogram(&digits.test, test);
    assert_memory_equal(digits.train.pixels, first_train, sizeof first_train);
    assert_memory_equal(digits.test.pixels, first_test, sizeof first_test);
    assert_memory_equal(digits.train.labels, train_labels, sizeof train_labels);
    for (size_t i = 0; i < 1438 * 64; i++)
        assert_in_range(digits.train.pixels[i], 0, 16);
    assert_string_equal(digits.digest, "361ae4d055849626ae63bc728ecbd658");
    hr_dataset_close(&digits);
}

static void closing_twice_or_nothing_is_harmless(void **state)
{
    (void)state;
    struct hr_dataset dataset = {0};
    hr_dataset_close(&dataset);
    CHECK_OK(hr_dataset_open("digits", &dataset));
    hr_dataset_close(&dataset);
    hr_dataset_close(&dataset);
    assert_null(dataset.train.pixels);
}

static void fashion_mnist_is_what_debian_ships(void **state)
{
    (void)state;
    if (access(FASHION_FOLDER, F_OK)) {
        SKIP("dataset-fashion-mnist is not installed");
    }
    static const uint32_t labels[] = {9, 0, 0, 3, 0}, test_labels[] = {9, 2, 1, 1, 6};
    struct hr_dataset fashion;
    unsetenv("FASHION_MNIST");
    CHECK_OK(hr_dataset_open("fashion-mnist", &fashion));
    assert_memory_equal(&fashion.shape, (&(struct hr_shape){1, 28, 28}), sizeof fashion.shape);
    assert_int_equal(fashion.classes, 10);
    assert_true(fashion.scale == 1.0f / 255.0f);
    assert_int_equal(fashion.train.count, 60000);
    assert_int_equal(fashion.test.count, 10000);
    assert_memory_equal(fashion.train.labels, labels, sizeof labels);
    assert_memory_equal(fashion.test.labels, test_labels, sizeof test_labels);
    check_histogram(&fashion.train,
                    (size_t[]){6000, 6000, 6000, 6000, 6000, 6000, 6000, 6000, 6000, 6000});
    assert_string_equal(fashion.digest, "fc649a750ebc34faf5ce0fc92566bc0d");
    hr_dataset_close(&fashion);
}

static void the_environment_says_where_fashion_mnist_is(void **state)
{
    write_folder(*state);
    setenv("FASHION_MNIST", *state, 1);
    struct hr_dataset dataset;
    CHECK_OK(hr_dataset_open("fashion-mnist", &dataset));
    assert_string_equal(dataset.name, "fashion-mnist");
    assert_int_equal(dataset.train.count, 5);
    hr_dataset_close(&dataset);
    setenv("FASHION_MNIST", path_in(*state, "absent"), 1);
    refuses("fashion-mnist", HR_E_IO, "`apt install dataset-fashion-mnist` or use `--data digits`");
    char longest[4200] = {0};
    memset(longest, 'x', sizeof longest - 1);
    setenv("FASHION_MNIST", longest, 1);
    refuses("fashion-mnist", HR_E_IO, "the path of a data folder has 4199 bytes");
    unsetenv("FASHION_MNIST");
}

static void a_folder_is_read_in_all_spellings(void **state)
{
    static const char *const spellings[] = {"%s-idx%d-ubyte", "%s.idx%d-ubyte", "%s-idx%d-ubyte.gz",
                                            "%s.idx%d-ubyte.gz"};
    struct hr_dataset dataset;
    char digest[33] = "";
    for (size_t i = 0; i < 4; i++) {
        char folder[300], name[64];
        snprintf(folder, sizeof folder, "%s/%zu", (char *)*state, i);
        assert_int_equal(mkdir(folder, 0700), 0);
        write_folder(folder);
        static const char *const stems[] = {"train-images", "t10k-images", "train-labels",
                                            "t10k-labels"};
        for (int k = 0; k < 4 && i; k++) {
            char plain[64];
            snprintf(plain, sizeof plain, spellings[0], stems[k], k < 2 ? 3 : 1);
            snprintf(name, sizeof name, spellings[i], stems[k], k < 2 ? 3 : 1);
            assert_int_equal(rename(path_in(folder, plain), path_in(folder, name)), 0);
        }
        CHECK_OK(hr_dataset_open(folder, &dataset));
        assert_string_equal(dataset.name, folder);
        assert_int_equal(dataset.classes, 5);
        assert_true(dataset.scale == 1.0f / 255.0f);
        assert_true(!i || !strcmp(digest, dataset.digest));
        memcpy(digest, dataset.digest, sizeof digest);
        hr_dataset_close(&dataset);
    }
}

static void a_name_that_is_nothing_says_what_there_is(void **state)
{
    refuses("mnist-of-nowhere", HR_E_IO,
            "no data set \"mnist-of-nowhere\": expected digits, fashion-mnist, or a file or");
    refuses("", HR_E_IO, "expected digits, fashion-mnist, or a file or");
    refuses(path_in(*state, "absent"), HR_E_IO, "absent\": expected digits");
    write_file(path_in(*state, "plain"), "x", 1);
    refuses(path_in(*state, "plain"), HR_E_FORMAT, "plain: line 1: one column, expected at least");
    write_file(path_in(*state, "plain"), "\0x", 2);
    refuses(path_in(*state, "plain"), HR_E_FORMAT, "plain: is no data that is known here");
    refuses(path_in(*state, "plain/deeper"), HR_E_IO, "cannot be reached: Not a directory");
    char longest[1025] = {0};
    memset(longest, 'x', 1024);
    refuses(longest, HR_E_USAGE, "has 1024 bytes, expected at most 1023");
}

static void each_missing_file_is_named(void **state)
{
    static const char *const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                        "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
    for (int i = 0; i < 4; i++) {
        write_folder(*state);
        assert_int_equal(unlink(path_in(*state, names[i])), 0);
        refuses(*state, HR_E_IO, names[i]);
        CHECK_MESSAGE(*state);
    }
}

static void files_that_do_not_belong_together_are_refused(void **state)
{
    write_folder(*state);
    write_idx(*state, "train-labels-idx1-ubyte", 1, (uint32_t[]){6});
    refuses(*state, HR_E_FORMAT, "train has 5 images and 6 labels, expected as many");
    write_folder(*state);
    write_idx(*state, "t10k-images-idx3-ubyte", 3, (uint32_t[]){1, 3, 4});
    refuses(*state, HR_E_FORMAT, "t10k (test) has 1 images and 2 labels, expected as many");
    write_folder(*state);
    write_idx(*state, "t10k-images-idx3-ubyte", 3, (uint32_t[]){2, 2, 4});
    refuses(*state, HR_E_FORMAT, "train images are 3x4, t10k (test) images are 2x4, expected the");
    write_idx(*state, "t10k-images-idx3-ubyte", 3, (uint32_t[]){2, 3, 2});
    refuses(*state, HR_E_FORMAT, "train images are 3x4, t10k (test) images are 3x2, expected the");
    write_folder(*state);
    write_idx(*state, "train-labels-idx1-ubyte", 3, (uint32_t[]){5, 1, 1});
    refuses(*state, HR_E_FORMAT, "train-labels-idx1-ubyte: number of dimensions is 3, expected 1");
}

static void empty_splits_and_images_are_refused(void **state)
{
    write_folder(*state);
    write_idx(*state, "t10k-images-idx3-ubyte", 3, (uint32_t[]){0, 3, 4});
    write_idx(*state, "t10k-labels-idx1-ubyte", 1, (uint32_t[]){0});
    refuses(*state, HR_E_FORMAT, "t10k (test) has 0 images of 3x4, expected at least one pixel");
    write_folder(*state);
    write_idx(*state, "train-images-idx3-ubyte", 3, (uint32_t[]){5, 0, 4});
    refuses(*state, HR_E_FORMAT, "train has 5 images of 0x4, expected at least one pixel");
}

static void classes_are_counted_over_both_splits(void **state)
{
    write_folder(*state);
    write_idx(*state, "t10k-images-idx3-ubyte", 3, (uint32_t[]){9, 3, 4});
    write_idx(*state, "t10k-labels-idx1-ubyte", 1, (uint32_t[]){9});
    struct hr_dataset dataset;
    CHECK_OK(hr_dataset_open(*state, &dataset));
    assert_int_equal(dataset.classes, 9);
    hr_dataset_close(&dataset);
}

static void opened_digest(const char *folder, char digest[33])
{
    struct hr_dataset dataset;
    CHECK_OK(hr_dataset_open(folder, &dataset));
    memcpy(digest, dataset.digest, sizeof dataset.digest);
    hr_dataset_close(&dataset);
}

/* One flipped pixel or label, another shape of the same bytes, a sample moved between splits. */
static void digests_tell_all_content_apart(void **state)
{
    char digests[4][33];
    write_folder(*state);
    opened_digest(*state, digests[0]);
    assert_string_equal(digests[0], "e70211d39a7c76d081a85cf75ac2808d");
    FILE *file = fopen(path_in(*state, "t10k-images-idx3-ubyte"), "r+b");
    assert_true(file && !fseek(file, -1, SEEK_END) && fputc(77, file) == 77 && !fclose(file));
    opened_digest(*state, digests[1]);
    write_folder(*state);
    file = fopen(path_in(*state, "train-labels-idx1-ubyte"), "r+b");
    assert_true(file && !fseek(file, -1, SEEK_END) && fputc(3, file) == 3 && !fclose(file));
    opened_digest(*state, digests[2]);
    write_folder(*state);
    write_idx(*state, "train-images-idx3-ubyte", 3, (uint32_t[]){5, 4, 3});
    write_idx(*state, "t10k-images-idx3-ubyte", 3, (uint32_t[]){2, 4, 3});
    opened_digest(*state, digests[3]);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(digests[i], digests[j]);
}

static void gather_copies_scales_and_labels(void **state)
{
    enum { BATCH = 33, FEATURES = 64 };
    (void)state;
    struct hr_dataset digits;
    CHECK_OK(hr_dataset_open("digits", &digits));
    uint32_t samples[BATCH];
    for (uint32_t i = 0; i < BATCH; i++)
        samples[i] = hr_random_block(check_seed(), HR_STREAM_TEST, 0, i).v[0] % 359;
    samples[1] = samples[0];
    samples[2] = 358;
    float x[BATCH * FEATURES + 1], want[BATCH * FEATURES];
    uint32_t y[BATCH + 1] = {[BATCH] = 0xee};
    x[BATCH * FEATURES] = -7.0f;
    hr_dataset_gather(&digits, &digits.test, samples, BATCH, x, y);
    for (size_t i = 0; i < BATCH * FEATURES; i++)
        want[i] = digits.test.pixels[samples[i / FEATURES] * FEATURES + i % FEATURES] / 16.0f;
    CHECK_SAME_FLOATS(x, want, BATCH * FEATURES);
    for (size_t i = 0; i < BATCH; i++)
        assert_int_equal(y[i], digits.test.labels[samples[i]]);
    assert_true(x[BATCH * FEATURES] == -7.0f && y[BATCH] == 0xee);
    hr_dataset_close(&digits);
}

/* An odd number of features, and bytes of all values. */
static void gather_rounds_once(void **state)
{
    write_folder(*state);
    write_idx(*state, "train-images-idx3-ubyte", 3, (uint32_t[]){5, 17, 23});
    write_idx(*state, "t10k-images-idx3-ubyte", 3, (uint32_t[]){2, 17, 23});
    struct hr_dataset dataset;
    CHECK_OK(hr_dataset_open(*state, &dataset));
    enum { FEATURES = 17 * 23 };
    float x[2 * FEATURES], want[2 * FEATURES];
    uint32_t y[2];
    hr_dataset_gather(&dataset, &dataset.train, (uint32_t[]){4, 1}, 2, x, y);
    for (size_t i = 0; i < FEATURES; i++) {
        want[i] = (float)((4 * FEATURES + i) % 251) * (1.0f / 255.0f);
        want[FEATURES + i] = (float)((FEATURES + i) % 251) * (1.0f / 255.0f);
    }
    CHECK_SAME_FLOATS(x, want, 2 * FEATURES);
    assert_int_equal(y[0], 4);
    assert_int_equal(y[1], 1);
    hr_dataset_gather(&dataset, &dataset.train, NULL, 0, NULL, NULL);
    hr_dataset_close(&dataset);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_are_what_they_were),
        cmocka_unit_test(closing_twice_or_nothing_is_harmless),
        cmocka_unit_test(fashion_mnist_is_what_debian_ships),
        IN_FOLDER(the_environment_says_where_fashion_mnist_is),
        IN_FOLDER(a_folder_is_read_in_all_spellings),
        IN_FOLDER(a_name_that_is_nothing_says_what_there_is),
        IN_FOLDER(each_missing_file_is_named),
        IN_FOLDER(files_that_do_not_belong_together_are_refused),
        IN_FOLDER(empty_splits_and_images_are_refused),
        IN_FOLDER(classes_are_counted_over_both_splits),
        IN_FOLDER(digests_tell_all_content_apart),
        cmocka_unit_test(gather_copies_scales_and_labels),
        IN_FOLDER(gather_rounds_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Opening: find four files, read each, check that they belong together, digest them. */
#include "hogring/data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/error.h"
#include "base/size.h"
#include "data/digits.h"
#include "data/idx.h"

enum { FILES = 4, TRAIN_IMAGES = 0, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS, PATH_BYTES = 512 };

/* What `storage` of a data set points to. */
struct files {
    struct hr_idx idx[FILES];
};

/* As MNIST names them: images have 3 dimensions, labels 1. */
static const struct file_kind {
    const char *stem;
    size_t ndim;
} kinds[FILES] = {{"train-images", 3}, {"train-labels", 1}, {"t10k-images", 3}, {"t10k-labels", 1}};

static void free_files(struct files *files)
{
    for (int i = 0; files && i < FILES; i++)
        hr_idx_free(&files->idx[i]);
    free(files);
}

/* The path of one of the four files under the first of its spellings that is there. */
static enum hr_status find_file(const char *folder, const struct file_kind *kind,
                                char path[PATH_BYTES])
{
    static const char *const spellings[] = {"%s/%s-idx%zu-ubyte", "%s/%s.idx%zu-ubyte",
                                            "%s/%s-idx%zu-ubyte.gz", "%s/%s.idx%zu-ubyte.gz"};
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        if (snprintf(path, PATH_BYTES, spellings[i], folder, kind->stem, kind->ndim) >= PATH_BYTES)
            return hr_fail(HR_E_IO,
                           "the path of a data folder has %zu bytes, expected fewer than %d",
                           strlen(folder), PATH_BYTES - 40);
        if (access(path, F_OK) == 0)
            return HR_OK;
        if (errno != ENOENT)
            return hr_fail_errno(HR_E_IO, "%s: cannot be reached", path);
    }
    return hr_fail(HR_E_IO, "%s: no file %s-idx%zu-ubyte there (nor %s.idx%zu-ubyte, nor .gz)",
                   folder, kind->stem, kind->ndim, kind->stem, kind->ndim);
}

static enum hr_status read_folder(const char *folder, struct files *files)
{
    struct stat info;
    if (stat(folder, &info) == 0 && !S_ISDIR(info.st_mode))
        return hr_fail(HR_E_IO, "%s: is a file, expected the folder of the four MNIST-named files",
                       folder);
    for (int i = 0; i < FILES; i++) {
        char path[PATH_BYTES];
        HR_TRY(find_file(folder, &kinds[i], path));
        HR_TRY(hr_idx_read_file(path, kinds[i].ndim, &files->idx[i]));
    }
    return HR_OK;
}

static enum hr_status read_digits(struct files *files)
{
    static const uint8_t *const blobs[FILES][2] = {
        {hr_digits_train_images, hr_digits_train_images_end},
        {hr_digits_train_labels, hr_digits_train_labels_end},
        {hr_digits_test_images, hr_digits_test_images_end},
        {hr_digits_test_labels, hr_digits_test_labels_end},
    };
    for (int i = 0; i < FILES; i++) {
        const size_t bytes = (size_t)((uintptr_t)blobs[i][1] - (uintptr_t)blobs[i][0]);
        char name[PATH_BYTES];
        snprintf(name, sizeof name, "digits: %s", kinds[i].stem);
        HR_TRY(hr_idx_read_memory(name, blobs[i][0], bytes, kinds[i].ndim, &files->idx[i]));
    }
    return HR_OK;
}

static enum hr_status read_fashion_mnist(struct files *files)
{
    const char *folder = getenv("FASHION_MNIST");
    if (!folder || !*folder)
        folder = "/usr/share/datasets/fashion-mnist";
    const enum hr_status st = read_folder(folder, files);
    if (st != HR_E_IO)
        return st;
    char cause[400];
    snprintf(cause, sizeof cause, "%.399s", hr_error_message());
    return hr_fail(st, "%s; `apt install dataset-fashion-mnist` or use `--data digits`", cause);
}

static enum hr_status read_named(const char *name, struct files *files)
{
    if (!strcmp(name, "digits"))
        return read_digits(files);
    if (!strcmp(name, "fashion-mnist"))
        return read_fashion_mnist(files);
    if (access(name, F_OK) && errno == ENOENT)
        return hr_fail(HR_E_IO,
                       "there is no data set \"%s\": expected digits, fashion-mnist, or a folder "
                       "that exists",
                       name);
    return read_folder(name, files);
}

/* One split's counts agree and are not nothing. */
static enum hr_status check_split(const char *name, const char *split, const struct hr_idx *images,
                                  const struct hr_idx *labels)
{
    if (images->dims[0] != labels->dims[0])
        return hr_fail(HR_E_FORMAT, "%s: %s has %zu images and %zu labels, expected as many", name,
                       split, images->dims[0], labels->dims[0]);
    if (images->bytes == 0)
        return hr_fail(HR_E_FORMAT, "%s: %s has %zu images of %zux%zu, expected at least one pixel",
                       name, split, images->dims[0], images->dims[1], images->dims[2]);
    return HR_OK;
}

static enum hr_status check_files(const char *name, const struct files *files)
{
    const struct hr_idx *train = &files->idx[TRAIN_IMAGES], *test = &files->idx[TEST_IMAGES];
    HR_TRY(check_split(name, "train", train, &files->idx[TRAIN_LABELS]));
    HR_TRY(check_split(name, "t10k (test)", test, &files->idx[TEST_LABELS]));
    if (train->dims[1] != test->dims[1] || train->dims[2] != test->dims[2])
        return hr_fail(HR_E_FORMAT,
                       "%s: train images are %zux%zu, t10k (test) images are %zux%zu, expected the "
                       "same",
                       name, train->dims[1], train->dims[2], test->dims[1], test->dims[2]);
    return HR_OK;
}

static size_t largest_label(const struct hr_split *split)
{
    size_t largest = 0;
    for (size_t i = 0; i < split->count; i++)
        if (split->labels[i] > largest)
            largest = split->labels[i];
    return largest;
}

/* Little-endian, so that a digest means the same on every machine. */
static void digest_size(XXH3_state_t *state, size_t size)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)size >> 8 * i);
    XXH3_128bits_update(state, bytes, sizeof bytes);
}

/* Sizes go first, so that no two data sets feed the same bytes. */
static enum hr_status digest(struct hr_dataset *dataset)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return hr_fail(HR_E_NOMEM, "%s: no memory for a digest", dataset->name);
    XXH3_128bits_reset(state);
    digest_size(state, dataset->shape.channels);
    digest_size(state, dataset->shape.height);
    digest_size(state, dataset->shape.width);
    const struct hr_split *splits[] = {&dataset->train, &dataset->test};
    for (int i = 0; i < 2; i++) {
        digest_size(state, splits[i]->count);
        XXH3_128bits_update(state, splits[i]->pixels,
                            splits[i]->count * hr_shape_elems(dataset->shape));
        XXH3_128bits_update(state, splits[i]->labels, splits[i]->count);
    }
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
    XXH3_freeState(state);
    for (size_t i = 0; i < sizeof canonical.digest; i++)
        snprintf(dataset->digest + 2 * i, 3, "%02x", canonical.digest[i]);
    return HR_OK;
}

static struct hr_dataset describe(const char *name, struct files *files)
{
    const struct hr_idx *idx = files->idx;
    struct hr_dataset dataset = {
        .shape = {1, idx[TRAIN_IMAGES].dims[1], idx[TRAIN_IMAGES].dims[2]},
        .scale = strcmp(name, "digits") ? 1.0f / 255.0f : 1.0f / 16.0f,
        .train = {idx[TRAIN_LABELS].bytes, idx[TRAIN_IMAGES].data, idx[TRAIN_LABELS].data},
        .test = {idx[TEST_LABELS].bytes, idx[TEST_IMAGES].data, idx[TEST_LABELS].data},
        .storage = files,
    };
    snprintf(dataset.name, sizeof dataset.name, "%s", name);
    const size_t train = largest_label(&dataset.train), test = largest_label(&dataset.test);
    dataset.classes = 1 + (train > test ? train : test);
    return dataset;
}

enum hr_status hr_dataset_open(const char *name, struct hr_dataset *out)
{
    if (strlen(name) >= sizeof out->name)
        return hr_fail(HR_E_USAGE, "the name of a data set has %zu bytes, expected at most %zu",
                       strlen(name), sizeof out->name - 1);
    struct files *files = calloc(1, sizeof *files);
    if (!files)
        return hr_fail(HR_E_NOMEM, "%s: no memory", name);
    enum hr_status st;
    HR_TRY_GOTO(read_named(name, files), st, out);
    HR_TRY_GOTO(check_files(name, files), st, out);
    struct hr_dataset dataset = describe(name, files);
    HR_TRY_GOTO(digest(&dataset), st, out);
    *out = dataset;
    return HR_OK;
out:
    free_files(files);
    return st;
}

void hr_dataset_close(struct hr_dataset *dataset)
{
    free_files(dataset->storage);
    *dataset = (struct hr_dataset){0};
}

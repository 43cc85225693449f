/* The four IDX files of a folder, or of the program itself: found, read, checked to belong
 * together. */
#include "formats/idx.h"
#include "formats/image_list.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "formats/formats.h"

/* The four files of data/digits, embedded by digits_blob.S. */
extern const uint8_t hr_digits_train_images[], hr_digits_train_images_end[];
extern const uint8_t hr_digits_train_labels[], hr_digits_train_labels_end[];
extern const uint8_t hr_digits_test_images[], hr_digits_test_images_end[];
extern const uint8_t hr_digits_test_labels[], hr_digits_test_labels_end[];

enum { FILES = 4, TRAIN_IMAGES = 0, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS };

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
    for (int i = 0; i < FILES; i++)
        hr_idx_free(&files->idx[i]);
}

/* The path of one of the four files under the first of its spellings that is there. */
static enum hr_status find_file(const char *folder, const struct file_kind *kind,
                                char path[HR_PATH_MAX])
{
    static const char *const spellings[] = {"%s/%s-idx%zu-ubyte", "%s/%s.idx%zu-ubyte",
                                            "%s/%s-idx%zu-ubyte.gz", "%s/%s.idx%zu-ubyte.gz"};
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        if (snprintf(path, HR_PATH_MAX, spellings[i], folder, kind->stem, kind->ndim) >=
            HR_PATH_MAX)
            return hr_fail(HR_E_IO,
                           "the path of a data folder has %zu bytes, expected fewer than %d",
                           strlen(folder), HR_PATH_MAX - 40);
        if (access(path, F_OK) == 0)
            return HR_OK;
        if (errno != ENOENT)
            return hr_fail_errno(HR_E_IO, "%s: cannot be reached", path);
    }
    if (kind == &kinds[TRAIN_IMAGES] && hr_image_list_has_folders(folder))
        return hr_fail(
            HR_E_IO,
            "%s: its class folders have no PNG or JPEG images, expected some in each (nor "
            "is there a file %s-idx%zu-ubyte)",
            folder, kind->stem, kind->ndim);
    return hr_fail(HR_E_IO, "%s: no file %s-idx%zu-ubyte there (nor %s.idx%zu-ubyte, nor .gz)",
                   folder, kind->stem, kind->ndim, kind->stem, kind->ndim);
}

/* May images of such a size be read? The first file says how large they are. */
static enum hr_status admit(const char *folder, const struct hr_data_options *options)
{
    char path[HR_PATH_MAX];
    struct hr_idx idx;
    HR_TRY(find_file(folder, &kinds[TRAIN_IMAGES], path));
    HR_TRY(hr_idx_read_dims(path, kinds[TRAIN_IMAGES].ndim, &idx));
    return hr_format_admit(options, (struct hr_shape){1, idx.dims[1], idx.dims[2]});
}

static enum hr_status read_folder(const char *folder, struct files *files)
{
    for (int i = 0; i < FILES; i++) {
        char path[HR_PATH_MAX];
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
        char name[HR_PATH_MAX];
        snprintf(name, sizeof name, "digits: %s", kinds[i].stem);
        HR_TRY(hr_idx_read_memory(name, blobs[i][0], bytes, kinds[i].ndim, &files->idx[i]));
    }
    return HR_OK;
}

/* The counts of one split agree and are not 0. */
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

/* Labels become 32 bits wide; the images change hands. */
static enum hr_status take_split(const char *name, struct hr_idx *images,
                                 const struct hr_idx *labels, struct hr_table *table)
{
    void *wide;
    HR_TRY(hr_take(name, labels->bytes * sizeof *table->labels, &wide));
    *table = (struct hr_table){
        .shape = {1, images->dims[1], images->dims[2]},
        .count = labels->bytes,
        .pixels = images->data,
        .labels = wide,
    };
    for (size_t i = 0; i < labels->bytes; i++)
        table->labels[i] = labels->data[i];
    images->data = NULL;
    return HR_OK;
}

static enum hr_status take_files(const char *name, struct files *files, struct hr_storage *storage)
{
    HR_TRY(check_files(name, files));
    HR_TRY(take_split(name, &files->idx[TRAIN_IMAGES], &files->idx[TRAIN_LABELS], &storage->train));
    return take_split(name, &files->idx[TEST_IMAGES], &files->idx[TEST_LABELS], &storage->test);
}

/* Any folder: the message says which file is missing. */
static bool matches(const struct hr_probe *probe)
{
    return probe->folder;
}

static enum hr_status open_folder(const char *path, const struct hr_data_options *options,
                                  struct hr_storage *storage)
{
    struct files files = {0};
    enum hr_status st = admit(path, options);
    if (st == HR_OK)
        st = read_folder(path, &files);
    if (st == HR_OK)
        st = take_files(path, &files, storage);
    storage->scale = 1.0f / 255.0f;
    free_files(&files);
    return st;
}

enum hr_status hr_idx_open_digits(struct hr_storage *storage)
{
    struct files files = {0};
    enum hr_status st = read_digits(&files);
    if (st == HR_OK)
        st = take_files("digits", &files, storage);
    storage->scale = 1.0f / 16.0f;
    free_files(&files);
    return st;
}

const struct hr_format hr_format_idx = {.name = "idx", .matches = matches, .open = open_folder};

#include "formats/cifar.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "formats/formats.h"

enum { SIDE = 32, PIXELS = 3 * SIDE * SIDE };

const struct hr_cifar_kind hr_cifar_10 = {"cifar-10", 1, 10};
const struct hr_cifar_kind hr_cifar_100 = {"cifar-100", 2, 100};

enum hr_status hr_cifar_parse(const char *name, const uint8_t *data, size_t bytes,
                              const struct hr_cifar_kind *kind, struct hr_array *pixels,
                              struct hr_array *labels)
{
    const size_t record = kind->label_bytes + PIXELS;
    if (bytes == 0 || bytes % record)
        return hr_fail(HR_E_FORMAT, "%s: has %zu bytes, expected a multiple of %zu (%s)", name,
                       bytes, record, kind->name);
    for (size_t at = 0; at < bytes; at += record) {
        const uint32_t label = data[at + kind->label_bytes - 1];
        if (label >= kind->classes)
            return hr_fail(HR_E_FORMAT, "%s: record %zu has label %u, expected 0 to %zu (%s)", name,
                           at / record, label, kind->classes - 1, kind->name);
        HR_TRY(hr_array_add(labels, name, &label, sizeof label));
        HR_TRY(hr_array_add(pixels, name, data + at + kind->label_bytes, PIXELS));
    }
    return HR_OK;
}

static enum hr_status add_file(const char *folder, const char *file,
                               const struct hr_cifar_kind *kind, struct hr_array arrays[2])
{
    char path[HR_PATH_MAX];
    struct hr_array content;
    HR_TRY(hr_path(path, "%s/%s", folder, file));
    HR_TRY(hr_bytes_read_file(path, &content));
    const enum hr_status st =
        hr_cifar_parse(path, content.data, content.bytes, kind, &arrays[0], &arrays[1]);
    free(content.data);
    return st;
}

/* Files one behind the other; the list ends in NULL. */
static enum hr_status read_split(const char *folder, const char *const *files,
                                 const struct hr_cifar_kind *kind, struct hr_table *out)
{
    struct hr_array arrays[2] = {{0}, {0}}; /* pixels, labels */
    enum hr_status st = HR_OK;
    for (; *files && st == HR_OK; files++)
        st = add_file(folder, *files, kind, arrays);
    *out = (struct hr_table){
        .shape = {3, SIDE, SIDE},
        .count = arrays[1].bytes / sizeof *out->labels,
        .pixels = arrays[0].data,
        .labels = arrays[1].data,
    };
    return st;
}

static bool matches(const struct hr_probe *probe)
{
    return probe->folder &&
           (hr_folder_has(probe->path, "data_batch_1.bin") ||
            (hr_folder_has(probe->path, "train.bin") && hr_folder_has(probe->path, "test.bin")));
}

static enum hr_status open_folder(const char *path, const struct hr_data_options *options,
                                  struct hr_storage *storage)
{
    static const char *const train_10[] = {"data_batch_1.bin", "data_batch_2.bin",
                                           "data_batch_3.bin", "data_batch_4.bin",
                                           "data_batch_5.bin", NULL};
    static const char *const test_10[] = {"test_batch.bin", NULL};
    static const char *const train_100[] = {"train.bin", NULL}, *const test_100[] = {"test.bin",
                                                                                     NULL};
    (void)options;
    const bool ten = hr_folder_has(path, train_10[0]);
    const struct hr_cifar_kind *kind = ten ? &hr_cifar_10 : &hr_cifar_100;
    storage->scale = 1.0f / 255.0f;
    storage->classes = kind->classes;
    HR_TRY(read_split(path, ten ? train_10 : train_100, kind, &storage->train));
    return read_split(path, ten ? test_10 : test_100, kind, &storage->test);
}

const struct hr_format hr_format_cifar = {.name = "cifar", .matches = matches, .open = open_folder};

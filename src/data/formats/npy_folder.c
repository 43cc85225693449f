/* Folders of npy files. Features of large ones stay where they are: mapped, and not read. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "data/hold_out.h"
#include "formats/formats.h"
#include "formats/npy.h"

enum { MAPPED_BYTES = 1 << 30 }; /* of a file from which on */
static const char names_file[] = "feature_names.txt";

/* Are the elements as a table has them? */
static bool lie_ready(const struct hr_npy *npy, size_t begin)
{
    const bool bytes = npy->kind == 'u' && npy->item == 1;
    return npy->ndim >= 2 && npy->ndim <= 4 && npy->count > 0 &&
           (bytes || (npy->kind == 'f' && npy->item == 4 && !npy->swapped && begin % 4 == 0));
}

static enum hr_status check_finite(const char *name, const struct hr_table *table, size_t count)
{
    for (size_t i = 0; table->values && i < count; i++)
        if (!isfinite(table->values[i]))
            return hr_npy_fail_number(name, i, count / table->count, (double)table->values[i]);
    return HR_OK;
}

static enum hr_status map_elements(const char *path, int fd, size_t bytes, size_t begin,
                                   const struct hr_npy *npy, struct hr_table *table)
{
    void *map;
    HR_TRY(hr_file_map(fd, path, bytes, &map));
    uint8_t *data = (uint8_t *)map + begin;
    table->map = map;
    table->map_bytes = bytes;
    table->count = npy->shape[0];
    table->shape = hr_npy_shape(npy);
    table->features = npy->item == 1 ? HR_FEATURES_BYTES : HR_FEATURES_FLOATS;
    if (npy->item == 1)
        table->pixels = data;
    else
        table->values = (float *)(void *)data;
    return check_finite(path, table, npy->count);
}

/* u1 or f4 in a file of 1 GiB and more, not gzip, whatever its size; else table->map stays NULL. */
static enum hr_status map_features(const char *path, struct hr_table *table)
{
    char head[HR_NPY_MAX_HEADER + 12];
    struct hr_npy npy = {0};
    size_t bytes, begin;
    int fd;
    HR_TRY(hr_file_open(path, &fd, &bytes));
    enum hr_status status = HR_OK;
    if (bytes >= MAPPED_BYTES)
        status = hr_file_read_at(fd, path, 0, head, sizeof head);
    if (bytes >= MAPPED_BYTES && status == HR_OK &&
        !memcmp(head, HR_NPY_MAGIC, HR_NPY_MAGIC_BYTES)) {
        status = hr_npy_parse_head(path, head, sizeof head, &npy, &begin);
        if (status == HR_OK)
            status = hr_npy_check_size(path, &npy, bytes - begin);
        if (status == HR_OK && lie_ready(&npy, begin))
            status = map_elements(path, fd, bytes, begin, &npy, table);
    }
    close(fd);
    return status;
}

/* --- the format */

static enum hr_status read_array(const char *folder, const char *stem, const char *split,
                                 struct hr_labels *labels, struct hr_table *table)
{
    char path[HR_PATH_MAX];
    struct hr_array content;
    struct hr_npy npy;
    HR_TRY(hr_path(path, "%s/%s_%s.npy", folder, stem, split));
    if (stem[0] == 'X') {
        HR_TRY(map_features(path, table));
        if (table->map)
            return HR_OK;
    }
    HR_TRY(hr_bytes_read_file(path, &content));
    enum hr_status st = hr_npy_parse(path, content.data, content.bytes, &npy);
    if (st == HR_OK)
        st = stem[0] == 'X' ? hr_npy_take_features(path, &npy, table)
                            : hr_npy_take_labels(path, &npy, labels, table);
    free(content.data);
    return st;
}

static enum hr_status read_pair(const char *folder, const char *split, struct hr_labels *labels,
                                struct hr_table *table)
{
    HR_TRY(read_array(folder, "X", split, labels, table));
    return read_array(folder, "y", split, labels, table);
}

/* feature_names.txt: the names of the columns, a line each. */
static enum hr_status read_names(const char *folder, struct hr_table *table)
{
    char path[HR_PATH_MAX];
    struct hr_array text;
    size_t lines = 0;
    if (!hr_folder_has(folder, names_file))
        return HR_OK;
    HR_TRY(hr_path(path, "%s/%s", folder, names_file));
    HR_TRY(hr_bytes_read_file(path, &text));
    char *names = text.data;
    table->feature_names = names;
    for (size_t i = 0; i < text.bytes; i++)
        if (names[i] == '\n') {
            names[i] = '\0';
            lines++;
        }
    if (text.bytes && !names[text.bytes - 1] && lines == table->shape.channels &&
        table->shape.height == 1 && table->shape.width == 1)
        return HR_OK;
    return hr_fail(HR_E_FORMAT, "%s: has %zu lines, expected a name for each of %zu columns", path,
                   lines, hr_shape_elems(table->shape));
}

/* What people mean otherwise than it is taken. */
static void note_doubts(const char *folder, struct hr_table *train)
{
    static const char *const unread[] = {"X_val.npy", "X_valid.npy", "X_validation.npy"};
    const struct hr_shape shape = train->shape;
    const size_t last = shape.width;
    for (size_t i = 0; i < sizeof unread / sizeof *unread; i++)
        if (hr_folder_has(folder, unread[i]))
            snprintf(train->note, sizeof train->note,
                     "%s: %s is not read; --validation X holds out training samples", folder,
                     unread[i]);
    if (shape.height > 1 && shape.channels > 4 && (last == 1 || last == 3 || last == 4))
        snprintf(train->note, sizeof train->note,
                 "%s: samples are taken as %zu channels of %zux%zu; if they are (height, width, "
                 "channels), X.transpose(0, 3, 1, 2) brings them into the order that is read",
                 folder, shape.channels, shape.height, shape.width);
}

static bool matches(const struct hr_probe *probe)
{
    return probe->folder && hr_folder_has(probe->path, "X_train.npy");
}

/* May samples of such a size be read? */
static enum hr_status admit(const char *folder, const struct hr_data_options *options)
{
    char path[HR_PATH_MAX], head[HR_NPY_MAX_HEADER + 12];
    struct hr_npy npy = {0};
    size_t bytes, begin;
    HR_TRY(hr_path(path, "%s/X_train.npy", folder));
    HR_TRY(hr_bytes_peek_file(path, head, sizeof head, &bytes));
    HR_TRY(hr_npy_parse_head(path, head, bytes, &npy, &begin));
    return npy.ndim < 2 ? HR_OK : hr_format_admit(options, hr_npy_shape(&npy));
}

static enum hr_status open_folder(const char *path, const struct hr_data_options *options,
                                  struct hr_storage *storage)
{
    HR_TRY(admit(path, options));
    HR_TRY(read_pair(path, "train", &storage->labels, &storage->train));
    HR_TRY(read_names(path, &storage->train));
    note_doubts(path, &storage->train);
    if (hr_folder_has(path, "X_test.npy") || hr_folder_has(path, "y_test.npy"))
        HR_TRY(read_pair(path, "test", &storage->labels, &storage->test));
    if (storage->test.count)
        HR_TRY(hr_split_needs_no_fold(options->split, path));
    storage->scale = storage->train.features == HR_FEATURES_BYTES ? 1.0f / 255.0f : 1.0f;
    return HR_OK;
}

const struct hr_format hr_format_npy = {.name = "npy",
                                        .options = HR_OPTION_TEST_FRACTION | HR_OPTION_SPLIT |
                                                   HR_OPTION_VALUES,
                                        .matches = matches,
                                        .open = open_folder};

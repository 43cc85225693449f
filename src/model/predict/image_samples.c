#include "predict/image_samples.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/size.h"
#include "data/bytes.h"
#include "data/format.h"
#include "formats/image_load.h"

bool hr_image_samples_are(const char *path, bool folder, const char *head, size_t bytes)
{
    if (!folder)
        return hr_image_is_one((const uint8_t *)head, bytes);
    return !hr_folder_has(path, "train") && hr_image_list_any(path);
}

/* Where the model does not say its shape, the first picture does. */
static struct hr_shape shape_of(const struct hr_image_list *list, struct hr_shape model)
{
    struct hr_shape shape = {0, list->files[0].head.height, list->files[0].head.width};
    for (size_t i = 0; i < list->count; i++)
        shape.channels = hr_max_size(shape.channels, list->files[i].head.channels);
    return model.channels ? model : shape;
}

/* *resized: how many have another size. */
static enum hr_status check_heads(const struct hr_image_list *list, struct hr_shape shape,
                                  bool known, size_t *resized)
{
    *resized = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct hr_image_file *file = &list->files[i];
        const bool other = file->head.height != shape.height || file->head.width != shape.width;
        if (shape.channels != 1 && shape.channels != 3)
            return hr_fail(HR_E_FORMAT, "%s: is a picture, the model's samples have %zu channels",
                           file->path, shape.channels);
        if (file->head.channels > shape.channels)
            return hr_fail(HR_E_FORMAT, "%s: is in colour, the model's pictures are grey",
                           file->path);
        if (other && !known)
            return hr_fail(
                HR_E_FORMAT,
                "%s: is %zux%zu (width x height), %s is another size, and the model does "
                "not say its own",
                file->path, file->head.width, file->head.height, list->files[0].path);
        *resized += other;
    }
    return HR_OK;
}

static enum hr_status take_paths(struct hr_image_list *list, char ***files)
{
    *files = calloc(list->count, sizeof **files);
    if (!*files)
        return hr_fail(HR_E_NOMEM, "no memory for the names of %zu pictures", list->count);
    for (size_t i = 0; i < list->count; i++) {
        (*files)[i] = list->files[i].path;
        list->files[i].path = NULL;
    }
    return HR_OK;
}

static void write_note(const char *path, const struct hr_image_list *list, struct hr_shape shape,
                       size_t resized, struct hr_table *table)
{
    const size_t others = list->others + list->hidden + list->loops;
    char size[64] = "", left_out[80] = "";
    if (resized)
        snprintf(size, sizeof size, ", %zu brought to the model's %zux%zu", resized, shape.height,
                 shape.width);
    if (others)
        snprintf(left_out, sizeof left_out, ", %zu other file%s left out", others,
                 others == 1 ? "" : "s");
    if (resized || others)
        snprintf(table->note, sizeof table->note, "%.200s: %zu picture%s%s%s", path, list->count,
                 list->count == 1 ? "" : "s", size, left_out);
}

static enum hr_status read_list(const char *path, struct hr_image_list *list, struct hr_shape model,
                                struct hr_table *table, char ***files)
{
    size_t resized, bytes;
    void *pixels;
    if (!list->count || list->count >= HR_TABLE_MAX_COUNT)
        return hr_fail(HR_E_FORMAT, "%s: has %zu pictures, expected 1 to %zu", path, list->count,
                       HR_TABLE_MAX_COUNT - 1);
    HR_TRY(hr_image_load_heads(list));
    const struct hr_shape shape = shape_of(list, model);
    HR_TRY(check_heads(list, shape, model.channels, &resized));
    if (!hr_size_mul(hr_shape_elems(shape), list->count, &bytes))
        return hr_fail(HR_E_FORMAT, "%s: %zu pictures are too many", path, list->count);
    HR_TRY(hr_take(path, bytes, &pixels));
    *table = (struct hr_table){.shape = shape, .pixels = pixels, .count = list->count};
    HR_TRY(hr_image_load(list, shape, table->pixels));
    write_note(path, list, shape, resized, table);
    return take_paths(list, files);
}

enum hr_status hr_image_samples_read(const char *path, struct hr_shape shape,
                                     struct hr_table *table, char ***files)
{
    struct hr_image_list list;
    *files = NULL;
    HR_TRY(hr_image_list_read_all(path, &list));
    const enum hr_status status = read_list(path, &list, shape, table, files);
    hr_image_list_free(&list);
    return status;
}

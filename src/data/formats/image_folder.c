/* Folders of PNG and JPEG files as data.
 *
 *     FOLDER/train/CLASS/a.png, FOLDER/test/CLASS/b.jpg     torchvision's ImageFolder, twice
 *     FOLDER/CLASS/a.png                                    samples are held out, as of a table
 *
 * Without a folder `test`, `val` and `valid` are looked for. Classes are the folders' names,
 * ascending byte by byte, those of all splits together; files in the order of image_list.h. Where
 * all pictures are grey there is one channel, otherwise three. All have one size, or are given one
 * (options->resize).
 *
 * Errors: HR_E_FORMAT and HR_E_IO name the file; HR_E_USAGE. Sizes are added up from the pictures'
 * heads, and compared with the memory there is, before memory is taken.
 * Threads: image_load.h. Test: tests/cli/images.bats
 */
#include "data/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/size.h"
#include "base/text.h"
#include "data/hold_out.h"
#include "formats/formats.h"
#include "formats/image_load.h"

enum { TRAIN, TEST, VALIDATION, SPLITS, LONGEST_SIDE = 1 << 16 };

struct split {
    char folder[HR_PATH_MAX]; /* "": there is none */
    struct hr_image_list list;
    struct hr_table *table;
};

struct splits {
    const char *name; /* of the data set */
    const struct hr_data_options *options;
    struct split of[SPLITS];
};

/* --- where they are --- */

static bool is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

/* The first of the names that is a folder in `folder`; out "" where there is none. */
static enum hr_status find_folder(const char *folder, const char *const *names,
                                  char out[HR_PATH_MAX])
{
    for (; *names; names++) {
        HR_TRY(hr_path(out, "%s/%s", folder, *names));
        if (is_folder(out))
            return HR_OK;
    }
    out[0] = '\0';
    return HR_OK;
}

static enum hr_status check_test_options(const struct splits *s, const char *test)
{
    struct hr_data_options defaults;
    hr_data_defaults(&defaults);
    const bool fraction = s->options->test_fraction < defaults.test_fraction ||
                          s->options->test_fraction > defaults.test_fraction;
    if (s->options->test_data[0] || fraction)
        return hr_fail(HR_E_USAGE, "--%s: is not supported where there is %s",
                       fraction ? "test X" : "test FILE", test);
    return hr_split_needs_no_fold(s->options->split, s->name);
}

static enum hr_status find_splits(struct splits *s)
{
    static const char *const train[] = {"train", NULL}, *const test[] = {"test", "val", "valid",
                                                                         NULL};
    char *of_train = s->of[TRAIN].folder, *of_test = s->of[TEST].folder;
    HR_TRY(find_folder(s->name, train, of_train));
    if (of_train[0])
        HR_TRY(find_folder(s->name, test, of_test));
    else
        HR_TRY(hr_path(of_train, "%s", s->name));
    if (of_test[0])
        HR_TRY(check_test_options(s, of_test));
    else if (s->options->test_data[0])
        HR_TRY(hr_path(of_test, "%s", s->options->test_data));
    if (s->options->validation_data[0])
        HR_TRY(hr_path(s->of[VALIDATION].folder, "%s", s->options->validation_data));
    return HR_OK;
}

static enum hr_status list_split(const struct splits *s, struct split *split)
{
    if (!split->folder[0])
        return HR_OK;
    HR_TRY(hr_image_list_read(split->folder, &split->list));
    if (split->list.count)
        return hr_image_load_heads(&split->list, s->options->skip_bad_images);
    return hr_fail(HR_E_FORMAT, "%s: has no PNG or JPEG in folders of classes%s", split->folder,
                   hr_image_list_flat(split->folder)
                       ? ", they stand beside one another; expected a folder for each class"
                       : "");
}

/* --- classes --- */

/* The first file of this class, or of one behind it; files are in the order of classes. */
static size_t first_of(const struct hr_image_list *list, size_t label)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (list->files[middle].label < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t class_count(const struct split *split, size_t label)
{
    return first_of(&split->list, label + 1) - first_of(&split->list, label);
}

static size_t class_count_of(const struct split *split, const char *name)
{
    for (size_t c = 0; c < split->list.nclasses; c++)
        if (!strcmp(split->list.classes[c], name))
            return class_count(split, c);
    return 0;
}

static enum hr_status check_class(const struct splits *s, size_t split, size_t c)
{
    const struct split *of = &s->of[split];
    const char *name = of->list.classes[c];
    if (split == TRAIN && !class_count(of, c))
        return hr_fail(HR_E_FORMAT, "%s/%s: has no PNG or JPEG, expected some of each class",
                       of->folder, name);
    if (split == TRAIN || class_count_of(&s->of[TRAIN], name) || s->options->classes[0] ||
        !class_count(of, c))
        return HR_OK;
    return hr_fail(HR_E_FORMAT,
                   "%s/%s: %s has no such class; --classes lists all classes when that is meant",
                   of->folder, name, s->of[TRAIN].folder);
}

static enum hr_status check_classes(const struct splits *s)
{
    for (size_t split = 0; split < SPLITS; split++)
        for (size_t c = 0; c < s->of[split].list.nclasses; c++)
            HR_TRY(check_class(s, split, c));
    if (s->of[TRAIN].list.nclasses > 1 || s->options->classes[0])
        return HR_OK;
    return hr_fail(HR_E_FORMAT, "%s: has one class, %s; expected a folder for each of several",
                   s->of[TRAIN].folder, s->of[TRAIN].list.classes[0]);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All names once, ascending, in one block with their texts. */
static enum hr_status name_classes(const struct splits *s, struct hr_storage *storage)
{
    size_t names = 0, bytes = 0;
    void *block;
    for (size_t split = 0; split < SPLITS; split++)
        for (size_t c = 0; c < s->of[split].list.nclasses; c++, names++)
            bytes += strlen(s->of[split].list.classes[c]) + 1;
    HR_TRY(hr_take(s->name, names * sizeof *storage->names + bytes, &block));
    storage->names = block;
    char *text = (char *)(storage->names + names);
    names = 0;
    for (size_t split = 0; split < SPLITS; split++)
        for (size_t c = 0; c < s->of[split].list.nclasses; c++) {
            storage->names[names++] = text;
            text = stpcpy(text, s->of[split].list.classes[c]) + 1;
        }
    qsort(storage->names, names, sizeof *storage->names, by_name);
    for (size_t i = 0; i < names; i++)
        if (!i || strcmp(storage->names[i], storage->names[i - 1]) != 0)
            storage->names[storage->classes++] = storage->names[i];
    return HR_OK;
}

static uint32_t number_of(const struct hr_storage *storage, const char *name)
{
    const void *found =
        bsearch(&name, storage->names, storage->classes, sizeof *storage->names, by_name);
    return (uint32_t)((const char *const *)found - storage->names);
}

/* --- shape --- */

/* "28x28" of options->resize; 0, 0 where it is "". HR_E_USAGE. */
static enum hr_status parse_size(const struct hr_data_options *options, size_t *height,
                                 size_t *width)
{
    char end;
    *height = *width = 0;
    if (!options->resize[0])
        return HR_OK;
    if (strspn(options->resize, "0123456789x") == strlen(options->resize) &&
        sscanf(options->resize, "%zux%zu%c", height, width, &end) == 2 && *height && *width &&
        *height <= LONGEST_SIDE && *width <= LONGEST_SIDE)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--resize %s: expected HEIGHTxWIDTH, as 32x32", options->resize);
}

/* One size for all; the channels are those of most. */
static enum hr_status add_heads(const struct hr_image_list *list, bool resized,
                                const struct hr_image_file **first, size_t *channels)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct hr_image_file *file = &list->files[i];
        *first = *first ? *first : file;
        *channels = hr_max_size(*channels, file->head.channels);
        if (!resized && (file->head.width != (*first)->head.width ||
                         file->head.height != (*first)->head.height))
            return hr_fail(HR_E_FORMAT,
                           "%s: is %zux%zu (width x height), %s is %zux%zu; expected one size, or "
                           "--resize HEIGHTxWIDTH",
                           file->path, file->head.width, file->head.height, (*first)->path,
                           (*first)->head.width, (*first)->head.height);
    }
    return HR_OK;
}

static enum hr_status find_shape(const struct splits *s, struct hr_shape *shape)
{
    const struct hr_image_file *first = NULL;
    size_t height, width, channels = 0;
    HR_TRY(parse_size(s->options, &height, &width));
    for (size_t split = 0; split < SPLITS; split++)
        HR_TRY(add_heads(&s->of[split].list, height, &first, &channels));
    *shape = (struct hr_shape){channels, height ? height : first->head.height,
                               height ? width : first->head.width};
    return HR_OK;
}

/* --- samples --- */

static enum hr_status take_room(const char *name, struct hr_shape shape, size_t count, void **out)
{
    size_t bytes;
    if (count >= HR_TABLE_MAX_COUNT || !hr_size_mul(hr_shape_elems(shape), count, &bytes))
        return hr_fail(HR_E_FORMAT, "%s: %zu pictures are too many", name, count);
    return hr_take(name, bytes, out);
}

/* Before anything is decoded: the pixels of all splits. */
static enum hr_status ask_for_room(const struct splits *s, struct hr_shape shape)
{
    size_t count = 0, bytes;
    for (size_t split = 0; split < SPLITS; split++)
        count += s->of[split].list.count;
    if (!hr_size_mul(hr_shape_elems(shape), count, &bytes))
        return hr_fail(HR_E_FORMAT, "%s: %zu pictures are too many", s->name, count);
    return hr_memory_ask(s->name, bytes);
}

/* What was passed over or may surprise. */
static void write_note(const struct split *split, const struct splits *s)
{
    const struct hr_image_list *list = &split->list;
    const struct split *train = &s->of[TRAIN];
    char *note = split->table->note;
    size_t turned = 0, missing = 0;
    for (size_t i = 0; i < list->count; i++)
        turned += list->files[i].head.turned;
    for (size_t c = 0; c < train->list.nclasses && split != train; c++)
        missing += !class_count_of(split, train->list.classes[c]);
    if (!list->hidden && !list->others && !list->loops && !list->bad && !turned && !missing)
        return;
    hr_append(note, HR_DATA_NOTE, "%.180s: %zu pictures", split->folder, list->count);
    if (list->others)
        hr_append(note, HR_DATA_NOTE, ", left out: %zu that %s no PNG or JPEG of a class (%.60s)",
                  list->others, list->others == 1 ? "is" : "are", list->other);
    if (list->bad)
        hr_append(note, HR_DATA_NOTE, ", %zu that %s damaged (%s)", list->bad,
                  list->bad == 1 ? "is" : "are", list->first_bad);
    if (list->hidden)
        hr_append(note, HR_DATA_NOTE, ", %zu hidden", list->hidden);
    if (list->loops)
        hr_append(note, HR_DATA_NOTE, ", %zu symlink%s that lead%s back", list->loops,
                  list->loops == 1 ? "" : "s", list->loops == 1 ? "s" : "");
    if (turned)
        hr_append(note, HR_DATA_NOTE, "; %zu %s turned by EXIF, which is not obeyed", turned,
                  turned == 1 ? "is" : "are");
    if (missing)
        hr_append(note, HR_DATA_NOTE, "; %zu of the training samples' classes %s not there",
                  missing, missing == 1 ? "is" : "are");
}

/* Files [first, first + count) of a split, into a table. */
static enum hr_status read_files(struct hr_shape shape, const struct hr_storage *storage,
                                 const struct split *split, size_t first, size_t count,
                                 struct hr_table *table)
{
    struct hr_image_list list = split->list;
    void *memory;
    list.files += first;
    list.count = count;
    table->shape = shape;
    HR_TRY(take_room(split->folder, shape, count, &memory));
    table->pixels = memory;
    HR_TRY(hr_take(split->folder, count * sizeof *table->labels, &memory));
    table->labels = memory;
    HR_TRY(hr_image_load(&list, shape, table->pixels));
    for (size_t i = 0; i < count; i++)
        table->labels[i] = number_of(storage, list.classes[list.files[i].label]);
    table->count = count;
    return HR_OK;
}

/* Test samples that are held out are read where they stay: there is no second copy of anything. */
static enum hr_status read_split(const struct splits *s, struct hr_shape shape,
                                 const struct hr_storage *storage, struct split *split)
{
    size_t held = 0, count = split->list.count;
    if (count || split->list.bad)
        write_note(split, s);
    if (!count)
        return HR_OK;
    if (split == &s->of[TRAIN] && !s->of[TEST].list.count && !s->options->test_all)
        HR_TRY(hr_image_list_hold_out(&split->list, s->name, s->options->split,
                                      s->options->test_fraction, &held));
    count -= held;
    HR_TRY(read_files(shape, storage, split, 0, count, split->table));
    return held ? read_files(shape, storage, split, count, held, s->of[TEST].table) : HR_OK;
}

static enum hr_status read_splits(struct splits *s, struct hr_storage *storage)
{
    struct hr_shape shape;
    HR_TRY(find_splits(s));
    for (size_t split = 0; split < SPLITS; split++)
        HR_TRY(list_split(s, &s->of[split]));
    HR_TRY(check_classes(s));
    HR_TRY(find_shape(s, &shape));
    HR_TRY(hr_format_admit(s->options, shape));
    HR_TRY(name_classes(s, storage));
    HR_TRY(ask_for_room(s, shape));
    for (size_t split = 0; split < SPLITS; split++)
        storage->skipped += s->of[split].list.bad;
    for (size_t split = 0; split < SPLITS; split++)
        HR_TRY(read_split(s, shape, storage, &s->of[split]));
    return HR_OK;
}

static bool matches(const struct hr_probe *probe)
{
    return probe->folder && hr_image_list_any(probe->path);
}

static enum hr_status open_folder(const char *path, const struct hr_data_options *options,
                                  struct hr_storage *storage)
{
    struct splits *s = calloc(1, sizeof *s);
    if (!s)
        return hr_fail(HR_E_NOMEM, "%s: no memory", path);
    s->name = path;
    s->options = options;
    s->of[TRAIN].table = &storage->train;
    s->of[TEST].table = &storage->test;
    s->of[VALIDATION].table = &storage->validation;
    storage->scale = 1.0f / 255.0f;
    const enum hr_status status = read_splits(s, storage);
    for (size_t split = 0; split < SPLITS; split++)
        hr_image_list_free(&s->of[split].list);
    free(s);
    return status;
}

const struct hr_format hr_format_images = {
    .name = "images",
    .options = HR_OPTION_TEST_DATA | HR_OPTION_TEST_FRACTION | HR_OPTION_SPLIT |
               HR_OPTION_VALIDATION_DATA | HR_OPTION_RESIZE | HR_OPTION_SKIP,
    .matches = matches,
    .open = open_folder,
};

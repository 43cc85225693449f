/* What readers have in common: classes numbered, samples held out, checks, digest. */
#include "hogring/data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/size.h"
#include "data/format.h"
#include "data/look.h"

void hr_data_defaults(struct hr_data_options *options)
{
    *options = (struct hr_data_options){.test_fraction = 0.2,
                                        .header = "auto",
                                        .index_base = "auto",
                                        .missing = "refuse",
                                        .vocabulary = "bytes",
                                        .context = 128,
                                        .eval_tokens = 1 << 17};
}

enum hr_status hr_format_admit(const struct hr_data_options *options, struct hr_shape shape)
{
    return options->admit ? options->admit(options->admit_arg, shape) : HR_OK;
}

void hr_storage_free(struct hr_storage *storage)
{
    hr_table_free(&storage->train);
    hr_table_free(&storage->test);
    hr_table_free(&storage->validation);
    hr_labels_free(&storage->labels);
    hr_classes_free(&storage->naming);
    free(storage->names);
    free(storage->columns);
    free(storage->rounding);
    free(storage->recipe);
    free(storage->token_bytes);
    free(storage->text);
    hr_class_list_free(&storage->list);
    for (size_t s = 0; s < 3; s++)
        free(storage->numbered[s]);
    if (storage->map)
        munmap(storage->map, storage->map_bytes);
    *storage = (struct hr_storage){0};
}

bool hr_folder_has(const char *folder, const char *name)
{
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length >= (int)sizeof path)
        return false;
    return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* --- finishing */

static void renumber(struct hr_table *table, const uint32_t *class_of)
{
    for (size_t i = 0; i < table->count; i++)
        table->labels[i] = class_of[table->labels[i]];
}

static size_t largest_label(const struct hr_table *table)
{
    size_t largest = 0;
    for (size_t i = 0; i < table->count; i++)
        if (table->labels[i] > largest)
            largest = table->labels[i];
    return largest;
}

/* A class of test or validation samples alone cannot be learned; more likely the labels are no
 * classes. known (classes): has the training split samples of it? */
static enum hr_status check_classes_of(const char *name, const struct hr_storage *storage,
                                       const struct hr_table *table, const char *which,
                                       const uint8_t *known)
{
    char number[24];
    size_t i = 0;
    while (i < table->count && known[table->labels[i]])
        i++;
    if (i == table->count)
        return HR_OK;
    snprintf(number, sizeof number, "%u", table->labels[i]);
    const char *label = storage->naming.names ? storage->naming.names[table->labels[i]] : number;
    const size_t samples = storage->train.count + storage->test.count + storage->validation.count;
    if (hr_labels_are_values(&storage->labels, samples))
        return hr_fail(HR_E_USAGE,
                       "%s: the labels look like values and not like classes (only %s samples "
                       "have \"%s\"): --task regress predicts values; as classes they need "
                       "--classes",
                       name, which, hr_shown(label, strlen(label)).text);
    return hr_fail(HR_E_FORMAT,
                   "%s: only %s samples have the label \"%s\"; --classes lists all classes when "
                   "that is meant",
                   name, which, hr_shown(label, strlen(label)).text);
}

static enum hr_status check_classes(const char *name, const struct hr_storage *storage)
{
    void *taken;
    HR_TRY(hr_take(name, storage->naming.count, &taken));
    uint8_t *known = taken;
    for (size_t t = 0; t < storage->train.count; t++)
        known[storage->train.labels[t]] = 1;
    enum hr_status status = check_classes_of(name, storage, &storage->test, "test", known);
    if (status == HR_OK)
        status = check_classes_of(name, storage, &storage->validation, "validation", known);
    free(taken);
    return status;
}

static enum hr_status finish_targets(const char *name, const struct hr_data_options *options,
                                     struct hr_storage *storage)
{
    if (options->classes[0])
        return hr_fail(HR_E_USAGE, "--classes: is not supported where values are predicted (%s)",
                       name);
    storage->classes = 0;
    return hr_target_rows_finish(&storage->labels.targets, name);
}

/* Labels of a byte are their classes' numbers: 0 and 255 make 256 classes. */
static enum hr_status note_gaps(const char *name, struct hr_storage *storage)
{
    const struct hr_table *tables[] = {&storage->train, &storage->test};
    size_t missing = storage->classes;
    void *taken;
    HR_TRY(hr_take(name, storage->classes, &taken));
    uint8_t *seen = taken;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t]->count; i++) {
            missing -= !seen[tables[t]->labels[i]];
            seen[tables[t]->labels[i]] = 1;
        }
    free(taken);
    if (missing && !storage->train.note[0])
        snprintf(storage->train.note, sizeof storage->train.note,
                 "%s: the largest label is %zu, so there are %zu classes, and %zu of them have no "
                 "sample; numbers without gaps would make %zu",
                 name, storage->classes - 1, storage->classes, missing, storage->classes - missing);
    return HR_OK;
}

static enum hr_status count_classes(const char *name, const struct hr_data_options *options,
                                    struct hr_storage *storage)
{
    if (storage->labels.targets.width)
        return finish_targets(name, options, storage);
    if (storage->labels.count) {
        HR_TRY(hr_labels_finish(&storage->labels, name, &storage->naming));
        renumber(&storage->train, storage->naming.class_of);
        renumber(&storage->test, storage->naming.class_of);
        renumber(&storage->validation, storage->naming.class_of);
        storage->classes = storage->naming.count;
        if (!options->classes[0])
            HR_TRY(check_classes(name, storage));
    } else if (!storage->classes) {
        const size_t train = largest_label(&storage->train), test = largest_label(&storage->test);
        storage->classes = 1 + (train > test ? train : test);
        if (!options->classes[0])
            HR_TRY(note_gaps(name, storage));
    }
    return HR_OK;
}

static enum hr_status check_alike(const char *name, const struct hr_table *train,
                                  const struct hr_table *other, const char *which)
{
    const struct hr_shape *a = &train->shape, *b = &other->shape;
    if (!other->count)
        return HR_OK;
    if (train->features != other->features)
        return hr_fail(HR_E_FORMAT,
                       "%s: %s features have another type than train features, expected the same",
                       name, which);
    if (a->channels != b->channels || a->height != b->height || a->width != b->width)
        return hr_fail(HR_E_FORMAT,
                       "%s: train samples are %zux%zux%zu, %s samples are %zux%zux%zu, expected "
                       "the same",
                       name, a->channels, a->height, a->width, which, b->channels, b->height,
                       b->width);
    return HR_OK;
}

static enum hr_status check_tables(const char *name, const struct hr_storage *storage)
{
    const struct hr_table *tables[] = {&storage->train, &storage->test, &storage->validation};
    for (int i = 0; i < 3; i++)
        if (tables[i]->count >= HR_TABLE_MAX_COUNT)
            return hr_fail(HR_E_FORMAT, "%s: has %zu samples, expected fewer than %zu", name,
                           tables[i]->count, HR_TABLE_MAX_COUNT);
    if (!tables[0]->count || !hr_shape_elems(tables[0]->shape))
        return hr_fail(HR_E_FORMAT, "%s: has %zu samples of %zu features, expected some", name,
                       tables[0]->count, hr_shape_elems(tables[0]->shape));
    HR_TRY(check_alike(name, tables[0], tables[1], "test"));
    return check_alike(name, tables[0], tables[2], "validation");
}

/* Samples are gathered from all over a large table: large pages save address look-ups. */
static void enlarge_pages(const struct hr_storage *storage, const struct hr_dataset *dataset)
{
    const struct hr_split *train = &dataset->train;
    const size_t elems = train->count * hr_shape_elems(dataset->shape);
    if (storage->map || storage->train.map)
        return; /* a file's pages */
    if (dataset->features == HR_FEATURES_BYTES)
        hr_pages_enlarge(train->pixels, elems);
    else if (dataset->features == HR_FEATURES_FLOATS)
        hr_pages_enlarge(train->values, elems * sizeof *train->values);
}

/* Where floats are enough, what was read is of no use to this run. Small tables keep it: they may
 * be new data for a model whose training data needed it. */
static enum hr_status resolve_rounding(struct hr_dataset *dataset, struct hr_storage *storage)
{
    enum { KEPT = 64 << 20 };
    struct hr_table *tables[] = {&storage->train, &storage->test, &storage->validation};
    HR_TRY(hr_look_at_rounding(dataset, &storage->rounding));
    dataset->rounding = storage->rounding;
    if (storage->rounding || hr_dataset_bytes(dataset) <= KEPT)
        return HR_OK;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        hr_table_drop_exact(tables[t]);
    dataset->train.exact = dataset->test.exact = dataset->validation.exact = NULL;
    return HR_OK;
}

/* --classes: other numbers for the labels, and room for classes without samples. */
static enum hr_status apply_list(struct hr_dataset *dataset, struct hr_storage *storage)
{
    if (!dataset->options.classes[0] || dataset->tokens.context)
        return HR_OK; /* a text's are its tokens */
    HR_TRY(hr_class_list_parse("--classes", dataset->options.classes, &storage->list));
    return hr_class_list_apply(&storage->list, "--classes", dataset, storage->numbered);
}

static enum hr_status finish(struct hr_dataset *dataset, struct hr_storage *storage)
{
    const char *name = dataset->name;
    HR_TRY(check_tables(name, storage));
    HR_TRY(count_classes(name, &dataset->options, storage));
    memcpy(dataset->label_column, storage->train.label_column, sizeof dataset->label_column);
    memcpy(dataset->notes[0], storage->train.note, HR_DATA_NOTE);
    memcpy(dataset->notes[1], storage->test.note, HR_DATA_NOTE);
    memcpy(dataset->notes[2], storage->validation.note, HR_DATA_NOTE);
    dataset->label_guessed = storage->train.label_guessed;
    HR_TRY(hr_table_names(name, &storage->train, &storage->columns));
    dataset->feature_names = storage->columns;
    if (storage->train.feature_names && !storage->columns && !dataset->notes[0][0])
        snprintf(dataset->notes[0], sizeof dataset->notes[0],
                 "%s: two columns have one name, or one has a very long one: columns are known by "
                 "their places alone",
                 name);
    dataset->recipe = storage->recipe;
    dataset->skipped = storage->skipped;
    dataset->options.recipe = NULL;
    dataset->index_base = !strcmp(dataset->format, "libsvm") ? storage->train.index_base : -1;
    if (!storage->test.count && !dataset->options.test_all)
        HR_TRY(hr_table_hold_out(name, dataset->options.split, storage->classes != 0,
                                 &storage->train, dataset->options.test_fraction, &storage->test));
    dataset->shape = storage->train.shape;
    dataset->features = storage->train.features;
    dataset->classes = storage->classes;
    const char *const *names = storage->names ? storage->names : storage->naming.names;
    dataset->class_names = storage->classes ? names : NULL; /* packed: they may be targets' */
    dataset->scale = storage->scale;
    dataset->tokens = storage->tokens;
    dataset->targets = (struct hr_targets){.count = storage->labels.targets.width,
                                           .rows = hr_target_rows_count(&storage->labels.targets),
                                           .values = storage->labels.targets.values.data,
                                           .names = storage->labels.targets.name_table};
    dataset->train = hr_table_split(&storage->train);
    dataset->test = hr_table_split(storage->test.count ? &storage->test : &storage->train);
    dataset->validation = hr_table_split(&storage->validation);
    enlarge_pages(storage, dataset);
    HR_TRY(resolve_rounding(dataset, storage));
    if (!storage->digest[0])
        HR_TRY(hr_dataset_digest(dataset, dataset->digest));
    else
        memcpy(dataset->digest, storage->digest, sizeof dataset->digest);
    return apply_list(dataset, storage);
}

enum hr_status hr_dataset_finish(const char *name, const struct hr_format *format,
                                 const struct hr_data_options *options, struct hr_storage *storage,
                                 struct hr_dataset *out)
{
    struct hr_dataset dataset = {.options = *options, .storage = storage};
    snprintf(dataset.name, sizeof dataset.name, "%s", name);
    snprintf(dataset.format, sizeof dataset.format, "%s", format->name);
    const enum hr_status st = finish(&dataset, storage);
    if (st == HR_OK)
        *out = dataset;
    return st;
}

size_t hr_dataset_bytes(const struct hr_dataset *dataset)
{
    const struct hr_storage *storage = dataset->storage;
    if (!storage)
        return 0;
    return hr_table_bytes(&storage->train) + hr_table_bytes(&storage->test) +
           hr_table_bytes(&storage->validation) + storage->labels.targets.values.bytes +
           (storage->map ? 0 : storage->tokens.count * storage->tokens.width);
}

void hr_dataset_close(struct hr_dataset *dataset)
{
    if (dataset->storage)
        hr_storage_free(dataset->storage);
    free(dataset->storage);
    *dataset = (struct hr_dataset){0};
}

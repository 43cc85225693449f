#include "session/model_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "data/bytes.h"
#include "data/look.h"
#include "data/tokens.h"
#include "session/saved.h"
#include "session/target_scale.h"

/* --- names --- */

/* Of names; a file has room for 4096 in all. */
enum { CLASS_ENTRIES = 2048, FEATURE_ENTRIES = 1024 };

struct names {
    size_t count;
    const char *const *list; /* (count); NULL: there are none */
};

static void write_key(const char *key, size_t i, char *out, size_t size)
{
    if (i)
        snprintf(out, size, "%s.%zu", key, i);
    else
        snprintf(out, size, "%s", key);
}

/* Join the names from `first` on that fit into one entry; returns the first that does not. */
static size_t fill_entry(struct names names, size_t first, char *value, size_t size)
{
    size_t used = 0, i = first;
    for (; i < names.count; i++) {
        char name[HR_CLASS_NAME_TEXT];
        hr_class_name_write(names.list[i], name);
        if (used + strlen(name) + 2 > size)
            break;
        used += (size_t)snprintf(value + used, size - used, "%s%s", used ? "," : "", name);
    }
    return i;
}

/* How many entries they take; 0 where there are none, and where they would be more than `most`. */
static size_t name_entries(struct names names, size_t most)
{
    struct hr_metadata entry;
    size_t n = 0;
    for (size_t i = 0; names.list && i < names.count; n++)
        i = fill_entry(names, i, entry.value, sizeof entry.value);
    return n > most ? 0 : n;
}

/* Append them to the metadata; their number is that of name_entries. */
static void put_names(const char *key, struct names names, size_t entries,
                      struct hr_tensor_file *file)
{
    for (size_t i = 0, name = 0; i < entries; i++) {
        struct hr_metadata *entry = &file->metadata[file->nmetadata++];
        write_key(key, i, entry->key, sizeof entry->key);
        name = fill_entry(names, name, entry->value, sizeof entry->value);
    }
}

/* A long text takes as many entries as it needs: its pieces, one behind the other. */
enum { PIECE = sizeof((struct hr_metadata *)0)->value - 1 };

static size_t text_entries(const char *text)
{
    return text ? (strlen(text) + PIECE - 1) / PIECE : 0;
}

static void put_text(const char *key, const char *text, struct hr_tensor_file *file)
{
    for (size_t i = 0; i < text_entries(text); i++) {
        struct hr_metadata *entry = &file->metadata[file->nmetadata++];
        write_key(key, i, entry->key, sizeof entry->key);
        snprintf(entry->value, sizeof entry->value, "%s", text + i * PIECE);
    }
}

/* free(*text); NULL: the file does not say it. */
static enum hr_status get_text(const struct hr_checkpoint *checkpoint, const char *key, char **text)
{
    char numbered[sizeof((struct hr_metadata *)0)->key];
    struct hr_array whole = {0};
    const char *value;
    enum hr_status status = HR_OK;
    for (size_t i = 0; write_key(key, i, numbered, sizeof numbered),
                status == HR_OK && (value = hr_metadata_get(&checkpoint->model, numbered)) != NULL;
         i++)
        status = hr_array_add(&whole, checkpoint->path, value, strlen(value));
    if (status == HR_OK && whole.bytes)
        status = hr_array_add(&whole, checkpoint->path, "", 1);
    *text = whole.data;
    return status;
}

/* Names that nobody gave on a command line are no mistake of usage. */
static enum hr_status as_format(enum hr_status status)
{
    return status == HR_OK
               ? HR_OK
               : hr_fail(status == HR_E_USAGE ? HR_E_FORMAT : status, "%s", hr_error_message());
}

/* Add the names under a key to a list. HR_E_FORMAT, HR_E_NOMEM. */
static enum hr_status get_names(const struct hr_checkpoint *checkpoint, const char *key,
                                struct hr_class_list *list)
{
    char numbered[sizeof((struct hr_metadata *)0)->key];
    enum hr_status status = HR_OK;
    const char *value;
    for (size_t i = 0; write_key(key, i, numbered, sizeof numbered),
                status == HR_OK && (value = hr_metadata_get(&checkpoint->model, numbered)) != NULL;
         i++)
        status = hr_class_list_add(checkpoint->path, value, list);
    return as_format(status);
}

/* --- classes --- */

static const char classes_key[] = "hogring.classes", class_names_key[] = "hogring.class_names";

static struct names names_of(const struct hr_dataset *dataset)
{
    return (struct names){dataset->classes, dataset->class_names};
}

size_t hr_class_names_entries(const struct hr_dataset *dataset)
{
    const size_t names = name_entries(names_of(dataset), CLASS_ENTRIES);
    if (dataset->targets.count)
        return 0;
    return dataset->class_names && !names ? 0 : 1 + names;
}

void hr_class_names_put(const struct hr_dataset *dataset, struct hr_tensor_file *file)
{
    const size_t entries = hr_class_names_entries(dataset);
    if (dataset->targets.count)
        return; /* target_scale.h has them */
    if (!entries) {
        hr_log(HR_LOG_WARNING,
               "the names of %zu classes are too long for a checkpoint: it goes without them",
               dataset->classes);
        return;
    }
    hr_saved_put(file, classes_key, "%zu", dataset->classes);
    put_names(class_names_key, names_of(dataset), entries - 1, file);
}

enum hr_status hr_class_names_get(const struct hr_checkpoint *checkpoint,
                                  struct hr_class_list *list)
{
    const char *text = hr_metadata_get(&checkpoint->model, classes_key);
    uint64_t count;
    *list = (struct hr_class_list){0};
    if (!text)
        return HR_OK;
    if (!hr_parse_count(text, &count) || count < 1 || count > HR_MAX_CLASSES)
        return hr_fail(HR_E_FORMAT, "%s: metadata \"%s\" is not a number of classes",
                       checkpoint->path, classes_key);
    HR_TRY(get_names(checkpoint, class_names_key, list));
    if (list->count)
        HR_TRY(as_format(hr_class_list_finish(checkpoint->path, list)));
    if (list->count && list->count != count)
        return hr_fail(HR_E_FORMAT, "%s: metadata has %zu names of %llu classes", checkpoint->path,
                       list->count, (unsigned long long)count);
    list->count = count;
    return HR_OK;
}

enum hr_status hr_class_view_open(const struct hr_checkpoint *checkpoint,
                                  const struct hr_dataset *dataset, bool test_alone,
                                  struct hr_class_view *view)
{
    *view = (struct hr_class_view){.dataset = *dataset};
    if (test_alone)
        view->dataset.train.count = view->dataset.validation.count = 0;
    HR_TRY(hr_target_scale_same_task(checkpoint, dataset));
    if (dataset->targets.count)
        return HR_OK;
    HR_TRY(hr_class_names_get(checkpoint, &view->list));
    if (dataset->tokens.context) /* read with the model's own vocabulary */
        return HR_OK;
    if (!view->list.count) {
        if (dataset->class_names && !dataset->options.classes[0])
            hr_log(HR_LOG_WARNING,
                   "%s does not say its classes: they are taken for %s (--classes lists others)",
                   checkpoint->path,
                   hr_class_list_shown(dataset->class_names, dataset->classes).text);
        return HR_OK;
    }
    return hr_class_list_apply(&view->list, checkpoint->path, &view->dataset, view->labels);
}

static bool same_names(const struct hr_class_list *list, const struct hr_dataset *dataset)
{
    bool same = list->count == dataset->classes && !list->names == !dataset->class_names;
    for (size_t i = 0; same && list->names && i < list->count; i++)
        same = !strcmp(list->names[i], dataset->class_names[i]);
    return same;
}

/* Weights that were learned for some characters mean nothing for others. */
static enum hr_status compare_tokens(const struct hr_checkpoint *checkpoint,
                                     const struct hr_dataset *dataset)
{
    struct hr_model_input input;
    HR_TRY(hr_model_input_get(checkpoint, &input));
    const bool same = !input.recipe || !strcmp(input.recipe, dataset->recipe);
    hr_model_input_free(&input);
    return same ? HR_OK
                : hr_fail(HR_E_FORMAT,
                          "%s: its tokens are others than those of %s; expected the same "
                          "characters (models of bytes go on with any text)",
                          checkpoint->path, dataset->name);
}

enum hr_status hr_class_names_compare(const struct hr_checkpoint *checkpoint,
                                      const struct hr_dataset *dataset)
{
    struct hr_class_list list;
    if (dataset->tokens.context)
        return compare_tokens(checkpoint, dataset);
    const enum hr_status status = hr_class_names_get(checkpoint, &list);
    if (status == HR_OK && list.count && !same_names(&list, dataset))
        hr_log(HR_LOG_WARNING, "%s: its classes are %s, here they are %s; outputs are taken over",
               checkpoint->path, hr_class_list_shown(list.names, list.count).text,
               hr_class_list_shown(dataset->class_names, dataset->classes).text);
    hr_class_list_free(&list);
    return status;
}

void hr_class_view_close(struct hr_class_view *view)
{
    hr_class_list_free(&view->list);
    for (size_t s = 0; s < 3; s++)
        free(view->labels[s]);
    *view = (struct hr_class_view){0};
}

/* --- input --- */

static const char scale_key[] = "hogring.input_scale", largest_key[] = "hogring.input_largest";

/* The first of them; 0: the file does not say it. */
static float input_scale_get(const struct hr_checkpoint *checkpoint)
{
    const char *scale = hr_metadata_get(&checkpoint->model, scale_key);
    return scale ? strtof(scale, NULL) : 0;
}

void hr_input_scale_compare(const struct hr_checkpoint *checkpoint,
                            const struct hr_dataset *dataset, const struct hr_split *split)
{
    const double far = 10;
    const char *scale = hr_metadata_get(&checkpoint->model, scale_key);
    const char *text = hr_metadata_get(&checkpoint->model, largest_key);
    const double was = text ? strtod(text, NULL) : 0;
    const double is = (double)hr_look_at_largest(dataset, split);
    if (!scale || strtof(scale, NULL) == dataset->scale || !(was > 0 && is > 0))
        return;
    if (is >= far * was || was >= far * is)
        hr_log(HR_LOG_WARNING,
               "%s: its inputs had maximum %g (features times %g), those of %s have %g (times %g): "
               "expected data of the same scale",
               checkpoint->path, was, strtod(scale, NULL), dataset->name, is,
               (double)dataset->scale);
}

enum { OTHERS = 5 }; /* entries beside names */

static const char shape_key[] = "hogring.input", names_key[] = "hogring.feature_names",
                  columns_key[] = "hogring.columns", label_key[] = "hogring.label_column",
                  base_key[] = "hogring.index_base";

static size_t feature_entries(const struct hr_dataset *dataset)
{
    return name_entries((struct names){dataset->shape.channels, dataset->feature_names},
                        FEATURE_ENTRIES);
}

size_t hr_model_input_entries(const struct hr_dataset *dataset)
{
    return OTHERS + feature_entries(dataset) + text_entries(dataset->recipe);
}

void hr_model_input_put(const struct hr_dataset *dataset, struct hr_tensor_file *file)
{
    const struct hr_shape shape = dataset->shape;
    const struct names names = {shape.channels, dataset->feature_names};
    hr_saved_put(file, scale_key, "%.9g", (double)dataset->scale);
    hr_saved_put(file, largest_key, "%.9g", (double)hr_look_at_largest(dataset, &dataset->train));
    hr_saved_put(file, shape_key, "%zux%zux%zu", shape.channels, shape.height, shape.width);
    if (dataset->label_column[0])
        hr_saved_put(file, label_key, "%s", dataset->label_column);
    if (dataset->index_base >= 0)
        hr_saved_put(file, base_key, "%d", dataset->index_base);
    put_names(names_key, names, feature_entries(dataset), file);
    put_text(columns_key, dataset->recipe, file);
}

static enum hr_status read_shape(const struct hr_checkpoint *checkpoint, struct hr_shape *out)
{
    const char *text = hr_metadata_get(&checkpoint->model, shape_key);
    struct hr_shape shape;
    char end;
    if (!text)
        return HR_OK;
    if (text[0] == '-' ||
        sscanf(text, "%zux%zux%zu%c", &shape.channels, &shape.height, &shape.width, &end) != 3 ||
        !shape.channels || !shape.height || !shape.width)
        return hr_fail(HR_E_FORMAT, "%s: metadata \"%s\" is no shape, expected as 1x28x28",
                       checkpoint->path, shape_key);
    *out = shape;
    return HR_OK;
}

static enum hr_status read_feature_names(const struct hr_checkpoint *checkpoint,
                                         struct hr_model_input *out)
{
    HR_TRY(get_names(checkpoint, names_key, &out->names));
    if (out->names.count && out->names.count != out->shape.channels)
        return hr_fail(HR_E_FORMAT, "%s: metadata has %zu names of %zu features", checkpoint->path,
                       out->names.count, out->shape.channels);
    return HR_OK;
}

enum hr_status hr_model_input_get(const struct hr_checkpoint *checkpoint,
                                  struct hr_model_input *out)
{
    *out = (struct hr_model_input){.index_base = -1, .scale = input_scale_get(checkpoint)};
    const char *label = hr_metadata_get(&checkpoint->model, label_key);
    const char *base = hr_metadata_get(&checkpoint->model, base_key);
    HR_TRY(read_shape(checkpoint, &out->shape));
    if (label) /* no name where there is no comma */
        sscanf(label, "column %zu, %79[^\n]", &out->label, out->label_name);
    HR_TRY(get_text(checkpoint, columns_key, &out->recipe));
    if (base)
        out->index_base = base[0] == '1';
    return read_feature_names(checkpoint, out);
}

/* The first feature whose name is another; best one that the model has at another place. */
static size_t first_other(const struct hr_model_input *input, const struct hr_dataset *dataset,
                          bool *moved)
{
    const size_t n = input->names.count;
    size_t first = n;
    *moved = false;
    for (size_t i = n; i-- > 0;) {
        uint32_t feature = 0;
        const bool there =
            hr_labels_find(&input->names.labels, dataset->feature_names[i], &feature);
        if ((there && feature == i) || (!there && *moved))
            continue;
        *moved = there;
        first = i;
    }
    return first;
}

static bool is_row(struct hr_shape shape)
{
    return shape.height == 1 && shape.width == 1;
}

enum hr_status hr_model_input_check_shape(const struct hr_model_input *input, const char *model,
                                          const struct hr_dataset *dataset)
{
    const struct hr_shape a = dataset->shape, b = input->shape;
    const bool same = a.channels == b.channels && a.height == b.height && a.width == b.width;
    if (!b.channels || same || is_row(a) || is_row(b) || hr_shape_elems(a) != hr_shape_elems(b))
        return HR_OK;
    return hr_fail(HR_E_FORMAT,
                   "%s: its samples are %zux%zux%zu (C, H, W), expected %zux%zux%zu, as %s was "
                   "trained on, or rows of %zu numbers",
                   dataset->name, a.channels, a.height, a.width, b.channels, b.height, b.width,
                   model, hr_shape_elems(b));
}

static enum hr_status compare(const struct hr_model_input *input, const char *path,
                              const struct hr_dataset *dataset)
{
    bool moved;
    HR_TRY(hr_model_input_check_shape(input, path, dataset));
    if (input->index_base >= 0 && dataset->index_base >= 0 &&
        input->index_base != dataset->index_base)
        hr_log(HR_LOG_WARNING,
               "%s: its first feature is index %d, that of %s was %d: --index-base %d reads it so",
               dataset->name, dataset->index_base, path, input->index_base, input->index_base);
    if (!dataset->feature_names || !input->names.count ||
        input->names.count != dataset->shape.channels)
        return HR_OK;
    const size_t i = first_other(input, dataset, &moved);
    if (i == input->names.count)
        return HR_OK;
    const char *here = dataset->feature_names[i], *there = hr_labels_text(&input->names.labels, i);
    if (moved)
        return hr_fail(HR_E_FORMAT,
                       "%s: has the columns that %s was trained on in another order (feature %zu "
                       "is \"%s\", there \"%s\"), expected the same order",
                       dataset->name, path, i + 1, hr_shown(here, strlen(here)).text,
                       hr_shown(there, strlen(there)).text);
    hr_log(HR_LOG_WARNING,
           "%s: its columns have other names than those that %s was trained on: feature %zu is "
           "\"%s\", there \"%s\"",
           dataset->name, path, i + 1, hr_shown(here, strlen(here)).text,
           hr_shown(there, strlen(there)).text);
    return HR_OK;
}

enum hr_status hr_model_input_compare(const struct hr_checkpoint *checkpoint,
                                      const struct hr_dataset *dataset)
{
    struct hr_model_input input;
    enum hr_status status = hr_model_input_get(checkpoint, &input);
    if (status == HR_OK)
        status = compare(&input, checkpoint->path, dataset);
    hr_model_input_free(&input);
    return status;
}

void hr_model_input_like(const struct hr_checkpoint *checkpoint, const struct hr_model_input *input,
                         size_t classes, struct hr_dataset *out)
{
    struct hr_vocabulary vocabulary;
    *out = (struct hr_dataset){.shape = input->shape, .classes = classes};
    snprintf(out->name, sizeof out->name, "%.255s", checkpoint->path);
    if (!input->recipe || hr_vocabulary_read(input->recipe, &vocabulary) != HR_OK)
        return;
    out->classes = vocabulary.count;
    out->tokens = (struct hr_tokens){.context = hr_shape_elems(input->shape)};
    hr_vocabulary_free(&vocabulary);
}

void hr_model_input_free(struct hr_model_input *input)
{
    hr_class_list_free(&input->names);
    free(input->recipe);
    *input = (struct hr_model_input){0};
}

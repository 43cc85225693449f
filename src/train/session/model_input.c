#include "session/model_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "data/bytes.h"
#include "session/input_scale.h"
#include "session/name_entries.h"

enum { MOST_ENTRIES = 1024, OTHERS = 3 }; /* of names */

static const char shape_key[] = "hogring.input", names_key[] = "hogring.feature_names",
                  label_key[] = "hogring.label_column", base_key[] = "hogring.index_base";

static size_t name_entries(const struct hr_dataset *dataset)
{
    return hr_name_entries((struct hr_names){dataset->shape.channels, dataset->feature_names},
                           MOST_ENTRIES);
}

size_t hr_model_input_entries(const struct hr_dataset *dataset)
{
    return OTHERS + name_entries(dataset);
}

static struct hr_metadata *next(struct hr_tensor_file *file, const char *key)
{
    struct hr_metadata *entry = &file->metadata[file->nmetadata++];
    snprintf(entry->key, sizeof entry->key, "%s", key);
    return entry;
}

void hr_model_input_put(const struct hr_dataset *dataset, struct hr_tensor_file *file)
{
    const struct hr_shape shape = dataset->shape;
    const struct hr_names names = {shape.channels, dataset->feature_names};
    struct hr_metadata *entry = next(file, shape_key);
    snprintf(entry->value, sizeof entry->value, "%zux%zux%zu", shape.channels, shape.height,
             shape.width);
    if (dataset->label_column[0])
        snprintf(next(file, label_key)->value, sizeof entry->value, "%s", dataset->label_column);
    if (dataset->index_base >= 0)
        snprintf(next(file, base_key)->value, sizeof entry->value, "%d", dataset->index_base);
    hr_name_entries_put(names_key, names, name_entries(dataset), file);
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

static enum hr_status read_names(const struct hr_checkpoint *checkpoint, struct hr_model_input *out)
{
    const enum hr_status status = hr_name_entries_get(checkpoint, names_key, &out->names);
    if (status != HR_OK)
        return hr_fail(status == HR_E_USAGE ? HR_E_FORMAT : status, "%s", hr_error_message());
    if (out->names.count && out->names.count != out->shape.channels)
        return hr_fail(HR_E_FORMAT, "%s: metadata has %zu names of %zu features", checkpoint->path,
                       out->names.count, out->shape.channels);
    return HR_OK;
}

enum hr_status hr_model_input_get(const struct hr_checkpoint *checkpoint,
                                  struct hr_model_input *out)
{
    *out = (struct hr_model_input){.index_base = -1, .scale = hr_input_scale_get(checkpoint)};
    const char *label = hr_metadata_get(&checkpoint->model, label_key);
    const char *base = hr_metadata_get(&checkpoint->model, base_key);
    HR_TRY(read_shape(checkpoint, &out->shape));
    if (label) /* no name where there is no comma */
        sscanf(label, "column %zu, %79[^\n]", &out->label, out->label_name);
    if (base)
        out->index_base = base[0] == '1';
    return read_names(checkpoint, out);
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

void hr_model_input_free(struct hr_model_input *input)
{
    hr_class_list_free(&input->names);
    *input = (struct hr_model_input){0};
}

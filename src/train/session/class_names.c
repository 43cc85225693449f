#include "session/class_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "session/target_scale.h"
#include "base/parse.h"
#include "session/name_entries.h"

enum { MOST_ENTRIES = 2048 }; /* of names; a file has room for 4096 in all */

static const char count_key[] = "hogring.classes", names_key[] = "hogring.class_names";

static struct hr_names names_of(const struct hr_dataset *dataset)
{
    return (struct hr_names){dataset->classes, dataset->class_names};
}

size_t hr_class_names_entries(const struct hr_dataset *dataset)
{
    const size_t names = hr_name_entries(names_of(dataset), MOST_ENTRIES);
    if (dataset->targets.count)
        return 0;
    return dataset->class_names && !names ? 0 : 1 + names;
}

void hr_class_names_put(const struct hr_dataset *dataset, struct hr_tensor_file *file)
{
    const size_t entries = hr_class_names_entries(dataset);
    if (dataset->targets.count)
        return; /* target_scale.h */
    if (!entries) {
        hr_log(HR_LOG_WARNING,
               "the names of %zu classes are too long for a checkpoint: it goes without them",
               dataset->classes);
        return;
    }
    struct hr_metadata *entry = &file->metadata[file->nmetadata++];
    snprintf(entry->key, sizeof entry->key, "%s", count_key);
    snprintf(entry->value, sizeof entry->value, "%zu", dataset->classes);
    hr_name_entries_put(names_key, names_of(dataset), entries - 1, file);
}

static enum hr_status read_names(const struct hr_checkpoint *checkpoint, struct hr_class_list *list)
{
    HR_TRY(hr_name_entries_get(checkpoint, names_key, list));
    return list->count ? hr_class_list_finish(checkpoint->path, list) : HR_OK;
}

enum hr_status hr_class_names_get(const struct hr_checkpoint *checkpoint,
                                  struct hr_class_list *list)
{
    const char *text = hr_metadata_get(&checkpoint->model, count_key);
    uint64_t count;
    *list = (struct hr_class_list){0};
    if (!text)
        return HR_OK;
    if (!hr_parse_count(text, &count) || count < 1 || count > HR_MAX_CLASSES)
        return hr_fail(HR_E_FORMAT, "%s: metadata \"%s\" is not a number of classes",
                       checkpoint->path, count_key);
    const enum hr_status status = read_names(checkpoint, list);
    if (status != HR_OK)
        return hr_fail(status == HR_E_USAGE ? HR_E_FORMAT : status, "%s", hr_error_message());
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
    HR_TRY(hr_target_scale_same_task(checkpoint, dataset));
    if (dataset->targets.count) {
        if (test_alone)
            view->dataset.train.count = view->dataset.validation.count = 0;
        return HR_OK;
    }
    HR_TRY(hr_class_names_get(checkpoint, &view->list));
    if (!view->list.count) {
        if (dataset->class_names && !dataset->options.classes[0])
            hr_log(HR_LOG_WARNING,
                   "%s does not say its classes: they are taken for %s (--classes lists others)",
                   checkpoint->path,
                   hr_class_list_shown(dataset->class_names, dataset->classes).text);
        return HR_OK;
    }
    if (test_alone)
        view->dataset.train.count = view->dataset.validation.count = 0;
    return hr_class_list_apply(&view->list, checkpoint->path, &view->dataset, view->labels);
}

static bool same_names(const struct hr_class_list *list, const struct hr_dataset *dataset)
{
    bool same = list->count == dataset->classes && !list->names == !dataset->class_names;
    for (size_t i = 0; same && list->names && i < list->count; i++)
        same = !strcmp(list->names[i], dataset->class_names[i]);
    return same;
}

enum hr_status hr_class_names_compare(const struct hr_checkpoint *checkpoint,
                                      const struct hr_dataset *dataset)
{
    struct hr_class_list list;
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

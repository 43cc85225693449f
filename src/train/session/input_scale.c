#include "session/input_scale.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "data/look.h"

static const char scale_key[] = "hogring.input_scale", largest_key[] = "hogring.input_largest";

static void put(struct hr_tensor_file *file, const char *key, float number)
{
    struct hr_metadata *entry = &file->metadata[file->nmetadata++];
    snprintf(entry->key, sizeof entry->key, "%s", key);
    snprintf(entry->value, sizeof entry->value, "%.9g", (double)number);
}

void hr_input_scale_put(const struct hr_dataset *dataset, struct hr_tensor_file *file)
{
    put(file, scale_key, dataset->scale);
    put(file, largest_key, hr_look_at_largest(dataset, &dataset->train));
}

float hr_input_scale_get(const struct hr_checkpoint *checkpoint)
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

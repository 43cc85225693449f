#include "train/task.h"

#include <stdio.h>
#include <string.h>

#include "data/look.h"

static enum hr_status refuse_values(const struct hr_dataset *dataset,
                                    const struct hr_label_look *look)
{
    char place[100] = "", why[120];
    if (dataset->label_column[0])
        snprintf(place, sizeof place, " (%s)", dataset->label_column);
    if (look->fraction)
        snprintf(why, sizeof why, "%.40s is not whole", look->fraction);
    else
        snprintf(why, sizeof why, "%zu different numbers in %zu samples", look->distinct,
                 look->samples);
    return hr_fail(HR_E_USAGE,
                   "%s: the labels%s look like values and not like classes: %s. Values cannot be "
                   "trained on yet; --task classify makes a class of each",
                   dataset->name, place, why);
}

enum hr_status hr_task_check(const struct hr_train_options *options,
                             const struct hr_dataset *dataset)
{
    const char *task = options->task;
    struct hr_label_look look;
    if (!strcmp(task, "classify") || dataset->options.classes[0])
        return HR_OK;
    HR_TRY(hr_look_at_labels(dataset, &look));
    return look.kind == HR_LABELS_VALUES ? refuse_values(dataset, &look) : HR_OK;
}

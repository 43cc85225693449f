#include "train/task.h"

#include <stdio.h>
#include <string.h>

#include "data/look.h"
#include "options/choices.h"
#include "options/metric.h"
#include "options/train_options.h"

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
                   "%s: the labels%s look like values and not like classes: %s. --task regress "
                   "predicts values, --task classify makes a class of each",
                   dataset->name, place, why);
}

enum hr_status hr_task_check(const struct hr_train_options *options,
                             const struct hr_dataset *dataset)
{
    const bool classify = hr_choices_of(options).task == HR_TASK_CLASSIFY;
    struct hr_label_look look;
    if (dataset->targets.count)
        return classify ? hr_fail(HR_E_USAGE, "--task classify: %s was read as values to predict",
                                  dataset->name)
                        : HR_OK;
    if (hr_task_is_regress(options))
        return hr_fail(HR_E_USAGE, "--task regress: the labels of %s were read as classes",
                       dataset->name);
    if (classify || dataset->options.classes[0])
        return HR_OK;
    HR_TRY(hr_look_at_labels(dataset, &look));
    return look.kind == HR_LABELS_VALUES ? refuse_values(dataset, &look) : HR_OK;
}

enum hr_status hr_task_check_metrics(const struct hr_train_options *options,
                                     const struct hr_dataset *dataset)
{
    const bool values = dataset->targets.count;
    struct hr_early_stop rule;
    HR_TRY(hr_early_stop_parse(options->early_stop, &rule));
    HR_TRY(hr_early_stop_fits(&rule, "early-stop", values));
    HR_TRY(hr_keep_best_parse(options->keep_best, &rule));
    return hr_early_stop_fits(&rule, "keep-best", values);
}

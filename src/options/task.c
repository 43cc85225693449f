#include "options/task.h"

#include <stdio.h>
#include <string.h>

void hr_task_settle(struct hr_train_options *options, struct hr_data_options *data)
{
    if (data->target[0] && !strcmp(options->task, "auto"))
        snprintf(options->task, sizeof options->task, "regress");
    if (!strcmp(options->model, "linear") && !strcmp(options->task, "auto"))
        snprintf(options->task, sizeof options->task, "regress");
    data->values = hr_task_is_regress(options);
}

void hr_task_complete(struct hr_train_options *options)
{
    if (!strcmp(options->loss, "auto"))
        snprintf(options->loss, sizeof options->loss, "%s",
                 hr_task_is_regress(options) ? "mse" : "cross-entropy");
}

enum hr_status hr_check_loss(const struct hr_train_options *options)
{
    const bool regress = hr_task_is_regress(options);
    const bool of_classes =
        !strcmp(options->loss, "cross-entropy") || !strcmp(options->loss, "bce");
    if (regress && of_classes)
        return hr_fail(HR_E_USAGE,
                       "--loss %s: is of classes; expected mse or huber with --task "
                       "regress",
                       options->loss);
    if (!regress && !strcmp(options->loss, "huber"))
        return hr_fail(HR_E_USAGE, "--loss huber: is of values; expected it with --task regress");
    return HR_OK;
}

enum hr_status hr_check_of_classes(const struct hr_train_options *options)
{
    if (!hr_task_is_regress(options))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--target-accuracy, --label-smoothing: mean nothing with --task regress, which "
                   "predicts values (of an rmse: --target-rmse)");
}

enum hr_status hr_check_of_values(const struct hr_train_options *options)
{
    if (hr_task_is_regress(options) || !strcmp(options->model, "mf"))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--target-rmse: is not supported where classes are predicted (it belongs "
                   "to --task regress)");
}

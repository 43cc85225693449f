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

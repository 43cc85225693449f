/* task.h - what labels are: classes, or with --task regress values to predict. What follows from it
 * for other options is settled here.
 *
 * Threads: pure functions. Test: tests/cli/regress.bats
 */
#ifndef HR_OPTIONS_TASK_H
#define HR_OPTIONS_TASK_H

#include <stdbool.h>

#include "base/error.h"
#include "hogring/train.h"

static inline bool hr_task_is_regress(const struct hr_train_options *options)
{
    return options->task[0] == 'r';
}

/* --target and --model linear ask for --task regress, and that is how data are to be read. */
void hr_task_settle(struct hr_train_options *options, struct hr_data_options *data);

/* --loss auto becomes that of the task. */
void hr_task_complete(struct hr_train_options *options);

#endif

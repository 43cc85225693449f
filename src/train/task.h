/* task.h - is there something to learn from these labels?
 *
 * Threads: before the ranks start. Test: tests/cli/classes.bats
 */
#ifndef HR_TRAIN_TASK_H
#define HR_TRAIN_TASK_H

#include "base/error.h"
#include "hogring/train.h"

/* --task, and labels that look like values (data/look.h): HR_E_USAGE. Classes that --classes names
 * are not looked at. */
HR_CHECKED enum hr_status hr_task_check(const struct hr_train_options *options,
                                        const struct hr_dataset *dataset);
/* --early-stop and --keep-best by what is measured of such labels. HR_E_USAGE. */
HR_CHECKED enum hr_status hr_task_check_metrics(const struct hr_train_options *options,
                                                const struct hr_dataset *dataset);

#endif

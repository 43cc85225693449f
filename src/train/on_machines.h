/* on_machines.h - hr_train on several machines (several.h): what whoever has the wire needs of it.
 *
 * Test: tests/unit/train/test_several.c
 */
#ifndef HR_TRAIN_ON_MACHINES_H
#define HR_TRAIN_ON_MACHINES_H

#include "base/error.h"
#include "hogring/train.h"

struct hr_machines;

/* On each machine with the same options and data; only machine 0 has a result. machines NULL:
 * hr_train. Dense models. */
HR_CHECKED enum hr_status hr_train_on(struct hr_machines *machines,
                                      const struct hr_train_options *options,
                                      const struct hr_dataset *dataset,
                                      const struct hr_observer *observer,
                                      struct hr_run_result *result);

#endif

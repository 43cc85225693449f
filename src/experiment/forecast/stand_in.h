/* stand_in.h - a run in virtual time, simulated with a small network in place of its own.
 *
 * In virtual time a gradient takes as long as it is said to, and a message as long as its bytes
 * take: which numbers are in them changes nothing. So the simulator itself (virtual/simulator.h)
 * runs the same workers, servers and batches with a network of few parameters, over links that are
 * slower in proportion; what is rounded differs, chunks to whole numbers.
 *
 * Threads: as hr_train. Test: tests/unit/forecast/test_stand_in.c (beside the simulated run itself)
 */
#ifndef HR_FORECAST_STAND_IN_H
#define HR_FORECAST_STAND_IN_H

#include "base/error.h"
#include "hogring/train.h"

/* Seconds of virtual time for each gradient of a run with these options, whose model has so many
 * parameters; samples: of its training split. HR_E_USAGE: options that it cannot stand for (a
 * topology, which names its links' speeds); as hr_train. */
HR_CHECKED enum hr_status hr_stand_in_gradient(const struct hr_train_options *options,
                                               size_t params, size_t samples, double *out);

#endif

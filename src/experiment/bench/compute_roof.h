/* compute_roof.h - how fast the machine multiplies, with all threads of all workers at once. */
#ifndef HR_BENCH_COMPUTE_ROOF_H
#define HR_BENCH_COMPUTE_ROOF_H

#include "base/error.h"
#include "hogring/train.h"
#include "tiles/tile_roof.h"

/* Operations a second of the workers' threads together, as many and as freely placed as in a run;
 * takes 30 ms. It is measured in a process of its own: one that has used a team of threads or BLAS
 * must not fork workers. HR_E_NOMEM, and errors of that process. */
HR_CHECKED enum hr_status hr_compute_roof(const struct hr_train_options *options,
                                          enum hr_roof_kind kind, double *flops);

#endif

/* compute_roof.h - how fast the machine multiplies, with all threads of all workers at once. */
#ifndef HR_BENCH_COMPUTE_ROOF_H
#define HR_BENCH_COMPUTE_ROOF_H

#include "base/error.h"
#include "hogring/train.h"

/* FLOP/s of the workers of a run together; takes a tenth of a second. It is measured in a process
 * of its own: one that has used a team of threads or BLAS must not fork workers. HR_E_NOMEM, and
 * errors of that process. */
HR_CHECKED enum hr_status hr_compute_roof(const struct hr_train_options *options, double *flops);

#endif

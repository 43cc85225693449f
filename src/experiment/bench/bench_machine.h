/* bench_machine.h - what a measurement should be read beside: the machine's own times. */
#ifndef HR_BENCH_MACHINE_H
#define HR_BENCH_MACHINE_H

#include "json/documents.h"

/* Measure them, with at most `nranks` threads (about 0.2 s). What cannot be measured is NaN. */
void hr_bench_calibrate(size_t nranks, struct hr_calibration *calibration);

/* Lines that begin with #. */
void hr_bench_print_calibration(const struct hr_calibration *calibration);

#endif

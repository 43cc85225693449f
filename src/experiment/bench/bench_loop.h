/* bench_loop.h - one measurement: an operation, a size, an algorithm, some ranks.
 *
 * The loop: every rank rewrites its whole input; barrier; time the operation; check the output now
 * and then. The time of an iteration is that of its slowest rank; the median of the iterations is
 * what counts. Back to back, there is no barrier: the operation itself keeps ranks in step, and
 * whoever comes early waits inside it.
 */
#ifndef HR_BENCH_LOOP_H
#define HR_BENCH_LOOP_H

#include <stdbool.h>

#include "plan/layout.h"
#include "json/documents.h"

struct hr_bench_case {
    struct hr_world_options world;
    enum hr_operation operation;
    enum hr_type type;
    enum hr_redop redop;
    size_t bytes;    /* as nccl-tests count them: of the largest buffer of a rank */
    bool own_memory; /* buffers from malloc, not from the arena */
    bool back_to_back;
    size_t iterations; /* 0: as many as the size and half a second's patience allow */
};

/* Measure it; fills the times, the bandwidths, wrong, count and bytes of *row. */
HR_CHECKED enum hr_status hr_bench_measure(const struct hr_bench_case *what,
                                           struct hr_bench_row *row);

/* --- bench_machine.c: what a measurement should be read beside, the machine's own times */
/* Measure them, with at most `nranks` threads (about 0.2 s). What cannot be measured is NaN. */
void hr_bench_calibrate(size_t nranks, struct hr_calibration *calibration);

/* Lines that begin with #. */
void hr_bench_print_calibration(const struct hr_calibration *calibration);

#endif

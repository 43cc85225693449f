/* norm_table.h - the table that each instruction set's copy of norm.isa.c fills. */
#ifndef HR_KERNELS_NORM_TABLE_H
#define HR_KERNELS_NORM_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/isa.h"

struct hr_norm_table {
    void (*moments)(size_t R, size_t C, const float *x, double *sums);
    void (*gradients)(size_t R, size_t C, const float *x, const float *dy, const double *mean,
                      double *sums);
    void (*apply)(size_t R, size_t C, const float *x, const float *coef, bool relu, float *y);
    void (*backward)(size_t R, size_t C, const float *x, const float *dy, const float *coef,
                     float *dx);
};

HR_ISA_DECLARE(struct hr_norm_table, hr_norm_table);

#endif

/* smooth_table.h - the table that each instruction set's copy of smooth.isa.c fills. */
#ifndef HR_KERNELS_SMOOTH_TABLE_H
#define HR_KERNELS_SMOOTH_TABLE_H

#include <stddef.h>

#include "base/isa.h"

struct hr_smooth_table {
    void (*sigmoid)(size_t count, const float *x, float *y);
    void (*tanh)(size_t count, const float *x, float *y);
    void (*gelu)(size_t count, const float *x, float *y);
    void (*sigmoid_backward)(size_t count, const float *y, const float *dy, float *dx);
    void (*tanh_backward)(size_t count, const float *y, const float *dy, float *dx);
    void (*gelu_backward)(size_t count, const float *x, const float *dy, float *dx);
};

HR_ISA_DECLARE(struct hr_smooth_table, hr_smooth_table);

#endif

/* kernels_table.h - the table that each instruction set's copy of kernels.isa.c fills. */
#ifndef HR_KERNELS_ELEMENTWISE_TABLE_H
#define HR_KERNELS_ELEMENTWISE_TABLE_H

#include <stddef.h>

#include "base/isa.h"

struct hr_nn_table {
    void (*bias_add)(size_t B, size_t O, const float *bias, float *y);
    void (*bias_relu)(size_t B, size_t O, const float *bias, float *y);
    void (*relu)(size_t count, const float *x, float *y);
    void (*relu_backward)(size_t count, const float *y, const float *dy, float *dx);
    void (*column_add)(size_t B, size_t O, const float *dy, float *db);
};

HR_ISA_DECLARE(struct hr_nn_table, hr_nn_table);

#endif

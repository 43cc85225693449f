/* vec_table.h - the table that each instruction set's copy of vec.isa.c fills. */
#ifndef HR_BASE_VEC_TABLE_H
#define HR_BASE_VEC_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/isa.h"

struct hr_vec_table {
    void (*tree_sum)(float *const *out, size_t nout, const float *const *x, size_t n, size_t count);
    void (*add)(float *y, const float *x, size_t count);
    void (*scale)(float *y, float a, size_t count);
    void (*axpy)(float *y, float a, const float *x, size_t count);
    void (*exchange)(float *x, float *c, float a, size_t count);
    void (*copy_past)(float *const *out, size_t nout, const float *x, size_t count);
    bool (*all_finite)(const float *x, size_t count);
};

HR_ISA_DECLARE(struct hr_vec_table, hr_vec_table);

#endif

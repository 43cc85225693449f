/* pool_table.h - the table that each instruction set's copy of pool.isa.c fills. */
#ifndef HR_KERNELS_POOL_TABLE_H
#define HR_KERNELS_POOL_TABLE_H

#include "base/isa.h"
#include "kernels/pool.h"

struct hr_pool_table {
    void (*max)(const struct hr_sliding *s, const float *x, float *y, uint8_t *place);
    void (*max_back)(const struct hr_sliding *s, const float *y, const float *dy,
                     const uint8_t *place, float *dx, size_t x_row);
    void (*mean)(const struct hr_sliding *s, const float *x, float *y);
    void (*mean_back)(const struct hr_sliding *s, const float *dy, float *dx);
};

HR_ISA_DECLARE(struct hr_pool_table, hr_pool_table);

#endif

/* micro_table.h - the table that each instruction set's copy of micro.isa.c fills. */
#ifndef HR_KERNELS_MICRO_TABLE_H
#define HR_KERNELS_MICRO_TABLE_H

#include "base/isa.h"
#include "kernels/micro.h"

struct hr_micro_table {
    size_t columns;
    void (*tile)(const struct hr_micro *micro);
    void (*strip)(const struct hr_micro *micro, size_t b_next);
    void (*tall)(const struct hr_micro *micro, const float *a, const uint32_t *row, size_t nrows);
};

HR_ISA_DECLARE(struct hr_micro_table, hr_micro_table);

#endif

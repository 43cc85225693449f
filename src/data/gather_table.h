/* gather_table.h - the table that each instruction set's copy of gather.isa.c fills. */
#ifndef HR_DATA_GATHER_TABLE_H
#define HR_DATA_GATHER_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

struct hr_gather_table {
    /* x[i] = scale * bytes[i]: an exact conversion and one product, so the same bits everywhere. */
    void (*scale_bytes)(float *x, const uint8_t *bytes, float scale, size_t n);
};

HR_ISA_DECLARE(struct hr_gather_table, hr_gather_table);

#endif

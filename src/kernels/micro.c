#include "kernels/micro.h"

#include "base/error.h"
#include "kernels/gemm.h"
#include "kernels/micro_table.h"

static const struct hr_micro_table *table(void)
{
    return hr_kernels_are_reference() ? &hr_micro_table_plain : HR_ISA_PICK(hr_micro_table);
}

size_t hr_micro_columns(void)
{
    return table()->columns;
}

void hr_micro_tile(const struct hr_micro *micro)
{
    const struct hr_micro_table *const tiles = table();
    HR_ASSERT(micro->rows >= 1 && micro->rows <= HR_MICRO_ROWS && micro->columns >= 1 &&
              micro->columns <= tiles->columns);
    tiles->tile(micro);
}

void hr_micro_strip(const struct hr_micro *micro, size_t b_next)
{
    HR_ASSERT(micro->rows >= 1 && micro->rows <= HR_MICRO_ROWS);
    table()->strip(micro, b_next);
}

void hr_micro_tall(const struct hr_micro *micro, const float *a, const uint32_t *row, size_t nrows)
{
    const struct hr_micro_table *const tiles = table();
    HR_ASSERT(micro->offset && micro->columns >= 1 && micro->columns <= tiles->columns);
    tiles->tall(micro, a, row, nrows);
}

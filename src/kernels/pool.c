#include "kernels/pool.h"

#include "kernels/pool_table.h"

void hr_pool_max(const struct hr_sliding *s, const float *x, float *y, uint8_t *place)
{
    HR_ISA_PICK(hr_pool_table)->max(s, x, y, place);
}

void hr_pool_max_back(const struct hr_sliding *s, const float *y, const float *dy,
                      const uint8_t *place, float *dx, size_t x_row)
{
    HR_ISA_PICK(hr_pool_table)->max_back(s, y, dy, place, dx, x_row);
}

void hr_pool_mean(const struct hr_sliding *s, const float *x, float *y)
{
    HR_ISA_PICK(hr_pool_table)->mean(s, x, y);
}

void hr_pool_mean_back(const struct hr_sliding *s, const float *dy, float *dx)
{
    HR_ISA_PICK(hr_pool_table)->mean_back(s, dy, dx);
}

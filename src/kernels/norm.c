#include "kernels/norm.h"

#include "kernels/norm_table.h"

void hr_norm_moments(size_t R, size_t C, const float *x, double *sums)
{
    HR_ISA_PICK(hr_norm_table)->moments(R, C, x, sums);
}

void hr_norm_gradients(size_t R, size_t C, const float *x, const float *dy, const double *mean,
                       double *sums)
{
    HR_ISA_PICK(hr_norm_table)->gradients(R, C, x, dy, mean, sums);
}

void hr_norm_apply(size_t R, size_t C, const float *x, const float *coef, bool relu, float *y)
{
    HR_ISA_PICK(hr_norm_table)->apply(R, C, x, coef, relu, y);
}

void hr_norm_backward(size_t R, size_t C, const float *x, const float *dy, const float *coef,
                      float *dx)
{
    HR_ISA_PICK(hr_norm_table)->backward(R, C, x, dy, coef, dx);
}

#include "kernels/smooth.h"

#include "kernels/smooth_table.h"

void hr_sigmoid(size_t count, const float *x, float *y)
{
    HR_ISA_PICK(hr_smooth_table)->sigmoid(count, x, y);
}

void hr_tanh(size_t count, const float *x, float *y)
{
    HR_ISA_PICK(hr_smooth_table)->tanh(count, x, y);
}

void hr_gelu(size_t count, const float *x, float *y)
{
    HR_ISA_PICK(hr_smooth_table)->gelu(count, x, y);
}

void hr_sigmoid_backward(size_t count, const float *y, const float *dy, float *dx)
{
    HR_ISA_PICK(hr_smooth_table)->sigmoid_backward(count, y, dy, dx);
}

void hr_tanh_backward(size_t count, const float *y, const float *dy, float *dx)
{
    HR_ISA_PICK(hr_smooth_table)->tanh_backward(count, y, dy, dx);
}

void hr_gelu_backward(size_t count, const float *x, const float *dy, float *dx)
{
    HR_ISA_PICK(hr_smooth_table)->gelu_backward(count, x, dy, dx);
}

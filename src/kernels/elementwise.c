#include "kernels/elementwise.h"

#include <string.h>

#include "kernels/elementwise_table.h"

void hr_bias_add(size_t B, size_t O, const float *bias, float *y)
{
    HR_ISA_PICK(hr_nn_table)->bias_add(B, O, bias, y);
}

void hr_bias_relu(size_t B, size_t O, const float *bias, float *y)
{
    HR_ISA_PICK(hr_nn_table)->bias_relu(B, O, bias, y);
}

void hr_relu(size_t count, const float *x, float *y)
{
    HR_ISA_PICK(hr_nn_table)->relu(count, x, y);
}

void hr_relu_backward(size_t count, const float *y, const float *dy, float *dx)
{
    HR_ISA_PICK(hr_nn_table)->relu_backward(count, y, dy, dx);
}

void hr_column_sums(size_t B, size_t O, const float *dy, float *db)
{
    memset(db, 0, O * sizeof *db);
    hr_column_add(B, O, dy, db);
}

void hr_column_add(size_t B, size_t O, const float *dy, float *db)
{
    HR_ISA_PICK(hr_nn_table)->column_add(B, O, dy, db);
}

#include "base/vec.h"

#include "base/error.h"
#include "base/vec_table.h"

void hr_vec_tree_sum(float *const *out, size_t nout, const float *const *x, size_t n, size_t count)
{
    HR_ASSERT(n >= 1 && n <= HR_VEC_MAX_INPUTS);
    HR_ISA_PICK(hr_vec_table)->tree_sum(out, nout, x, n, count);
}

void hr_vec_add(float *y, const float *x, size_t count)
{
    HR_ISA_PICK(hr_vec_table)->add(y, x, count);
}

void hr_vec_scale(float *y, float a, size_t count)
{
    HR_ISA_PICK(hr_vec_table)->scale(y, a, count);
}

void hr_vec_axpy(float *y, float a, const float *x, size_t count)
{
    HR_ISA_PICK(hr_vec_table)->axpy(y, a, x, count);
}

void hr_vec_exchange(float *x, float *c, float a, size_t count)
{
    HR_ISA_PICK(hr_vec_table)->exchange(x, c, a, count);
}

bool hr_vec_all_finite(const float *x, size_t count)
{
    return HR_ISA_PICK(hr_vec_table)->all_finite(x, count);
}

void hr_vec_copy_past(float *const *out, size_t nout, const float *x, size_t count)
{
    HR_ISA_PICK(hr_vec_table)->copy_past(out, nout, x, count);
}

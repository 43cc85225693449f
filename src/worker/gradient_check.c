#include "worker/gradient_check.h"

#include <math.h>

#include "base/vec.h"

void hr_gradient_check_begin(struct hr_gradient_check *check, float *grads, size_t params,
                             size_t nan_at)
{
    *check = (struct hr_gradient_check){grads, params, nan_at, SIZE_MAX};
}

bool hr_gradient_check_from(struct hr_gradient_check *check, size_t offset)
{
    const size_t end = check->unchecked;
    if (offset >= end || check->found != SIZE_MAX)
        return check->found == SIZE_MAX;
    check->unchecked = offset;
    if (check->nan_at >= offset && check->nan_at < end)
        check->grads[check->nan_at] = NAN;
    if (hr_vec()->all_finite(check->grads + offset, end - offset))
        return true;
    for (check->found = offset; isfinite(check->grads[check->found]);)
        check->found++;
    return false;
}

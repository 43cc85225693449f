#include "optim/sgd.h"

#include "optim/sgd_table.h"

void hr_sgd_update(float *w, float *m, const float *g, size_t count, const struct hr_sgd *sgd)
{
    HR_ISA_PICK(hr_sgd_table)->update(w, m, g, count, sgd);
}

/* The update loop, compiled once for each instruction set (see base/isa.h). */
#include "optim/sgd_table.h"

static void update(float *w, float *m, const float *g, size_t count, const struct hr_sgd *sgd)
{
    const struct hr_sgd rule = *sgd; /* a copy that no store to w or m can change */
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        w[i] = hr_sgd_element(w[i], g[i], &m[i], &rule);
}

const struct hr_sgd_table HR_ISA_NAME(hr_sgd_table) = {update};

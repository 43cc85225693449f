/* sgd_table.h - the table that each instruction set's copy of sgd.isa.c fills. */
#ifndef HR_OPTIM_SGD_TABLE_H
#define HR_OPTIM_SGD_TABLE_H

#include "base/isa.h"
#include "optim/sgd.h"

struct hr_sgd_table {
    void (*update)(float *w, float *m, const float *g, size_t count, const struct hr_sgd *sgd);
};

HR_ISA_DECLARE(struct hr_sgd_table, hr_sgd_table);

#endif

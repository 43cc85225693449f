#include "report/score_cells.h"

#include <math.h>
#include <stdio.h>

#include "report/human.h"

static void put_accuracy(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    const struct hr_spread spread = hr_run_group_spread(group, measure);
    if (isfinite(spread.mean))
        hr_human_spread(cell, &spread, 100, 2);
    else
        snprintf(cell, HR_CELL_MAX, "-"); /* it predicts values */
}

/* Targets have any size: their errors have four significant digits. */
static void put_error(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    const struct hr_spread spread = hr_run_group_spread(group, measure);
    const double mean = fabs(spread.mean);
    const int digits = mean > 0 && isfinite(mean) ? (int)floor(log10(mean)) : 0;
    if (isfinite(mean))
        hr_human_spread(cell, &spread, 1, digits > 2 ? 1 : digits < -3 ? 6 : 3 - digits);
    else
        snprintf(cell, HR_CELL_MAX, "-");
}

static void put_loss(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    const struct hr_spread spread = hr_run_group_spread(group, measure);
    hr_human_spread(cell, &spread, 1, spread.n > 1 ? 3 : 4);
}

void hr_cell_accuracy(const struct hr_run_group *group, char *cell)
{
    put_accuracy(group, hr_measure_accuracy, cell);
}

void hr_cell_rmse(const struct hr_run_group *group, char *cell)
{
    put_error(group, hr_measure_rmse, cell);
}

void hr_cell_mae(const struct hr_run_group *group, char *cell)
{
    put_error(group, hr_measure_mae, cell);
}

void hr_cell_r2(const struct hr_run_group *group, char *cell)
{
    const struct hr_spread spread = hr_run_group_spread(group, hr_measure_r2);
    if (isfinite(spread.mean))
        hr_human_spread(cell, &spread, 1, 4);
    else
        snprintf(cell, HR_CELL_MAX, "-");
}

void hr_cell_validation_rmse(const struct hr_run_group *group, char *cell)
{
    put_error(group, hr_measure_validation_rmse, cell);
}

void hr_cell_test_loss(const struct hr_run_group *group, char *cell)
{
    put_loss(group, hr_measure_test_loss, cell);
}

void hr_cell_validation_accuracy(const struct hr_run_group *group, char *cell)
{
    put_accuracy(group, hr_measure_validation_accuracy, cell);
}

void hr_cell_validation_loss(const struct hr_run_group *group, char *cell)
{
    put_loss(group, hr_measure_validation_loss, cell);
}

/* score_cells.h - cells of the table that say how well a group's runs predict: mean and deviation
 * over its seeds, "-" where it was not measured.
 *
 *   cell  (HR_CELL_MAX) out
 *
 * Threads: pure. Test: tests/unit/report/test_table.c
 */
#ifndef HR_REPORT_SCORE_CELLS_H
#define HR_REPORT_SCORE_CELLS_H

#include "report/columns.h"

void hr_cell_accuracy(const struct hr_run_group *group, char *cell);
void hr_cell_rmse(const struct hr_run_group *group, char *cell);
void hr_cell_mae(const struct hr_run_group *group, char *cell);
void hr_cell_r2(const struct hr_run_group *group, char *cell);
void hr_cell_validation_rmse(const struct hr_run_group *group, char *cell);
void hr_cell_test_loss(const struct hr_run_group *group, char *cell);
void hr_cell_validation_accuracy(const struct hr_run_group *group, char *cell);
void hr_cell_validation_loss(const struct hr_run_group *group, char *cell);

#endif

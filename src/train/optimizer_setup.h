/* optimizer_setup.h - optimizer and learning rate, from options; model and batch are known.
 *
 * Errors:  HR_E_USAGE names option and value.
 */
#ifndef HR_TRAIN_OPTIMIZER_SETUP_H
#define HR_TRAIN_OPTIMIZER_SETUP_H

#include "train/run.h"

HR_CHECKED enum hr_status hr_optimizer_setup(struct hr_run *run);
HR_CHECKED enum hr_status hr_rate_setup(struct hr_run *run); /* behind lay_out_schedule */
/* "adam, betas 0.9 0.999, eps 1e-08" and "lr 0.001 after 1 epoch of warm-up, linear to 0". */
void hr_optimizer_setup_text(const struct hr_run *run, char *text, size_t size);
void hr_rate_setup_text(const struct hr_run *run, char *text, size_t size);

#endif

/* compress_setup.h - from --compress to constants: which tensors are compressed, and how.
 *
 * Threads: before the ranks start.
 */
#ifndef HR_TRAIN_COMPRESS_SETUP_H
#define HR_TRAIN_COMPRESS_SETUP_H

#include "train/run.h"

/* Was it asked to compress, and does its strategy, of several workers, obey? */
bool hr_run_compresses(const struct hr_run *run);

/* Set run->compression; the strategy is prepared. HR_E_USAGE: not with that; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_compress_setup(struct hr_run *run);

/* "topk:1%: 18.8 KB a worker and step, 1.9 MB without", for people; "" where nothing is. */
void hr_compress_text(const struct hr_run *run, char *text, size_t size);

#endif

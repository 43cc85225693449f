/* evaluate.h - hr_evaluate_checkpoint (hogring/evaluate.h) of a checkpoint that has been read.
 *
 * Threads: one call at a time; it computes in the caller's thread.
 */
#ifndef HR_TRAIN_EVALUATE_H
#define HR_TRAIN_EVALUATE_H

#include "base/error.h"
#include "hogring/checkpoint.h"
#include "hogring/evaluate.h"

HR_CHECKED enum hr_status hr_evaluate_saved(const struct hr_checkpoint *checkpoint,
                                            const char *layers, const struct hr_dataset *dataset,
                                            struct hr_evaluation *out);

#endif

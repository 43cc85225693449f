/* sample.h - a small checkpoint to save, and a check that it is loaded whole. */
#ifndef HR_TESTS_SUPPORT_SAMPLE_H
#define HR_TESTS_SUPPORT_SAMPLE_H

#include "hogring/checkpoint.h"

#define SAMPLE_STEP "step-00000500"

extern float sample_weight[6];
extern struct hr_tensor sample_model_tensors[2], sample_trainer_tensors[2];

/* A checkpoint whose weights tell its step. */
struct hr_checkpoint sample_checkpoint(uint64_t step);

/* Save it in the scratch folder "d". */
void sample_save(uint64_t step, size_t keep);

/* path loads, and what is loaded is the whole sample of this step. */
void check_sample_loads(const char *path, uint64_t step);

#endif

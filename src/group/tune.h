/* tune.h - where the algorithm `auto` changes from one-shot to direct: measured, once a machine. */
#ifndef HR_GROUP_TUNE_H
#define HR_GROUP_TUNE_H

#include <stddef.h>

/* Buffers of so many bytes are reduced fastest in one shot, by `nranks` ranks. */
size_t hr_tune_one_shot_bytes(size_t nranks);

#endif

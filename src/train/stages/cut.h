/* cut.h - where a model is cut into parts.
 *
 *   auto    into parts as equal as can be (pipeline/cut.h), counted in multiply-adds forward and
 *           backward (nn/model.h); where ranks have several, or so that what ranks have is as
 *           equal, whichever of the two takes the schedule less time (pipeline/walk.h)
 *   given   "3,2,4": layers of each part. A residual block is one layer, as it is in the text.
 *
 * Threads: pure functions.
 * Test:    tests/unit/stages/test_cut.c
 */
#ifndef HR_STAGES_CUT_H
#define HR_STAGES_CUT_H

#include "nn/part.h"
#include "pipeline/walk.h"

/* For a checked shape. cut (parts - 1) out: the first layers, in the flat list, of all parts but
 * the first. HR_E_USAGE says why not; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_cut_model(const struct hr_model *model, const char *text,
                                       const struct hr_pipeline_schedule *schedule,
                                       const struct hr_pipeline_shape *shape, size_t *cut);

/* What a sample costs in each part, in multiply-adds: cut (parts + 1), from 0 to the last layer;
 * cost (parts) out. Layers with nothing to train before them have no gradient of their input. */
void hr_cut_count(const struct hr_model *model, const size_t *cut, size_t parts,
                  struct hr_part_cost *cost);

/* "0 to 2", "3": layers [first, end) of the flat list as the text counts them. */
void hr_cut_text(const struct hr_model *model, size_t first, size_t end, char *text, size_t size);

#endif

/* cut.h - where a model is cut into parts.
 *
 *   auto    into parts as equal as can be (pipeline/cut.h), counted in multiply-adds forward and
 *           backward (nn/model.h)
 *   given   "3,2,4": layers of each part. A residual block is one layer, as it is in the text.
 *
 * Threads: pure functions.
 * Test:    tests/unit/stages/test_cut.c
 */
#ifndef HR_STAGES_CUT_H
#define HR_STAGES_CUT_H

#include "nn/part.h"

/* Into so many parts, at least one. cut (parts - 1) out: the first layers, in the flat list, of all
 * parts but the first. HR_E_USAGE says why not; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_cut_model(const struct hr_model *model, const char *text, size_t parts,
                                       size_t *cut);

/* "0 to 2", "3": layers [first, end) of the flat list as the text counts them. */
void hr_cut_text(const struct hr_model *model, size_t first, size_t end, char *text, size_t size);

#endif

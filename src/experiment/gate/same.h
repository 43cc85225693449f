/* same.h - may two documents be compared at all, and by their bits?
 *
 * Threads: pure functions. Test: tests/unit/gate/test_judge.c
 */
#ifndef HR_GATE_SAME_H
#define HR_GATE_SAME_H

#include "gate/document.h"

/* HR_E_USAGE: they trained other data, or with other options (but for outputs, and how long a run
 * may take); the first is named. Options that one of them does not know are passed over. */
HR_CHECKED enum hr_status hr_gate_same(const struct hr_gate_document *baseline,
                                       const struct hr_gate_document *fresh);

/* What decides bits and is another there than here ("isa"), of a run of each; "" where a document
 * does not say; NULL: nothing. */
const char *hr_gate_other_bits(const struct hr_gate_document *baseline, const json_t *old_run,
                               const struct hr_gate_document *fresh, const json_t *new_run);

#endif

/* train_checks.h - what must hold of several options of training at a time: `check` of their rows.
 *
 * Each is asked where its option is given. HR_E_USAGE.
 *
 * Threads: pure functions.
 * Test:    tests/cli/refusals.bats
 */
#ifndef HR_OPTIONS_TRAIN_CHECKS_H
#define HR_OPTIONS_TRAIN_CHECKS_H

#include "base/error.h"
#include "hogring/train.h"

HR_CHECKED enum hr_status hr_check_model(const struct hr_train_options *o);
HR_CHECKED enum hr_status hr_check_compress(const struct hr_train_options *o);
HR_CHECKED enum hr_status hr_check_stall_warn(const struct hr_train_options *o);

/* Of a network: do the same options give the same bits again? Not where the order of messages in
 * real time decides; nor where a rank is lost on the way. */
bool hr_train_repeats(const struct hr_train_options *o);
/* Does another order of events change the bits, in virtual time that of other compute times? */
bool hr_train_has_orders(const struct hr_train_options *o);

#endif

/* early_stop.h - what --early-stop METRIC,PATIENCE[,MIN-DELTA] and --keep-best METRIC say.
 *
 * Threads: pure functions.
 * Test:    tests/unit/session/test_best.c
 */
#ifndef HR_OPTIONS_EARLY_STOP_H
#define HR_OPTIONS_EARLY_STOP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "hogring/train.h"
#include "options/metric.h"

struct hr_early_stop {
    bool asked;
    enum hr_metric metric;
    size_t patience;  /* evaluations without an improvement after which it stops */
    double min_delta; /* an improvement is larger than this */
};

/* "" asks for nothing. HR_E_USAGE: option, text, and what was expected. */
HR_CHECKED enum hr_status hr_early_stop_parse(const char *text, struct hr_early_stop *out);
/* Of --keep-best: never stops. */
HR_CHECKED enum hr_status hr_keep_best_parse(const char *text, struct hr_early_stop *out);

/* Is it measured where classes, or where values are predicted? HR_E_USAGE names `option`. */
HR_CHECKED enum hr_status hr_early_stop_fits(const struct hr_early_stop *rule, const char *option,
                                             bool values);

/* `check` of their rows. */
HR_CHECKED enum hr_status hr_check_early_stop(const struct hr_train_options *options);
HR_CHECKED enum hr_status hr_check_keep_best(const struct hr_train_options *options);

#endif

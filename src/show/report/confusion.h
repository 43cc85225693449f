/* confusion.h - which classes a model takes for which, on a test split.
 *
 *   recall      of the samples of a class, those that were answered with it
 *   precision   of the answers with a class, those that were right; none: NaN
 *   f1          2 precision recall / (precision + recall)
 *
 * As scikit-learn's classification_report has them. A sample with an output that is not a number
 * has no answer: it counts against recall alone.
 *
 * Threads: pure functions.
 * Test:    tests/unit/report/test_confusion.c
 */
#ifndef HR_REPORT_CONFUSION_H
#define HR_REPORT_CONFUSION_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "hogring/evaluate.h"

/* The matrix, true classes down and answers across, where it fits into `width` columns; else the
 * classes with the least recall, and what each was mostly taken for. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_confusion_print(FILE *out, const struct hr_evaluation *evaluation,
                                             size_t width);

/* [{"name", "samples", "answers", "recall", "precision", "f1", "taken_for": {"name": samples}}],
 * one a class. */
json_t *hr_json_classes(const struct hr_evaluation *evaluation);

#endif

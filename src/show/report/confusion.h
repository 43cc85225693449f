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

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "hogring/evaluate.h"

struct hr_class_score {
    size_t samples, answers, right;
    double recall, precision, f1; /* 0 to 1, or NaN */
};

/* So many samples of a class got an answer. */
struct hr_cell {
    uint32_t label, answer;
    size_t samples;
};

/* Those that are not empty, by class, then by answer. */
struct hr_cells {
    struct hr_cell *cell;
    size_t n;
};

/* The caller frees cells->cell. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_confusion_count(const struct hr_evaluation *evaluation,
                                             struct hr_cells *cells);
/* "cat", "7", "no answer" */
const char *hr_confusion_name(const struct hr_evaluation *evaluation, uint32_t class,
                              char number[24]);

/* scores (classes) out, of an evaluation with classes. */
void hr_confusion_score(const struct hr_evaluation *evaluation, struct hr_class_score *scores);

/* The matrix, true classes down and answers across, where it fits into `width` columns; else the
 * classes with the least recall, and what each was mostly taken for. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_confusion_print(FILE *out, const struct hr_evaluation *evaluation,
                                             size_t width);

#endif

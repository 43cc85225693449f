/* write.h - predictions for programs: CSV and npy.
 *
 *     row,class,probability,cat,dog          a line a sample, rows from 1; a column each class
 *     1,cat,0.9312,0.9312,0.0688
 *     row,class,probability,class_2,probability_2       --top 2: the largest first
 *     row,class,score,...                    of models that give no probabilities
 *     row,rating                             of models that give values
 *
 * Texts with commas, quotes or line breaks are quoted as RFC 4180 has it. Where an output is not a
 * number the class is empty.
 *
 * Errors: HR_E_IO with the path; a file is there as a whole or not at all. Threads: none.
 * Test: tests/unit/predict/test_meaning.c, tests/cli/predict.bats
 */
#ifndef HR_ANSWERS_WRITE_H
#define HR_ANSWERS_WRITE_H

#include <stdio.h>

#include "base/error.h"
#include "hogring/predict.h"

/* What the answer's column holds; its score where there is a single one. */
float hr_prediction_confidence(const struct hr_prediction *prediction, size_t row);

/* ranked (n) out, n at most the columns: those of a row from the largest on, the first of equals
 * first; not a number: last. */
void hr_prediction_rank(const struct hr_prediction *prediction, size_t row, size_t n,
                        size_t *ranked);

/* CSV to a stream; top 0: all classes. */
HR_CHECKED enum hr_status hr_prediction_print_csv(FILE *out, const struct hr_prediction *prediction,
                                                  size_t top);
/* To a file, as its name ends: .npy is float32 (samples, columns), all else CSV. HR_E_USAGE: --top
 * with npy. */
HR_CHECKED enum hr_status hr_prediction_write(const char *path,
                                              const struct hr_prediction *prediction, size_t top);

#endif

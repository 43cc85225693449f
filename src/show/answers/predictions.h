/* predictions.h - predictions for programs, as CSV and npy; and for people: the first rows, and how
 * many of which class; the same figures for JSON.
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
 * Test: tests/unit/predict/test_meaning.c, tests/unit/report/test_npy_writer.c,
 *       tests/cli/predict.bats
 */
#ifndef HR_ANSWERS_PREDICTIONS_H
#define HR_ANSWERS_PREDICTIONS_H

#include <jansson.h>
#include <stdio.h>

#include "base/error.h"
#include "hogring/predict.h"

/* A matrix (rows, columns) as NumPy saves it (numpy/lib/format.py, version 1.0), little-endian
 * float32. */
HR_CHECKED enum hr_status hr_npy_write(const char *path, const float *values, size_t rows,
                                       size_t columns);

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

/* Within `width` columns; `rest`: where all rows are, as "--out FILE.csv writes all", or NULL. */
HR_CHECKED enum hr_status hr_prediction_print(FILE *out, const struct hr_prediction *p,
                                              const char *data, size_t width, const char *rest);

/* {"checkpoint", "model", "data", "kind", "samples", "classes": [{"name", "samples",
 * "mean_confidence"}], "mean_confidence", "unanswered"}; kind "values" has "values": [{"name",
 * "mean", "min", "max"}] in place of the last three. NULL: no memory. */
json_t *hr_prediction_json(const struct hr_prediction *p, const char *data);

#endif

/* csv_samples.h - a table of new samples: the columns that a model was trained on, found by name,
 * else by place.
 *
 *     id,petal width,petal length         model: petal length, petal width
 *     77,0.2,1.4                          sample: 1.4 0.2; id is left out, and a note says so
 *
 * - Where the model's file has names and the table has a header, columns are taken by name, in any
 *   order; those that the model does not know are left out, whatever they hold. A name that is
 *   missing, or there twice, is refused.
 * - Else by place: as many columns as features, or with those of --target, which are left out; or
 *   one more, the label, which is left out: that of
 *   --label-column; else the one of the training data's name; else label, class, target or y; else
 *   the one at its place.
 * - The first line is a header when none of its fields is a number, or when one that is none is the
 *   name of a feature, or all names stand in it; --header yes or no decides otherwise.
 *
 * Errors: HR_E_FORMAT with file, line and column, HR_E_USAGE, HR_E_NOMEM. Threads: none.
 * Test: tests/unit/predict/test_csv_samples.c
 */
#ifndef HR_PREDICT_CSV_SAMPLES_H
#define HR_PREDICT_CSV_SAMPLES_H

#include "base/error.h"
#include "data/table.h"
#include "session/model_input.h"

/* Parse `bytes` bytes of text.
 *   model  its checkpoint, for messages
 *   out    floats of shape (features, 1, 1), without labels; a note where something is left out.
 *          Written only on success, free with hr_table_free */
HR_CHECKED enum hr_status hr_csv_samples_parse(const char *name, const char *text, size_t bytes,
                                               const struct hr_data_options *options,
                                               const char *model,
                                               const struct hr_model_input *input,
                                               struct hr_table *out);

#endif

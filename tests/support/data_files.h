/* data_files.h - data sets written by a test into its scratch folder, opened, and refused. */
#ifndef HR_TESTS_SUPPORT_DATA_FILES_H
#define HR_TESTS_SUPPORT_DATA_FILES_H

#include "hogring/data.h"
#include "support/check.h"
#include "support/scratch.h"

struct hr_data_options data_options(void);

/* Write text as the scratch file `name`. */
void data_text(const char *name, const char *text);

/* Write a CSV of 400 samples as the scratch file `name`, and return its path: features "x", time
 * stamps that floats make 2, and "z", small numbers. */
const char *data_stamps(const char *name);
enum { DATA_STAMP = 1700000000 };

/* Open the scratch file; must go well. NULL: the defaults. */
struct hr_dataset data_open(const char *name, const struct hr_data_options *options);

/* Opening the scratch file must fail, with one line that holds `text`; nothing is written. */
void data_refused(const char *name, const struct hr_data_options *options, enum hr_status status,
                  const char *text);

/* Both hold the same samples in the same order, labels, names, digest, and gather the same. */
void data_same(const struct hr_dataset *a, const struct hr_dataset *b);

/* Sample i of the split, gathered: its features are these, its label that. */
void data_sample(const struct hr_dataset *dataset, const struct hr_split *split, uint32_t i,
                 const float *features, uint32_t label);

#endif

/* samples.h - new data for a model: whatever hogring reads, with labels or without; labels are not
 * looked at.
 *
 *     new.csv                     below
 *     new.libsvm                  lines with or without a label; indices from where those of the
 *                                 training data began; what the model does not know is left out
 *     X.npy                       (n,F), (n,H,W) or (n,C,H,W)
 *     t10k-images-idx3-ubyte      images, gzip or not
 *     pictures, picture.png       below
 *     digits, a folder, packed    a data set with labels (hogring/data.h): its test samples, as
 *                                 session/reading.h has them
 *
 * What is not given of the options is the checkpoint's (session/reading.h), but for the label.
 * Bytes are multiplied by what the model's training data were multiplied by. A row of as many
 * numbers as the model's image has is that image, and the other way round; an image of another
 * shape is refused.
 *
 * Errors: HR_E_FORMAT, HR_E_IO, HR_E_USAGE (an option that means nothing for the format),
 * HR_E_NOMEM. Threads: none. Test: tests/cli/predict.bats
 */
#ifndef HR_PREDICT_SAMPLES_H
#define HR_PREDICT_SAMPLES_H

#include "hogring/data.h"
#include "base/error.h"
#include "data/table.h"
#include "session/model_input.h"

struct hr_samples {
    struct hr_dataset dataset; /* its test split alone; all labels are 0, and so are classes */
    uint32_t *labels;
    char **files;            /* (count) of pictures: where each is; else NULL */
    uint32_t *rows;          /* (count) of the file, from 0, where some are left out; else NULL */
    char note[HR_DATA_NOTE]; /* what is left out, or ""; beside the data set's own */
};

/* Open them for the model of a checkpoint; what its input is, as that says, in `input`.
 *   labelled  labels are kept: each is a number of dataset.class_names (of libsvm data alone)
 *   out       close with hr_samples_close, also on error */
HR_CHECKED enum hr_status hr_samples_open(const char *name, const struct hr_data_options *options,
                                          const struct hr_checkpoint *checkpoint,
                                          const struct hr_model_input *input, bool labelled,
                                          struct hr_samples *out);
void hr_samples_close(struct hr_samples *samples);

/* --- of CSV ---
 * a table of new samples: the columns that a model was trained on, found by name,
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
 * - Of a model that was trained with --missing drop, rows with a hole in a feature are left out:
 *   file_rows says which rows the others are.
 * - The first line is a header when none of its fields is a number, or when one that is none is the
 *   name of a feature, or all names stand in it; --header yes or no decides otherwise.
 *
 * Errors: HR_E_FORMAT with file, line and column, HR_E_USAGE, HR_E_NOMEM. Threads: none.
 * Test: tests/unit/predict/test_csv_samples.c */

/* Parse `bytes` bytes of text.
 *   model  its checkpoint, for messages
 *   out    floats of shape (features, 1, 1), without labels; a note where something is left out.
 *          Written only on success, free with hr_table_free */
HR_CHECKED enum hr_status hr_csv_samples_parse(const char *name, const char *text, size_t bytes,
                                               const struct hr_data_options *options,
                                               const char *model,
                                               const struct hr_model_input *input,
                                               struct hr_table *out);

/* --- new pictures for a model: a folder of them, or one ---
 *
 * All PNG and JPEG files below the folder, by folder and name (formats/image_list.h); folders of
 * classes are folders like others. Each is brought to the model's size (images/resize.h), grey or
 * RGB as the model's are; a colour picture for a grey model is refused.
 *
 * Errors: HR_E_FORMAT, HR_E_IO, each naming the file; HR_E_NOMEM. Threads: formats/image_load.h.
 * Test: tests/cli/images.bats */

#endif

/* samples.h - new data for a model: whatever hogring reads, with labels or without; labels are not
 * looked at.
 *
 *     new.csv                     csv_samples.h
 *     new.libsvm                  lines with or without a label; indices from where those of the
 *                                 training data began; what the model does not know is left out
 *     X.npy                       (n,F), (n,H,W) or (n,C,H,W)
 *     t10k-images-idx3-ubyte      images, gzip or not
 *     pictures, picture.png       image_samples.h
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

#include "base/error.h"
#include "hogring/data.h"
#include "session/model_input.h"

struct hr_samples {
    struct hr_dataset dataset; /* its test split alone; all labels are 0, and so are classes */
    uint32_t *labels;
    char **files;            /* (count) of pictures: where each is; else NULL */
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

#endif

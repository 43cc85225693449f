/* model_input.h - what a model's file says of its input, so that new data can be read without the
 * old ones (input_scale.h has the scale).
 *
 *     hogring.input            "1x28x28": channels, height, width; of a row of features "30x1x1"
 *     hogring.feature_names    "sepal length,sepal width" (name_entries.h): CSV with a header
 *     hogring.label_column     "column 5, species": CSV
 *     hogring.index_base       "1": libsvm
 *
 * Files of earlier versions, and of others, have none of these.
 *
 * Threads: before the ranks start, or the launcher's. Test: tests/unit/session/test_model_input.c
 */
#ifndef HR_SESSION_MODEL_INPUT_H
#define HR_SESSION_MODEL_INPUT_H

#include "base/error.h"
#include "data/class_list.h"
#include "hogring/checkpoint.h"

/* How many metadata entries they take. */
size_t hr_model_input_entries(const struct hr_dataset *dataset);
/* Append them to the metadata. Too many names for a file are left out. */
void hr_model_input_put(const struct hr_dataset *dataset, struct hr_tensor_file *file);

struct hr_model_input {
    struct hr_shape shape;      /* channels 0: not known */
    struct hr_class_list names; /* of the features, in their order: `labels` has them by text; count
                                   0: not known */
    size_t label;               /* the column of labels, from 1; 0: not known */
    char label_name[80];        /* "" */
    int index_base;             /* -1: not known */
    float scale;                /* that bytes are multiplied by; 0: not known */
};

/* HR_E_FORMAT, HR_E_NOMEM; free it even on error. */
HR_CHECKED enum hr_status hr_model_input_get(const struct hr_checkpoint *checkpoint,
                                             struct hr_model_input *out);
/* Samples of as many numbers in another shape than the model's ((n,H,W,C) for (n,C,H,W)) would get
 * answers that mean nothing: HR_E_FORMAT. A row of numbers, Fx1x1, stands for any shape, and any
 * for it. `model`: for the message. */
HR_CHECKED enum hr_status hr_model_input_check_shape(const struct hr_model_input *input,
                                                     const char *model,
                                                     const struct hr_dataset *dataset);
/* Are the samples' shape and the columns of a table those of the training data? HR_E_FORMAT when
 * the shape is another one of as many numbers, or a column of a name that the model knows stands at
 * another place, which no other check sees; a warning when columns have names that it does not, or
 * sparse features are counted from another index. */
HR_CHECKED enum hr_status hr_model_input_compare(const struct hr_checkpoint *checkpoint,
                                                 const struct hr_dataset *dataset);

/* Harmless on a zeroed struct. */
void hr_model_input_free(struct hr_model_input *input);

#endif

/* model_input.h - what a model's file says of the data that it was trained on, so that new data can
 * be read without the old ones: of its input, and of its classes.
 *
 *     hogring.input_scale      what stored features were multiplied by: 1/255 for bytes
 *     hogring.input_largest    the largest absolute input after that, of a sample of the data: the
 *                              same image may come as numbers up to 255 in a CSV file
 *     hogring.input            "1x28x28": channels, height, width; of a row of features "30x1x1"
 *     hogring.feature_names    "sepal length,sepal width": CSV with a header
 *     hogring.columns          what was done to a CSV's columns, as JSON (formats/columns.h)
 *     hogring.label_column     "column 5, species": CSV
 *     hogring.index_base       "1": libsvm
 *     hogring.classes          how many: "3"
 *     hogring.class_names      "cat,dog,eel"; none: "0", "1", ...
 *
 * A list of names is written as data/class_list.h says. Where 1 KiB is not enough, names go on
 * under KEY.1, KEY.2, ... Files of earlier versions, and of others, have none of these.
 *
 * Threads: before the ranks start, or the launcher's.
 * Test:    tests/unit/session/test_model_input.c, tests/unit/session/test_class_names.c
 */
#ifndef HR_SESSION_MODEL_INPUT_H
#define HR_SESSION_MODEL_INPUT_H

#include "base/error.h"
#include "data/class_list.h"
#include "hogring/checkpoint.h"
#include "hogring/data.h"

/* --- classes: data for testing or further training are renumbered by their names --- */

/* How many metadata entries the classes of the data take. */
size_t hr_class_names_entries(const struct hr_dataset *dataset);
/* Append them to the metadata. Names that are too long for a file are left out, with a warning. */
void hr_class_names_put(const struct hr_dataset *dataset, struct hr_tensor_file *file);

/* The classes that a file names; {0} when it names none. HR_E_FORMAT; free the list even on error.
 */
HR_CHECKED enum hr_status hr_class_names_get(const struct hr_checkpoint *checkpoint,
                                             struct hr_class_list *list);

/* Warn when initial weights are of other classes than the data. HR_E_FORMAT, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_class_names_compare(const struct hr_checkpoint *checkpoint,
                                                 const struct hr_dataset *dataset);

/* A data set as a model numbers its classes. */
struct hr_class_view {
    struct hr_dataset dataset; /* borrows from the one that it is a view of */
    struct hr_class_list list;
    uint32_t *labels[3]; /* of train, test, validation */
};

/* A view of all samples, or of the test split alone (the other is left empty). When the file names
 * no classes, they are as they are; a warning says so when its classes have names. HR_E_USAGE
 * names a class with samples that the model does not know. Close it even on error. */
HR_CHECKED enum hr_status hr_class_view_open(const struct hr_checkpoint *checkpoint,
                                             const struct hr_dataset *dataset, bool test_alone,
                                             struct hr_class_view *view);
/* Harmless on a zeroed struct. */
void hr_class_view_close(struct hr_class_view *view);

/* --- input --- */

/* Warn when the data have another scale than the file's training data, and inputs ten times larger
 * or smaller. */
void hr_input_scale_compare(const struct hr_checkpoint *checkpoint,
                            const struct hr_dataset *dataset, const struct hr_split *split);

/* How many metadata entries they take. */
size_t hr_model_input_entries(const struct hr_dataset *dataset);
/* Append them to the metadata. Too many names for a file are left out. */
void hr_model_input_put(const struct hr_dataset *dataset, struct hr_tensor_file *file);

struct hr_model_input {
    struct hr_shape shape;      /* channels 0: not known */
    struct hr_class_list names; /* of the features, in their order: `labels` has them by text; count
                                   0: not known */
    char *recipe;               /* owned; NULL: columns are numbers as they are */
    size_t label;               /* the column of labels, from 1; 0: not known */
    char label_name[80];        /* "" */
    int index_base;             /* -1: not known */
    float scale;                /* that bytes are multiplied by; 0: not known */
};

/* HR_E_FORMAT, HR_E_NOMEM; free it even on error. */
HR_CHECKED enum hr_status hr_model_input_get(const struct hr_checkpoint *checkpoint,
                                             struct hr_model_input *out);
/* A data set like the one that the model was trained on, without samples: its shape, so many
 * classes; or of text, its tokens and its context. */
void hr_model_input_like(const struct hr_checkpoint *checkpoint, const struct hr_model_input *input,
                         size_t classes, struct hr_dataset *out);
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

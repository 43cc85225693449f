/* class_names.h - the names of a model's classes, kept in its file. Data for testing or further
 * training are renumbered by these names; a class that the model does not know is refused.
 *
 *     hogring.classes          how many: "3"
 *     hogring.class_names      "cat,dog,eel" (name_entries.h); none: "0", "1", ...
 *
 * Threads: before the ranks start, or the launcher's. Test: tests/unit/session/test_class_names.c
 */
#ifndef HR_TRAIN_CLASS_NAMES_H
#define HR_TRAIN_CLASS_NAMES_H

#include "base/error.h"
#include "data/class_list.h"
#include "hogring/checkpoint.h"

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
 * no classes, the data set as it is; a warning says so when its classes have names. HR_E_USAGE
 * names a class with samples that the model does not know. Close it even on error. */
HR_CHECKED enum hr_status hr_class_view_open(const struct hr_checkpoint *checkpoint,
                                             const struct hr_dataset *dataset, bool test_alone,
                                             struct hr_class_view *view);
/* Harmless on a zeroed struct. */
void hr_class_view_close(struct hr_class_view *view);

#endif

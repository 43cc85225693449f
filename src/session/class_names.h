/* class_names.h - the classes of a model, by name, in its file: label 1 of the data that it is
 * tested on, or that training goes on with, is what the model calls so, or is refused.
 *
 *     hogring.classes          how many: "3"
 *     hogring.class_names      "cat,dog,eel" (data/class_list.h); where 1 KiB is not enough, names
 *                              go on in hogring.class_names.1, .2, ...; none: "0", "1", ...
 *
 * Threads: before the ranks start, or the launcher's. Test: tests/unit/session/test_class_names.c
 */
#ifndef HR_TRAIN_CLASS_NAMES_H
#define HR_TRAIN_CLASS_NAMES_H

#include "base/error.h"
#include "data/class_list.h"
#include "hogring/checkpoint.h"

/* Entries that the classes of the data take in a file's metadata. */
size_t hr_class_names_entries(const struct hr_dataset *dataset);
/* Put them behind those that are there. Where all names together are too long for a file, a
 * warning says that they are left out. */
void hr_class_names_put(const struct hr_dataset *dataset, struct hr_tensor_file *file);

/* The classes that a file says it knows; {0} when it does not say. HR_E_FORMAT; free the list
 * whatever the outcome. */
HR_CHECKED enum hr_status hr_class_names_get(const struct hr_checkpoint *checkpoint,
                                             struct hr_class_list *list);

/* Weights to begin with may be of other classes: one line says so. HR_E_FORMAT, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_class_names_compare(const struct hr_checkpoint *checkpoint,
                                                 const struct hr_dataset *dataset);

/* A data set as a model numbers its classes. */
struct hr_class_view {
    struct hr_dataset dataset; /* borrows from the one that it is a view of */
    struct hr_class_list list;
    uint32_t *labels[2];
};

/* Of all samples, or of the test split alone (the other is left empty). Where the file does not say
 * its classes, the data set as it is, with a line that says so when they have names.
 * HR_E_USAGE: samples of a class that the model does not know, by name. Close it whatever the
 * outcome. */
HR_CHECKED enum hr_status hr_class_view_open(const struct hr_checkpoint *checkpoint,
                                             const struct hr_dataset *dataset, bool test_alone,
                                             struct hr_class_view *view);
/* Harmless on a zeroed struct. */
void hr_class_view_close(struct hr_class_view *view);

#endif

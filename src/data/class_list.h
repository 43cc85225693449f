/* class_list.h - classes as a list, and data numbered by it.
 *
 *     10             ten classes: 0 .. 9
 *     cat,dog,eel    class 0 is cat, 1 is dog, 2 is eel
 *
 * The same text in --classes and in a checkpoint. Blanks around a name do not matter. What cannot
 * stand in a name is written as in a URL: %2C is a comma, %25 a percent sign.
 * A label belongs to the class of the same text; a whole number (label_number.h) belongs to the one
 * that is the same ("+1", "1" and "1.0" are), beside words too. No two classes are.
 *
 * Errors: HR_E_USAGE, HR_E_NOMEM. Threads: none. Test: tests/unit/data/test_class_list.c
 */
#ifndef HR_DATA_CLASS_LIST_H
#define HR_DATA_CLASS_LIST_H

#include "base/error.h"
#include "data/labels.h"
#include "hogring/data.h"

/* {0}: no list. */
struct hr_class_list {
    size_t count;
    const char **names;      /* (count) owned; the texts are in `labels`. NULL: "0", "1", ... */
    double *values;          /* (count) owned; NAN where a name is no number */
    struct hr_labels labels; /* the names, to be found by text */
};

/* Read a list; `where` begins the message. Free it with hr_class_list_free whatever the outcome. */
HR_CHECKED enum hr_status hr_class_list_parse(const char *where, const char *text,
                                              struct hr_class_list *list);
void hr_class_list_free(struct hr_class_list *list);

/* In pieces: add names (never a number of classes), then finish. */
HR_CHECKED enum hr_status hr_class_list_add(const char *where, const char *text,
                                            struct hr_class_list *list);
HR_CHECKED enum hr_status hr_class_list_finish(const char *where, struct hr_class_list *list);

/* A name as it is written in a list: at most three times as long. */
enum { HR_CLASS_NAME_TEXT = 3 * HR_LABEL_MAX_BYTES + 1 };
void hr_class_name_write(const char *name, char out[HR_CLASS_NAME_TEXT]);

/* Number the labels of all splits in the list's order. The data set then borrows the list's names
 * and labels (of train, test, validation), which the caller frees whatever the outcome.
 * HR_E_USAGE: samples are of a class that is not in the list; names it. `where` says whose list. */
HR_CHECKED enum hr_status hr_class_list_apply(const struct hr_class_list *list, const char *where,
                                              struct hr_dataset *dataset, uint32_t *labels[3]);

/* "cat, dog, eel" or "0 to 9", as much as fits. */
struct hr_class_list_text {
    char text[160];
};
struct hr_class_list_text hr_class_list_shown(const char *const *names, size_t count);

#endif

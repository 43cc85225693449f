/* look.h - what a look at data tells before anybody trains on them.
 *
 * Labels look like VALUES, as those of a regression, when all are numbers and
 *   - one is not whole (3.25), or
 *   - there are more than ten, and more different ones than half of the samples, or
 *   - there are more than a hundred that are not 0, 1, 2, ..., and fewer than four samples each.
 * So a class needs two samples on average, and 100 classes with two each are classes. Numbers are
 * in DOUBT when there are more than ten that are not 0, 1, 2, ... and fewer than four samples each.
 *
 * Scales of features are their largest absolute values. They are UNLIKE when one is 1000 times
 * another, and ALL LARGE when each is above 100 (features that are 0 in nearly all rows do not
 * count). Of tables of floats only; a sample of the rows is looked at.
 *
 * Errors: HR_E_NOMEM. Threads: pure. Test: tests/unit/data/test_look.c
 */
#ifndef HR_DATA_LOOK_H
#define HR_DATA_LOOK_H

#include <stdbool.h>

#include "base/error.h"
#include "data/bytes.h"
#include "data/labels.h"
#include "hogring/data.h"

enum hr_label_kind { HR_LABELS_CLASSES, HR_LABELS_DOUBT, HR_LABELS_VALUES };

struct hr_label_look {
    enum hr_label_kind kind;
    size_t distinct, samples; /* labels that samples have, in both splits */
    const char *fraction;     /* one that is not whole, or NULL; the data set's */
};

/* Of classes, not of targets. */
HR_CHECKED enum hr_status hr_look_at_labels(const struct hr_dataset *dataset,
                                            struct hr_label_look *out);

/* The same rule for the labels that files of `samples` samples have, before they are classes. */
bool hr_labels_are_values(const struct hr_labels *labels, size_t samples);

struct hr_scale_look {
    bool unlike, all_large;
    size_t small, large; /* features, from 0 */
    float scales[2];     /* theirs */
};

HR_CHECKED enum hr_status hr_look_at_scales(const struct hr_dataset *dataset,
                                            struct hr_scale_look *out);

/* Which channels of floats have to be taken from `exact`: the largest value is at least four times
 * the range (else a subtraction gains nothing), and floats make different values one. *out
 * (channels), free() it; NULL: none. Of the training split. */
HR_CHECKED enum hr_status hr_look_at_rounding(const struct hr_dataset *dataset,
                                              struct hr_rounding **out);
/* What a feature is called: its column's name, or "feature 3". */
struct hr_shown hr_look_at_name(const struct hr_dataset *dataset, size_t feature);

/* The largest absolute value of a split's features, times the scale; only some rows are read. */
float hr_look_at_largest(const struct hr_dataset *dataset, const struct hr_split *split);

/* Has a sample of the split a feature that is not finite? *sample is the first. All rows are
 * read. */
bool hr_look_for_unfinite(const struct hr_dataset *dataset, const struct hr_split *split,
                          size_t *sample);

/* The number of classes that only test samples have; *example is one of them. */
HR_CHECKED enum hr_status hr_look_at_splits(const struct hr_dataset *dataset, size_t *untaught,
                                            size_t *example);

/* Has one class more than three times the test samples of another that has any? */
bool hr_look_at_unequal(const struct hr_dataset *dataset);

/* Would that accuracy on the test split be had without a look at the samples: is it below that of
 * always answering the most frequent class, or, by what 50 samples or more can tell, at chance?
 * text says which: "no better than chance (10 classes)". */
bool hr_look_at_chance(const struct hr_dataset *dataset, double accuracy, char *text, size_t size);
/* The same of balanced accuracy, the mean recall of the classes: is that at chance? */
bool hr_look_at_balanced_chance(const struct hr_dataset *dataset, double accuracy, char *text,
                                size_t size);

#endif

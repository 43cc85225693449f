/* labels.h - labels of any kind become classes 0 .. C-1.
 *
 * While files are read, each distinct text gets a number in order of appearance (hr_labels_add).
 * When all files of a data set were read, the distinct texts are sorted, as numbers when all are
 * numbers (label_number.h), else byte by byte, and numbered anew (hr_labels_finish): the classes
 * depend on which labels there are and not on the order of the samples. Of numbers, beside words
 * too, "+1", "1" and "1.0" are one; a fraction in two forms ("1.1" and "1.10") is refused.
 *
 * Labels that are values (--task regress) become rows of target_rows.h instead.
 *
 * Errors: HR_E_FORMAT (more than 2^24 distinct labels, such fractions), HR_E_NOMEM. Threads: none.
 * Tests: tests/unit/data/test_labels.c, test_csv.c, test_libsvm.c
 */
#ifndef HR_DATA_LABELS_H
#define HR_DATA_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "data/bytes.h"
#include "data/target_rows.h"

enum { HR_LABEL_MAX_BYTES = 255 };

struct hr_labels {
    struct hr_array texts;   /* 0-terminated, one behind the other */
    struct hr_array offsets; /* (count) size_t: where each begins */
    size_t count;            /* distinct texts so far */
    uint32_t *slots;         /* (nslots) hash table: number + 1, or 0 */
    size_t nslots;
    struct hr_target_rows targets; /* where labels are values, all of them are here instead */
};

/* *number = that of this text, the same for the same text. 1 to HR_LABEL_MAX_BYTES bytes without a
 * 0; `name` is for messages. */
HR_CHECKED enum hr_status hr_labels_add(struct hr_labels *labels, const char *name,
                                        const char *text, size_t bytes, uint32_t *number);

/* The number of a text that was added; false when it was not. */
bool hr_labels_find(const struct hr_labels *labels, const char *text, uint32_t *number);
/* The text of a number, until another is added. */
const char *hr_labels_text(const struct hr_labels *labels, size_t number);

/* What the numbers become. */
struct hr_classes {
    uint32_t *class_of; /* (labels.count), owned: number -> class */
    const char **names; /* (count), owned; the texts are in hr_labels. NULL: "0", "1", ... */
    size_t count;
};

HR_CHECKED enum hr_status hr_labels_finish(const struct hr_labels *labels, const char *name,
                                           struct hr_classes *out);

void hr_labels_free(struct hr_labels *labels);
void hr_classes_free(struct hr_classes *classes);

#endif

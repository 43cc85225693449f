#include "data/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "data/label_number.h"
#include "hogring/data.h"

enum { FIRST_SLOTS = 64 };

const char *hr_labels_text(const struct hr_labels *labels, size_t number)
{
    return (const char *)labels->texts.data + ((const size_t *)labels->offsets.data)[number];
}

/* The slot of this text, or the free one where it belongs. */
static size_t find_slot(const struct hr_labels *labels, const char *text, size_t bytes)
{
    size_t slot = XXH3_64bits(text, bytes) & (labels->nslots - 1);
    for (; labels->slots[slot]; slot = (slot + 1) & (labels->nslots - 1)) {
        const char *there = hr_labels_text(labels, labels->slots[slot] - 1);
        if (!strncmp(there, text, bytes) && !there[bytes])
            break;
    }
    return slot;
}

/* Twice as many slots, so that at most half are taken. */
static enum hr_status more_slots(struct hr_labels *labels, const char *name)
{
    const size_t nslots = labels->nslots ? 2 * labels->nslots : FIRST_SLOTS;
    void *slots;
    HR_TRY(hr_take(name, nslots * sizeof *labels->slots, &slots));
    free(labels->slots);
    labels->slots = slots;
    labels->nslots = nslots;
    for (size_t i = 0; i < labels->count; i++) {
        const char *text = hr_labels_text(labels, i);
        labels->slots[find_slot(labels, text, strlen(text))] = (uint32_t)i + 1;
    }
    return HR_OK;
}

enum hr_status hr_labels_add(struct hr_labels *labels, const char *name, const char *text,
                             size_t bytes, uint32_t *number)
{
    HR_ASSERT(bytes >= 1 && bytes <= HR_LABEL_MAX_BYTES);
    if (2 * labels->count >= labels->nslots)
        HR_TRY(more_slots(labels, name));
    const size_t slot = find_slot(labels, text, bytes), offset = labels->texts.bytes;
    if (!labels->slots[slot]) {
        if (labels->count == HR_MAX_CLASSES)
            return hr_fail(HR_E_FORMAT,
                           "%s: has more than %d distinct labels, expected at most that", name,
                           HR_MAX_CLASSES);
        HR_TRY(hr_array_add(&labels->offsets, name, &offset, sizeof offset));
        HR_TRY(hr_array_add(&labels->texts, name, text, bytes));
        HR_TRY(hr_array_add(&labels->texts, name, "", 1));
        labels->slots[slot] = (uint32_t)++labels->count;
    }
    *number = labels->slots[slot] - 1;
    return HR_OK;
}

bool hr_labels_find(const struct hr_labels *labels, const char *text, uint32_t *number)
{
    const size_t slot = labels->nslots ? find_slot(labels, text, strlen(text)) : 0;
    if (!labels->nslots || !labels->slots[slot])
        return false;
    *number = labels->slots[slot] - 1;
    return true;
}

/* --- classes */

struct entry {
    const char *text;
    double value;     /* the one next to it; NAN: it is no number */
    const char *name; /* of its class */
    uint32_t number;
};

static bool are_same_number(const struct entry *x, const struct entry *y)
{
    return x->value == y->value && !hr_label_compare(x->text, y->text);
}

/* Numbers by value, then words. */
static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    const int order = isnan(x->value) || isnan(y->value) ? !!isnan(x->value) - !!isnan(y->value)
                      : x->value < y->value              ? -1
                      : x->value > y->value              ? 1
                                                         : hr_label_compare(x->text, y->text);
    return order ? order : strcmp(x->text, y->text);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void list_entries(const struct hr_labels *labels, struct entry *entries)
{
    for (size_t i = 0; i < labels->count; i++) {
        entries[i] = (struct entry){
            .text = hr_labels_text(labels, i), .value = (double)NAN, .number = (uint32_t)i};
        hr_label_number(entries[i].text, &entries[i].value); /* or it stays so */
    }
}

/* Equal whole numbers are one class (1 and 1.0). Equal fractions in two forms may be values or
 * names, like versions: ambiguous, but names beside a word. */
static enum hr_status check_forms(const struct entry *entries, size_t n, const char *name)
{
    for (size_t i = 1; i < n && !isnan(entries[n - 1].value); i++)
        if (are_same_number(&entries[i - 1], &entries[i]) && !hr_label_is_whole(entries[i].text))
            return hr_fail(HR_E_FORMAT,
                           "%s: has the labels \"%s\" and \"%s\", one number written in two ways: "
                           "one class or two? Expected one way, or names as v%s; of values "
                           "--task regress",
                           name, entries[i - 1].text, entries[i].text, entries[i].text);
    return HR_OK;
}

/* Of equal whole numbers the shortest text gives the name. */
static void name_entries(struct entry *entries, size_t n)
{
    for (size_t first = 0, end; first < n; first = end) {
        const char *shortest = entries[first].text;
        const bool whole = !isnan(entries[first].value) && hr_label_is_whole(shortest);
        for (end = first + 1; whole && end < n && are_same_number(&entries[first], &entries[end]);
             end++)
            if (strlen(entries[end].text) < strlen(shortest))
                shortest = entries[end].text;
        for (size_t i = first; i < end; i++)
            entries[i].name = shortest;
    }
}

/* A class for each name. Beside a word numbers stand byte by byte, too. */
static void number_classes(struct entry *entries, size_t n, struct hr_classes *out)
{
    if (n && isnan(entries[n - 1].value))
        qsort(entries, n, sizeof *entries, compare_names);
    for (size_t i = 0; i < n; i++) {
        if (!i || entries[i].name != entries[i - 1].name)
            out->names[out->count++] = entries[i].name;
        out->class_of[entries[i].number] = (uint32_t)out->count - 1;
    }
}

static bool are_plain_counts(const struct hr_classes *classes)
{
    char text[24];
    for (size_t i = 0; i < classes->count; i++) {
        snprintf(text, sizeof text, "%zu", i);
        if (strcmp(text, classes->names[i]) != 0)
            return false;
    }
    return true;
}

enum hr_status hr_labels_finish(const struct hr_labels *labels, const char *name,
                                struct hr_classes *out)
{
    struct hr_classes classes = {0};
    void *entries = NULL, *class_of = NULL, *names = NULL;
    enum hr_status st;
    HR_TRY_GOTO(hr_take(name, labels->count * sizeof(struct entry), &entries), st, out);
    HR_TRY_GOTO(hr_take(name, labels->count * sizeof *classes.class_of, &class_of), st, out);
    HR_TRY_GOTO(hr_take(name, labels->count * sizeof *classes.names, &names), st, out);
    classes.class_of = class_of;
    classes.names = names;
    list_entries(labels, entries);
    qsort(entries, labels->count, sizeof(struct entry), compare);
    HR_TRY_GOTO(check_forms(entries, labels->count, name), st, out);
    name_entries(entries, labels->count);
    number_classes(entries, labels->count, &classes);
    if (are_plain_counts(&classes)) {
        free(names);
        classes.names = NULL;
    }
    *out = classes;
    class_of = names = NULL;
out:
    free(entries);
    free(class_of);
    free(names);
    return st;
}

void hr_labels_free(struct hr_labels *labels)
{
    free(labels->texts.data);
    free(labels->offsets.data);
    free(labels->slots);
    hr_target_rows_free(&labels->targets);
    *labels = (struct hr_labels){0};
}

void hr_classes_free(struct hr_classes *classes)
{
    free(classes->class_of);
    free(classes->names);
    *classes = (struct hr_classes){0};
}

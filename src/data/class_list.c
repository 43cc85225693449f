#include "data/class_list.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "data/format.h"
#include "data/label_number.h"

/* --- names as text */

static int hex_digit(char c)
{
    const char *at = c ? strchr("0123456789abcdef", tolower((unsigned char)c)) : NULL;
    return at ? (int)(at - "0123456789abcdef") : -1;
}

/* One byte of a name from its text; % without two hex digits stands for itself. */
static char read_byte(const char **at)
{
    const char *text = *at;
    const int high = text[0] == '%' ? hex_digit(text[1]) : -1;
    const int low = high >= 0 ? hex_digit(text[2]) : -1;
    *at += low >= 0 ? 3 : 1;
    return low >= 0 ? (char)(high << 4 | low) : text[0];
}

void hr_class_name_write(const char *name, char out[HR_CLASS_NAME_TEXT])
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)name[i];
        const bool blank = c == ' ' && (i == 0 || i + 1 == length);
        const bool plain = c >= ' ' && c < 0x7f && c != ',' && c != '%' && !blank;
        out += sprintf(out, plain ? "%c" : "%%%02X", c);
    }
    *out = '\0';
}

struct hr_class_list_text hr_class_list_shown(const char *const *names, size_t count)
{
    struct hr_class_list_text out = {""};
    size_t used = 0, i = 0;
    if (!names)
        snprintf(out.text, sizeof out.text, "0 to %zu", count - 1);
    for (; names && i < count && used + 64 < sizeof out.text; i++)
        used += (size_t)snprintf(out.text + used, sizeof out.text - used, "%s%s", i ? ", " : "",
                                 hr_shown(names[i], strlen(names[i])).text);
    if (names && i < count)
        snprintf(out.text + used, sizeof out.text - used, ", ...");
    return out;
}

/* --- a list from text */

static enum hr_status add_name(const char *where, const char *from, const char *end,
                               struct hr_class_list *list)
{
    char name[HR_LABEL_MAX_BYTES];
    size_t bytes = 0;
    uint32_t number;
    while (from < end && isblank((unsigned char)*from))
        from++;
    while (end > from && isblank((unsigned char)end[-1]))
        end--;
    while (from < end && bytes < sizeof name)
        name[bytes++] = read_byte(&from);
    if (!bytes || from < end || memchr(name, 0, bytes))
        return hr_fail(HR_E_USAGE,
                       "%s: class %zu has no name, or one of more than %d bytes; expected names "
                       "as cat,dog,eel or a number of classes",
                       where, list->labels.count, HR_LABEL_MAX_BYTES);
    HR_TRY(hr_labels_add(&list->labels, where, name, bytes, &number));
    if (number < list->count)
        return hr_fail(HR_E_USAGE, "%s: \"%s\" is there twice, expected each class once", where,
                       hr_shown(name, bytes).text);
    list->count++;
    return HR_OK;
}

enum hr_status hr_class_list_add(const char *where, const char *text, struct hr_class_list *list)
{
    for (const char *end; (end = strchr(text, ',')) != NULL; text = end + 1)
        HR_TRY(add_name(where, text, end, list));
    return add_name(where, text, text + strlen(text), list);
}

static bool take_values(struct hr_class_list *list)
{
    bool plain = true;
    for (size_t i = 0; i < list->count; i++) {
        char number[24];
        const char *name = hr_labels_text(&list->labels, i);
        list->names[i] = name;
        list->values[i] = (double)NAN;
        hr_label_number(name, &list->values[i]); /* or it stays so */
        snprintf(number, sizeof number, "%zu", i);
        plain = plain && !strcmp(name, number);
    }
    return plain;
}

/* Two names of one value would be the same class of the data. */
static enum hr_status check_forms(const char *where, const struct hr_class_list *list)
{
    struct hr_classes classes = {0};
    const char *name = "", *other = "";
    char number[24];
    const enum hr_status status = hr_labels_finish(&list->labels, where, &classes);
    if (status != HR_OK)
        return status == HR_E_FORMAT ? hr_fail(HR_E_USAGE, "%s", hr_error_message()) : status;
    const bool alike = classes.count < list->count;
    for (size_t i = 0; alike && !strcmp(name, other); i++) { /* a class is called as one of them */
        snprintf(number, sizeof number, "%u", classes.class_of[i]);
        name = classes.names ? classes.names[classes.class_of[i]] : number;
        other = hr_labels_text(&list->labels, i);
    }
    hr_classes_free(&classes);
    if (!alike)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "%s: \"%s\" and \"%s\" are one number, expected each class once",
                   where, name, other);
}

enum hr_status hr_class_list_finish(const char *where, struct hr_class_list *list)
{
    void *names, *values;
    HR_TRY(check_forms(where, list));
    HR_TRY(hr_take(where, list->count * sizeof *list->names, &names));
    list->names = names;
    HR_TRY(hr_take(where, list->count * sizeof *list->values, &values));
    list->values = values;
    if (take_values(list)) { /* 0,1,2 is 3 */
        free(list->names);
        list->names = NULL;
    }
    return HR_OK;
}

enum hr_status hr_class_list_parse(const char *where, const char *text, struct hr_class_list *list)
{
    uint64_t count;
    *list = (struct hr_class_list){0};
    if (!hr_parse_count(text, &count)) {
        HR_TRY(hr_class_list_add(where, text, list));
        return hr_class_list_finish(where, list);
    }
    if (count < 1 || count > HR_MAX_CLASSES)
        return hr_fail(HR_E_USAGE, "%s: expected 1 to %d classes", where, HR_MAX_CLASSES);
    list->count = count;
    return HR_OK;
}

void hr_class_list_free(struct hr_class_list *list)
{
    free(list->names);
    free(list->values);
    hr_labels_free(&list->labels);
    *list = (struct hr_class_list){0};
}

/* --- data numbered by it */

/* The class that a name belongs to; list->count when there is none. */
static size_t find(const struct hr_class_list *list, const char *name)
{
    uint32_t number;
    double value;
    if (hr_labels_find(&list->labels, name, &number))
        return number;
    if (!hr_label_number(name, &value) || !hr_label_is_whole(name))
        return list->count;
    if (!list->names)
        return value >= 0 && value < (double)list->count ? (size_t)value : list->count;
    size_t i = 0;
    while (i < list->count &&
           (list->values[i] != value || hr_label_compare(list->names[i], name) != 0))
        i++;
    return i;
}

static void mark_used(const struct hr_split *split, uint32_t *map)
{
    for (size_t i = 0; i < split->count; i++)
        map[split->labels[i]] = 1;
}

static const char *name_of(const struct hr_dataset *dataset, size_t class, char number[24])
{
    if (dataset->class_names)
        return dataset->class_names[class];
    snprintf(number, 24, "%zu", class);
    return number;
}

static enum hr_status fail_unknown(const struct hr_class_list *list, const char *where,
                                   const struct hr_dataset *dataset, const char *unknown)
{
    return hr_fail(HR_E_USAGE, "%s: has samples of class %s, which %s does not know: it has %s",
                   dataset->name, unknown, where,
                   hr_class_list_shown(list->names, list->count).text);
}

/* map[c] is not 0 where class c has samples; then what it becomes. */
static enum hr_status fill_map(const struct hr_class_list *list, const char *where,
                               const struct hr_dataset *dataset, uint32_t *map)
{
    char unknown[200] = "", number[24];
    for (size_t c = 0; c < dataset->classes && strlen(unknown) < 140; c++) {
        if (!map[c])
            continue;
        const char *name = name_of(dataset, c, number);
        const size_t class = find(list, name), used = strlen(unknown);
        map[c] = (uint32_t) class;
        if (class == list->count)
            snprintf(unknown + used, sizeof unknown - used, "%s\"%s\"", used ? ", " : "",
                     hr_shown(name, strlen(name)).text);
    }
    return unknown[0] ? fail_unknown(list, where, dataset, unknown) : HR_OK;
}

static bool changes_digest(const struct hr_dataset *dataset, const struct hr_class_list *list,
                           const uint32_t *map, const struct hr_split *split)
{
    bool changes = (dataset->classes > 256) != (list->count > 256); /* labels of another width */
    for (size_t i = 0; i < split->count && !changes; i++)
        changes = map[split->labels[i]] != split->labels[i];
    return changes;
}

static enum hr_status relabel(struct hr_split *split, const char *name, const uint32_t *map,
                              uint32_t **labels)
{
    void *taken;
    HR_TRY(hr_take(name, split->count * sizeof **labels, &taken));
    *labels = taken;
    for (size_t i = 0; i < split->count; i++)
        (*labels)[i] = map[split->labels[i]];
    split->labels = *labels;
    return HR_OK;
}

static enum hr_status apply(const struct hr_class_list *list, const char *where,
                            struct hr_dataset *dataset, uint32_t *map, uint32_t *labels[3])
{
    struct hr_split *splits[] = {&dataset->train, &dataset->test, &dataset->validation};
    bool changed = false;
    for (size_t s = 0; s < 3; s++)
        mark_used(splits[s], map);
    HR_TRY(fill_map(list, where, dataset, map));
    for (size_t s = 0; s < 3; s++) {
        changed = changed || changes_digest(dataset, list, map, splits[s]);
        HR_TRY(relabel(splits[s], dataset->name, map, &labels[s]));
    }
    dataset->classes = list->count;
    dataset->class_names = list->names;
    return changed ? hr_dataset_digest(dataset, dataset->digest) : HR_OK;
}

enum hr_status hr_class_list_apply(const struct hr_class_list *list, const char *where,
                                   struct hr_dataset *dataset, uint32_t *labels[3])
{
    void *map;
    labels[0] = labels[1] = labels[2] = NULL;
    HR_TRY(hr_take(dataset->name, dataset->classes * sizeof(uint32_t), &map));
    const enum hr_status status = apply(list, where, dataset, map, labels);
    free(map);
    return status;
}

#include "formats/csv_targets.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"

/* A piece of the list, without the blanks around it. */
struct piece {
    const char *text;
    size_t bytes;
};

size_t hr_csv_targets_asked(const char *list)
{
    size_t n = 1;
    for (; *list; list++)
        n += *list == ',';
    return n;
}

static struct piece next_piece(const char **rest)
{
    const char *text = *rest, *end = text + strcspn(text, ",");
    *rest = *end ? end + 1 : end;
    while (text < end && isspace((unsigned char)*text))
        text++;
    while (text < end && isspace((unsigned char)end[-1]))
        end--;
    return (struct piece){text, (size_t)(end - text)};
}

/* The column of this name in the header; 0: there is none. */
static enum hr_status find_name(struct hr_csv_reader r, const struct piece *piece, size_t *column)
{
    struct hr_csv_field f = {0};
    *column = 0;
    while (!f.last && !*column) {
        HR_TRY(hr_csv_next_field(&r, &f));
        if (f.bytes == piece->bytes && !strncasecmp(f.text, piece->text, f.bytes))
            *column = f.column;
    }
    return HR_OK;
}

static enum hr_status count_columns(struct hr_csv_reader r, size_t *columns)
{
    struct hr_csv_field f = {0};
    while (!f.last)
        HR_TRY(hr_csv_next_field(&r, &f));
    *columns = f.column;
    return HR_OK;
}

static enum hr_status find(const struct hr_csv_reader *first, const char *option,
                           const struct piece *piece, bool header, size_t *column)
{
    char digits[24];
    uint64_t number;
    size_t columns;
    *column = 0;
    if (header && piece->bytes)
        HR_TRY(find_name(*first, piece, column));
    if (*column)
        return HR_OK;
    HR_TRY(count_columns(*first, &columns));
    snprintf(digits, sizeof digits, "%.*s", (int)piece->bytes, piece->text);
    if (piece->bytes >= sizeof digits || !hr_parse_count(digits, &number) || number < 1 ||
        number > columns)
        return hr_fail(HR_E_USAGE, "%s: line %zu: %s %s: expected %s or a number from 1 to %zu",
                       first->name, first->line, option, hr_shown(piece->text, piece->bytes).text,
                       header ? "a name of the header" : "a header (--header yes)", columns);
    *column = number;
    return HR_OK;
}

static enum hr_status find_all(const struct hr_csv_reader *first, const char *option,
                               const char *list, bool header, struct hr_csv_targets *out)
{
    const size_t asked = hr_csv_targets_asked(list);
    for (const char *rest = list; out->count < asked; out->count++) {
        const struct piece piece = next_piece(&rest);
        size_t column;
        HR_TRY(find(first, option, &piece, header, &column));
        if (hr_csv_target_slot(out, column))
            return hr_fail(HR_E_USAGE, "%s: %s %s: column %zu stands in it twice", first->name,
                           option, list, column);
        out->column[out->count] = column;
    }
    return HR_OK;
}

static enum hr_status add_names(const struct hr_csv_reader *first, struct hr_csv_targets *out)
{
    for (size_t i = 0; i < out->count; i++) {
        struct hr_csv_reader r = *first;
        struct hr_csv_field f = {0};
        while (f.column < out->column[i])
            HR_TRY(hr_csv_next_field(&r, &f));
        HR_TRY(hr_array_add(&out->names, r.name, hr_shown(f.text, f.bytes).text,
                            strlen(hr_shown(f.text, f.bytes).text) + 1));
    }
    return HR_OK;
}

enum hr_status hr_csv_targets_find(const struct hr_csv_reader *first, const char *option,
                                   const char *list, size_t label, bool header,
                                   struct hr_csv_targets *out)
{
    const size_t asked = hr_csv_targets_asked(list);
    void *columns, *row;
    *out = (struct hr_csv_targets){0};
    HR_TRY(hr_take(first->name, asked * sizeof *out->column, &columns));
    out->column = columns;
    HR_TRY(hr_take(first->name, asked * sizeof *out->row, &row));
    out->row = row;
    if (list[0])
        HR_TRY(find_all(first, option, list, header, out));
    else
        out->column[out->count++] = label;
    return header ? add_names(first, out) : HR_OK;
}

void hr_csv_targets_free(struct hr_csv_targets *targets)
{
    free(targets->column);
    free(targets->row);
    free(targets->names.data);
    *targets = (struct hr_csv_targets){0};
}

void hr_csv_targets_place(const struct hr_csv_targets *targets, char *text, size_t size)
{
    const char *name = targets->names.data;
    size_t used = (size_t)snprintf(text, size, "column%s ", targets->count > 1 ? "s" : "");
    for (size_t i = 0; i < targets->count && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%zu", i ? ", " : "", targets->column[i]);
    for (size_t i = 0; name && i < targets->count && used < size; i++, name += strlen(name) + 1)
        used += (size_t)snprintf(text + used, size - used, "%s%s", ", ", name);
}

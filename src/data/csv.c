#include "data/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"
#include "data/format.h"

/* What the first record tells. */
struct layout {
    size_t columns;
    size_t label; /* column, from 1 */
    bool header;
    bool named;           /* the label column is named by the option */
    char label_place[80]; /* for messages: "column 3, kind" */
};

struct reader {
    const char *name;
    struct layout layout;
    const char *at, *end;
    size_t line;  /* of the record, from 1 */
    size_t below; /* line breaks passed since it began */
    char separator;
    char scratch[HR_CSV_MAX_FIELD]; /* a quoted field, without its quotes */
};

struct field {
    const char *text; /* until the next field is read */
    size_t bytes;
    size_t column; /* from 1 */
    bool quoted, last;
};

/* --- fields */

static enum hr_status fail_at(const struct reader *r, const struct field *f, const char *what)
{
    return hr_fail(HR_E_FORMAT, "%s: line %zu, column %zu: %s", r->name, r->line, f->column, what);
}

static bool at_break(const struct reader *r)
{
    return r->at < r->end &&
           (*r->at == '\n' || (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n'));
}

/* What follows a field: a separator, a line break, or the end. */
static void pass_end(struct reader *r, struct field *f)
{
    f->last = r->at == r->end || *r->at != r->separator;
    if (r->at == r->end)
        return;
    if (f->last) {
        r->at += *r->at == '\r' ? 2 : 1;
        r->below++;
    } else {
        r->at++;
    }
}

static void pass_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t') && *r->at != r->separator)
        r->at++;
}

static enum hr_status read_quoted(struct reader *r, struct field *f)
{
    f->quoted = true;
    f->text = r->scratch;
    for (r->at++; r->at < r->end; r->at++) {
        if (*r->at == '"' && (r->at + 1 == r->end || r->at[1] != '"'))
            break;
        r->at += *r->at == '"';
        r->below += *r->at == '\n';
        if (f->bytes == HR_CSV_MAX_FIELD)
            return fail_at(r, f, "a field of more than 1024 bytes, expected at most that");
        r->scratch[f->bytes++] = *r->at;
    }
    if (r->at == r->end)
        return fail_at(r, f, "a quote is not closed, expected another \"");
    r->at++;
    pass_blanks(r);
    if (r->at < r->end && *r->at != r->separator && !at_break(r))
        return fail_at(r, f, "text follows the closing quote, expected a separator");
    return HR_OK;
}

static enum hr_status read_plain(struct reader *r, struct field *f)
{
    f->text = r->at;
    for (; r->at < r->end && *r->at != r->separator && !at_break(r); r->at++)
        if (*r->at == '"' || *r->at == '\0')
            return fail_at(r, f,
                           *r->at ? "a quote inside a field without quotes, expected \"...\""
                                  : "a byte 0, expected text");
    f->bytes = (size_t)(r->at - f->text);
    while (f->bytes && (f->text[f->bytes - 1] == ' ' || f->text[f->bytes - 1] == '\t'))
        f->bytes--;
    if (f->bytes > HR_CSV_MAX_FIELD)
        return fail_at(r, f, "a field of more than 1024 bytes, expected at most that");
    return HR_OK;
}

/* f->column counts on from what it was; 0 begins a record. */
static enum hr_status next_field(struct reader *r, struct field *f)
{
    *f = (struct field){.column = f->column + 1};
    pass_blanks(r);
    if (r->at < r->end && *r->at == '"')
        HR_TRY(read_quoted(r, f));
    else
        HR_TRY(read_plain(r, f));
    pass_end(r, f);
    return HR_OK;
}

/* To the first byte of the next record; false at the end. */
static bool next_record(struct reader *r)
{
    r->line += r->below;
    r->below = 0;
    for (; at_break(r); r->line++)
        r->at += *r->at == '\r' ? 2 : 1;
    return r->at < r->end;
}

/* --- the first record */

static bool is_number(const struct field *f)
{
    double value;
    return hr_parse_real(f->text, f->bytes, &value);
}

static bool is_text(const struct field *f, const char *text)
{
    return f->bytes == strlen(text) && !strncasecmp(f->text, text, f->bytes);
}

static bool names_label(const struct field *f)
{
    return is_text(f, "label") || is_text(f, "class") || is_text(f, "target") || is_text(f, "y");
}

static void find_separator(struct reader *r)
{
    static const char candidates[] = ",\t;";
    size_t found[3] = {0}, best = 0;
    bool quoted = false;
    for (const char *at = r->at; at < r->end && (quoted || *at != '\n'); at++) {
        quoted ^= *at == '"';
        for (size_t i = 0; i < 3 && !quoted; i++)
            found[i] += *at == candidates[i];
    }
    for (size_t i = 1; i < 3; i++)
        best = found[i] > found[best] ? i : best;
    r->separator = candidates[best];
}

/* A y beside numbers is a name above numbered columns, or a label (y, n): nobody can tell. */
static enum hr_status fail_y(const struct reader *r)
{
    return hr_fail(HR_E_FORMAT,
                   "%s: line %zu: \"y\" may be the name of a column or a label, expected --header "
                   "yes or no to tell",
                   r->name, r->line);
}

/* Look at the first record of `r`, a copy of the caller's reader. */
static enum hr_status look(struct reader *r, const struct hr_data_options *options,
                           struct layout *layout)
{
    size_t named = 0, usual = 0, numbers = 0;
    bool word = false, y = false; /* the named one is no number; the usual one is just y */
    struct field f = {0};
    do {
        HR_TRY(next_field(r, &f));
        numbers += is_number(&f);
        if (!named && options->label_column[0] && is_text(&f, options->label_column)) {
            named = f.column;
            word = !is_number(&f);
        }
        if (!usual && names_label(&f)) {
            usual = f.column;
            y = f.bytes == 1;
        }
    } while (!f.last);
    layout->columns = f.column;
    layout->header = numbers == 0 || usual || word;
    if (strcmp(options->header, "auto") != 0)
        layout->header = !strcmp(options->header, "yes");
    else if (numbers && y && !word)
        return fail_y(r);
    layout->named = layout->header && named;
    layout->label = layout->header && usual ? usual : f.column;
    if (layout->named)
        layout->label = named;
    return HR_OK;
}

/* --label-column that is no name of the header has to be a number. */
static enum hr_status place_label(const struct reader *r, const struct hr_data_options *options,
                                  struct layout *layout)
{
    uint64_t column;
    if (!options->label_column[0] || layout->named)
        return HR_OK;
    const bool number = hr_parse_count(options->label_column, &column);
    if (!number || column < 1 || column > layout->columns)
        return hr_fail(
            HR_E_USAGE, "%s: line %zu: --label-column %s: expected %s or a number from 1 to %zu",
            r->name, r->line, options->label_column,
            layout->header ? "a name of the header" : "a header (--header yes)", layout->columns);
    layout->label = column;
    return HR_OK;
}

/* Written by R as "", by pandas as "" or, when it has read such a file, as "Unnamed: 0". */
static bool is_nameless(const struct field *f)
{
    static const char pandas[] = "Unnamed: ";
    return !f->bytes || (f->bytes > strlen(pandas) && !memcmp(f->text, pandas, strlen(pandas)));
}

/* A column of row numbers would be learned from like any other: in sorted data it tells the label.
 * `r` is a copy of the caller's reader. */
static enum hr_status check_header(struct reader r, bool label_given, struct layout *layout)
{
    struct field f = {0};
    snprintf(layout->label_place, sizeof layout->label_place, "column %zu", layout->label);
    while (layout->header && !f.last) {
        HR_TRY(next_field(&r, &f));
        const bool label = f.column == layout->label;
        if (is_nameless(&f) && !(label && label_given))
            return hr_fail(HR_E_FORMAT,
                           "%s: line %zu: column %zu has no name: row numbers that pandas wrote "
                           "(to_csv(index=False) leaves them out)? Expected a name",
                           r.name, r.line, f.column);
        if (label)
            snprintf(layout->label_place, sizeof layout->label_place, "column %zu, %s", f.column,
                     hr_shown(f.text, f.bytes).text);
    }
    return HR_OK;
}

static enum hr_status read_layout(struct reader *r, const struct hr_data_options *options)
{
    struct layout *layout = &r->layout;
    if (r->end - r->at >= 3 && !memcmp(r->at, "\xef\xbb\xbf", 3))
        r->at += 3;
    if (!next_record(r))
        return hr_fail(HR_E_FORMAT, "%s: holds no line, expected a table", r->name);
    find_separator(r);
    struct reader copy = *r;
    HR_TRY(look(&copy, options, layout));
    HR_TRY(place_label(r, options, layout));
    if (layout->columns < 2)
        return hr_fail(HR_E_FORMAT,
                       "%s: line %zu: one column, expected at least two (, tab or ; between them)",
                       r->name, r->line);
    HR_TRY(check_header(*r, options->label_column[0], layout));
    if (layout->header) {
        copy.layout = *layout;
        *r = copy;
        r->line += r->below;
        r->below = 0;
    }
    return HR_OK;
}

/* --- the samples */

static enum hr_status fail_number(const struct reader *r, const struct field *f)
{
    return hr_fail(HR_E_FORMAT,
                   "%s: line %zu, column %zu: \"%s\", expected a finite number (the label is %s; "
                   "--label-column names another)",
                   r->name, r->line, f->column, hr_shown(f->text, f->bytes).text,
                   r->layout.label_place);
}

static enum hr_status add_value(const struct reader *r, const struct field *f,
                                struct hr_array *values)
{
    double wide;
    if (!hr_parse_real(f->text, f->bytes, &wide))
        return fail_number(r, f);
    const float value = (float)wide;
    return isfinite(value) ? hr_array_add(values, r->name, &value, sizeof value)
                           : fail_number(r, f);
}

static enum hr_status add_label(const struct reader *r, const struct field *f,
                                struct hr_labels *labels, struct hr_array *numbers)
{
    uint32_t number;
    if (!f->bytes)
        return fail_at(r, f, "the label is empty, expected a text or number");
    if (f->bytes > HR_LABEL_MAX_BYTES || memchr(f->text, '\0', f->bytes))
        return fail_at(r, f, "the label is longer than 255 bytes or holds a byte 0");
    HR_TRY(hr_labels_add(labels, r->name, f->text, f->bytes, &number));
    return hr_array_add(numbers, r->name, &number, sizeof number);
}

static enum hr_status read_record(struct reader *r, struct hr_labels *labels,
                                  struct hr_array arrays[2])
{
    const struct layout *layout = &r->layout;
    struct field f = {0};
    do {
        HR_TRY(next_field(r, &f));
        if (f.column > layout->columns)
            return hr_fail(HR_E_FORMAT, "%s: line %zu: more than %zu columns, expected %zu",
                           r->name, r->line, layout->columns, layout->columns);
        HR_TRY(f.column == layout->label ? add_label(r, &f, labels, &arrays[1])
                                         : add_value(r, &f, &arrays[0]));
    } while (!f.last);
    if (f.column < layout->columns)
        return hr_fail(HR_E_FORMAT, "%s: line %zu: %zu columns, expected %zu", r->name, r->line,
                       f.column, layout->columns);
    return HR_OK;
}

enum hr_status hr_csv_parse(const char *name, const char *text, size_t bytes,
                            const struct hr_data_options *options, struct hr_labels *labels,
                            struct hr_table *out)
{
    struct reader r = {.name = name, .at = text, .end = text + bytes, .line = 1};
    struct hr_array arrays[2] = {{0}, {0}}; /* values, labels */
    enum hr_status st;
    HR_TRY(read_layout(&r, options));
    while (next_record(&r))
        HR_TRY_GOTO(read_record(&r, labels, arrays), st, out);
    if (!arrays[1].bytes) {
        st = hr_fail(HR_E_FORMAT, "%s: holds no sample, expected lines of %zu columns", name,
                     r.layout.columns);
        goto out;
    }
    *out = (struct hr_table){
        .features = HR_FEATURES_FLOATS,
        .shape = {r.layout.columns - 1, 1, 1},
        .count = arrays[1].bytes / sizeof *out->labels,
        .values = arrays[0].data,
        .labels = arrays[1].data,
    };
    memcpy(out->label_column, r.layout.label_place, sizeof out->label_column);
    return HR_OK;
out:
    free(arrays[0].data);
    free(arrays[1].data);
    return st;
}

/* --- the format */

/* Whatever is text: the last of the table, so that its messages tell what is wrong. */
static bool matches(const struct hr_probe *probe)
{
    return !probe->folder && !memchr(probe->head, '\0', probe->bytes);
}

static enum hr_status read_file(const char *path, const struct hr_data_options *options,
                                struct hr_labels *labels, struct hr_table *table)
{
    struct hr_array text;
    size_t columns;
    HR_TRY(hr_csv_width(path, &columns));
    HR_TRY(hr_format_admit(options, (struct hr_shape){columns ? columns - 1 : 0, 1, 1}));
    HR_TRY(hr_bytes_read_file(path, &text));
    const enum hr_status st = hr_csv_parse(path, text.data, text.bytes, options, labels, table);
    free(text.data);
    return st;
}

static enum hr_status open_file(const char *path, const struct hr_data_options *options,
                                struct hr_storage *storage)
{
    storage->scale = 1.0f;
    HR_TRY(read_file(path, options, &storage->labels, &storage->train));
    if (options->test_data[0])
        HR_TRY(read_file(options->test_data, options, &storage->labels, &storage->test));
    return HR_OK;
}

const struct hr_format hr_format_csv = {
    .name = "csv",
    .options =
        HR_OPTION_TEST_DATA | HR_OPTION_TEST_FRACTION | HR_OPTION_HEADER | HR_OPTION_LABEL_COLUMN,
    .matches = matches,
    .open = open_file,
};

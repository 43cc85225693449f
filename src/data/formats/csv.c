#include "formats/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"
#include "formats/csv_fields.h"
#include "formats/csv_targets.h"
#include "formats/feature_names.h"
#include "formats/formats.h"

/* What the first record tells. */
struct layout {
    size_t columns;
    size_t label; /* column, from 1; of a regression without --target the target's */
    struct hr_csv_targets targets;
    bool header;
    bool named;           /* the label column is named by the option */
    bool guessed;         /* it is named by the header alone */
    char label_place[80]; /* for messages: "column 3, kind" */
    char note[HR_DATA_NOTE];
    struct hr_array names; /* of the features, 0-terminated, where there is a header */
};

/* --- the first record */

static bool is_number(const struct hr_csv_field *f)
{
    double value;
    return hr_parse_real(f->text, f->bytes, &value);
}

static bool is_text(const struct hr_csv_field *f, const char *text)
{
    return f->bytes == strlen(text) && !strncasecmp(f->text, text, f->bytes);
}

static const char *const usual_names[] = {"label", "class", "target", "y"};

enum { USUAL_NAMES = sizeof usual_names / sizeof *usual_names };

/* usual[i]: the first column of that name, from 1. */
static void note_usual(const struct hr_csv_field *f, size_t usual[USUAL_NAMES])
{
    for (size_t i = 0; i < USUAL_NAMES; i++)
        if (!usual[i] && is_text(f, usual_names[i]))
            usual[i] = f->column;
}

/* The first usual name that there is, else USUAL_NAMES; a note when there are several. */
static size_t choose_usual(const size_t usual[USUAL_NAMES], const struct hr_csv_reader *r,
                           struct layout *layout)
{
    size_t best = USUAL_NAMES;
    for (size_t i = USUAL_NAMES; i-- > 0;) {
        if (!usual[i])
            continue;
        if (best < USUAL_NAMES)
            snprintf(layout->note, sizeof layout->note,
                     "%s: the label is taken to be column %zu, %s, and not column %zu, %s: "
                     "--label-column NAME chooses",
                     r->name, usual[i], usual_names[i], usual[best], usual_names[best]);
        best = i;
    }
    return best;
}

/* "y" beside numbers may be the name of a column or a label (y, n): ambiguous. */
static enum hr_status fail_y(const struct hr_csv_reader *r)
{
    return hr_fail(HR_E_FORMAT,
                   "%s: line %zu: \"y\" may be the name of a column or a label, expected --header "
                   "yes or no to tell",
                   r->name, r->line);
}

/* What there is in the first record. */
struct first_record {
    size_t usual[USUAL_NAMES], named, numbers;
    bool word;     /* the named one is no number */
    bool counting; /* 0,1,2,... */
};

static void note_field(const struct hr_csv_field *f, const char *label, struct first_record *first)
{
    char number[24];
    snprintf(number, sizeof number, "%zu", f->column - 1);
    first->counting = (first->counting || f->column == 1) && is_text(f, number);
    first->numbers += is_number(f);
    note_usual(f, first->usual);
    if (!first->named && label[0] && is_text(f, label)) {
        first->named = f->column;
        first->word = !is_number(f);
    }
}

/* What pandas writes above columns that have no names. */
static void note_counting(const struct hr_csv_reader *r, struct layout *layout)
{
    enum { FEWEST = 3 }; /* 0,1 is a sample as good as any */
    if (layout->columns >= FEWEST)
        snprintf(layout->note, sizeof layout->note,
                 "%s: line %zu is 0 to %zu in order, and taken for a sample: is it a header "
                 "(--header yes)?",
                 r->name, r->line, layout->columns - 1);
}

/* Classify the first record of `r`, a copy of the caller's reader. */
static enum hr_status look(struct hr_csv_reader *r, const struct hr_data_options *options,
                           struct layout *layout)
{
    struct first_record first = {0};
    struct hr_csv_field f = {0};
    do {
        HR_TRY(hr_csv_next_field(r, &f));
        note_field(&f, options->label_column, &first);
    } while (!f.last);
    const enum hr_csv_header header = hr_csv_header_of(options);
    const bool automatic = header == HR_CSV_HEADER_AUTO;
    const size_t usual = choose_usual(first.usual, r, layout);
    layout->columns = f.column;
    layout->header = first.numbers == 0 || usual < USUAL_NAMES || first.word;
    if (!automatic)
        layout->header = header == HR_CSV_HEADER_YES;
    else if (first.numbers && usual == USUAL_NAMES - 1 && !first.word)
        return fail_y(r);
    layout->named = layout->header && first.named;
    layout->guessed = layout->header && usual < USUAL_NAMES && !options->label_column[0];
    layout->label = layout->guessed ? first.usual[usual] : f.column;
    if (!layout->guessed)
        layout->note[0] = '\0';
    if (layout->named)
        layout->label = first.named;
    if (automatic && !layout->header && first.counting)
        note_counting(r, layout);
    return HR_OK;
}

/* --label-column that is no name of the header has to be a number. */
static enum hr_status place_label(const struct hr_csv_reader *r,
                                  const struct hr_data_options *options, struct layout *layout)
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

static bool is_label(const struct layout *layout, size_t column)
{
    return layout->targets.count ? hr_csv_target_slot(&layout->targets, column)
                                 : column == layout->label;
}

/* Written by R as "", by pandas as "" or, when it has read such a file, as "Unnamed: 0". */
static bool is_nameless(const struct hr_csv_field *f)
{
    static const char pandas[] = "Unnamed: ";
    return !f->bytes || (f->bytes > strlen(pandas) && !memcmp(f->text, pandas, strlen(pandas)));
}

static enum hr_status add_name(const struct hr_csv_reader *r, const struct hr_csv_field *f,
                               struct hr_array *names)
{
    HR_TRY(hr_array_add(names, r->name, f->text, f->bytes));
    return hr_array_add(names, r->name, "", 1);
}

/* A column of row numbers would be learned from like any other: in sorted data it tells the label.
 * `r` is a copy of the caller's reader. */
static enum hr_status check_header(struct hr_csv_reader r, bool label_given, struct layout *layout)
{
    struct hr_csv_field f = {0};
    snprintf(layout->label_place, sizeof layout->label_place, "column %zu", layout->label);
    while (layout->header && !f.last) {
        HR_TRY(hr_csv_next_field(&r, &f));
        const bool label = is_label(layout, f.column);
        if (is_nameless(&f) && !(label && label_given))
            return hr_fail(HR_E_FORMAT,
                           "%s: line %zu: column %zu has no name: row numbers that pandas wrote "
                           "(to_csv(index=False) leaves them out)? Expected a name",
                           r.name, r.line, f.column);
        if (label && !layout->targets.count)
            snprintf(layout->label_place, sizeof layout->label_place, "column %zu, %s", f.column,
                     hr_shown(f.text, f.bytes).text);
        else if (!label)
            HR_TRY(add_name(&r, &f, &layout->names));
    }
    if (layout->targets.count)
        hr_csv_targets_place(&layout->targets, layout->label_place, sizeof layout->label_place);
    return HR_OK;
}

static enum hr_status read_layout(struct hr_csv_reader *r, const struct hr_data_options *options,
                                  struct layout *layout)
{
    r->at += hr_bytes_mark(r->at, (size_t)(r->end - r->at));
    if (!hr_csv_next_record(r))
        return hr_fail(HR_E_FORMAT, "%s: holds no line, expected a table", r->name);
    hr_csv_find_separator(r);
    struct hr_csv_reader copy = *r;
    HR_TRY(look(&copy, options, layout));
    HR_TRY(place_label(r, options, layout));
    if (options->values)
        HR_TRY(hr_csv_targets_find(r, options->target, layout->label, layout->header,
                                   &layout->targets));
    if (layout->columns < 2)
        return hr_fail(HR_E_FORMAT,
                       "%s: line %zu: one column, expected at least two (, tab or ; between them)",
                       r->name, r->line);
    if (layout->targets.count >= layout->columns)
        return hr_fail(HR_E_USAGE, "%s: --target: all %zu columns, expected one more to learn from",
                       r->name, layout->columns);
    HR_TRY(check_header(*r, options->label_column[0] || options->target[0], layout));
    if (layout->header) {
        *r = copy;
        r->line += r->below;
        r->below = 0;
    }
    return HR_OK;
}

/* --- the samples */

struct samples {
    struct hr_values values;
    struct hr_array labels; /* their numbers */
};

static enum hr_status fail_number(const struct hr_csv_reader *r, const struct hr_csv_field *f,
                                  const struct layout *layout)
{
    return hr_fail(HR_E_FORMAT,
                   "%s: line %zu, column %zu: \"%s\", expected a finite number (the %s is %s; "
                   "--%s names another); a column of words is to be left out, or to be numbers",
                   r->name, r->line, f->column, hr_shown(f->text, f->bytes).text,
                   layout->targets.count ? "target" : "label", layout->label_place,
                   layout->targets.count ? "target" : "label-column");
}

static enum hr_status add_value(const struct hr_csv_reader *r, const struct hr_csv_field *f,
                                const struct layout *layout, struct hr_values *values)
{
    double wide;
    if (!hr_parse_real(f->text, f->bytes, &wide))
        return fail_number(r, f, layout);
    return isfinite((float)wide) ? hr_values_add(values, r->name, wide) : fail_number(r, f, layout);
}

static enum hr_status add_label(const struct hr_csv_reader *r, const struct hr_csv_field *f,
                                struct hr_labels *labels, struct hr_array *numbers)
{
    uint32_t number;
    if (!f->bytes)
        return hr_csv_fail_at(r, f, "the label is empty, expected a text or number");
    if (f->bytes > HR_LABEL_MAX_BYTES || memchr(f->text, '\0', f->bytes))
        return hr_csv_fail_at(r, f, "the label is longer than 255 bytes or holds a byte 0");
    HR_TRY(hr_labels_add(labels, r->name, f->text, f->bytes, &number));
    return hr_array_add(numbers, r->name, &number, sizeof number);
}

static enum hr_status add_target(const struct hr_csv_reader *r, const struct hr_csv_field *f,
                                 const struct layout *layout)
{
    double *value = &layout->targets.row[hr_csv_target_slot(&layout->targets, f->column) - 1];
    return hr_parse_real(f->text, f->bytes, value) ? HR_OK : fail_number(r, f, layout);
}

/* A field of the samples' label or targets, or a feature's. */
static enum hr_status add_field(const struct hr_csv_reader *r, const struct hr_csv_field *f,
                                const struct layout *layout, struct hr_labels *labels,
                                struct samples *samples)
{
    if (!is_label(layout, f->column))
        return add_value(r, f, layout, &samples->values);
    return layout->targets.count ? add_target(r, f, layout)
                                 : add_label(r, f, labels, &samples->labels);
}

static enum hr_status end_targets(const struct hr_csv_reader *r, const struct layout *layout,
                                  struct hr_labels *labels, struct hr_array *numbers)
{
    uint32_t number;
    if (!layout->targets.count)
        return HR_OK;
    HR_TRY(hr_target_rows_add(&labels->targets, r->name, layout->targets.row, &number));
    return hr_array_add(numbers, r->name, &number, sizeof number);
}

static enum hr_status read_record(struct hr_csv_reader *r, const struct layout *layout,
                                  struct hr_labels *labels, struct samples *samples)
{
    struct hr_csv_field f = {0};
    do {
        HR_TRY(hr_csv_next_field(r, &f));
        if (f.column > layout->columns)
            return hr_fail(HR_E_FORMAT, "%s: line %zu: more than %zu columns, expected %zu",
                           r->name, r->line, layout->columns, layout->columns);
        HR_TRY(add_field(r, &f, layout, labels, samples));
    } while (!f.last);
    if (f.column < layout->columns)
        return hr_fail(HR_E_FORMAT, "%s: line %zu: %zu columns, expected %zu", r->name, r->line,
                       f.column, layout->columns);
    return end_targets(r, layout, labels, &samples->labels);
}

enum hr_status hr_csv_parse(const char *name, const char *text, size_t bytes,
                            const struct hr_data_options *options, struct hr_labels *labels,
                            struct hr_table *out)
{
    struct hr_csv_reader r = {.name = name, .at = text, .end = text + bytes, .line = 1};
    struct layout layout = {0};
    struct samples samples = {0};
    enum hr_status st;
    HR_TRY_GOTO(read_layout(&r, options, &layout), st, out);
    if (layout.targets.count)
        HR_TRY_GOTO(hr_target_rows_begin(&labels->targets, name, layout.targets.count,
                                         &layout.targets.names),
                    st, out);
    while (hr_csv_next_record(&r))
        HR_TRY_GOTO(read_record(&r, &layout, labels, &samples), st, out);
    if (!samples.labels.bytes) {
        st = hr_fail(HR_E_FORMAT, "%s: holds no sample, expected lines of %zu columns", name,
                     layout.columns);
        goto out;
    }
    *out = (struct hr_table){
        .features = HR_FEATURES_FLOATS,
        .shape = {layout.columns - (layout.targets.count ? layout.targets.count : 1), 1, 1},
        .count = samples.labels.bytes / sizeof *out->labels,
        .values = samples.values.floats.data,
        .exact = samples.values.exact.data,
        .labels = samples.labels.data,
        .feature_names = layout.names.data,
        .label_guessed = layout.guessed,
    };
    memcpy(out->label_column, layout.label_place, sizeof out->label_column);
    memcpy(out->note, layout.note, sizeof out->note);
    hr_csv_targets_free(&layout.targets);
    return HR_OK;
out:
    hr_csv_targets_free(&layout.targets);
    hr_values_free(&samples.values);
    free(samples.labels.data);
    free(layout.names.data);
    return st;
}

/* --- the format */

/* Any text: the last in the list, so that its messages say what is wrong. */
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
    const size_t targets = hr_csv_targets_asked(options->target);
    if (columns > targets) /* else the parser says what is wrong */
        HR_TRY(hr_format_admit(options, (struct hr_shape){columns - targets, 1, 1}));
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
    if (options->validation_data[0])
        HR_TRY(
            read_file(options->validation_data, options, &storage->labels, &storage->validation));
    HR_TRY(hr_feature_names_check(options->test_data, path, &storage->test, &storage->train));
    return hr_feature_names_check(options->validation_data, path, &storage->validation,
                                  &storage->train);
}

const struct hr_format hr_format_csv = {
    .name = "csv",
    .options = HR_OPTION_TEST_DATA | HR_OPTION_VALIDATION_DATA | HR_OPTION_TEST_FRACTION |
               HR_OPTION_HEADER | HR_OPTION_LABEL_COLUMN | HR_OPTION_VALUES | HR_OPTION_TARGET,
    .matches = matches,
    .open = open_file,
};

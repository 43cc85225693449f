#include "formats/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"
#include "data/hold_out.h"
#include "formats/columns.h"
#include "formats/csv_fields.h"
#include "formats/csv_targets.h"
#include "formats/feature_names.h"
#include "formats/formats.h"

/* What a column of the file is. */
enum role { FEATURE, UNLISTED, DROPPED, GROUP, LABEL };

/* What the first record tells. */
struct layout {
    size_t columns;
    size_t label; /* column, from 1; of a regression without --target the target's */
    size_t group; /* of --split group:COLUMN, from 1; 0: none */
    struct hr_csv_targets targets;
    bool header;
    bool named;           /* the label column is named by the option */
    bool guessed;         /* it is named by the header alone */
    size_t dropped;       /* the column that would have been it by its name, from 1; 0: none */
    char label_place[80]; /* for messages: "column 3, kind" */
    char note[HR_DATA_NOTE];
    enum role *role;    /* (columns) owned */
    size_t *feature_of; /* (columns) owned: 1 + which feature; 0: none */
};

/* --- the first record */

static bool is_text(const struct hr_csv_field *f, const char *text)
{
    return f->bytes == strlen(text) && !strncasecmp(f->text, text, f->bytes);
}

static const char *const usual_names[] = HR_CSV_USUAL_LABELS;

enum { USUAL_NAMES = sizeof usual_names / sizeof *usual_names };

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
    size_t named, numbers;
    size_t usual;  /* the first of the usual names that it has; USUAL_NAMES: none */
    bool word;     /* the named one is no number */
    bool counting; /* 0,1,2,... */
};

static void note_field(const struct hr_csv_reader *r, const struct hr_csv_field *f,
                       const char *label, struct first_record *first)
{
    char number[24];
    double value;
    const bool is_number = hr_field_number(r, f, &value);
    snprintf(number, sizeof number, "%zu", f->column - 1);
    first->counting = (first->counting || f->column == 1) && is_text(f, number);
    first->numbers += is_number;
    for (size_t i = 0; i < first->usual; i++)
        if (is_text(f, usual_names[i]))
            first->usual = i;
    if (!first->named && label[0] && is_text(f, label)) {
        first->named = f->column;
        first->word = !is_number;
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

/* Is the first record of `r`, a copy of the caller's reader, a header? */
static enum hr_status look(struct hr_csv_reader *r, const struct hr_data_options *options,
                           struct layout *layout)
{
    struct first_record first = {.usual = USUAL_NAMES};
    struct hr_csv_field f = {0};
    do {
        HR_TRY(hr_csv_next_field(r, &f));
        note_field(r, &f, options->label_column, &first);
    } while (!f.last);
    const enum hr_csv_header header = hr_csv_header_of(options);
    const bool automatic = header == HR_CSV_HEADER_AUTO;
    layout->columns = f.column;
    layout->header = first.numbers == 0 || first.usual < USUAL_NAMES || first.word;
    if (!automatic)
        layout->header = header == HR_CSV_HEADER_YES;
    else if (first.numbers && first.usual == USUAL_NAMES - 1 && !first.word)
        return fail_y(r);
    layout->named = layout->header && first.named;
    layout->label = first.named;
    if (automatic && !layout->header && first.counting)
        note_counting(r, layout);
    return HR_OK;
}

/* --- what each column is */

static enum hr_status give_role(const struct hr_csv_reader *first, const char *option,
                                const char *list, enum role role, struct layout *layout)
{
    struct hr_csv_targets found;
    const enum hr_status status =
        hr_csv_targets_find(first, option, list, 0, layout->header, &found);
    for (size_t i = 0; status == HR_OK && i < found.count; i++)
        layout->role[found.column[i] - 1] = role;
    const bool several = status == HR_OK && role == GROUP && found.count > 1;
    if (status == HR_OK && role == GROUP)
        layout->group = found.column[0];
    hr_csv_targets_free(&found);
    return several ? hr_fail(HR_E_USAGE, "%s: %s:%s: %zu columns, expected one", first->name,
                             option, list, hr_csv_targets_asked(list))
                   : status;
}

/* A file before this one, or the model, says which columns are features; others need not be there,
 * whatever the options named. */
static bool knows_columns(const struct hr_columns *columns)
{
    return columns->count && !columns->plain;
}

static enum hr_status give_roles(const struct hr_csv_reader *first,
                                 const struct hr_data_options *options,
                                 const struct hr_columns *columns, struct layout *layout)
{
    const char *group = hr_hold_out_group(options->split);
    const bool known = knows_columns(columns);
    void *taken;
    HR_TRY(hr_take(first->name, layout->columns * sizeof *layout->role, &taken));
    layout->role = taken;
    HR_TRY(hr_take(first->name, layout->columns * sizeof *layout->feature_of, &taken));
    layout->feature_of = taken;
    if (known)
        HR_TRY(hr_columns_find(columns, *first, layout->header, layout->feature_of));
    for (size_t c = 0; (known || options->columns[0]) && c < layout->columns; c++)
        layout->role[c] = layout->feature_of[c] ? FEATURE : UNLISTED;
    if (!known && options->columns[0])
        HR_TRY(give_role(first, "--columns", options->columns, FEATURE, layout));
    if (!known && options->drop[0])
        HR_TRY(give_role(first, "--drop", options->drop, DROPPED, layout));
    return group[0] ? give_role(first, "--split group", group, GROUP, layout) : HR_OK;
}

/* Without --label-column: one that is neither dropped nor known to be a feature. */
static bool may_be_label(const struct layout *layout, size_t column)
{
    return layout->role[column - 1] < DROPPED && !layout->feature_of[column - 1];
}

/* The column of labels by its name, as people call it; a note when there are several. */
static enum hr_status find_usual(struct hr_csv_reader r, struct layout *layout)
{
    size_t at[USUAL_NAMES] = {0}, best = USUAL_NAMES, dropped = USUAL_NAMES;
    struct hr_csv_field f = {0};
    do {
        HR_TRY(hr_csv_next_field(&r, &f));
        for (size_t i = 0; i < USUAL_NAMES; i++)
            if (at[i] || !is_text(&f, usual_names[i]))
                continue;
            else if (may_be_label(layout, f.column))
                at[i] = f.column;
            else if (layout->role[f.column - 1] == DROPPED && i < dropped) {
                dropped = i;
                layout->dropped = f.column;
            }
    } while (!f.last);
    for (size_t i = USUAL_NAMES; i-- > 0;) {
        if (!at[i])
            continue;
        if (best < USUAL_NAMES)
            snprintf(layout->note, sizeof layout->note,
                     "%s: the label is taken to be column %zu, %s, and not column %zu, %s: "
                     "--label-column NAME chooses",
                     r.name, at[i], usual_names[i], at[best], usual_names[best]);
        layout->guessed = true;
        layout->label = at[best = i];
    }
    layout->dropped = dropped < best ? layout->dropped : 0;
    return HR_OK;
}

/* As the file before this one calls it, wherever it stands. */
static enum hr_status find_again(struct hr_csv_reader r, const char *name, struct layout *layout)
{
    struct hr_csv_field f = {0};
    do {
        HR_TRY(hr_csv_next_field(&r, &f));
    } while (!f.last && !is_text(&f, name));
    layout->label = f.column;
    return is_text(&f, name) ? HR_OK
                             : hr_fail(HR_E_FORMAT, "%s: line %zu: has no column \"%s\", the label",
                                       r.name, r.line, hr_shown(name, strlen(name)).text);
}

/* --label-column; else a usual name; else the last column that may be it. */
static enum hr_status place_label(const struct hr_csv_reader *r,
                                  const struct hr_data_options *options,
                                  const struct hr_columns *columns, struct layout *layout)
{
    uint64_t column;
    if (knows_columns(columns) && columns->label[0] && layout->header)
        return find_again(*r, columns->label, layout);
    if (layout->named)
        return HR_OK;
    if (options->label_column[0]) {
        const bool number = hr_parse_count(options->label_column, &column);
        if (!number || column < 1 || column > layout->columns)
            return hr_fail(HR_E_USAGE,
                           "%s: line %zu: --label-column %s: expected %s or a number from 1 to %zu",
                           r->name, r->line, options->label_column,
                           layout->header ? "a name of the header" : "a header (--header yes)",
                           layout->columns);
        layout->label = column;
        return HR_OK;
    }
    if (layout->header)
        HR_TRY(find_usual(*r, layout));
    if (!layout->guessed)
        layout->label = layout->columns;
    while (layout->label > 1 && !may_be_label(layout, layout->label))
        layout->label--;
    if (layout->dropped && !layout->note[0])
        snprintf(layout->note, sizeof layout->note,
                 "%s: column %zu, the label by its name, is dropped: the label is taken to be "
                 "column %zu: --label-column NAME chooses",
                 r->name, layout->dropped, layout->label);
    return HR_OK;
}

/* The label, or all targets. */
static enum hr_status take_labels(const struct hr_csv_reader *r, struct layout *layout)
{
    const size_t n = layout->targets.count ? layout->targets.count : 1;
    for (size_t i = 0; i < n; i++) {
        const size_t column = layout->targets.count ? layout->targets.column[i] : layout->label;
        const enum role role = layout->role[column - 1];
        if (role == DROPPED || role == GROUP)
            return hr_fail(HR_E_USAGE, "%s: --%s: column %zu is the %s, expected another", r->name,
                           role == GROUP ? "split group" : "drop", column,
                           layout->targets.count ? "target" : "label");
        if (layout->feature_of[column - 1])
            return hr_fail(HR_E_USAGE,
                           "%s: line %zu: no column is left for the %s: column %zu is one that the "
                           "model learns from, expected another (--label-column)",
                           r->name, r->line, layout->targets.count ? "target" : "label", column);
        layout->role[column - 1] = LABEL;
    }
    return HR_OK;
}

/* Written by R as "", by pandas as "" or, when it has read such a file, as "Unnamed: 0". */
static bool is_nameless(const struct hr_csv_field *f)
{
    static const char pandas[] = "Unnamed: ";
    return !f->bytes || (f->bytes > strlen(pandas) && !memcmp(f->text, pandas, strlen(pandas)));
}

/* Whoever reads later files finds the label by its name, and perhaps a copy of it would be learned
 * from. */
static enum hr_status check_label_name(struct hr_csv_reader r, const char *name,
                                       const struct layout *layout)
{
    struct hr_csv_field f = {0};
    while (!f.last) {
        HR_TRY(hr_csv_next_field(&r, &f));
        if (layout->role[f.column - 1] != LABEL && f.bytes == strlen(name) &&
            !memcmp(f.text, name, f.bytes))
            return hr_fail(HR_E_FORMAT,
                           "%s: line %zu: column %zu is called \"%s\", as the label is, expected "
                           "another name",
                           r.name, r.line, f.column, hr_shown(name, strlen(name)).text);
    }
    return HR_OK;
}

/* A column of row numbers would be learned from like any other: in sorted data it tells the label.
 * `r` is a copy of the caller's reader. */
static enum hr_status check_header(struct hr_csv_reader r, bool label_given,
                                   struct hr_columns *columns, struct layout *layout)
{
    const struct hr_csv_reader again = r;
    struct hr_csv_field f = {0};
    snprintf(layout->label_place, sizeof layout->label_place, "column %zu", layout->label);
    while (layout->header && !f.last) {
        HR_TRY(hr_csv_next_field(&r, &f));
        const enum role role = layout->role[f.column - 1];
        if (is_nameless(&f) && (role == FEATURE || (role == LABEL && !label_given)))
            return hr_fail(HR_E_FORMAT,
                           "%s: line %zu: column %zu has no name: row numbers that pandas wrote "
                           "(to_csv(index=False) leaves them out)? Expected a name, or --drop %zu",
                           r.name, r.line, f.column, f.column);
        if (f.bytes == HR_CSV_MAX_FIELD && (role == FEATURE || role == LABEL))
            return hr_csv_fail_at(&r, &f, "its name has 1024 bytes or more, expected fewer");
        if (role == LABEL && layout->targets.count < 2)
            snprintf(columns->label, sizeof columns->label, "%.*s", (int)f.bytes, f.text);
        if (role == LABEL && !layout->targets.count)
            snprintf(layout->label_place, sizeof layout->label_place, "column %zu, %s", f.column,
                     hr_shown(f.text, f.bytes).text);
    }
    if (columns->label[0])
        HR_TRY(check_label_name(again, columns->label, layout));
    if (layout->targets.count)
        hr_csv_targets_place(&layout->targets, layout->label_place, sizeof layout->label_place);
    return HR_OK;
}

static enum hr_status read_layout(struct hr_csv_reader *r, const struct hr_data_options *options,
                                  struct hr_columns *columns, struct layout *layout,
                                  struct hr_csv_reader *first)
{
    if (!hr_csv_begin(r))
        return hr_fail(HR_E_FORMAT, "%s: holds no line, expected a table", r->name);
    *first = *r;
    struct hr_csv_reader copy = *r;
    HR_TRY(look(&copy, options, layout));
    HR_TRY(give_roles(r, options, columns, layout));
    HR_TRY(place_label(r, options, columns, layout));
    if (options->values)
        HR_TRY(hr_csv_targets_find(r, "--target", options->target, layout->label, layout->header,
                                   &layout->targets));
    if (layout->columns < 2)
        return hr_fail(
            HR_E_FORMAT,
            "%s: line %zu: one column, expected at least two (, tab ; or | between them); "
            "--text lines reads a list of words as text",
            r->name, r->line);
    if (layout->targets.count >= layout->columns)
        return hr_fail(HR_E_USAGE, "%s: --target: all %zu columns, expected one more to learn from",
                       r->name, layout->columns);
    HR_TRY(take_labels(r, layout));
    HR_TRY(check_header(*r, options->label_column[0] || options->target[0], columns, layout));
    if (layout->header) {
        *r = copy;
        r->line += r->below;
        r->below = 0;
    }
    return HR_OK;
}

/* --- the samples */

/* A record, as the last one was read. */
struct row {
    char label[HR_LABEL_MAX_BYTES + 1], group[HR_LABEL_MAX_BYTES + 1];
    bool left_out;
    double *sample; /* (features' numbers) owned */
};

static enum hr_status take_text(const struct hr_csv_reader *r, const struct hr_csv_field *f,
                                const char *what, char text[HR_LABEL_MAX_BYTES + 1])
{
    char message[120];
    snprintf(message, sizeof message,
             f->bytes ? "the %s is longer than 255 bytes or holds a byte 0"
                      : "the %s is empty, expected a text or number%s",
             what, ": --missing drop leaves such rows out");
    if (!f->bytes || f->bytes > HR_LABEL_MAX_BYTES || memchr(f->text, '\0', f->bytes))
        return hr_csv_fail_at(r, f, message);
    memcpy(text, f->text, f->bytes);
    text[f->bytes] = '\0';
    return HR_OK;
}

static enum hr_status take_target(const struct hr_csv_reader *r, const struct hr_csv_field *f,
                                  const struct layout *layout)
{
    double *value = &layout->targets.row[hr_csv_target_slot(&layout->targets, f->column) - 1];
    if (hr_field_number(r, f, value))
        return HR_OK;
    return hr_fail(HR_E_FORMAT,
                   "%s: line %zu, column %zu: \"%s\", expected a finite number (the target is %s; "
                   "--target names another)",
                   r->name, r->line, f->column, hr_shown(f->text, f->bytes).text,
                   layout->label_place);
}

static enum hr_status take_field(const struct hr_csv_reader *r, const struct hr_csv_field *f,
                                 const struct layout *layout, const struct hr_columns *columns,
                                 struct hr_columns_met *met, struct row *row)
{
    const size_t feature = layout->feature_of[f->column - 1];
    switch (layout->role[f->column - 1]) {
    case LABEL:
        if (columns->missing != HR_MISSING_REFUSE &&
            hr_field_is_missing(f, layout->targets.count != 0)) {
            row->left_out = true;
            return HR_OK;
        }
        return layout->targets.count ? take_target(r, f, layout)
                                     : take_text(r, f, "label", row->label);
    case GROUP: /* of a model, it may be a feature, too */
        row->left_out =
            row->left_out || (columns->missing == HR_MISSING_DROP && hr_field_is_missing(f, false));
        if (!row->left_out)
            HR_TRY(take_text(r, f, "group", row->group));
        break;
    case FEATURE:
    case UNLISTED:
    case DROPPED:
        break;
    }
    return feature ? hr_columns_take(columns, feature - 1, r, f, met, row->sample) : HR_OK;
}

static enum hr_status fail_count(const struct hr_csv_reader *r, size_t found, size_t columns)
{
    return hr_fail(HR_E_FORMAT, "%s: line %zu: %s%zu columns, expected %zu", r->name, r->line,
                   found > columns ? "more than " : "", found > columns ? columns : found, columns);
}

static enum hr_status read_record(struct hr_csv_reader *r, const struct layout *layout,
                                  const struct hr_columns *columns, struct hr_columns_met *met,
                                  struct row *row)
{
    struct hr_csv_field f = {0};
    met->missing = row->left_out = false;
    do {
        HR_TRY(hr_csv_next_field(r, &f));
        if (f.column > layout->columns)
            return fail_count(r, f.column, layout->columns);
        HR_TRY(take_field(r, &f, layout, columns, met, row));
    } while (!f.last);
    if (f.column < layout->columns)
        return fail_count(r, f.column, layout->columns);
    row->left_out = row->left_out || met->missing;
    met->dropped += row->left_out;
    return HR_OK;
}

/* --- what becomes of the features, from the rows that are trained on */

/* Each column that is a feature, named as the header has it. */
static enum hr_status list_features(struct hr_csv_reader first, const struct layout *layout,
                                    struct hr_columns *columns)
{
    struct hr_csv_field f = {0};
    void *taken;
    HR_TRY(hr_take(first.name, layout->columns * sizeof *columns->list, &taken));
    columns->list = taken;
    do {
        HR_TRY(hr_csv_next_field(&first, &f));
        if (layout->role[f.column - 1] != FEATURE)
            continue;
        struct hr_column *column = &columns->list[columns->count++];
        layout->feature_of[f.column - 1] = columns->count;
        column->place = f.column;
        if (layout->header && !(column->name = strndup(f.text, f.bytes)))
            return hr_fail(HR_E_NOMEM, "%s: no memory", first.name);
    } while (!f.last);
    return columns->count ? hr_columns_finish(columns, first.name)
                          : hr_fail(HR_E_USAGE, "%s: no column is left to learn from", first.name);
}

/* What the fields of a column are. */
struct mixture {
    size_t numbers, words;
    size_t line; /* of the first word */
};

static enum hr_status count_words(struct hr_csv_reader r, const struct layout *layout,
                                  struct mixture *mixtures)
{
    double number;
    while (hr_csv_next_record(&r)) {
        struct hr_csv_field f = {0};
        do {
            HR_TRY(hr_csv_next_field(&r, &f));
            const size_t feature =
                f.column <= layout->columns ? layout->feature_of[f.column - 1] : 0;
            if (!feature || hr_field_is_missing(&f, true))
                continue;
            struct mixture *mixture = &mixtures[feature - 1];
            const bool is_number = hr_field_number(&r, &f, &number) || hr_field_looks_number(&f);
            mixture->numbers += is_number;
            mixture->line = !is_number && !mixture->words ? r.line : mixture->line;
            mixture->words += !is_number;
        } while (!f.last);
    }
    return HR_OK;
}

/* --one-hot auto: a column where a word stands is one of words. One word among many numbers is more
 * likely wrong, and said. */
static enum hr_status find_words(const struct hr_csv_reader *rows, const struct layout *layout,
                                 struct hr_columns *columns, char note[HR_DATA_NOTE])
{
    void *taken;
    HR_TRY(hr_take(rows->name, columns->count * sizeof(struct mixture), &taken));
    const struct mixture *mixtures = taken;
    const enum hr_status status = count_words(*rows, layout, taken);
    for (size_t k = 0; status == HR_OK && k < columns->count; k++) {
        columns->list[k].is_words = mixtures[k].words > 0;
        if (mixtures[k].words && mixtures[k].numbers > mixtures[k].words && !note[0])
            snprintf(note, HR_DATA_NOTE,
                     "%s: column %zu is taken for one of words, though %zu of its %zu fields are "
                     "numbers: line %zu has a word",
                     rows->name, columns->list[k].place, mixtures[k].numbers,
                     mixtures[k].numbers + mixtures[k].words, mixtures[k].line);
    }
    free(taken);
    return status;
}

static enum hr_status choose_words(const struct hr_csv_reader *first,
                                   const struct hr_csv_reader *rows,
                                   const struct hr_data_options *options, struct layout *layout,
                                   struct hr_columns *columns)
{
    struct hr_csv_targets found;
    if (!strcmp(options->one_hot, "auto"))
        return find_words(rows, layout, columns, layout->note);
    enum hr_status status =
        hr_csv_targets_find(first, "--one-hot", options->one_hot, 0, layout->header, &found);
    for (size_t i = 0; status == HR_OK && i < found.count; i++) {
        const size_t feature = layout->feature_of[found.column[i] - 1];
        if (feature)
            columns->list[feature - 1].is_words = true;
        else
            status = hr_fail(HR_E_USAGE, "%s: --one-hot: column %zu is no feature", first->name,
                             found.column[i]);
    }
    hr_csv_targets_free(&found);
    return status;
}

static enum hr_status fail_dropped(const struct hr_csv_reader *r, const struct hr_columns_met *met)
{
    return hr_fail(HR_E_FORMAT,
                   "%s: something is missing in each of its %zu rows: --drop leaves columns out, "
                   "--missing mean fills those of numbers",
                   r->name, met->dropped);
}

/* Labels and groups of all rows, to say which ones are held out. */
struct drawn {
    struct hr_labels labels, groups;
    struct hr_array label_of, group_of; /* numbers of these, of rows that are not left out */
    struct hr_array kept;               /* (records) bool: is the row not left out? */
    size_t count;
    uint8_t *tests; /* (count) owned: 1 where it is a test sample */
};

static void free_drawn(struct drawn *drawn)
{
    hr_labels_free(&drawn->labels);
    hr_labels_free(&drawn->groups);
    free(drawn->label_of.data);
    free(drawn->group_of.data);
    free(drawn->kept.data);
    free(drawn->tests);
}

static enum hr_status add_text(const char *name, const char *text, struct hr_labels *texts,
                               struct hr_array *numbers)
{
    uint32_t number = 0;
    if (text[0])
        HR_TRY(hr_labels_add(texts, name, text, strlen(text), &number));
    return hr_array_add(numbers, name, &number, sizeof number);
}

/* Which rows are test samples: those that dataset.c holds out of as many. */
static enum hr_status draw_tests(struct hr_csv_reader r, const struct hr_data_options *options,
                                 const struct layout *layout, const struct hr_columns *columns,
                                 struct row *row, struct drawn *drawn)
{
    struct hr_columns_met met = {0};
    struct hr_classes classes = {0};
    void *taken;
    while (hr_csv_next_record(&r)) {
        HR_TRY(read_record(&r, layout, columns, &met, row));
        const bool kept = !row->left_out;
        HR_TRY(hr_array_add(&drawn->kept, r.name, &kept, sizeof kept));
        if (!kept)
            continue;
        HR_TRY(add_text(r.name, row->label, &drawn->labels, &drawn->label_of));
        HR_TRY(add_text(r.name, row->group, &drawn->groups, &drawn->group_of));
        drawn->count++;
    }
    if (!drawn->count && met.dropped)
        return fail_dropped(&r, &met);
    HR_TRY(hr_take(r.name, drawn->count, &taken));
    drawn->tests = taken;
    if (options->test_data[0] || options->test_all || drawn->count < 2)
        return HR_OK;
    if (drawn->labels.count)
        HR_TRY(hr_labels_finish(&drawn->labels, r.name, &classes));
    uint32_t *label_of = drawn->label_of.data;
    for (size_t i = 0; drawn->labels.count && i < drawn->count; i++)
        label_of[i] = classes.class_of[label_of[i]];
    hr_classes_free(&classes);
    const struct hr_hold_out how = {.split = options->split,
                                    .labels = drawn->labels.count ? label_of : NULL,
                                    .groups = drawn->group_of.data};
    return hr_hold_out_tests(r.name, &how, drawn->count, options->test_fraction, drawn->tests);
}

/* A field of a training row. */
static enum hr_status learn_field(const struct hr_csv_reader *r, const struct hr_csv_field *f,
                                  struct hr_column *column, size_t *count)
{
    char text[HR_CSV_MAX_FIELD + 1];
    double number = 0;
    uint32_t word;
    if (hr_field_is_missing(f, !column->is_words))
        return HR_OK;
    ++*count;
    if (column->is_words) {
        if (f->bytes > HR_LABEL_MAX_BYTES || memchr(f->text, '\0', f->bytes))
            return hr_csv_fail_at(r, f,
                                  "the word is longer than 255 bytes or holds a byte 0: --drop "
                                  "leaves a column out");
        const size_t bytes = hr_field_word(f, text);
        return hr_labels_add(&column->words, r->name, text, bytes, &word);
    }
    if (!hr_field_number(r, f, &number))
        return hr_csv_fail_at(r, f, "expected a finite number");
    column->mean += number;
    return HR_OK;
}

/* Words and means of the training rows.
 *   counts  (features) zeros */
static enum hr_status learn(struct hr_csv_reader r, const struct layout *layout,
                            const struct drawn *drawn, struct hr_columns *columns, size_t *counts)
{
    const bool *kept = drawn->kept.data;
    for (size_t record = 0, i = 0; hr_csv_next_record(&r); record++) {
        struct hr_csv_field f = {0};
        const bool learns = kept[record] && !drawn->tests[i];
        i += kept[record];
        do {
            HR_TRY(hr_csv_next_field(&r, &f));
            const size_t feature = layout->feature_of[f.column - 1];
            if (learns && feature)
                HR_TRY(learn_field(&r, &f, &columns->list[feature - 1], &counts[feature - 1]));
        } while (!f.last);
    }
    return HR_OK;
}

static enum hr_status fit(const struct hr_csv_reader *rows, const struct hr_data_options *options,
                          const struct layout *layout, struct row *row, struct hr_columns *columns)
{
    struct drawn drawn = {0};
    void *counts = NULL;
    enum hr_status st;
    HR_TRY_GOTO(hr_take(rows->name, columns->count * sizeof(size_t), &counts), st, out);
    HR_TRY_GOTO(draw_tests(*rows, options, layout, columns, row, &drawn), st, out);
    HR_TRY_GOTO(learn(*rows, layout, &drawn, columns, counts), st, out);
    HR_TRY_GOTO(hr_columns_finish(columns, rows->name), st, out);
    HR_TRY_GOTO(hr_columns_resolve(columns, rows->name, options->one_hot, counts), st, out);
out:
    free(counts);
    free_drawn(&drawn);
    return st;
}

static enum hr_missing missing_of(const struct hr_data_options *options)
{
    const char first = options->missing[0]; /* of refuse, mean, drop */
    return first == 'm' ? HR_MISSING_MEAN : first == 'd' ? HR_MISSING_DROP : HR_MISSING_REFUSE;
}

/* What becomes of the columns: as a file before this one has it, as a model has it, or as these
 * rows say. */
static enum hr_status find_columns(const struct hr_csv_reader *first,
                                   const struct hr_csv_reader *rows,
                                   const struct hr_data_options *options, struct layout *layout,
                                   struct row *row, struct hr_columns *columns)
{
    void *taken;
    if (columns->count && columns->plain)
        hr_columns_free(columns);
    const bool given = columns->count != 0;
    columns->of = given ? columns->of : layout->columns;
    columns->missing = given ? columns->missing : missing_of(options);
    columns->plain = !given && !options->one_hot[0] && columns->missing == HR_MISSING_REFUSE &&
                     !options->drop[0] && !options->columns[0] && !layout->group;
    if (!given)
        HR_TRY(list_features(*first, layout, columns));
    if (!given && options->one_hot[0])
        HR_TRY(choose_words(first, rows, options, layout, columns));
    const size_t most = columns->width > columns->count ? columns->width : columns->count;
    HR_TRY(hr_take(first->name, most * sizeof *row->sample, &taken));
    row->sample = taken;
    if (given || columns->plain)
        return HR_OK;
    enum { MOST = HR_COLUMNS_MAX_BYTES / 20 }; /* more are refused */
    if (layout->header && columns->count < MOST)
        HR_TRY(hr_columns_find(columns, *first, true, layout->feature_of));
    HR_TRY(fit(rows, options, layout, row, columns));
    free(row->sample);
    row->sample = NULL;
    HR_TRY(hr_take(first->name, columns->width * sizeof *row->sample, &taken));
    row->sample = taken;
    return HR_OK;
}

/* --- the table */

/* Samples so far; `kept` are what the table takes over. */
struct samples {
    struct hr_labels groups;
    struct {
        struct hr_values values;
        struct hr_array label_of, group_of, file_rows, names;
    } kept;
};

/* record: which one of the file it is, from 0 */
static enum hr_status keep_row(const char *name, const struct layout *layout,
                               const struct hr_columns *columns, const struct row *row,
                               uint32_t record, struct hr_labels *labels, struct samples *samples)
{
    struct hr_array *label_of = &samples->kept.label_of;
    uint32_t number;
    for (size_t i = 0; i < columns->width; i++)
        HR_TRY(hr_values_add(&samples->kept.values, name, row->sample[i]));
    if (columns->missing != HR_MISSING_REFUSE)
        HR_TRY(hr_array_add(&samples->kept.file_rows, name, &record, sizeof record));
    if (layout->group)
        HR_TRY(add_text(name, row->group, &samples->groups, &samples->kept.group_of));
    if (!layout->targets.count)
        return add_text(name, row->label, labels, label_of);
    HR_TRY(hr_target_rows_add(&labels->targets, name, layout->targets.row, &number));
    return hr_array_add(label_of, name, &number, sizeof number);
}

static enum hr_status read_samples(struct hr_csv_reader *r, const struct layout *layout,
                                   const struct hr_columns *columns, struct row *row,
                                   struct hr_columns_met *met, struct hr_labels *labels,
                                   struct samples *samples)
{
    if (layout->targets.count)
        HR_TRY(hr_target_rows_begin(&labels->targets, r->name, layout->targets.count,
                                    &layout->targets.names));
    for (uint32_t record = 0; hr_csv_next_record(r); record++) {
        HR_TRY(read_record(r, layout, columns, met, row));
        if (!row->left_out)
            HR_TRY(keep_row(r->name, layout, columns, row, record, labels, samples));
    }
    if (!samples->kept.label_of.bytes && met->dropped)
        return fail_dropped(r, met);
    if (!samples->kept.label_of.bytes)
        return hr_fail(HR_E_FORMAT, "%s: holds no sample, expected lines of %zu columns", r->name,
                       layout->columns);
    return hr_columns_names(columns, r->name, &samples->kept.names);
}

enum hr_status hr_csv_parse(const char *name, const char *text, size_t bytes,
                            const struct hr_data_options *options, struct hr_columns *columns,
                            struct hr_labels *labels, struct hr_table *out)
{
    struct hr_csv_reader r = {.name = name, .at = text, .end = text + bytes, .line = 1}, first;
    struct layout layout = {0};
    struct row row = {0};
    struct hr_columns_met met = {0};
    struct samples samples = {0};
    enum hr_status st;
    *out = (struct hr_table){.features = HR_FEATURES_FLOATS};
    if (!columns->count && options->recipe)
        HR_TRY_GOTO(hr_columns_read("its model", options->recipe, columns), st, out);
    HR_TRY_GOTO(read_layout(&r, options, columns, &layout, &first), st, out);
    snprintf(columns->label_place, sizeof columns->label_place, "%s is %s",
             layout.targets.count ? "target" : "label", layout.label_place);
    HR_TRY_GOTO(find_columns(&first, &r, options, &layout, &row, columns), st, out);
    if (!columns->plain)
        HR_TRY_GOTO(hr_format_admit(options, (struct hr_shape){columns->width, 1, 1}), st, out);
    HR_TRY_GOTO(read_samples(&r, &layout, columns, &row, &met, labels, &samples), st, out);
    *out = (struct hr_table){.features = HR_FEATURES_FLOATS,
                             .shape = {columns->width, 1, 1},
                             .count = samples.kept.label_of.bytes / sizeof *out->labels,
                             .values = samples.kept.values.floats.data,
                             .exact = samples.kept.values.exact.data,
                             .labels = samples.kept.label_of.data,
                             .groups = samples.kept.group_of.data,
                             .file_rows = samples.kept.file_rows.data,
                             .feature_names = samples.kept.names.data,
                             .label_guessed = layout.guessed};
    memset(&samples.kept, 0, sizeof samples.kept);
    memcpy(out->label_column, layout.label_place, sizeof out->label_column);
    memcpy(out->note, layout.note, sizeof out->note);
    hr_columns_describe(&met, first.comments, name, out->note);
out:
    hr_values_free(&samples.kept.values);
    free(samples.kept.label_of.data);
    free(samples.kept.group_of.data);
    free(samples.kept.file_rows.data);
    free(samples.kept.names.data);
    hr_labels_free(&samples.groups);
    hr_csv_targets_free(&layout.targets);
    free(layout.role);
    free(layout.feature_of);
    free(row.sample);
    return st;
}

/* --- the format */

/* Any text: the last in the list, so that its messages say what is wrong. */
static bool matches(const struct hr_probe *probe)
{
    return !probe->folder && !memchr(probe->head, '\0', probe->bytes);
}

static bool makes_columns(const struct hr_data_options *options)
{
    return options->recipe || options->columns[0] || options->drop[0] || options->one_hot[0] ||
           hr_hold_out_group(options->split)[0];
}

static enum hr_status read_file(const char *path, const struct hr_data_options *options,
                                struct hr_columns *columns, struct hr_storage *storage,
                                struct hr_table *table)
{
    struct hr_array text;
    size_t width;
    HR_TRY(hr_csv_width(path, &width));
    const size_t targets = hr_csv_targets_asked(options->target);
    if (width > targets && !makes_columns(options)) /* else the parser says what is wrong */
        HR_TRY(hr_format_admit(options, (struct hr_shape){width - targets, 1, 1}));
    HR_TRY(hr_bytes_read_file(path, &text));
    const enum hr_status st =
        hr_csv_parse(path, text.data, text.bytes, options, columns, &storage->labels, table);
    free(text.data);
    return st;
}

static enum hr_status read_files(const char *path, const struct hr_data_options *options,
                                 struct hr_columns *columns, struct hr_storage *storage)
{
    HR_TRY(read_file(path, options, columns, storage, &storage->train));
    if (!columns->plain)
        HR_TRY(hr_columns_write(columns, path, &storage->recipe));
    if (options->test_data[0])
        HR_TRY(read_file(options->test_data, options, columns, storage, &storage->test));
    if (options->validation_data[0])
        HR_TRY(
            read_file(options->validation_data, options, columns, storage, &storage->validation));
    HR_TRY(hr_feature_names_check(options->test_data, path, &storage->test, &storage->train));
    return hr_feature_names_check(options->validation_data, path, &storage->validation,
                                  &storage->train);
}

static enum hr_status open_file(const char *path, const struct hr_data_options *options,
                                struct hr_storage *storage)
{
    struct hr_columns columns = {0};
    storage->scale = 1.0f;
    const enum hr_status st = read_files(path, options, &columns, storage);
    hr_columns_free(&columns);
    return st;
}

const struct hr_format hr_format_csv = {
    .name = "csv",
    .options = HR_OPTION_TEST_DATA | HR_OPTION_VALIDATION_DATA | HR_OPTION_TEST_FRACTION |
               HR_OPTION_HEADER | HR_OPTION_LABEL_COLUMN | HR_OPTION_VALUES | HR_OPTION_TARGET |
               HR_OPTION_COLUMNS | HR_OPTION_SPLIT | HR_OPTION_GROUPS,
    .matches = matches,
    .open = open_file,
};

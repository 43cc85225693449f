#include "formats/columns.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "data/label_number.h"

/* --- fields --- */

static bool is_one_of(const struct hr_csv_field *f, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (f->bytes == strlen(texts[i]) && !memcmp(f->text, texts[i], f->bytes))
            return true;
    return false;
}

bool hr_field_is_missing(const struct hr_csv_field *f, bool of_numbers)
{
    static const char *const always[] = {"",    "NA",   "N/A",  "n/a",  "NaN", "nan",
                                         "NAN", "null", "NULL", "<NA>", "?",   "#N/A"},
                             *const numbers[] = {"None", "none", "-", ".", "--"};
    return is_one_of(f, always, sizeof always / sizeof *always) ||
           (of_numbers && is_one_of(f, numbers, sizeof numbers / sizeof *numbers));
}

bool hr_field_number(const struct hr_csv_reader *r, const struct hr_csv_field *f, double *out)
{
    char text[HR_REAL_MAX_BYTES];
    if (hr_parse_real(f->text, f->bytes, out))
        return true;
    char *comma = f->bytes && f->bytes <= sizeof text ? memcpy(text, f->text, f->bytes) : NULL;
    comma = comma ? memchr(text, ',', f->bytes) : NULL;
    if (!comma || r->separator == ',' || memchr(text, '.', f->bytes))
        return false;
    *comma = '.';
    return hr_parse_real(text, f->bytes, out);
}

bool hr_field_looks_number(const struct hr_csv_field *f)
{
    char text[64], *end;
    if (!f->bytes || f->bytes >= sizeof text)
        return false;
    memcpy(text, f->text, f->bytes);
    text[f->bytes] = '\0';
    (void)strtod(text, &end);
    return end == text + f->bytes;
}

size_t hr_field_word(const struct hr_csv_field *f, char text[HR_CSV_MAX_FIELD + 1])
{
    static const double exact = 9007199254740992.0; /* 2^53 */
    double value;
    memcpy(text, f->text, f->bytes);
    text[f->bytes] = '\0';
    if (f->bytes && strlen(text) == f->bytes && hr_label_number(text, &value) &&
        fabs(value) < exact && hr_label_is_whole(text))
        return (size_t)snprintf(text, HR_CSV_MAX_FIELD + 1, "%.0f", fabs(value) > 0 ? value : 0.0);
    return f->bytes;
}

/* "line 3, column 2, age", for messages. */
static enum hr_status fail_field(const struct hr_column *column, const struct hr_csv_reader *r,
                                 const struct hr_csv_field *f, const char *what)
{
    return hr_fail(HR_E_FORMAT, "%s: line %zu, column %zu%s%s: %s", r->name, r->line, f->column,
                   column->name ? ", " : "",
                   column->name ? hr_shown(column->name, strlen(column->name)).text : "", what);
}

/* Does it look like a number with a mark every three digits? */
static bool is_grouped(const struct hr_csv_field *f)
{
    size_t digits = 0, marks = 0;
    for (size_t i = 0; i < f->bytes; i++) {
        const bool mark = strchr(",.' ", f->text[i]) && f->text[i];
        if (!mark && (f->text[i] < '0' || f->text[i] > '9'))
            return false;
        marks += mark;
        digits += !mark;
    }
    return marks > 0 && digits > 3;
}

static void take_word(const struct hr_column *column, const struct hr_csv_field *f,
                      struct hr_columns_met *met, double *numbers)
{
    char text[HR_CSV_MAX_FIELD + 1];
    uint32_t word;
    (void)hr_field_word(f, text);
    if (hr_labels_find(&column->words, text, &word))
        numbers[column->order.class_of[word]] = 1;
    else
        met->unseen++;
}

static enum hr_status take_missing(const struct hr_columns *columns, const struct hr_column *column,
                                   const struct hr_csv_reader *r, const struct hr_csv_field *f,
                                   struct hr_columns_met *met, double *numbers)
{
    switch (columns->missing) {
    case HR_MISSING_DROP:
        met->missing = true;
        return HR_OK;
    case HR_MISSING_MEAN:
        if (!column->is_words)
            *numbers = column->mean;
        met->filled += !column->is_words;
        return HR_OK;
    case HR_MISSING_REFUSE:
        break;
    }
    char what[240];
    if (columns->of_model)
        return fail_field(column, r, f,
                          "nothing stands there, and the model was trained without "
                          "such values (--missing mean in training fills them in)");
    snprintf(what, sizeof what, "\"%s\", expected a %s, --missing drop leaves such rows out",
             hr_shown(f->text, f->bytes).text,
             column->is_words
                 ? "word: --missing mean takes it for none of the words"
                 : "finite number: --missing mean takes the mean of the training rows");
    return fail_field(column, r, f, what);
}

enum hr_status hr_columns_take(const struct hr_columns *columns, size_t feature,
                               const struct hr_csv_reader *r, const struct hr_csv_field *f,
                               struct hr_columns_met *met, double *sample)
{
    const struct hr_column *column = &columns->list[feature];
    double *numbers = sample + column->first;
    if (!column->is_words && hr_field_number(r, f, numbers) && isfinite((float)*numbers))
        return HR_OK;
    for (size_t i = 0; column->is_words && i < column->order.count; i++)
        numbers[i] = 0;
    if (hr_field_is_missing(f, !column->is_words))
        return take_missing(columns, column, r, f, met, numbers);
    if (column->is_words)
        return take_word(column, f, met, numbers), HR_OK;
    char what[400];
    double number;
    const bool large = hr_field_number(r, f, &number) && isfinite(number);
    snprintf(what, sizeof what, "\"%s\", expected a %s%s%s%s%s", hr_shown(f->text, f->bytes).text,
             large ? "number of at most 3.4e38" : "finite number",
             is_grouped(f)       ? " without a mark for thousands"
             : columns->of_model ? ", as the model was trained on"
             : hr_field_looks_number(f)
                 ? ": --drop leaves a column out"
                 : ": --one-hot auto makes numbers of words, --drop leaves a column out",
             columns->label_place[0] ? " (the " : "", columns->label_place,
             columns->label_place[0] ? "; --label-column names another)" : "");
    return fail_field(column, r, f, what);
}

void hr_columns_describe(const struct hr_columns_met *met, size_t comments, const char *name,
                         char note[HR_DATA_NOTE])
{
    char first[48] = "";
    if (met->first_dropped)
        snprintf(first, sizeof first, " (the first is row %zu)", met->first_dropped);
    const struct {
        size_t count;
        const char *what, *where;
    } rows[] = {{comments, "comment lines left out", ""},
                {met->filled, "missing values replaced by the mean of the training rows", ""},
                {met->dropped, "rows left out, where something is missing", first},
                {met->unseen, "words that the training rows do not have, taken as none", ""}};
    size_t used = strlen(note);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && used < HR_DATA_NOTE; i++)
        if (rows[i].count)
            used += (size_t)snprintf(note + used, HR_DATA_NOTE - used, "%s%s%s: %zu%s",
                                     used ? "; " : name, used ? "" : ": ", rows[i].what,
                                     rows[i].count, rows[i].where);
}

/* --- features --- */

static const char *word_of(const struct hr_column *column, size_t i, char number[24])
{
    snprintf(number, 24, "%zu", i);
    return column->order.names ? column->order.names[i] : number;
}

enum hr_status hr_columns_finish(struct hr_columns *columns, const char *name)
{
    columns->width = 0;
    for (size_t k = 0; k < columns->count; k++) {
        struct hr_column *column = &columns->list[k];
        if (column->is_words)
            HR_TRY(hr_labels_finish(&column->words, name, &column->order));
        column->first = columns->width;
        columns->width += column->is_words ? column->order.count : 1;
    }
    return HR_OK;
}

/* An identifier or free text: nothing to learn from, and as many numbers as rows. */
static bool is_identifier(size_t distinct, size_t rows)
{
    enum { FEW = 20, MOST = 100 };
    return distinct > MOST || (distinct > FEW && 2 * distinct > rows);
}

static enum hr_status check_words(const struct hr_column *column, const char *name,
                                  const char *one_hot, size_t rows)
{
    char label[80] = "";
    if (column->name)
        snprintf(label, sizeof label, ", %s", hr_shown(column->name, strlen(column->name)).text);
    if (!rows)
        return hr_fail(HR_E_FORMAT,
                       "%s: column %zu%s: no training row has a word there: --drop %zu leaves it "
                       "out",
                       name, column->place, label, column->place);
    if (!strcmp(one_hot, "auto") && is_identifier(column->order.count, rows))
        return hr_fail(HR_E_FORMAT,
                       "%s: column %zu%s: has %zu distinct words in %zu rows: --drop %zu leaves it "
                       "out, or --one-hot LIST names the columns of words",
                       name, column->place, label, column->order.count, rows, column->place);
    return HR_OK;
}

enum hr_status hr_columns_resolve(struct hr_columns *columns, const char *name, const char *one_hot,
                                  const size_t *counts)
{
    for (size_t k = 0; k < columns->count; k++) {
        struct hr_column *column = &columns->list[k];
        if (column->is_words)
            HR_TRY(check_words(column, name, one_hot, counts[k]));
        else if (counts[k])
            column->mean /= (double)counts[k];
        else if (columns->missing == HR_MISSING_MEAN)
            return hr_fail(HR_E_FORMAT,
                           "%s: column %zu: no training row has a number there, so "
                           "there is no mean: --drop %zu leaves it out",
                           name, column->place, column->place);
    }
    return HR_OK;
}

enum hr_status hr_columns_names(const struct hr_columns *columns, const char *name,
                                struct hr_array *names)
{
    char number[24];
    for (size_t k = 0; k < columns->count && columns->list[k].name; k++) {
        const struct hr_column *column = &columns->list[k];
        const size_t bytes = strlen(column->name);
        if (!column->is_words)
            HR_TRY(hr_array_add(names, name, column->name, bytes + 1));
        for (size_t i = 0; column->is_words && i < column->order.count; i++) {
            const char *word = word_of(column, i, number);
            HR_TRY(hr_array_add(names, name, column->name, bytes));
            HR_TRY(hr_array_add(names, name, "_", 1));
            HR_TRY(hr_array_add(names, name, word, strlen(word) + 1));
        }
    }
    return HR_OK;
}

size_t hr_columns_named(const struct hr_columns *columns, const char *text, size_t bytes)
{
    size_t k = 0;
    while (k < columns->count &&
           (!columns->list[k].name || strlen(columns->list[k].name) != bytes ||
            memcmp(columns->list[k].name, text, bytes) != 0))
        k++;
    return k;
}

static enum hr_status fail_absent(const struct hr_columns *columns, const struct hr_csv_reader *r,
                                  const size_t *feature_of, size_t n)
{
    for (size_t k = 0; k < columns->count; k++) {
        size_t c = 0;
        while (c < n && feature_of[c] != k + 1)
            c++;
        const char *name = columns->list[k].name;
        if (c == n)
            return hr_fail(HR_E_FORMAT, "%s: has no column %s%s%s, which the model was trained on",
                           r->name, name ? "\"" : "", name ? hr_shown(name, strlen(name)).text : "",
                           name ? "\"" : "at the place of one");
    }
    return HR_OK;
}

enum hr_status hr_columns_find(const struct hr_columns *columns, struct hr_csv_reader first,
                               bool header, size_t *feature_of)
{
    const bool named = header && columns->count && columns->list[0].name;
    struct hr_csv_field f = {0};
    do {
        HR_TRY(hr_csv_next_field(&first, &f));
        size_t k = 0;
        if (named)
            k = hr_columns_named(columns, f.text, f.bytes);
        else
            while (k < columns->count && columns->list[k].place != f.column)
                k++;
        feature_of[f.column - 1] = k < columns->count ? k + 1 : 0;
        for (size_t c = 0; feature_of[f.column - 1] && c + 1 < f.column; c++)
            if (feature_of[c] == k + 1)
                return hr_fail(HR_E_FORMAT,
                               "%s: line %zu: columns %zu and %zu have one name, \"%s\", expected "
                               "two: columns are found by name",
                               first.name, first.line, c + 1, f.column,
                               hr_shown(f.text, f.bytes).text);
    } while (!f.last);
    if (!named && f.column != columns->of)
        return hr_fail(HR_E_FORMAT,
                       "%s: line %zu: %zu columns, expected %zu, those of the file that the model "
                       "was trained on",
                       first.name, first.line, f.column, columns->of);
    return fail_absent(columns, &first, feature_of, f.column);
}

/* --- as JSON --- */

static const char *const missing_names[] = {"refuse", "mean", "drop"};

static json_t *words_json(const struct hr_column *column)
{
    char number[24];
    json_t *words = json_array();
    for (size_t i = 0; i < column->order.count; i++)
        json_array_append_new(words, json_string(word_of(column, i, number)));
    return words;
}

enum hr_status hr_columns_write(const struct hr_columns *columns, const char *name, char **text)
{
    json_t *list = json_array();
    bool good = true;
    for (size_t k = 0; k < columns->count; k++) {
        const struct hr_column *column = &columns->list[k];
        json_t *row = json_pack("{sI}", "column", (json_int_t)column->place);
        if (column->name)
            good = !json_object_set_new(row, "name", json_string(column->name)) && good;
        if (column->is_words)
            json_object_set_new(row, "words", words_json(column));
        else if (columns->missing == HR_MISSING_MEAN)
            json_object_set_new(row, "mean", json_real(column->mean));
        good = good && json_array_size(json_object_get(row, "words")) == column->order.count;
        json_array_append_new(list, row);
    }
    json_t *whole = json_pack("{sssIso}", "missing", missing_names[columns->missing], "of",
                              (json_int_t)columns->of, "columns", list);
    *text = good ? json_dumps(whole, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(whole);
    if (*text && strlen(*text) > HR_COLUMNS_MAX_BYTES) {
        free(*text);
        *text = NULL;
        return hr_fail(
            HR_E_FORMAT,
            "%s: its columns have too many words, or too many names, for a model's file: "
            "--drop leaves some out",
            name);
    }
    return *text ? HR_OK
                 : hr_fail(HR_E_FORMAT,
                           "%s: names or words of its columns are no UTF-8 (iconv -f latin1 -t "
                           "utf8 makes them so)",
                           name);
}

static enum hr_status read_words(const char *where, const json_t *words, struct hr_column *column)
{
    const json_t *word;
    size_t i;
    uint32_t number;
    column->is_words = words != NULL;
    if (words && !json_array_size(words))
        return hr_fail(HR_E_FORMAT, "%s: a column of words in its table has none", where);
    json_array_foreach((json_t *)(uintptr_t)words, i, word)
    {
        const size_t bytes = json_string_length(word);
        if (!bytes || bytes > HR_LABEL_MAX_BYTES)
            return hr_fail(HR_E_FORMAT, "%s: a word of a column has %zu bytes, expected 1 to %d",
                           where, bytes, HR_LABEL_MAX_BYTES);
        HR_TRY(hr_labels_add(&column->words, where, json_string_value(word), bytes, &number));
    }
    return HR_OK;
}

static enum hr_status read_column(const char *where, const json_t *row, bool has_mean,
                                  struct hr_column *column)
{
    const json_t *place = json_object_get(row, "column"), *name = json_object_get(row, "name");
    const json_t *mean = json_object_get(row, "mean");
    column->place = (size_t)json_integer_value(place);
    column->mean = json_number_value(mean);
    if (json_integer_value(place) < 1)
        return hr_fail(HR_E_FORMAT, "%s: a column of its table has no number", where);
    if (has_mean && !json_object_get(row, "words") &&
        !(json_is_number(mean) && isfinite((float)column->mean)))
        return hr_fail(HR_E_FORMAT, "%s: column %zu of its table has no mean", where,
                       column->place);
    if (json_is_string(name) && !(column->name = strdup(json_string_value(name))))
        return hr_fail(HR_E_NOMEM, "%s: no memory", where);
    return read_words(where, json_object_get(row, "words"), column);
}

static enum hr_status read_list(const char *where, const json_t *list, struct hr_columns *out)
{
    void *taken;
    HR_TRY(hr_take(where, json_array_size(list) * sizeof *out->list, &taken));
    out->list = taken;
    out->count = json_array_size(list);
    for (size_t k = 0; k < out->count; k++) {
        HR_TRY(read_column(where, json_array_get(list, k), out->missing == HR_MISSING_MEAN,
                           &out->list[k]));
        if (out->list[k].place > out->of || out->of > UINT32_MAX ||
            (k && out->list[k].place <= out->list[k - 1].place))
            return hr_fail(HR_E_FORMAT, "%s: the columns of its table are in no order", where);
        if (!out->list[k].name != !out->list[0].name)
            return hr_fail(HR_E_FORMAT, "%s: only some columns of its table have names", where);
    }
    HR_TRY(hr_columns_finish(out, where));
    for (size_t k = 0; k < out->count; k++)
        for (size_t i = 0; i < out->list[k].order.count; i++)
            if (out->list[k].order.class_of[i] != i)
                return hr_fail(HR_E_FORMAT, "%s: words of column %zu of its table are in no order",
                               where, out->list[k].place);
    return HR_OK;
}

enum hr_status hr_columns_read(const char *where, const char *text, struct hr_columns *out)
{
    *out = (struct hr_columns){.of_model = true};
    json_t *whole = json_loads(text, 0, NULL);
    const json_t *list = json_object_get(whole, "columns");
    const char *missing = json_string_value(json_object_get(whole, "missing"));
    enum hr_status status = HR_OK;
    size_t how = 0;
    while (how < 3 && missing && strcmp(missing, missing_names[how]) != 0)
        how++;
    if (!json_array_size(list) || !missing || how == 3)
        status =
            hr_fail(HR_E_FORMAT, "%s: what it says of its table's columns cannot be read", where);
    out->missing = (enum hr_missing)(how % 3);
    out->of = (size_t)json_integer_value(json_object_get(whole, "of"));
    if (status == HR_OK)
        status = read_list(where, list, out);
    json_decref(whole);
    return status;
}

void hr_columns_free(struct hr_columns *columns)
{
    for (size_t k = 0; k < columns->count; k++) {
        free(columns->list[k].name);
        hr_labels_free(&columns->list[k].words);
        hr_classes_free(&columns->list[k].order);
    }
    free(columns->list);
    *columns = (struct hr_columns){0};
}

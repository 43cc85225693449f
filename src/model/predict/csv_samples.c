#include "predict/csv_samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"
#include "formats/columns.h"
#include "formats/csv_fields.h"
#include "formats/csv_targets.h"

#define LEFT_OUT SIZE_MAX

/* What is read, and for which model. */
struct reading {
    struct hr_csv_reader r;
    const struct hr_data_options *options;
    const struct hr_model_input *input;
    const char *model;
    struct hr_columns recipe; /* of the model; count 0: columns are numbers as they are */
    struct hr_columns_met met;
    size_t features;       /* of the model: columns of a table; 0: not known */
    struct hr_array first; /* fields of the first record, 0-terminated */
    struct hr_array at;    /* (columns) where each begins in it */
    size_t columns;
    bool header;
    struct hr_array feature_of; /* (columns) size_t; LEFT_OUT */
    char note[HR_DATA_NOTE];
};

static const char *field_at(const struct reading *g, size_t column)
{
    return (const char *)g->first.data + ((const size_t *)g->at.data)[column];
}

static size_t *feature_of(const struct reading *g)
{
    return g->feature_of.data;
}

static bool find_feature(const struct reading *g, const char *name, uint32_t *feature)
{
    if (!g->recipe.count)
        return hr_labels_find(&g->input->names.labels, name, feature);
    *feature = (uint32_t)hr_columns_named(&g->recipe, name, strlen(name));
    return *feature < g->recipe.count;
}

static const char *name_of(const struct reading *g, size_t feature)
{
    return g->recipe.count ? g->recipe.list[feature].name
                           : hr_labels_text(&g->input->names.labels, feature);
}

static bool has_names(const struct reading *g)
{
    return g->recipe.count ? g->recipe.list[0].name != NULL : g->input->names.count != 0;
}

/* Up to three names for a message: "a", "b", "c" and 4 more. */
struct shown_names {
    char text[200];
    size_t count;
};

static void show_name(struct shown_names *shown, const char *name)
{
    enum { MOST = 3 };
    const size_t used = strlen(shown->text);
    if (shown->count++ < MOST)
        snprintf(shown->text + used, sizeof shown->text - used, "%s\"%s\"", used ? ", " : "",
                 hr_shown(name, strlen(name)).text);
}

static const char *end_names(struct shown_names *shown)
{
    const size_t used = strlen(shown->text);
    if (shown->count > 3)
        snprintf(shown->text + used, sizeof shown->text - used, " and %zu more", shown->count - 3);
    return shown->text;
}

/* --- the first record --- */

/* What its fields are. */
struct first_record {
    size_t numbers, known; /* features of the model */
    bool word;             /* one of those is no number */
};

static enum hr_status read_first(struct hr_csv_reader *r, struct reading *g,
                                 struct first_record *first)
{
    struct hr_csv_field f = {0};
    do {
        uint32_t feature;
        double number;
        HR_TRY(hr_csv_next_field(r, &f));
        HR_TRY(hr_array_add(&g->at, r->name, &g->first.bytes, sizeof g->first.bytes));
        HR_TRY(hr_array_add(&g->first, r->name, f.text, f.bytes));
        HR_TRY(hr_array_add(&g->first, r->name, "", 1));
        const bool known = find_feature(g, field_at(g, f.column - 1), &feature);
        const bool is_number = hr_parse_real(f.text, f.bytes, &number);
        first->numbers += is_number;
        first->known += known;
        first->word = first->word || (known && !is_number);
    } while (!f.last);
    g->columns = f.column;
    return HR_OK;
}

static bool is_header(const struct reading *g, const struct first_record *first)
{
    const size_t names = has_names(g) ? g->features : 0;
    const enum hr_csv_header header = hr_csv_header_of(g->options);
    if (header != HR_CSV_HEADER_AUTO)
        return header == HR_CSV_HEADER_YES;
    return first->numbers == 0 || first->word || (names && first->known >= names);
}

/* --- by name --- */

static enum hr_status fail_missing(const struct reading *g, const bool *there)
{
    struct shown_names missing = {"", 0}, has = {"", 0};
    for (size_t i = 0; i < g->features; i++)
        if (!there[i])
            show_name(&missing, name_of(g, i));
    for (size_t c = 0; c < g->columns; c++)
        show_name(&has, field_at(g, c));
    end_names(&missing);
    return hr_fail(HR_E_FORMAT, "%s: has no column%s %s, which %s was trained on; it has %s",
                   g->r.name, missing.count == 1 ? "" : "s", missing.text, g->model,
                   end_names(&has));
}

static enum hr_status take_names(struct reading *g, bool *there)
{
    for (size_t c = 0; c < g->columns; c++) {
        uint32_t feature;
        feature_of(g)[c] = LEFT_OUT;
        if (!find_feature(g, field_at(g, c), &feature))
            continue;
        if (there[feature])
            return hr_fail(HR_E_FORMAT, "%s: column %zu is called \"%s\", as one before it",
                           g->r.name, c + 1, hr_shown(field_at(g, c), strlen(field_at(g, c))).text);
        feature_of(g)[c] = feature;
        there[feature] = true;
    }
    for (size_t i = 0; i < g->features; i++)
        if (!there[i])
            return fail_missing(g, there);
    return HR_OK;
}

static bool is_label(const struct reading *g, size_t column)
{
    const char *field = field_at(g, column), *label = g->options->label_column;
    return !strcmp(field, label[0] ? label : g->input->label_name);
}

static void note_left_out(struct reading *g)
{
    struct shown_names out = {"", 0};
    for (size_t c = 0; c < g->columns; c++)
        if (feature_of(g)[c] == LEFT_OUT && !is_label(g, c))
            show_name(&out, field_at(g, c));
    if (!out.count)
        return;
    end_names(&out);
    snprintf(g->note, sizeof g->note, "%s: column%s %s %s left out: the model does not know %s",
             g->r.name, out.count == 1 ? "" : "s", out.text, out.count == 1 ? "is" : "are",
             out.count == 1 ? "it" : "them");
}

static enum hr_status map_by_name(struct reading *g)
{
    void *there;
    HR_TRY(hr_take(g->r.name, g->features * sizeof(bool), &there));
    const enum hr_status status = take_names(g, there);
    free(there);
    if (status == HR_OK)
        note_left_out(g);
    return status;
}

/* --- by place --- */

/* The column of a name, from 1; 0: there is none. */
static size_t column_named(const struct reading *g, const char *name, bool any_case)
{
    for (size_t c = 0; g->header && name[0] && c < g->columns; c++)
        if (any_case ? !strcasecmp(field_at(g, c), name) : !strcmp(field_at(g, c), name))
            return c + 1;
    return 0;
}

static size_t usual_label(const struct reading *g)
{
    static const char *const usual[] = {"label", "class", "target", "y"};
    size_t column = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual && !column; i++)
        column = column_named(g, usual[i], true);
    return column;
}

/* *label: --label-column, from 1; 0: it is not given. */
static enum hr_status chosen_label(const struct reading *g, size_t *label)
{
    const char *option = g->options->label_column;
    uint64_t number;
    *label = column_named(g, option, false);
    if (!option[0] || *label)
        return HR_OK;
    if (!hr_parse_count(option, &number) || number < 1 || number > g->columns)
        return hr_fail(HR_E_USAGE, "--label-column %s: %s has no such column, expected %s1 to %zu",
                       option, g->r.name, g->header ? "a name or " : "", g->columns);
    *label = number;
    return HR_OK;
}

/* The column that is no feature, from 1; 0: all are. */
static enum hr_status find_label(const struct reading *g, size_t *label)
{
    HR_TRY(chosen_label(g, label));
    if (*label || g->columns == g->features)
        return HR_OK;
    *label = column_named(g, g->input->label_name, false);
    if (!*label)
        *label = usual_label(g);
    if (!*label && g->features && g->input->label <= g->columns)
        *label = g->input->label;
    return HR_OK;
}

/* The columns that are no features: several targets, or the label. */
static enum hr_status find_left_out(const struct reading *g, struct hr_csv_targets *out)
{
    const char *list = g->options->target;
    size_t label;
    *out = (struct hr_csv_targets){0};
    if (list[0] && g->columns == g->features + hr_csv_targets_asked(list))
        return hr_csv_targets_find(&g->r, "--target", list, 0, g->header, out);
    HR_TRY(find_label(g, &label));
    return label ? hr_csv_targets_find(&g->r, "--target", "", label, g->header, out) : HR_OK;
}

static enum hr_status map_by_place(struct reading *g)
{
    struct hr_csv_targets left_out;
    size_t next = 0;
    const enum hr_status status = find_left_out(g, &left_out);
    for (size_t c = 0; c < g->columns; c++)
        feature_of(g)[c] = hr_csv_target_slot(&left_out, c + 1) ? LEFT_OUT : next++;
    hr_csv_targets_free(&left_out);
    if (status != HR_OK)
        return status;
    if (g->features && next != g->features)
        return hr_fail(HR_E_FORMAT,
                       "%s: line %zu: %zu columns, expected %zu, the features of %s, or one more, "
                       "the label (--label-column says which)",
                       g->r.name, g->r.line, g->columns, g->features, g->model);
    if (next == 0)
        return hr_fail(HR_E_FORMAT, "%s: line %zu: the label alone, expected features", g->r.name,
                       g->r.line);
    g->features = next;
    if (g->input->names.count)
        snprintf(g->note, sizeof g->note,
                 "%s: has no header: its columns are taken in the order of the training data",
                 g->r.name);
    return HR_OK;
}

/* The places of the training file; its label may be missing where it was the last. */
static enum hr_status map_as_trained(struct reading *g)
{
    const size_t of = g->recipe.of;
    if (g->columns != of && !(g->columns + 1 == of && g->input->label == of))
        return hr_fail(HR_E_FORMAT,
                       "%s: line %zu: %zu columns, expected %zu, those of the file "
                       "that %s was trained on",
                       g->r.name, g->r.line, g->columns, of, g->model);
    for (size_t c = 0; c < g->columns; c++)
        feature_of(g)[c] = LEFT_OUT;
    for (size_t k = 0; k < g->features; k++) {
        if (g->recipe.list[k].place > g->columns)
            return hr_fail(HR_E_FORMAT, "%s: has no column %zu, which %s was trained on", g->r.name,
                           g->recipe.list[k].place, g->model);
        feature_of(g)[g->recipe.list[k].place - 1] = k;
    }
    return HR_OK;
}

static enum hr_status read_layout(struct reading *g)
{
    struct hr_csv_reader *r = &g->r;
    struct first_record first = {0};
    void *taken;
    if (!hr_csv_begin(r))
        return hr_fail(HR_E_FORMAT, "%s: holds no line, expected a table", r->name);
    struct hr_csv_reader behind = *r;
    HR_TRY(read_first(&behind, g, &first));
    g->header = is_header(g, &first);
    HR_TRY(hr_take(r->name, g->columns * sizeof(size_t), &taken));
    g->feature_of.data = taken;
    if (g->header && has_names(g))
        HR_TRY(map_by_name(g));
    else
        HR_TRY(g->recipe.count ? map_as_trained(g) : map_by_place(g));
    if (g->header) {
        *r = behind;
        r->line += r->below;
        r->below = 0;
    }
    return HR_OK;
}

/* --- the samples --- */

static enum hr_status read_value(const struct reading *g, const struct hr_csv_field *f, double *out)
{
    if (hr_field_number(&g->r, f, out) && isfinite((float)*out))
        return HR_OK;
    char name[64] = "";
    if (g->header)
        snprintf(name, sizeof name, ", %s",
                 hr_shown(field_at(g, f->column - 1), strlen(field_at(g, f->column - 1))).text);
    return hr_fail(HR_E_FORMAT, "%s: line %zu, column %zu%s: \"%s\", expected a finite number",
                   g->r.name, g->r.line, f->column, name, hr_shown(f->text, f->bytes).text);
}

/* sample (features) out */
static enum hr_status read_record(struct reading *g, double *sample)
{
    struct hr_csv_field f = {0};
    do {
        HR_TRY(hr_csv_next_field(&g->r, &f));
        const size_t feature = f.column > g->columns ? LEFT_OUT : feature_of(g)[f.column - 1];
        if (feature != LEFT_OUT)
            HR_TRY(g->recipe.count
                       ? hr_columns_take(&g->recipe, feature, &g->r, &f, &g->met, sample)
                       : read_value(g, &f, &sample[feature]));
        if (g->met.missing)
            return hr_csv_fail_at(&g->r, &f,
                                  "nothing stands there, and the model was trained without such "
                                  "rows (--missing drop)");
    } while (!f.last);
    if (f.column != g->columns)
        return hr_fail(HR_E_FORMAT, "%s: line %zu: %zu columns, expected %zu", g->r.name, g->r.line,
                       f.column, g->columns);
    return HR_OK;
}

/* Of a sample. */
static size_t numbers_of(const struct reading *g)
{
    return g->recipe.count ? g->recipe.width : g->features;
}

static enum hr_status read_samples(struct reading *g, struct hr_values *values)
{
    const size_t width = numbers_of(g);
    void *taken;
    HR_TRY(hr_take(g->r.name, width * sizeof(double), &taken));
    double *sample = taken;
    enum hr_status status = HR_OK;
    while (status == HR_OK && hr_csv_next_record(&g->r)) {
        status = read_record(g, sample);
        for (size_t i = 0; status == HR_OK && i < width; i++)
            status = hr_values_add(values, g->r.name, sample[i]);
    }
    free(taken);
    if (status == HR_OK && !values->floats.bytes)
        return hr_fail(HR_E_FORMAT, "%s: holds no sample, expected lines of %zu columns", g->r.name,
                       g->columns);
    return status;
}

enum hr_status hr_csv_samples_parse(const char *name, const char *text, size_t bytes,
                                    const struct hr_data_options *options, const char *model,
                                    const struct hr_model_input *input, struct hr_table *out)
{
    struct reading g = {.r = {.name = name, .at = text, .end = text + bytes, .line = 1},
                        .options = options,
                        .input = input,
                        .model = model,
                        .features = hr_shape_elems(input->shape)};
    struct hr_values values = {0};
    enum hr_status status = HR_OK;
    if (input->recipe) {
        status = hr_columns_read(model, input->recipe, &g.recipe);
        g.features = g.recipe.count;
    }
    if (status == HR_OK)
        status = read_layout(&g);
    if (status == HR_OK)
        status = read_samples(&g, &values);
    if (status == HR_OK) {
        *out = (struct hr_table){.features = HR_FEATURES_FLOATS,
                                 .shape = {numbers_of(&g), 1, 1},
                                 .count = values.floats.bytes / sizeof(float) / numbers_of(&g),
                                 .values = values.floats.data,
                                 .exact = values.exact.data};
        hr_columns_tell(&g.met, g.r.comments, name, g.note);
        memcpy(out->note, g.note, sizeof out->note);
    } else {
        hr_values_free(&values);
    }
    hr_columns_free(&g.recipe);
    free(g.first.data);
    free(g.at.data);
    free(g.feature_of.data);
    return status;
}

#include "predict/samples.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/inputs.h"
#include "base/parse.h"
#include "base/size.h"
#include "base/text.h"
#include "data/bytes.h"
#include "data/format.h"
#include "formats/columns.h"
#include "formats/csv_fields.h"
#include "formats/csv_targets.h"
#include "formats/formats.h"
#include "formats/idx.h"
#include "formats/image_load.h"
#include "formats/libsvm.h"
#include "formats/npy.h"
#include "session/reading.h"

/* --- of CSV --- */

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
    struct hr_array file_rows;  /* of the samples, from 0 */
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
    if (shown->count++ < MOST)
        hr_append(shown->text, sizeof shown->text, "%s\"%s\"", shown->text[0] ? ", " : "",
                  hr_shown(name, strlen(name)).text);
}

static const char *end_names(struct shown_names *shown)
{
    if (shown->count > 3)
        hr_append(shown->text, sizeof shown->text, " and %zu more", shown->count - 3);
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
        const bool is_number = hr_field_number(r, &f, &number);
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
    static const char *const usual[] = HR_CSV_USUAL_LABELS;
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

/* sample (features) out; met.missing: it is none */
static enum hr_status read_record(struct reading *g, double *sample)
{
    struct hr_csv_field f = {0};
    g->met.missing = false;
    do {
        HR_TRY(hr_csv_next_field(&g->r, &f));
        const size_t feature = f.column > g->columns ? LEFT_OUT : feature_of(g)[f.column - 1];
        if (feature != LEFT_OUT)
            HR_TRY(g->recipe.count
                       ? hr_columns_take(&g->recipe, feature, &g->r, &f, &g->met, sample)
                       : read_value(g, &f, &sample[feature]));
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

static enum hr_status add_sample(struct reading *g, uint32_t record, const double *sample,
                                 struct hr_values *values)
{
    if (g->met.missing) {
        g->met.first_dropped = g->met.dropped++ ? g->met.first_dropped : (size_t)record + 1;
        return HR_OK;
    }
    for (size_t i = 0; i < numbers_of(g); i++)
        HR_TRY(hr_values_add(values, g->r.name, sample[i]));
    return hr_array_add(&g->file_rows, g->r.name, &record, sizeof record);
}

static enum hr_status read_samples(struct reading *g, struct hr_values *values)
{
    const size_t width = numbers_of(g);
    void *taken;
    HR_TRY(hr_take(g->r.name, width * sizeof(double), &taken));
    double *sample = taken;
    enum hr_status status = HR_OK;
    for (uint32_t record = 0; status == HR_OK && hr_csv_next_record(&g->r); record++) {
        status = read_record(g, sample);
        if (status == HR_OK)
            status = add_sample(g, record, sample, values);
    }
    free(taken);
    if (status == HR_OK && !values->floats.bytes && g->met.dropped)
        return hr_fail(HR_E_FORMAT,
                       "%s: something is missing in each of its %zu rows, and %s was trained "
                       "without such rows (--missing mean in training fills them in)",
                       g->r.name, g->met.dropped, g->model);
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
                                 .exact = values.exact.data,
                                 .file_rows = g.met.dropped ? g.file_rows.data : NULL};
        hr_columns_describe(&g.met, g.r.comments, name, g.note);
        memcpy(out->note, g.note, sizeof out->note);
    } else {
        hr_values_free(&values);
    }
    if (status != HR_OK || !g.met.dropped)
        free(g.file_rows.data);
    hr_columns_free(&g.recipe);
    free(g.first.data);
    free(g.at.data);
    free(g.feature_of.data);
    return status;
}

/* --- of images --- */

/* Are there pictures at the path that are no data set with a training split?
 *   head, bytes  the first ones of a file */
static bool image_samples_are(const char *path, bool folder, const char *head, size_t bytes)
{
    if (!folder)
        return hr_image_is_one((const uint8_t *)head, bytes);
    return !hr_folder_has(path, "train") && hr_image_list_any(path);
}

/* Where the model does not say its shape, the first picture does. */
static struct hr_shape shape_of(const struct hr_image_list *list, struct hr_shape model)
{
    struct hr_shape shape = {0, list->files[0].head.height, list->files[0].head.width};
    for (size_t i = 0; i < list->count; i++)
        shape.channels = hr_max_size(shape.channels, list->files[i].head.channels);
    return model.channels ? model : shape;
}

/* *resized: how many have another size. */
static enum hr_status check_heads(const struct hr_image_list *list, struct hr_shape shape,
                                  bool known, size_t *resized)
{
    *resized = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct hr_image_file *file = &list->files[i];
        const bool other = file->head.height != shape.height || file->head.width != shape.width;
        if (shape.channels != 1 && shape.channels != 3)
            return hr_fail(HR_E_FORMAT, "%s: is a picture, the model's samples have %zu channels",
                           file->path, shape.channels);
        if (file->head.channels > shape.channels)
            return hr_fail(HR_E_FORMAT, "%s: is in colour, the model's pictures are grey",
                           file->path);
        if (other && !known)
            return hr_fail(
                HR_E_FORMAT,
                "%s: is %zux%zu (width x height), %s is another size, and the model does "
                "not say its own",
                file->path, file->head.width, file->head.height, list->files[0].path);
        *resized += other;
    }
    return HR_OK;
}

static enum hr_status take_paths(struct hr_image_list *list, char ***files)
{
    *files = calloc(list->count, sizeof **files);
    if (!*files)
        return hr_fail(HR_E_NOMEM, "no memory for the names of %zu pictures", list->count);
    for (size_t i = 0; i < list->count; i++) {
        (*files)[i] = list->files[i].path;
        list->files[i].path = NULL;
    }
    return HR_OK;
}

static void write_note(const char *path, const struct hr_image_list *list, struct hr_shape shape,
                       size_t resized, struct hr_table *table)
{
    const size_t others = list->others + list->hidden + list->loops;
    char size[64] = "", left_out[80] = "", bad[220] = "";
    if (resized)
        snprintf(size, sizeof size, ", %zu brought to the model's %zux%zu", resized, shape.height,
                 shape.width);
    if (others)
        snprintf(left_out, sizeof left_out, ", %zu other file%s left out", others,
                 others == 1 ? "" : "s");
    if (list->bad)
        snprintf(bad, sizeof bad, ", %zu left out, damaged (%s)", list->bad, list->first_bad);
    if (resized || others || list->bad)
        snprintf(table->note, sizeof table->note, "%.120s: %zu picture%s%s%s%s", path, list->count,
                 list->count == 1 ? "" : "s", size, left_out, bad);
}

static enum hr_status read_list(const char *path, struct hr_image_list *list, struct hr_shape model,
                                bool skip, struct hr_table *table, char ***files)
{
    size_t resized, bytes;
    void *pixels;
    if (!list->count || list->count >= HR_TABLE_MAX_COUNT)
        return hr_fail(HR_E_FORMAT, "%s: has %zu pictures, expected 1 to %zu", path, list->count,
                       HR_TABLE_MAX_COUNT - 1);
    HR_TRY(hr_image_load_heads(list, skip));
    if (!list->count)
        return hr_fail(HR_E_FORMAT, "%s: each of %zu pictures is damaged (%s)", path, list->bad,
                       list->first_bad);
    const struct hr_shape shape = shape_of(list, model);
    HR_TRY(check_heads(list, shape, model.channels, &resized));
    if (!hr_size_mul(hr_shape_elems(shape), list->count, &bytes))
        return hr_fail(HR_E_FORMAT, "%s: %zu pictures are too many", path, list->count);
    HR_TRY(hr_take(path, bytes, &pixels));
    *table = (struct hr_table){.shape = shape, .pixels = pixels, .count = list->count};
    HR_TRY(hr_image_load(list, shape, table->pixels));
    write_note(path, list, shape, resized, table);
    return take_paths(list, files);
}

/*   shape  the model's; channels 0: it is not known, and the pictures have to be of one size
 *   skip   leave out those that are damaged
 *   table  out: pixels, count, shape and note; no labels
 *   files  out: (count) paths, owned by the caller; NULL on error */
static enum hr_status image_samples_read(const char *path, struct hr_shape shape, bool skip,
                                         struct hr_table *table, char ***files)
{
    struct hr_image_list list;
    *files = NULL;
    HR_TRY(hr_image_list_read_all(path, &list));
    const enum hr_status status = read_list(path, &list, shape, skip, table, files);
    hr_image_list_free(&list);
    return status;
}

/* What is opened, and for which model. */
struct wanted {
    const char *name;
    const struct hr_data_options *given, *options; /* and as they are read */
    const struct hr_checkpoint *checkpoint;
    const char *model; /* its path */
    const struct hr_model_input *input;
    bool labelled;
};

/* --- readers: each fills storage->test, and the note --- */

static enum hr_status open_csv(const struct wanted *w, struct hr_storage *storage,
                               struct hr_samples *out)
{
    struct hr_array text;
    HR_TRY(hr_bytes_read_file(w->name, &text));
    const enum hr_status status = hr_csv_samples_parse(w->name, text.data, text.bytes, w->options,
                                                       w->model, w->input, &storage->test);
    free(text.data);
    out->rows = storage->test.file_rows;
    storage->test.file_rows = NULL;
    return status;
}

static enum hr_status open_npy(const struct wanted *w, struct hr_storage *storage,
                               struct hr_samples *out)
{
    struct hr_array content;
    struct hr_npy npy;
    (void)out;
    HR_TRY(hr_bytes_read_file(w->name, &content));
    enum hr_status status = hr_npy_parse(w->name, content.data, content.bytes, &npy);
    if (status == HR_OK)
        status = hr_npy_take_features(w->name, &npy, &storage->test);
    free(content.data);
    return status;
}

static enum hr_status open_idx(const struct wanted *w, struct hr_storage *storage,
                               struct hr_samples *out)
{
    struct hr_idx idx;
    (void)out;
    HR_TRY(hr_idx_read_file(w->name, 3, &idx));
    storage->test = (struct hr_table){.shape = {1, idx.dims[1], idx.dims[2]},
                                      .count = idx.bytes ? idx.dims[0] : 0,
                                      .pixels = idx.data};
    return HR_OK;
}

static enum hr_status open_images(const struct wanted *w, struct hr_storage *storage,
                                  struct hr_samples *out)
{
    return image_samples_read(w->name, w->input->shape, w->options->skip_bad_images, &storage->test,
                              &out->files);
}

/* Columns that the model does not know, out of every row. */
static size_t drop_columns(struct hr_table *table, size_t features)
{
    size_t kept = 0, row = 0;
    const size_t pairs = hr_table_pairs(table);
    for (size_t k = 0; k < pairs; k++) {
        for (; table->rows[row + 1] == k; row++)
            table->rows[row + 1] = kept;
        if (table->columns[k] >= features)
            continue;
        table->columns[kept] = table->columns[k];
        table->values[kept++] = table->values[k];
    }
    for (; row < table->count; row++)
        table->rows[row + 1] = kept;
    return pairs - kept;
}

static enum hr_status fit_columns(const struct wanted *w, struct hr_table *table,
                                  struct hr_samples *out)
{
    struct hr_data_options options = *w->options;
    struct hr_table none[2] = {{0}, {0}};
    const size_t features = hr_shape_elems(w->input->shape);
    options.feature_count = 0;
    HR_TRY(hr_libsvm_shift(w->name, &options,
                           (struct hr_table *const[HR_LIBSVM_TABLES]){table, &none[0], &none[1]}));
    if (!features)
        return HR_OK;
    table->shape = (struct hr_shape){features, 1, 1};
    const size_t dropped = drop_columns(table, features);
    if (dropped)
        snprintf(out->note, sizeof out->note,
                 "%s: %zu value%s of features that the model does not know (it has %zu) %s left "
                 "out",
                 w->name, dropped, dropped == 1 ? "" : "s", features, dropped == 1 ? "is" : "are");
    return HR_OK;
}

static enum hr_status open_libsvm(const struct wanted *w, struct hr_storage *storage,
                                  struct hr_samples *out)
{
    struct hr_array text;
    HR_TRY(hr_bytes_read_file(w->name, &text));
    enum hr_status status = hr_libsvm_parse(w->name, text.data, text.bytes,
                                            w->labelled ? &storage->labels : NULL, &storage->test);
    free(text.data);
    return status == HR_OK ? fit_columns(w, &storage->test, out) : status;
}

/* --- which of them --- */

struct reader {
    const char *name;
    enum hr_status (*open)(const struct wanted *, struct hr_storage *, struct hr_samples *);
    unsigned options; /* of format.h */
};

static const struct reader csv = {"csv", open_csv, HR_OPTION_HEADER | HR_OPTION_LABEL_COLUMN},
                           npy = {"npy", open_npy, 0}, idx = {"idx", open_idx, 0},
                           libsvm = {"libsvm", open_libsvm, HR_OPTION_INDEX_BASE},
                           images = {"images", open_images, 0};

/* Does the first word look like 12:..., a pair without a label before it? */
static bool begins_with_pair(const struct hr_probe *probe)
{
    size_t i = hr_bytes_mark(probe->head, probe->bytes), digits = 0;
    while (i < probe->bytes && isspace((unsigned char)probe->head[i]))
        i++;
    for (; i < probe->bytes && isdigit((unsigned char)probe->head[i]); i++)
        digits++;
    return digits && i < probe->bytes && probe->head[i] == ':';
}

/* NULL: a data set, or none that is known. */
static const struct reader *choose(const struct hr_probe *probe)
{
    static const char npy_magic[] = "\x93NUMPY", idx_magic[] = {0, 0, 8, 3};
    if (image_samples_are(probe->path, probe->folder, probe->head, probe->bytes))
        return &images;
    if (probe->folder || hr_format_packed.matches(probe))
        return NULL;
    if (probe->bytes >= 6 && !memcmp(probe->head, npy_magic, 6))
        return &npy;
    if (probe->bytes >= 4 && !memcmp(probe->head, idx_magic, 4))
        return &idx;
    if (begins_with_pair(probe) || hr_format_libsvm.matches(probe))
        return &libsvm;
    return hr_format_csv.matches(probe) ? &csv : NULL;
}

static enum hr_status probe_file(const char *name, struct hr_probe *probe)
{
    struct stat info;
    *probe = (struct hr_probe){.path = name};
    if (stat(name, &info))
        return hr_fail_errno(HR_E_IO, "%s: cannot be opened", name);
    probe->folder = S_ISDIR(info.st_mode);
    return probe->folder ? hr_input_add_folder(name)
                         : hr_bytes_peek_file(name, probe->head, sizeof probe->head, &probe->bytes);
}

/* An option that would be ignored is refused. */
static enum hr_status check_options(const struct wanted *w, const struct reader *reader)
{
    const struct {
        const char *flag;
        unsigned bit;
        bool given;
    } rows[] = {
        {"header", HR_OPTION_HEADER, strcmp(w->given->header, "auto") != 0},
        {"label-column", HR_OPTION_LABEL_COLUMN, w->given->label_column[0]},
        {"index-base", HR_OPTION_INDEX_BASE, strcmp(w->given->index_base, "auto") != 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given && !(reader->options & rows[i].bit))
            return hr_fail(HR_E_USAGE, "--%s: is not supported for %s data (%s)", rows[i].flag,
                           reader->name, w->name);
    return HR_OK;
}

/* --- a data set of test samples alone --- */

static enum hr_status take_classes(struct hr_storage *storage, const char *name,
                                   struct hr_dataset *dataset)
{
    HR_TRY(hr_labels_finish(&storage->labels, name, &storage->naming));
    for (size_t i = 0; i < storage->test.count; i++)
        storage->test.labels[i] = storage->naming.class_of[storage->test.labels[i]];
    dataset->classes = storage->naming.count;
    dataset->class_names = storage->naming.names;
    return HR_OK;
}

static enum hr_status read_storage(const struct wanted *w, const struct reader *reader,
                                   struct hr_storage *storage, struct hr_samples *out)
{
    struct hr_dataset *dataset = &out->dataset;
    const struct hr_table *table = &storage->test;
    HR_TRY(check_options(w, reader));
    if (w->labelled && reader != &libsvm)
        return hr_fail(HR_E_USAGE, "%s: expected libsvm data, as %s was trained on", w->name,
                       w->model);
    HR_TRY(reader->open(w, storage, out));
    if (!table->count || table->count >= HR_TABLE_MAX_COUNT)
        return hr_fail(HR_E_FORMAT, "%s: has %zu samples, expected 1 to %zu", w->name, table->count,
                       HR_TABLE_MAX_COUNT - 1);
    if (w->labelled)
        HR_TRY(take_classes(storage, w->name, dataset));
    snprintf(dataset->name, sizeof dataset->name, "%s", w->name);
    snprintf(dataset->format, sizeof dataset->format, "%s", reader->name);
    memcpy(dataset->notes[0], table->note, HR_DATA_NOTE);
    dataset->shape = table->shape;
    dataset->features = table->features;
    dataset->scale = table->features == HR_FEATURES_BYTES ? 1.0f / 255.0f : 1.0f;
    dataset->train = dataset->test = hr_table_split(table);
    dataset->train.count = 0;
    return HR_OK;
}

static enum hr_status open_file(const struct wanted *w, const struct reader *reader,
                                struct hr_samples *out)
{
    struct hr_storage *storage = calloc(1, sizeof *storage);
    if (!storage)
        return hr_fail(HR_E_NOMEM, "%s: no memory", w->name);
    out->dataset.storage = storage; /* hr_dataset_close frees it */
    out->dataset.options = *w->options;
    return read_storage(w, reader, storage, out);
}

static enum hr_status open_any(const struct wanted *w, struct hr_samples *out)
{
    const bool named = hr_dataset_is_built_in(w->name);
    const struct reader *reader = NULL;
    struct hr_probe *probe = named ? NULL : malloc(sizeof *probe);
    if (strlen(w->name) >= sizeof out->dataset.name)
        return hr_fail(HR_E_USAGE, "the name of a data set has %zu bytes, expected at most %zu",
                       strlen(w->name), sizeof out->dataset.name - 1);
    enum hr_status status = HR_OK;
    if (!named)
        status = probe ? probe_file(w->name, probe) : hr_fail(HR_E_NOMEM, "%s: no memory", w->name);
    if (status == HR_OK && !named)
        reader = choose(probe);
    free(probe);
    if (status != HR_OK)
        return status;
    if (reader)
        return open_file(w, reader, out);
    struct hr_reading reading = {
        .data = w->name, .options = w->given, .given = hr_reading_given(w->given)};
    HR_TRY(hr_reading_open(w->checkpoint, &reading, &out->dataset));
    snprintf(out->note, sizeof out->note, "%s: these are %sits %zu%s samples", w->name,
             hr_reading_is_whole(&out->dataset) ? "all " : "", out->dataset.test.count,
             hr_reading_is_whole(&out->dataset) ? "" : " test");
    out->dataset.train.count = out->dataset.validation.count = 0;
    return HR_OK;
}

/* The model's own shape, of samples that have it or are rows of as many numbers. */
static enum hr_status fit_shape(const struct wanted *w, struct hr_dataset *dataset)
{
    const struct hr_shape a = dataset->shape, b = w->input->shape;
    if (!b.channels)
        return HR_OK;
    if (hr_shape_elems(a) != hr_shape_elems(b))
        return hr_fail(HR_E_FORMAT,
                       "%s: its samples are %zux%zux%zu (%zu numbers), expected %zux%zux%zu (%zu), "
                       "as %s was trained on",
                       w->name, a.channels, a.height, a.width, hr_shape_elems(a), b.channels,
                       b.height, b.width, hr_shape_elems(b), w->model);
    HR_TRY(hr_model_input_check_shape(w->input, w->model, dataset));
    dataset->shape = b;
    return HR_OK;
}

static enum hr_status drop_labels(struct hr_samples *samples)
{
    void *zeros;
    HR_TRY(hr_take(samples->dataset.name, samples->dataset.test.count * sizeof *samples->labels,
                   &zeros));
    samples->labels = zeros;
    samples->dataset.test.labels = zeros;
    samples->dataset.classes = 0;
    samples->dataset.class_names = NULL;
    return HR_OK;
}

enum hr_status hr_samples_open(const char *name, const struct hr_data_options *options,
                               const struct hr_checkpoint *checkpoint,
                               const struct hr_model_input *input, bool labelled,
                               struct hr_samples *out)
{
    const struct hr_reading reading = {
        .data = name, .options = options, .given = hr_reading_given(options)};
    struct hr_data_options read;
    const struct wanted wanted = {name,  options, &read, checkpoint, checkpoint->path,
                                  input, labelled};
    *out = (struct hr_samples){0};
    HR_TRY(hr_reading_options(checkpoint, &reading, &read));
    memcpy(read.label_column, options->label_column, sizeof read.label_column); /* it may lack */
    HR_TRY(open_any(&wanted, out));
    HR_TRY(fit_shape(&wanted, &out->dataset));
    if (out->dataset.features == HR_FEATURES_BYTES && input->scale > 0)
        out->dataset.scale = input->scale;
    return labelled ? HR_OK : drop_labels(out);
}

void hr_samples_close(struct hr_samples *samples)
{
    for (size_t i = 0; samples->files && i < samples->dataset.test.count; i++)
        free(samples->files[i]);
    free(samples->files);
    hr_dataset_close(&samples->dataset);
    free(samples->labels);
    free(samples->rows);
    *samples = (struct hr_samples){0};
}

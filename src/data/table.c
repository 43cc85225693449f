#include "data/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/size.h"
#include "data/bytes.h"
#include "data/hold_out.h"
#include "data/labels.h"

void hr_table_free(struct hr_table *table)
{
    if (table->map)
        munmap(table->map, table->map_bytes);
    if (!table->borrowed) {
        free(table->map ? NULL : table->pixels);
        free(table->map ? NULL : table->values);
        free(table->exact);
        free(table->rows);
        free(table->columns);
        free(table->labels);
    }
    free(table->groups);
    free(table->file_rows);
    free(table->feature_names);
    *table = (struct hr_table){0};
}

void hr_table_drop_exact(struct hr_table *table)
{
    if (!table->borrowed)
        free(table->exact);
    table->exact = NULL;
}

/* The floats so far are what was read. */
static enum hr_status begin_exact(struct hr_values *values, const char *name)
{
    const float *floats = values->floats.data;
    for (size_t i = 0; i < values->floats.bytes / sizeof *floats; i++) {
        const double value = (double)floats[i];
        HR_TRY(hr_array_add(&values->exact, name, &value, sizeof value));
    }
    return HR_OK;
}

enum hr_status hr_values_add(struct hr_values *values, const char *name, double value)
{
    const float rounded = (float)value;
    const bool begins =
        !values->exact.bytes && (value < (double)rounded || value > (double)rounded);
    if (begins)
        HR_TRY(begin_exact(values, name));
    if (begins || values->exact.bytes)
        HR_TRY(hr_array_add(&values->exact, name, &value, sizeof value));
    return hr_array_add(&values->floats, name, &rounded, sizeof rounded);
}

void hr_values_free(struct hr_values *values)
{
    free(values->floats.data);
    free(values->exact.data);
    *values = (struct hr_values){0};
}

/* Are all names short enough and different? names (n) out. */
static enum hr_status list_names(const char *name, const struct hr_table *table, const char **names,
                                 bool *good)
{
    struct hr_labels seen = {0};
    const char *at = table->feature_names;
    enum hr_status status = HR_OK;
    uint32_t number = 0;
    *good = true;
    for (size_t i = 0; status == HR_OK && *good && i < table->shape.channels; i++) {
        const size_t bytes = strlen(at);
        *good = bytes > 0 && bytes <= HR_LABEL_MAX_BYTES;
        if (*good)
            status = hr_labels_add(&seen, name, at, bytes, &number);
        *good = *good && number == i;
        names[i] = at;
        at += bytes + 1;
    }
    hr_labels_free(&seen);
    return status;
}

enum hr_status hr_table_names(const char *name, const struct hr_table *table, const char ***out)
{
    void *taken;
    bool good;
    *out = NULL;
    if (!table->feature_names)
        return HR_OK;
    HR_TRY(hr_take(name, table->shape.channels * sizeof **out, &taken));
    const enum hr_status status = list_names(name, table, taken, &good);
    if (status == HR_OK && good)
        *out = taken;
    else
        free(taken);
    return status;
}

struct hr_split hr_table_split(const struct hr_table *table)
{
    return (struct hr_split){
        .count = table->count,
        .pixels = table->pixels,
        .values = table->values,
        .exact = table->exact,
        .rows = table->rows,
        .columns = table->columns,
        .labels = table->labels,
        .groups = table->groups,
        .file_rows = table->file_rows,
        .first = table->first,
        .end = table->end,
    };
}

size_t hr_table_pairs(const struct hr_table *table)
{
    return table->features == HR_FEATURES_SPARSE ? table->rows[table->count] : 0;
}

size_t hr_table_bytes(const struct hr_table *table)
{
    const size_t elems = table->count * hr_shape_elems(table->shape);
    const size_t labels = table->count * sizeof *table->labels;
    const size_t pairs = hr_table_pairs(table);
    if (table->borrowed)
        return 0;
    if (table->map)
        return labels;
    if (table->features == HR_FEATURES_TOKENS)
        return 0; /* its windows are no memory of their own */
    switch (table->features) {
    case HR_FEATURES_BYTES:
        return labels + elems;
    case HR_FEATURES_FLOATS:
        return labels + elems * (sizeof *table->values + (table->exact ? sizeof(double) : 0));
    case HR_FEATURES_SPARSE:
    case HR_FEATURES_TOKENS:
        break;
    }
    return labels + (table->count + 1) * sizeof *table->rows +
           pairs * (sizeof *table->values + sizeof *table->columns);
}

/* Arrays of a table like `from`, for `count` samples and `pairs` pairs. */
static enum hr_status make_arrays(const char *name, const struct hr_table *from, size_t count,
                                  size_t pairs, struct hr_table *out)
{
    const size_t elems = hr_shape_elems(from->shape);
    void *taken[4] = {0};
    *out = (struct hr_table){.features = from->features, .shape = from->shape, .count = count};
    HR_TRY(hr_take(name, count * sizeof *out->labels, &taken[0]));
    out->labels = taken[0];
    if (from->groups)
        HR_TRY(hr_take(name, count * sizeof *out->groups, &taken[3]));
    out->groups = taken[3];
    switch (from->features) {
    case HR_FEATURES_BYTES:
        HR_TRY(hr_take(name, count * elems, &taken[1]));
        out->pixels = taken[1];
        break;
    case HR_FEATURES_FLOATS:
        HR_TRY(hr_take(name, count * elems * sizeof *out->values, &taken[1]));
        out->values = taken[1];
        if (from->exact)
            HR_TRY(hr_take(name, count * elems * sizeof *out->exact, &taken[2]));
        out->exact = taken[2];
        break;
    case HR_FEATURES_SPARSE:
        HR_TRY(hr_take(name, pairs * sizeof *out->values, &taken[1]));
        out->values = taken[1];
        HR_TRY(hr_take(name, (count + 1) * sizeof *out->rows, &taken[2]));
        out->rows = taken[2];
        HR_TRY(hr_take(name, pairs * sizeof *out->columns, &taken[3]));
        out->columns = taken[3];
        break;
    case HR_FEATURES_TOKENS: /* a text holds out its end itself */
        break;
    }
    return HR_OK;
}

static void copy_sample(const struct hr_table *from, size_t i, struct hr_table *to, size_t at)
{
    const size_t elems = hr_shape_elems(from->shape);
    to->labels[at] = from->labels[i];
    if (to->file_rows)
        to->file_rows[at] = from->file_rows ? from->file_rows[i] : (uint32_t)i;
    if (from->groups)
        to->groups[at] = from->groups[i];
    if (from->features == HR_FEATURES_BYTES)
        memcpy(to->pixels + at * elems, from->pixels + i * elems, elems);
    if (from->features == HR_FEATURES_FLOATS)
        memcpy(to->values + at * elems, from->values + i * elems, elems * sizeof *to->values);
    if (from->exact)
        memcpy(to->exact + at * elems, from->exact + i * elems, elems * sizeof *to->exact);
    if (from->features != HR_FEATURES_SPARSE)
        return;
    const size_t first = from->rows[i], n = from->rows[i + 1] - first, begin = to->rows[at];
    to->rows[at + 1] = begin + n;
    if (!n)
        return;
    memcpy(to->values + begin, from->values + first, n * sizeof *to->values);
    memcpy(to->columns + begin, from->columns + first, n * sizeof *to->columns);
}

/* The samples whose mark is `mark`, in order; freed by the caller whatever the outcome. */
static enum hr_status copy_marked(const char *name, const struct hr_table *from,
                                  const uint8_t *marks, uint8_t mark, struct hr_table *out)
{
    size_t count = 0, pairs = 0, at = 0;
    void *taken = NULL;
    for (size_t i = 0; i < from->count; i++)
        if (marks[i] == mark) {
            count++;
            pairs += from->rows ? from->rows[i + 1] - from->rows[i] : 0;
        }
    HR_TRY(make_arrays(name, from, count, pairs, out));
    if (mark)
        HR_TRY(hr_take(name, count * sizeof *out->file_rows, &taken));
    out->file_rows = taken;
    for (size_t i = 0; i < from->count; i++)
        if (marks[i] == mark)
            copy_sample(from, i, out, at++);
    return HR_OK;
}

enum hr_status hr_table_hold_out(const char *name, const char *split, bool classes,
                                 struct hr_table *table, double fraction, struct hr_table *test)
{
    struct hr_table halves[2] = {{0}, {0}};
    void *marks = NULL;
    enum hr_status st;
    if (table->count < 2)
        return hr_fail(HR_E_FORMAT,
                       "%s: has %zu sample%s, expected at least 2: one to train on and one to test",
                       name, table->count, table->count == 1 ? "" : "s");
    HR_TRY_GOTO(hr_take(name, table->count, &marks), st, out);
    const struct hr_hold_out how = {split, classes ? table->labels : NULL, table->groups};
    HR_TRY_GOTO(hr_hold_out_tests(name, &how, table->count, fraction, marks), st, out);
    HR_TRY_GOTO(copy_marked(name, table, marks, 0, &halves[0]), st, out);
    HR_TRY_GOTO(copy_marked(name, table, marks, 1, &halves[1]), st, out);
    halves[0].feature_names = table->feature_names;
    table->feature_names = NULL;
    hr_table_free(table);
    *table = halves[0];
    *test = halves[1];
    free(marks);
    return HR_OK;
out:
    free(marks);
    hr_table_free(&halves[0]);
    hr_table_free(&halves[1]);
    return st;
}

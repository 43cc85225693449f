#include "data/look.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/size.h"
#include "data/bytes.h"

enum { FEW_LABELS = 10, MANY_LABELS = 100, ENOUGH_TO_TELL = 50, ROWS_LOOKED_AT = 4096 };

static const float unlike_scales = 1000, large_scale = 100;
/* A large one beside small ones: at usual rates a network then gives all samples one answer. */
static const float outgrown = 10, outgrowing_scale = 50;

/* --- labels */

/* seen[c] |= bit where samples are of class c. */
static void mark(const struct hr_split *split, uint8_t *seen, uint8_t bit)
{
    for (size_t i = 0; split->labels && i < split->count; i++)
        seen[split->labels[hr_split_row(split, i)]] |= bit;
}

static enum hr_status mark_splits(const struct hr_dataset *dataset, uint8_t **seen)
{
    void *taken;
    HR_TRY(hr_take(dataset->name, dataset->classes, &taken));
    *seen = taken;
    mark(&dataset->train, *seen, 1);
    mark(&dataset->test, *seen, 2);
    return HR_OK;
}

/* Counts the labels that samples have; false when one of them is no number. */
static bool look_at_names(const struct hr_dataset *dataset, const uint8_t *seen,
                          struct hr_label_look *out)
{
    bool numbers = true;
    for (size_t c = 0; c < dataset->classes; c++) {
        const char *name = dataset->class_names ? dataset->class_names[c] : "0";
        double value;
        if (!seen[c])
            continue;
        out->distinct++;
        numbers = numbers && hr_parse_real(name, strlen(name), &value);
        if (numbers && value != trunc(value))
            out->fraction = name;
    }
    return numbers;
}

enum hr_status hr_look_at_labels(const struct hr_dataset *dataset, struct hr_label_look *out)
{
    uint8_t *seen;
    *out = (struct hr_label_look){.samples = dataset->train.count + dataset->test.count};
    HR_TRY(mark_splits(dataset, &seen));
    const bool numbers = look_at_names(dataset, seen, out);
    const bool many = out->distinct > FEW_LABELS;
    const bool doubt = many && dataset->class_names && out->distinct > out->samples / 4;
    free(seen);
    if (!numbers)
        return HR_OK;
    if (out->fraction || (many && out->distinct > out->samples / 2) ||
        (doubt && out->distinct > MANY_LABELS))
        out->kind = HR_LABELS_VALUES;
    else if (doubt)
        out->kind = HR_LABELS_DOUBT;
    return HR_OK;
}

bool hr_labels_are_values(const struct hr_labels *labels, size_t samples)
{
    bool fraction = false;
    for (size_t i = 0; i < labels->count; i++) {
        const char *text = hr_labels_text(labels, i);
        double value;
        if (!hr_parse_real(text, strlen(text), &value))
            return false;
        fraction = fraction || value != trunc(value);
    }
    return fraction || (labels->count > FEW_LABELS && labels->count > samples / 2);
}

enum hr_status hr_look_at_splits(const struct hr_dataset *dataset, size_t *untaught,
                                 size_t *example)
{
    uint8_t *seen;
    *untaught = 0;
    HR_TRY(mark_splits(dataset, &seen));
    for (size_t c = 0; c < dataset->classes; c++)
        if (seen[c] == 2) {
            ++*untaught;
            *example = c;
        }
    free(seen);
    return HR_OK;
}

/* Samples of the rarest class of the test split that has any, and of the most frequent one. */
struct class_sizes {
    size_t least, most;
};

static struct class_sizes class_sizes(const struct hr_dataset *dataset)
{
    const struct hr_split *test = &dataset->test;
    struct class_sizes sizes = {.least = SIZE_MAX};
    size_t *count = calloc(dataset->classes + 1, sizeof *count);
    for (size_t i = 0; count && i < test->count; i++)
        count[test->labels[hr_split_row(test, i)]]++;
    for (size_t c = 0; count && c < dataset->classes; c++) {
        sizes.most = hr_max_size(sizes.most, count[c]);
        sizes.least = hr_min_size(sizes.least, count[c] ? count[c] : SIZE_MAX);
    }
    free(count);
    return sizes;
}

bool hr_look_at_unequal(const struct hr_dataset *dataset)
{
    if (dataset->classes < 2 || !dataset->test.labels) /* values */
        return false;
    const struct class_sizes sizes = class_sizes(dataset);
    return sizes.most / 3 > sizes.least;
}

bool hr_look_at_chance(const struct hr_dataset *dataset, double accuracy, char *text, size_t size)
{
    const struct hr_split *test = &dataset->test;
    const double n = (double)test->count, chance = 1 / (double)dataset->classes;
    text[0] = '\0';
    if (dataset->classes < 2 || !test->labels) /* values, or nothing to tell apart */
        return false;
    const size_t most = class_sizes(dataset).most;
    if (most == test->count) /* all are of one class */
        return false;
    if (test->count >= ENOUGH_TO_TELL && accuracy <= chance + 2 * sqrt(chance * (1 - chance) / n))
        snprintf(text, size, "no better than chance (%zu classes)", dataset->classes);
    else if (accuracy < (double)most / n)
        snprintf(text, size, "below always answering the most frequent class (%.3g %%)",
                 100 * (double)most / n);
    return text[0];
}

/* A mean recall is known as if each class had as many samples as the rarest. */
bool hr_look_at_balanced_chance(const struct hr_dataset *dataset, double accuracy, char *text,
                                size_t size)
{
    const struct hr_split *test = &dataset->test;
    const double chance = 1 / (double)dataset->classes;
    text[0] = '\0';
    if (dataset->classes < 2 || !test->labels || test->count < ENOUGH_TO_TELL)
        return false;
    const double n = (double)class_sizes(dataset).least * (double)dataset->classes;
    if (accuracy <= chance + 2 * sqrt(chance * (1 - chance) / n))
        snprintf(text, size, "no better than chance in balanced accuracy (%zu classes)",
                 dataset->classes);
    return text[0];
}

/* --- features */

struct feature_look {
    float largest;   /* absolute value */
    uint32_t values; /* rows that are not 0 */
};

/* Is the feature 0 in almost all samples? Then its few values do not make it large. */
static bool is_rare(const struct feature_look *look, size_t rows)
{
    return look->values < 2 || look->values < rows / 100;
}

static void compare_scales(const struct feature_look *looks, size_t n, size_t rows,
                           struct hr_scale_look *out)
{
    for (size_t f = 0; f < n; f++) {
        if (is_rare(&looks[f], rows))
            continue;
        if (out->scales[0] <= 0 || looks[f].largest < out->scales[0]) {
            out->scales[0] = looks[f].largest;
            out->small = f;
        }
        if (looks[f].largest > out->scales[1]) {
            out->scales[1] = looks[f].largest;
            out->large = f;
        }
    }
    const float least = out->scales[0], most = out->scales[1];
    out->all_large = least > large_scale;
    out->unlike = least > 0 && (most >= unlike_scales * least ||
                                (most >= outgrowing_scale && most >= outgrown * least));
}

enum hr_status hr_look_at_scales(const struct hr_dataset *dataset, struct hr_scale_look *out)
{
    const size_t n = dataset->shape.channels, rows = dataset->train.count;
    const size_t looks = hr_min_size(rows, ROWS_LOOKED_AT);
    void *taken;
    *out = (struct hr_scale_look){0};
    if (dataset->features != HR_FEATURES_FLOATS || hr_shape_elems(dataset->shape) != n)
        return HR_OK;
    HR_TRY(hr_take(dataset->name, n * sizeof(struct feature_look), &taken));
    struct feature_look *features = taken;
    for (size_t i = 0; i < looks; i++) {
        const size_t at = hr_split_row(&dataset->train, i * rows / looks);
        const float *row = dataset->train.values + at * n;
        for (size_t f = 0; f < n; f++) {
            features[f].largest = fmaxf(features[f].largest, fabsf(row[f]));
            features[f].values += fabsf(row[f]) > 0;
        }
    }
    compare_scales(features, n, looks, out);
    free(features);
    return HR_OK;
}

/* --- what floats lose */

struct range {
    double least, most;
};

static void find_ranges(const struct hr_dataset *dataset, struct range *ranges)
{
    const size_t elems = hr_shape_elems(dataset->shape), pixels = elems / dataset->shape.channels;
    for (size_t c = 0; c < dataset->shape.channels; c++)
        ranges[c].least = ranges[c].most = dataset->train.exact[c * pixels];
    for (size_t i = 0; i < dataset->train.count; i++)
        for (size_t j = 0; j < elems; j++) {
            struct range *range = &ranges[j / pixels];
            range->least = fmin(range->least, dataset->train.exact[i * elems + j]);
            range->most = fmax(range->most, dataset->train.exact[i * elems + j]);
        }
}

static bool is_far(const struct range *range)
{
    const double span = range->most - range->least;
    return span > 0 && fmax(fabs(range->least), fabs(range->most)) >= 4 * span;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* values: room for a channel's */
static struct hr_rounding count_distinct(const struct hr_dataset *dataset, size_t channel,
                                         double *values)
{
    const size_t elems = hr_shape_elems(dataset->shape), pixels = elems / dataset->shape.channels;
    const size_t n = dataset->train.count * pixels;
    struct hr_rounding found = {1, 1};
    for (size_t i = 0; i < n; i++)
        values[i] = dataset->train.exact[i / pixels * elems + channel * pixels + i % pixels];
    qsort(values, n, sizeof *values, by_value);
    for (size_t i = 1; i < n; i++) {
        found.distinct += values[i] > values[i - 1];
        found.left += (float)values[i] > (float)values[i - 1];
    }
    return found.distinct > found.left ? found : (struct hr_rounding){0};
}

static bool note_rounding(const struct hr_dataset *dataset, const struct range *ranges,
                          double *values, struct hr_rounding *out)
{
    bool any = false;
    for (size_t c = 0; c < dataset->shape.channels; c++) {
        if (is_far(&ranges[c]))
            out[c] = count_distinct(dataset, c, values);
        any = any || out[c].distinct;
    }
    return any;
}

enum hr_status hr_look_at_rounding(const struct hr_dataset *dataset, struct hr_rounding **out)
{
    const size_t n = dataset->shape.channels, elems = hr_shape_elems(dataset->shape);
    void *ranges = NULL, *values = NULL, *rounding = NULL;
    enum hr_status st;
    *out = NULL;
    if (!dataset->train.exact)
        return HR_OK;
    HR_TRY_GOTO(hr_take(dataset->name, n * sizeof(struct range), &ranges), st, out);
    HR_TRY_GOTO(hr_take(dataset->name, n * sizeof **out, &rounding), st, out);
    HR_TRY_GOTO(
        hr_take(dataset->name, dataset->train.count * (elems / n) * sizeof(double), &values), st,
        out);
    find_ranges(dataset, ranges);
    if (note_rounding(dataset, ranges, values, rounding)) {
        *out = rounding;
        rounding = NULL;
    }
out:
    free(ranges);
    free(values);
    free(rounding);
    return st;
}

/* --- sizes */

struct hr_shown hr_look_at_name(const struct hr_dataset *dataset, size_t feature)
{
    struct hr_shown name;
    if (dataset->feature_names)
        return hr_shown(dataset->feature_names[feature], strlen(dataset->feature_names[feature]));
    snprintf(name.text, sizeof name.text, "feature %zu", feature + 1);
    return name;
}

static float largest_of_row(const struct hr_dataset *dataset, const struct hr_split *split,
                            size_t row)
{
    const size_t elems = hr_shape_elems(dataset->shape);
    const bool sparse = dataset->features == HR_FEATURES_SPARSE;
    const size_t end = sparse ? split->rows[row + 1] : (row + 1) * elems;
    float largest = 0;
    for (size_t i = sparse ? split->rows[row] : row * elems; i < end; i++)
        largest = fmaxf(largest, dataset->features == HR_FEATURES_BYTES ? (float)split->pixels[i]
                                                                        : fabsf(split->values[i]));
    return largest;
}

bool hr_look_for_unfinite(const struct hr_dataset *dataset, const struct hr_split *split,
                          size_t *sample)
{
    const size_t elems = hr_shape_elems(dataset->shape);
    const bool sparse = dataset->features == HR_FEATURES_SPARSE;
    const bool floats = sparse || dataset->features == HR_FEATURES_FLOATS;
    for (size_t s = 0; floats && s < split->count; s++) {
        const size_t row = hr_split_row(split, s);
        const size_t end = sparse ? split->rows[row + 1] : (row + 1) * elems;
        for (size_t i = sparse ? split->rows[row] : row * elems; i < end; i++)
            if (!isfinite(split->values[i])) {
                *sample = s;
                return true;
            }
    }
    return false;
}

float hr_look_at_largest(const struct hr_dataset *dataset, const struct hr_split *split)
{
    const size_t looks = hr_min_size(split->count, ROWS_LOOKED_AT);
    float largest = 0;
    if (dataset->features == HR_FEATURES_TOKENS) /* numbers that are no quantities */
        return 0;
    for (size_t i = 0; i < looks; i++)
        largest = fmaxf(
            largest, largest_of_row(dataset, split, hr_split_row(split, i * split->count / looks)));
    return largest * dataset->scale;
}

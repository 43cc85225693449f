#include "session/target_scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/printable.h"
#include "data/target_rows.h"
#include "session/saved.h"

static const char count_key[] = "hogring.targets";

static enum hr_status take(size_t count, struct hr_target_scale *out)
{
    *out = (struct hr_target_scale){
        .count = count,
        .mean = calloc(count, sizeof *out->mean),
        .deviation = calloc(count, sizeof *out->deviation),
        .name = calloc(count, sizeof *out->name),
    };
    return out->mean && out->deviation && out->name
               ? HR_OK
               : hr_fail(HR_E_NOMEM, "no memory for %zu targets", count);
}

void hr_target_scale_free(struct hr_target_scale *scale)
{
    free(scale->mean);
    free(scale->deviation);
    free(scale->name);
    free(scale->values);
    *scale = (struct hr_target_scale){0};
}

/* --- measured --- */

/* Target k of a sample. */
static double target_at(const struct hr_targets *targets, const struct hr_split *split,
                        size_t sample, size_t k)
{
    const uint32_t row = split->labels[hr_split_row(split, sample)];
    return targets->values[row * targets->count + k];
}

static double mean_of(const struct hr_targets *targets, const struct hr_split *split, size_t k)
{
    const double first = target_at(targets, split, 0, k);
    double sum = 0;
    for (size_t i = 0; i < split->count; i++)
        sum += target_at(targets, split, i, k) - first;
    return first + sum / (double)split->count;
}

/* Sum of squared deviations from their mean. */
static double spread_of(const struct hr_targets *targets, const struct hr_split *split, size_t k)
{
    const double mean = mean_of(targets, split, k);
    double sum = 0;
    for (size_t i = 0; i < split->count; i++) {
        const double d = target_at(targets, split, i, k) - mean;
        sum += d * d;
    }
    return sum;
}

static enum hr_status measure_one(const struct hr_dataset *dataset, size_t k,
                                  struct hr_target_scale *out)
{
    const struct hr_split *train = &dataset->train;
    const char *name = out->name[k];
    out->mean[k] = mean_of(&dataset->targets, train, k);
    out->deviation[k] = sqrt(spread_of(&dataset->targets, train, k) / (double)train->count);
    /* What rounding leaves of a constant is no deviation either. */
    if (isfinite(out->deviation[k]) && out->deviation[k] > 1e-14 * fabs(out->mean[k]))
        return HR_OK;
    if (!isfinite(out->deviation[k]))
        return hr_fail(HR_E_USAGE,
                       "%s: target %zu%s%s: its deviation from the mean is too large for a double; "
                       "expected values of at most about 1e150",
                       dataset->name, k + 1, name[0] ? ", " : "", name);
    return hr_fail(HR_E_USAGE,
                   "%s: target %zu%s%s is %g in all %zu training samples: there is nothing to "
                   "learn of it (--target leaves it out; --task regress:none takes it as it is)",
                   dataset->name, k + 1, name[0] ? ", " : "", name, out->mean[k], train->count);
}

static enum hr_status measure(const struct hr_dataset *dataset, bool standard,
                              struct hr_target_scale *out)
{
    *out = (struct hr_target_scale){0};
    if (!dataset->targets.count)
        return HR_OK;
    HR_TRY(take(dataset->targets.count, out));
    for (size_t k = 0; k < out->count; k++) {
        if (dataset->targets.names)
            snprintf(out->name[k], sizeof *out->name, "%.63s", dataset->targets.names[k]);
        out->deviation[k] = 1;
        if (standard)
            HR_TRY(measure_one(dataset, k, out));
    }
    return HR_OK;
}

enum hr_status hr_target_scale_begin(const struct hr_dataset *dataset,
                                     const struct hr_checkpoint *checkpoint, bool standard,
                                     struct hr_target_scale *out)
{
    HR_TRY(checkpoint ? hr_target_scale_get(checkpoint, out) : measure(dataset, standard, out));
    return hr_target_scale_apply(dataset, out);
}

enum hr_status hr_target_scale_apply(const struct hr_dataset *dataset,
                                     struct hr_target_scale *scale)
{
    const struct hr_targets *targets = &dataset->targets;
    if (targets->count != scale->count)
        return hr_fail(HR_E_USAGE, "%s: has %zu targets per sample, the model predicts %zu",
                       dataset->name, targets->count, scale->count);
    free(scale->values);
    scale->rows = targets->rows;
    scale->values = calloc(scale->rows * scale->count + 1, sizeof *scale->values);
    if (!scale->values)
        return hr_fail(HR_E_NOMEM, "no memory for targets of %zu samples", scale->rows);
    for (size_t i = 0; i < scale->rows * scale->count; i++) {
        const size_t k = i % scale->count;
        scale->values[i] = (float)((targets->values[i] - scale->mean[k]) / scale->deviation[k]);
    }
    return HR_OK;
}

/* --- kept --- */

size_t hr_target_scale_entries(const struct hr_target_scale *scale)
{
    return scale && scale->count ? 1 + scale->count : 0;
}

void hr_target_scale_put(const struct hr_target_scale *scale, struct hr_tensor_file *file)
{
    if (!scale || !scale->count)
        return;
    hr_saved_put(file, count_key, "%zu", scale->count);
    for (size_t k = 0; k < scale->count; k++) {
        char key[48];
        snprintf(key, sizeof key, "hogring.target.%zu", k);
        hr_saved_put(file, key, "%.17g %.17g %s", scale->mean[k], scale->deviation[k],
                     hr_printable(scale->name[k]).text);
    }
}

void hr_target_scale_text(const struct hr_target_scale *scale, const char *loss, char *text,
                          size_t size)
{
    size_t used = (size_t)snprintf(text, size, "regress: %s of", loss);
    for (size_t k = 0; k < scale->count && used < size; k++) {
        char number[32];
        snprintf(number, sizeof number, "target %zu", k + 1);
        used += (size_t)snprintf(text + used, size - used, "%s %s (mean %.6g, deviation %.6g)",
                                 k ? "," : "",
                                 scale->name[k][0] ? hr_printable(scale->name[k]).text : number,
                                 scale->mean[k], scale->deviation[k]);
    }
}

static bool read_number(const char **at, double *out)
{
    const size_t bytes = strcspn(*at, " ");
    const bool good = hr_parse_real(*at, bytes, out);
    *at += bytes + ((*at)[bytes] == ' ');
    return good;
}

static enum hr_status get_one(const struct hr_checkpoint *checkpoint, size_t k,
                              struct hr_target_scale *out)
{
    char key[48];
    snprintf(key, sizeof key, "hogring.target.%zu", k);
    const char *at = hr_metadata_get(&checkpoint->model, key);
    if (!at || !read_number(&at, &out->mean[k]) || !read_number(&at, &out->deviation[k]) ||
        !(out->deviation[k] > 0))
        return hr_fail(HR_E_FORMAT, "%s: metadata \"%s\" is no mean and deviation above 0",
                       checkpoint->path, key);
    snprintf(out->name[k], sizeof *out->name, "%.63s", at);
    return HR_OK;
}

enum hr_status hr_target_scale_get(const struct hr_checkpoint *checkpoint,
                                   struct hr_target_scale *out)
{
    const char *text = hr_metadata_get(&checkpoint->model, count_key);
    uint64_t count;
    *out = (struct hr_target_scale){0};
    if (!text)
        return HR_OK;
    if (!hr_parse_count(text, &count) || count < 1 || count > HR_MAX_TARGETS)
        return hr_fail(HR_E_FORMAT, "%s: metadata \"%s\" is not a number of targets",
                       checkpoint->path, count_key);
    HR_TRY(take(count, out));
    for (size_t k = 0; k < count; k++)
        HR_TRY(get_one(checkpoint, k, out));
    return HR_OK;
}

enum hr_status hr_target_scale_same_task(const struct hr_checkpoint *checkpoint,
                                         const struct hr_dataset *dataset)
{
    const bool values = hr_metadata_get(&checkpoint->model, count_key);
    if (values && !dataset->targets.count)
        return hr_fail(HR_E_USAGE,
                       "%s: predicts values; %s was read as classes: expected it with "
                       "--task regress",
                       checkpoint->path, dataset->name);
    if (!values && dataset->targets.count && hr_metadata_get(&checkpoint->model, "hogring.classes"))
        return hr_fail(HR_E_USAGE, "%s: predicts classes; %s was read as values (--task regress)",
                       checkpoint->path, dataset->name);
    return HR_OK;
}

/* --- errors --- */

void hr_fit_add(const struct hr_target_scale *scale, const struct hr_targets *targets, size_t B,
                const float *outputs, const uint32_t *labels, double *sums)
{
    const size_t count = scale->count;
    for (size_t b = 0; b < B; b++)
        for (size_t k = 0; k < count; k++) {
            const double target = targets->values[labels[b] * count + k] - scale->mean[k];
            const double e = scale->deviation[k] * (double)outputs[b * count + k] - target;
            sums[k] += e * e;
            sums[count + k] += fabs(e);
        }
}

struct hr_fit hr_fit_of(const struct hr_targets *targets, const struct hr_split *split,
                        const double *sums, struct hr_fit *each)
{
    struct hr_fit mean = {0};
    const double n = (double)split->count, count = (double)targets->count;
    for (size_t k = 0; k < targets->count; k++) {
        const double spread = spread_of(targets, split, k);
        const struct hr_fit fit = {.rmse = sqrt(sums[k] / n),
                                   .mae = sums[targets->count + k] / n,
                                   .r2 = spread > 0 ? 1 - sums[k] / spread : (double)NAN};
        mean.rmse += fit.rmse / count;
        mean.mae += fit.mae / count;
        mean.r2 += fit.r2 / count;
        if (each)
            each[k] = fit;
    }
    return mean;
}

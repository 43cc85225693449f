#include "answers/worst.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "data/table.h"
#include "json/value.h"
#include "predict/meaning.h"
#include "terminal/grid.h"

/* --- which --- */

struct ranked {
    uint32_t sample;
    float loss;
};

/* The largest first; what is not a number before all others; equals as they come. */
static int by_loss(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    const int bad = isnan(y->loss) - isnan(x->loss);
    if (bad)
        return bad;
    if (x->loss < y->loss || x->loss > y->loss)
        return x->loss < y->loss ? 1 : -1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static void name_class(const struct hr_evaluation *evaluation, uint32_t class, char *out,
                       size_t size)
{
    if (class >= evaluation->classes)
        snprintf(out, size, "-");
    else if (evaluation->class_names)
        snprintf(out, size, "%s", evaluation->class_names[class]);
    else
        snprintf(out, size, "%u", class);
}

/* "350.5 12.25": what is to be predicted of a sample, and what was, as much as fits. */
static void describe_values(const struct hr_evaluation *evaluation,
                            const struct hr_dataset *dataset, struct hr_worst_sample *out)
{
    const size_t count = evaluation->targets;
    const double *truth = dataset->targets.values + evaluation->labels[out->sample] * count;
    const float *answer = evaluation->outputs + out->sample * count;
    const size_t size = sizeof out->truth;
    size_t a = 0, b = 0;
    out->right = false;
    for (size_t k = 0; k < count && a < size && b < size; k++) {
        const char *before = k ? " " : "";
        a += (size_t)snprintf(out->truth + a, size - a, "%s%.6g", before, truth[k]);
        b += (size_t)snprintf(out->answer + b, size - b, "%s%.6g", before, (double)answer[k]);
    }
}

/* columns (meaning->columns): scratch */
static void describe(const struct hr_evaluation *evaluation, const struct hr_meaning *meaning,
                     struct ranked ranked, float *columns, struct hr_worst_sample *out)
{
    const uint32_t truth = evaluation->labels[ranked.sample];
    const uint32_t answer = evaluation->answers[ranked.sample];
    const bool probable = meaning->kind == HR_PREDICT_PROBABILITIES;
    *out = (struct hr_worst_sample){.sample = ranked.sample,
                                    .row = (size_t)ranked.sample + 1,
                                    .probability = (double)NAN,
                                    .of_truth = (double)NAN,
                                    .loss = (double)ranked.loss,
                                    .right = truth == answer};
    name_class(evaluation, truth, out->truth, sizeof out->truth);
    name_class(evaluation, answer, out->answer, sizeof out->answer);
    hr_meaning_apply(meaning, 1, evaluation->outputs + ranked.sample * evaluation->noutputs,
                     columns);
    if (probable)
        out->of_truth = (double)columns[truth];
    if (probable && answer < evaluation->classes)
        out->probability = (double)columns[answer];
}

/* Rows of the file that the test samples were held out of. */
static void find_rows(const struct hr_dataset *dataset, struct hr_worst *worst)
{
    const bool single = !strcmp(dataset->format, "csv") || !strcmp(dataset->format, "libsvm");
    const uint32_t *rows = single ? dataset->test.file_rows : NULL;
    for (size_t i = 0; rows && i < worst->n; i++)
        worst->samples[i].row = (size_t)rows[worst->samples[i].sample] + 1;
}

static enum hr_status fill(const struct hr_evaluation *evaluation, const struct hr_dataset *dataset,
                           struct ranked *ranked, struct hr_worst *out)
{
    enum hr_loss_kind loss;
    HR_TRY(hr_loss_parse(evaluation->loss, &loss));
    const struct hr_meaning meaning =
        hr_meaning_of(evaluation->model, loss, evaluation->noutputs, evaluation->targets);
    float *columns = calloc(meaning.columns, sizeof *columns);
    if (!columns)
        return hr_fail(HR_E_NOMEM, "no memory for %zu outputs", meaning.columns);
    for (size_t i = 0; i < evaluation->count; i++)
        ranked[i] = (struct ranked){(uint32_t)i, evaluation->losses[i]};
    qsort(ranked, evaluation->count, sizeof *ranked, by_loss);
    for (size_t i = 0; i < out->n; i++)
        describe(evaluation, &meaning, ranked[i], columns, &out->samples[i]);
    for (size_t i = 0; i < out->n && evaluation->targets; i++)
        describe_values(evaluation, dataset, &out->samples[i]);
    out->probable = meaning.kind == HR_PREDICT_PROBABILITIES;
    free(columns);
    return HR_OK;
}

enum hr_status hr_worst_find(const struct hr_evaluation *evaluation,
                             const struct hr_dataset *dataset, size_t n, struct hr_worst *out)
{
    *out = (struct hr_worst){.n = n < evaluation->count ? n : evaluation->count,
                             .of = evaluation->count};
    if ((!evaluation->classes && !evaluation->targets) || !evaluation->losses)
        return hr_fail(HR_E_USAGE,
                       "--worst: is not supported for %s, which has no losses of samples",
                       evaluation->model);
    struct ranked *ranked = calloc(evaluation->count, sizeof *ranked);
    out->samples = calloc(out->n, sizeof *out->samples);
    enum hr_status status = ranked && out->samples
                                ? fill(evaluation, dataset, ranked, out)
                                : hr_fail(HR_E_NOMEM, "no memory to rank %zu samples", out->of);
    free(ranked);
    if (status == HR_OK)
        find_rows(dataset, out);
    else
        hr_worst_free(out);
    return status;
}

void hr_worst_free(struct hr_worst *worst)
{
    free(worst->samples);
    *worst = (struct hr_worst){0};
}

/* --- shown --- */

void hr_worst_print(FILE *out, const struct hr_worst *worst, size_t width)
{
    struct hr_grid grid;
    fprintf(out, "\n%zu of %zu test samples, the largest loss first\n", worst->n, worst->of);
    hr_grid_begin(&grid, "row\t-truth\t-answer\tprobability\tof truth\tloss");
    for (size_t i = 0; i < worst->n; i++) {
        const struct hr_worst_sample *s = &worst->samples[i];
        fprintf(grid.cells, "%zu\t%s\t", s->row, hr_printable(s->truth).text);
        fputs(hr_printable(s->answer).text, grid.cells);
        if (worst->probable)
            fprintf(grid.cells, "\t%.4f\t%.4f", s->probability, s->of_truth);
        else
            fputs("\t\t", grid.cells);
        fprintf(grid.cells, "\t%.4f\n", s->loss);
    }
    hr_grid_squeeze(&grid, 1, width);
    hr_grid_squeeze(&grid, 2, width);
    hr_grid_end(&grid, out, 0);
}

json_t *hr_worst_json(const struct hr_worst *worst)
{
    json_t *array = json_array();
    bool good = array;
    for (size_t i = 0; good && i < worst->n; i++) {
        const struct hr_worst_sample *s = &worst->samples[i];
        json_t *object =
            hr_json_object(HR_OF(s, row), HR_OF(s, truth), HR_OF(s, answer), HR_OF(s, probability),
                           "truth_probability", HR_JSON(s->of_truth), HR_OF(s, loss), NULL);
        good = object && json_array_append_new(array, object) == 0;
    }
    if (good)
        return array;
    json_decref(array);
    return NULL;
}

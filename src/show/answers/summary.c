#include "answers/summary.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/size.h"
#include "json/value.h"
#include "answers/write.h"
#include "report/human.h"
#include "terminal/grid.h"

enum { ROWS = 10, CLASSES = 12, NEXT = 2, FILE_NAME = 24 };

/* Of a class, by its answers: */
struct class_summary {
    size_t samples;
    double mean_confidence; /* NaN: it has none */
};

/* classes (p->classes) out; *unanswered: samples with an output that is not a number; returns the
 * mean confidence of all answers, NaN where there is none. */
static double summarize(const struct hr_prediction *p, struct class_summary *classes,
                        size_t *unanswered)
{
    double sum = 0;
    size_t answered = 0;
    memset(classes, 0, p->classes * sizeof *classes);
    for (size_t i = 0; i < p->count; i++) {
        if (p->answers[i] == UINT32_MAX)
            continue;
        const double confidence = (double)hr_prediction_confidence(p, i);
        struct class_summary *class = &classes[p->answers[i]];
        class->samples++;
        class->mean_confidence += confidence;
        sum += confidence;
        answered++;
    }
    for (size_t c = 0; c < p->classes; c++)
        classes[c].mean_confidence /= (double)classes[c].samples;
    *unanswered = p->count - answered;
    return sum / (double)answered;
}

/* --- the first rows --- */

static void print_classes_rows(FILE *out, const struct hr_prediction *p, size_t rows, size_t width)
{
    const size_t next =
        p->ncolumns != p->classes || p->files ? 0 : hr_min_size(p->ncolumns - 1, NEXT);
    size_t ranked[NEXT + 1];
    struct hr_grid grid;
    hr_grid_begin(&grid, p->kind == HR_PREDICT_PROBABILITIES
                             ? "row\t-file\t-class\tprobability\t-then\t\t-\t"
                             : "row\t-file\t-class\tscore\t-then\t\t-\t");
    for (size_t i = 0; i < rows; i++) {
        const uint32_t answer = p->answers[i];
        const char *file = p->files ? p->files[i] : "";
        const size_t length = strlen(file);
        fprintf(grid.cells, "%zu\t%s\t", i + 1, /* of a picture, the end of its path */
                hr_printable(file + (length > FILE_NAME ? length - FILE_NAME : 0)).text);
        fprintf(grid.cells, "%s\t%.4f",
                answer == UINT32_MAX ? "-" : hr_printable(p->class_names[answer]).text,
                (double)hr_prediction_confidence(p, i));
        if (answer != UINT32_MAX && next)
            hr_prediction_rank(p, i, next + 1, ranked);
        for (size_t k = 1; k <= NEXT; k++)
            if (answer != UINT32_MAX && k <= next)
                fprintf(grid.cells, "\t%s\t%.4f", hr_printable(p->names[ranked[k]]).text,
                        (double)p->columns[i * p->ncolumns + ranked[k]]);
            else
                fputs("\t\t", grid.cells);
        fputc('\n', grid.cells);
    }
    for (size_t c = 6; c >= 2; c -= 2)
        hr_grid_squeeze(&grid, c, width);
    hr_grid_end(&grid, out, 0);
}

/* As many columns as there is room for. */
static void print_value_rows(FILE *out, const struct hr_prediction *p, size_t rows, size_t width)
{
    enum { VALUE = 14 };
    const size_t fit = width > 7 + VALUE ? (width - 7) / VALUE : 1;
    const size_t columns = hr_min_size(hr_min_size(p->ncolumns, fit), HR_GRID_COLUMNS - 1);
    char *heads = NULL;
    size_t bytes;
    struct hr_grid grid;
    FILE *text = open_memstream(&heads, &bytes);
    if (!text)
        return;
    fputs("row", text);
    for (size_t c = 0; c < columns; c++)
        fprintf(text, "\t%.*s", VALUE - 1, hr_printable(p->names[c]).text);
    fclose(text);
    hr_grid_begin(&grid, heads);
    free(heads);
    for (size_t i = 0; i < rows; i++) {
        fprintf(grid.cells, "%zu", i + 1);
        for (size_t c = 0; c < columns; c++)
            fprintf(grid.cells, "\t%.6g", (double)p->columns[i * p->ncolumns + c]);
        fputc('\n', grid.cells);
    }
    hr_grid_end(&grid, out, 0);
}

/* --- how many of which class --- */

struct ranked_class {
    size_t class, samples;
};

static int by_samples(const void *a, const void *b)
{
    const struct ranked_class *x = a, *y = b;
    if (x->samples != y->samples)
        return x->samples < y->samples ? 1 : -1;
    return x->class < y->class ? -1 : 1;
}

static void print_counts(FILE *out, const struct hr_prediction *p,
                         const struct class_summary *classes, struct ranked_class *ranked,
                         size_t width)
{
    const size_t shown = p->classes < CLASSES ? p->classes : CLASSES;
    struct hr_grid grid;
    char number[HR_HUMAN_MAX];
    for (size_t c = 0; c < p->classes; c++)
        ranked[c] = (struct ranked_class){c, classes[c].samples};
    if (shown < p->classes)
        qsort(ranked, p->classes, sizeof *ranked, by_samples);
    hr_grid_begin(&grid, p->kind == HR_PREDICT_PROBABILITIES ? "-class\tsamples\tmean probability"
                                                             : "-class\tsamples\tmean score");
    for (size_t i = 0; i < shown; i++) {
        const struct class_summary *class = &classes[ranked[i].class];
        fprintf(grid.cells, "%s\t%s\t", hr_printable(p->class_names[ranked[i].class]).text,
                hr_human_count(number, class->samples));
        if (class->samples)
            fprintf(grid.cells, "%.4f", class->mean_confidence);
        fputc('\n', grid.cells);
    }
    fputc('\n', out);
    hr_grid_squeeze(&grid, 0, width);
    hr_grid_end(&grid, out, 0);
    if (shown < p->classes)
        fprintf(out, "and %zu classes with fewer\n", p->classes - shown);
}

static enum hr_status print_summary(FILE *out, const struct hr_prediction *p, size_t width)
{
    struct class_summary *classes = malloc(p->classes * sizeof *classes);
    struct ranked_class *ranked = malloc(p->classes * sizeof *ranked);
    size_t unanswered;
    if (classes && ranked) {
        summarize(p, classes, &unanswered);
        print_counts(out, p, classes, ranked, width);
        if (unanswered)
            fprintf(out, "%zu have no answer: an output is not a number\n", unanswered);
    }
    const bool enough = classes && ranked;
    free(classes);
    free(ranked);
    return enough ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for %zu classes", p->classes);
}

enum hr_status hr_prediction_print(FILE *out, const struct hr_prediction *p, const char *data,
                                   size_t width, const char *rest)
{
    const size_t rows = p->count < ROWS ? p->count : ROWS;
    char number[HR_HUMAN_MAX];
    hr_put_printable(out, p->checkpoint);
    fputs(" on ", out);
    hr_put_printable(out, data);
    fprintf(out, ": %s sample%s\n\n", hr_human_count(number, p->count), p->count == 1 ? "" : "s");
    if (p->kind == HR_PREDICT_VALUES)
        print_value_rows(out, p, rows, width);
    else
        print_classes_rows(out, p, rows, width);
    if (p->count > rows)
        fprintf(out, "%7s  and %s more%s%s\n", "...", hr_human_count(number, p->count - rows),
                rest ? ": " : "", rest ? rest : "");
    return p->kind == HR_PREDICT_VALUES ? HR_OK : print_summary(out, p, width);
}

/* --- JSON --- */

static json_t *value_json(const struct hr_prediction *p, size_t column)
{
    double sum = 0, least = HUGE_VAL, most = -HUGE_VAL;
    for (size_t i = 0; i < p->count; i++) {
        const double x = (double)p->columns[i * p->ncolumns + column];
        sum += x;
        least = x < least ? x : least;
        most = x > most ? x : most;
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "name", hr_json_text(p->names[column]), "mean",
                     hr_json_number(sum / (double)p->count), "min", hr_json_number(least), "max",
                     hr_json_number(most));
}

static json_t *class_json(const char *name, const struct class_summary *class)
{
    return json_pack("{s:o, s:o, s:o}", "name", hr_json_text(name), "samples",
                     hr_json_count(class->samples), "mean_confidence",
                     hr_json_number(class->mean_confidence));
}

/* The members that classes have: null but for classes. */
static bool add_classes(const struct hr_prediction *p, json_t *document)
{
    struct class_summary *classes = calloc(p->classes, sizeof *classes);
    json_t *array = json_array();
    size_t unanswered = 0;
    bool good = classes && array;
    const double mean = good ? summarize(p, classes, &unanswered) : (double)NAN;
    for (size_t c = 0; good && c < p->classes; c++)
        good = json_array_append_new(array, class_json(p->class_names[c], &classes[c])) == 0;
    free(classes);
    good = json_object_set_new(document, "classes", array) == 0 && good;
    good = json_object_set_new(document, "mean_confidence", hr_json_number(mean)) == 0 && good;
    return json_object_set_new(document, "unanswered", hr_json_count(unanswered)) == 0 && good;
}

static bool add_values(const struct hr_prediction *p, json_t *document)
{
    json_t *array = json_array();
    bool good = array;
    for (size_t c = 0; good && c < p->ncolumns; c++)
        good = json_array_append_new(array, value_json(p, c)) == 0;
    return json_object_set_new(document, "values", array) == 0 && good;
}

json_t *hr_prediction_json(const struct hr_prediction *p, const char *data)
{
    static const char *const kinds[] = {"probabilities", "scores", "values"};
    json_t *document =
        json_pack("{s:o, s:o, s:o, s:s, s:o}", "checkpoint", hr_json_text(p->checkpoint), "model",
                  hr_json_text(p->model), "data", hr_json_text(data), "kind", kinds[p->kind],
                  "samples", hr_json_count(p->count));
    const bool good = document && (p->kind == HR_PREDICT_VALUES ? add_values(p, document)
                                                                : add_classes(p, document));
    if (good)
        return document;
    json_decref(document);
    return NULL;
}

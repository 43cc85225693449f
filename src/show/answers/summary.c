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

enum { ROWS = 10, CLASSES = 12, NEXT = 2, NARROWEST = 8, FILE_NAME = 24 };

static const char *word_of(const struct hr_prediction *p)
{
    return p->kind == HR_PREDICT_PROBABILITIES ? "probability" : "score";
}

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

/* Columns that a name takes: of the longest, at most `most`. */
static size_t name_width(char *const *names, size_t n, size_t most)
{
    size_t width = strlen("class");
    for (size_t i = 0; i < n; i++)
        width = strlen(names[i]) > width ? strlen(names[i]) : width;
    return width < most ? width : most;
}

static void print_next(FILE *out, const struct hr_prediction *p, size_t row, size_t width)
{
    size_t ranked[NEXT + 1];
    const size_t n = p->ncolumns < NEXT + 1 ? p->ncolumns : NEXT + 1;
    hr_prediction_rank(p, row, n, ranked);
    for (size_t k = 1; k < n; k++)
        fprintf(out, "  %-*.*s %7.4f", (int)width, (int)width,
                hr_printable(p->names[ranked[k]]).text,
                (double)p->columns[row * p->ncolumns + ranked[k]]);
}

/* Of a picture, the end of its path. */
static void print_file(FILE *out, const struct hr_prediction *p, size_t row)
{
    const char *name = p->files[row];
    const size_t length = strlen(name);
    fprintf(out, "  %-*s", FILE_NAME,
            hr_printable(name + (length > FILE_NAME ? length - FILE_NAME : 0)).text);
}

static void print_classes_rows(FILE *out, const struct hr_prediction *p, size_t rows, size_t width)
{
    const size_t shown = p->ncolumns != p->classes || p->files ? 1 : NEXT + 1;
    /* Row, file, probability; and what stands beside the names of the next ones. */
    const size_t taken = 21 + (p->files ? FILE_NAME + 2 : 0) + 10 * (shown - 1);
    const size_t room = width > taken ? (width - taken) / shown : 0;
    const size_t name = name_width(p->class_names, p->classes, hr_max_size(room, NARROWEST));
    fprintf(out, "%7s", "row");
    if (p->files)
        fprintf(out, "  %-*s", FILE_NAME, "file");
    fprintf(out, "  %-*s %11s%s\n", (int)name, "class", word_of(p),
            shown > 1 && p->classes > 1 ? "  then" : "");
    for (size_t i = 0; i < rows; i++) {
        const uint32_t answer = p->answers[i];
        fprintf(out, "%7zu", i + 1);
        if (p->files)
            print_file(out, p, i);
        fprintf(out, "  %-*.*s %11.4f", (int)name, (int)name,
                answer == UINT32_MAX ? "-" : hr_printable(p->class_names[answer]).text,
                (double)hr_prediction_confidence(p, i));
        if (answer != UINT32_MAX && shown > 1)
            print_next(out, p, i, name);
        fputc('\n', out);
    }
}

static void print_value_rows(FILE *out, const struct hr_prediction *p, size_t rows, size_t width)
{
    enum { VALUE = 14 };
    const size_t fit = width > 7 + VALUE ? (width - 7) / VALUE : 1;
    const size_t columns = p->ncolumns < fit ? p->ncolumns : fit;
    fprintf(out, "%7s", "row");
    for (size_t c = 0; c < columns; c++)
        fprintf(out, " %*.*s", VALUE - 1, VALUE - 1, hr_printable(p->names[c]).text);
    fputc('\n', out);
    for (size_t i = 0; i < rows; i++) {
        fprintf(out, "%7zu", i + 1);
        for (size_t c = 0; c < columns; c++)
            fprintf(out, " %*.6g", VALUE - 1, (double)p->columns[i * p->ncolumns + c]);
        fputc('\n', out);
    }
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
    const size_t name = name_width(p->class_names, p->classes, width > 40 ? width - 40 : NARROWEST);
    const size_t shown = p->classes < CLASSES ? p->classes : CLASSES;
    char number[HR_HUMAN_MAX];
    for (size_t c = 0; c < p->classes; c++)
        ranked[c] = (struct ranked_class){c, classes[c].samples};
    if (shown < p->classes)
        qsort(ranked, p->classes, sizeof *ranked, by_samples);
    fprintf(out, "\n%-*s %9s  mean %s\n", (int)name, "class", "samples", word_of(p));
    for (size_t i = 0; i < shown; i++) {
        const struct class_summary *class = &classes[ranked[i].class];
        fprintf(out, "%-*.*s %9s", (int)name, (int)name,
                hr_printable(p->class_names[ranked[i].class]).text,
                hr_human_count(number, class->samples));
        if (class->samples)
            fprintf(out, "  %.4f", class->mean_confidence);
        fputc('\n', out);
    }
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

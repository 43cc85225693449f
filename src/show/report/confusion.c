#include "report/confusion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/size.h"

enum { NAME_MAX_SHOWN = 20, WORST = 10 };

/* --- counting --- */

static int by_class(const void *a, const void *b)
{
    const struct hr_cell *p = a, *q = b;
    if (p->label != q->label)
        return p->label < q->label ? -1 : 1;
    return (p->answer > q->answer) - (p->answer < q->answer);
}

enum hr_status hr_confusion_count(const struct hr_evaluation *evaluation, struct hr_cells *out)
{
    const size_t n = evaluation->count;
    struct hr_cell *cell = calloc(n + 1, sizeof *cell);
    *out = (struct hr_cells){.cell = cell};
    if (!cell)
        return hr_fail(HR_E_NOMEM, "no memory to count answers to %zu samples", n);
    for (size_t i = 0; i < n; i++)
        cell[i] = (struct hr_cell){evaluation->labels[i], evaluation->answers[i], 1};
    qsort(cell, n, sizeof *cell, by_class);
    for (size_t i = 0; i < n; i++) {
        if (out->n == 0 || by_class(&cell[out->n - 1], &cell[i]) != 0)
            cell[out->n++] = (struct hr_cell){cell[i].label, cell[i].answer, 0};
        cell[out->n - 1].samples++;
    }
    return HR_OK;
}

void hr_confusion_score(const struct hr_evaluation *evaluation, struct hr_class_score *scores)
{
    memset(scores, 0, evaluation->classes * sizeof *scores);
    for (size_t i = 0; i < evaluation->count; i++) {
        const uint32_t label = evaluation->labels[i], answer = evaluation->answers[i];
        scores[label].samples++;
        if (answer < evaluation->classes)
            scores[answer].answers++;
        scores[label].right += answer == label;
    }
    for (size_t c = 0; c < evaluation->classes; c++) {
        struct hr_class_score *score = &scores[c];
        score->recall = (double)score->right / (double)score->samples;
        score->precision = (double)score->right / (double)score->answers;
        score->f1 = 2 * (double)score->right / (double)(score->samples + score->answers);
    }
}

/* --- text --- */

const char *hr_confusion_name(const struct hr_evaluation *evaluation, uint32_t class,
                              char number[24])
{
    if (class >= evaluation->classes)
        return "no answer";
    if (evaluation->class_names)
        return evaluation->class_names[class];
    snprintf(number, 24, "%u", class);
    return number;
}

/* As a cell of a table has it: in one line. */
static struct hr_printable shown(const struct hr_evaluation *evaluation, uint32_t class)
{
    char number[24];
    return hr_printable(hr_confusion_name(evaluation, class, number));
}

/* Of the longest name as it is shown. */
static size_t name_width(const struct hr_evaluation *evaluation, size_t least)
{
    char number[24];
    size_t width = least;
    for (size_t c = 0; c < evaluation->classes; c++)
        width = hr_max_size(width, strlen(hr_confusion_name(evaluation, (uint32_t)c, number)));
    return hr_min_size(width, NAME_MAX_SHOWN);
}

static void print_per_cent(FILE *out, int width, double share)
{
    if (isnan(share))
        fprintf(out, "  %*s", width, "-");
    else
        fprintf(out, "  %*.2f", width, 100 * share);
}

static void print_score(FILE *out, const struct hr_evaluation *evaluation, uint32_t class,
                        int names, const struct hr_class_score *score)
{
    fprintf(out, "%-*.*s  %7zu", names, names, shown(evaluation, class).text, score->samples);
    print_per_cent(out, 8, score->recall);
    print_per_cent(out, 11, score->precision);
}

static const char header[] = "samples  recall %  precision %";

/* Characters of a row before its cells. */
static size_t before_cells(size_t names)
{
    return names + 2 + strlen(header);
}

/* Characters of a column of the matrix, a blank before it. */
static size_t cell_width(const struct hr_evaluation *evaluation, const struct hr_cells *cells)
{
    char number[24];
    size_t width = name_width(evaluation, 2);
    for (size_t i = 0; i < cells->n; i++)
        width = hr_max_size(width,
                            (size_t)snprintf(number, sizeof number, "%zu", cells->cell[i].samples));
    return width + 1;
}

static void print_matrix(FILE *out, const struct hr_evaluation *evaluation,
                         const struct hr_cells *cells, struct hr_class_score *scores)
{
    const int names = (int)name_width(evaluation, 5), width = (int)cell_width(evaluation, cells);
    size_t at = 0;
    fprintf(out, "\n%*s  answered with\n%-*s  %s ", (int)before_cells((size_t)names), "", names,
            "class", header);
    for (uint32_t c = 0; c < evaluation->classes; c++)
        fprintf(out, "%*.*s", width, width - 1, shown(evaluation, c).text);
    fputc('\n', out);
    for (uint32_t label = 0; label < evaluation->classes; label++) {
        print_score(out, evaluation, label, names, &scores[label]);
        fputc(' ', out);
        for (uint32_t answer = 0; answer < evaluation->classes; answer++) {
            const bool here =
                at < cells->n && cells->cell[at].label == label && cells->cell[at].answer == answer;
            if (here)
                fprintf(out, "%*zu", width, cells->cell[at++].samples);
            else
                fprintf(out, "%*s", width, ".");
        }
        fputc('\n', out);
        while (at < cells->n && cells->cell[at].label == label) /* no answer */
            at++;
    }
}

/* The wrong answer that most samples of a class got; NULL: none. */
static const struct hr_cell *mostly_taken_for(const struct hr_cells *cells, uint32_t label)
{
    const struct hr_cell *most = NULL;
    for (size_t i = 0; i < cells->n; i++) {
        const struct hr_cell *cell = &cells->cell[i];
        if (cell->label == label && cell->answer != label &&
            (!most || cell->samples > most->samples))
            most = cell;
    }
    return most;
}

/* The class with the least recall that was not taken before: then its `samples` is 0. */
static uint32_t take_worst(const struct hr_evaluation *evaluation, struct hr_class_score *left)
{
    uint32_t worst = (uint32_t)evaluation->classes;
    for (uint32_t c = 0; c < evaluation->classes; c++)
        if (left[c].samples &&
            (worst == evaluation->classes || left[c].recall < left[worst].recall))
            worst = c;
    return worst;
}

static void print_worst(FILE *out, const struct hr_evaluation *evaluation,
                        const struct hr_cells *cells, struct hr_class_score *left)
{
    const int names = (int)name_width(evaluation, 5);
    fprintf(out, "\nthe least recall, of %zu classes\n%-*s  %s  mostly taken for\n",
            evaluation->classes, names, "class", header);
    for (size_t i = 0; i < WORST; i++) {
        const uint32_t c = take_worst(evaluation, left);
        if (c == evaluation->classes)
            return;
        const struct hr_cell *most = mostly_taken_for(cells, c);
        print_score(out, evaluation, c, names, &left[c]);
        if (most)
            fprintf(out, "  %.*s (%zu)", NAME_MAX_SHOWN, shown(evaluation, most->answer).text,
                    most->samples);
        fputc('\n', out);
        left[c].samples = 0;
    }
}

enum hr_status hr_confusion_print(FILE *out, const struct hr_evaluation *evaluation, size_t width)
{
    struct hr_cells cells;
    struct hr_class_score *scores = calloc(evaluation->classes, sizeof *scores);
    enum hr_status status = hr_confusion_count(evaluation, &cells);
    if (status == HR_OK && !scores)
        status = hr_fail(HR_E_NOMEM, "no memory for %zu classes", evaluation->classes);
    if (status == HR_OK) {
        hr_confusion_score(evaluation, scores);
        const size_t cell = cell_width(evaluation, &cells);
        const bool fits =
            evaluation->classes < width &&
            before_cells(name_width(evaluation, 5)) + 1 + evaluation->classes * cell <= width;
        (fits ? print_matrix : print_worst)(out, evaluation, &cells, scores);
    }
    free(cells.cell);
    free(scores);
    return status;
}

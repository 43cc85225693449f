/* Which classes a model takes for which: counted, as a matrix or a list, as JSON. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/json.h"
#include "session/class_scores.h"
#include "terminal/grid.h"

enum { NAME_MAX_SHOWN = 20, WORST = 10 };

/* --- counting --- */

/* So many samples of a class got an answer. */
struct cell {
    uint32_t label, answer;
    size_t samples;
};

/* Those that are not empty, by class, then by answer. */
struct cells {
    struct cell *cell;
    size_t n;
};

static int by_class(const void *a, const void *b)
{
    const struct cell *p = a, *q = b;
    if (p->label != q->label)
        return p->label < q->label ? -1 : 1;
    return (p->answer > q->answer) - (p->answer < q->answer);
}

/* The caller frees out->cell. */
HR_CHECKED static enum hr_status count_cells(const struct hr_evaluation *evaluation,
                                             struct cells *out)
{
    const size_t n = evaluation->count;
    struct cell *cell = calloc(n + 1, sizeof *cell);
    *out = (struct cells){.cell = cell};
    if (!cell)
        return hr_fail(HR_E_NOMEM, "no memory to count answers to %zu samples", n);
    for (size_t i = 0; i < n; i++)
        cell[i] = (struct cell){evaluation->labels[i], evaluation->answers[i], 1};
    qsort(cell, n, sizeof *cell, by_class);
    for (size_t i = 0; i < n; i++) {
        if (out->n == 0 || by_class(&cell[out->n - 1], &cell[i]) != 0)
            cell[out->n++] = (struct cell){cell[i].label, cell[i].answer, 0};
        cell[out->n - 1].samples++;
    }
    return HR_OK;
}

/* scores (classes) out */
static void score_classes(const struct hr_evaluation *evaluation, struct hr_class_score *scores)
{
    hr_class_scores(&(struct hr_answered){.count = evaluation->count,
                                          .classes = evaluation->classes,
                                          .labels = evaluation->labels,
                                          .answers = evaluation->answers},
                    scores);
}

/* --- text --- */

/* "cat", "7", "no answer" */
static const char *name_of(const struct hr_evaluation *evaluation, uint32_t class, char number[24])
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
    return hr_printable(name_of(evaluation, class, number));
}

static void write_per_cent(FILE *cells, double share)
{
    if (isnan(share))
        fputs("\t-", cells);
    else
        fprintf(cells, "\t%.2f", 100 * share);
}

static void write_score(FILE *cells, const struct hr_evaluation *evaluation, uint32_t class,
                        const struct hr_class_score *score)
{
    fprintf(cells, "%s\t%zu", shown(evaluation, class).text, score->samples);
    write_per_cent(cells, score->recall);
    write_per_cent(cells, score->precision);
}

static const char header[] = "-class\tsamples\trecall %\tprecision %";

/* The matrix; false: it is wider than that. */
static bool print_matrix(FILE *out, const struct hr_evaluation *evaluation,
                         const struct cells *cells, const struct hr_class_score *scores,
                         size_t width)
{
    const size_t n = evaluation->classes, before = 4;
    size_t at = 0;
    struct hr_grid grid;
    if (n + before > HR_GRID_COLUMNS)
        return false;
    hr_grid_begin(&grid, header);
    for (uint32_t c = 0; c < n; c++) {
        struct hr_printable name = shown(evaluation, c);
        name.text[NAME_MAX_SHOWN] = '\0';
        hr_grid_add(&grid, name.text);
    }
    grid.column[0].most = NAME_MAX_SHOWN;
    for (uint32_t label = 0; label < n; label++) {
        fputs(hr_yields(out, HR_ROW), grid.cells);
        write_score(grid.cells, evaluation, label, &scores[label]);
        for (uint32_t answer = 0; answer < n; answer++) {
            const bool here =
                at < cells->n && cells->cell[at].label == label && cells->cell[at].answer == answer;
            if (here)
                fprintf(grid.cells, "\t%zu", cells->cell[at++].samples);
            else
                fputs("\t.", grid.cells);
        }
        fputc('\n', grid.cells);
        while (at < cells->n && cells->cell[at].label == label) /* no answer */
            at++;
    }
    const bool fits = hr_grid_width(&grid) <= width;
    size_t indent = 0;
    for (size_t c = 0; c < before; c++)
        indent += grid.column[c].fit.width + 2;
    if (fits)
        fprintf(out, "\n%*spredicted\n", (int)indent, "");
    hr_grid_end(&grid, fits ? out : NULL, 0);
    return fits;
}

/* The wrong answer that most samples of a class got; NULL: none. */
static const struct cell *mostly_taken_for(const struct cells *cells, uint32_t label)
{
    const struct cell *most = NULL;
    for (size_t i = 0; i < cells->n; i++) {
        const struct cell *cell = &cells->cell[i];
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
                        const struct cells *cells, struct hr_class_score *left)
{
    struct hr_grid grid;
    fprintf(out, "\nlowest recall first, of %zu classes\n", evaluation->classes);
    hr_grid_begin(&grid, header);
    hr_grid_add(&grid, "-mostly taken for");
    grid.column[0].most = NAME_MAX_SHOWN;
    for (size_t i = 0; i < WORST; i++) {
        const uint32_t c = take_worst(evaluation, left);
        if (c == evaluation->classes)
            break;
        const struct cell *most = mostly_taken_for(cells, c);
        fputs(hr_yields(out, HR_ROW), grid.cells);
        write_score(grid.cells, evaluation, c, &left[c]);
        if (most)
            fprintf(grid.cells, "\t%.*s (%zu)", NAME_MAX_SHOWN,
                    shown(evaluation, most->answer).text, most->samples);
        fputc('\n', grid.cells);
        left[c].samples = 0;
    }
    hr_grid_end(&grid, out, 0);
}

enum hr_status hr_confusion_print(FILE *out, const struct hr_evaluation *evaluation, size_t width)
{
    struct cells cells;
    struct hr_class_score *scores = calloc(evaluation->classes, sizeof *scores);
    enum hr_status status = count_cells(evaluation, &cells);
    if (status == HR_OK && !scores)
        status = hr_fail(HR_E_NOMEM, "no memory for %zu classes", evaluation->classes);
    if (status == HR_OK) {
        score_classes(evaluation, scores);
        if (!print_matrix(out, evaluation, &cells, scores, width))
            print_worst(out, evaluation, &cells, scores);
    }
    free(cells.cell);
    free(scores);
    return status;
}

/* --- as JSON --- */

/* {"dog": 3, ...} of the cells of a class from *at on, but for the right answers. */
static json_t *taken_for(const struct hr_evaluation *evaluation, const struct cells *cells,
                         uint32_t label, size_t *at)
{
    char number[24];
    json_t *object = json_object();
    for (; *at < cells->n && cells->cell[*at].label == label; (*at)++) {
        const struct cell *cell = &cells->cell[*at];
        if (cell->answer != label &&
            hr_json_set_new(object, name_of(evaluation, cell->answer, number),
                            hr_json_count(cell->samples)) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *class_json(const struct hr_evaluation *evaluation, uint32_t label,
                          const struct hr_class_score *score, json_t *wrong)
{
    char number[24];
    return hr_json_object("name", HR_JSON(name_of(evaluation, label, number)),
                          HR_OF(score, samples), HR_OF(score, answers), HR_OF(score, recall),
                          HR_OF(score, precision), HR_OF(score, f1), "taken_for", wrong, NULL);
}

json_t *hr_json_classes(const struct hr_evaluation *evaluation)
{
    struct cells cells;
    struct hr_class_score *scores = calloc(evaluation->classes, sizeof *scores);
    json_t *array = count_cells(evaluation, &cells) == HR_OK && scores ? json_array() : NULL;
    size_t at = 0;
    if (array)
        score_classes(evaluation, scores);
    for (uint32_t c = 0; array && c < evaluation->classes; c++)
        hr_json_append(
            &array, class_json(evaluation, c, &scores[c], taken_for(evaluation, &cells, c, &at)));
    free(cells.cell);
    free(scores);
    return array;
}

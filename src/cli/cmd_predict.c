/* hogring predict - a model on new data. For programs CSV, npy and JSON; for people the first rows,
 * and how many of which class.
 *
 *     row,class,probability,cat,dog          a line a sample, rows from 1; a column each class
 *     1,cat,0.9312,0.9312,0.0688
 *     row,class,probability,class_2,probability_2       --top 2: the largest first
 *     row,class,score,...                    of models that give no probabilities
 *     row,rating                             of models that give values
 *
 * Texts with commas, quotes or line breaks are quoted as RFC 4180 has it. Where an output is not a
 * number the class is empty. A file is there as a whole or not at all. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "base/printable.h"
#include "base/size.h"
#include "base/text.h"
#include "cli/commands.h"
#include "formats/npy.h"
#include "hogring/predict.h"
#include "json/value.h"
#include "predict/meaning.h"
#include "report/human.h"
#include "terminal/grid.h"
#include "terminal/output.h"

/* --- for programs --- */

enum { BLOCK_ROWS = 1024 };

/* Of a sample, as a row of the file. */
static size_t number_of(const struct hr_prediction *p, size_t sample)
{
    return p->rows ? p->rows[sample] : sample + 1;
}

/* Has a row of the file what all outputs are? */
static bool has_all(const struct hr_prediction *p, size_t top)
{
    return p->kind == HR_PREDICT_VALUES || (!top && p->ncolumns == p->classes);
}

static const char *answer_word(const struct hr_prediction *p)
{
    return p->kind == HR_PREDICT_PROBABILITIES ? "probability" : "score";
}

/* What the answer's column holds; its score where there is a single one. */
static float confidence_of(const struct hr_prediction *p, size_t row)
{
    const float *columns = p->columns + row * p->ncolumns;
    if (p->answers[row] == UINT32_MAX)
        return NAN;
    return columns[p->ncolumns == 1 ? 0 : p->answers[row]];
}

/* --- CSV --- */

static void put_text(FILE *out, const char *text)
{
    const size_t length = strlen(text);
    const bool blank = !length || text[0] == ' ' || text[length - 1] == ' ';
    if (!blank && !strpbrk(text, ",\"\r\n\t;")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void put_number(FILE *out, float x)
{
    fprintf(out, ",%.7g", (double)x);
}

static void put_head(FILE *out, const struct hr_prediction *p, size_t top)
{
    fputs(p->files ? "row,file" : "row", out);
    if (p->kind != HR_PREDICT_VALUES)
        fprintf(out, ",class,%s", answer_word(p));
    for (size_t k = 2; k <= top; k++)
        fprintf(out, ",class_%zu,%s_%zu", k, answer_word(p), k);
    for (size_t c = 0; has_all(p, top) && c < p->ncolumns; c++) {
        fputc(',', out);
        put_text(out, p->names[c]);
    }
    fputc('\n', out);
}

static void put_pair(FILE *out, const char *class, float x)
{
    fputc(',', out);
    put_text(out, class);
    put_number(out, x);
}

static void put_answer(FILE *out, const struct hr_prediction *p, size_t row)
{
    if (p->answers[row] == UINT32_MAX)
        fputs(",,nan", out);
    else
        put_pair(out, p->class_names[p->answers[row]], confidence_of(p, row));
}

/* ranked (top): scratch */
static void put_row(FILE *out, const struct hr_prediction *p, size_t row, size_t top,
                    size_t *ranked)
{
    const float *columns = p->columns ? p->columns + row * p->ncolumns : NULL;
    fprintf(out, "%zu", number_of(p, row));
    if (p->files) {
        fputc(',', out);
        put_text(out, p->files[row]);
    }
    if (p->kind != HR_PREDICT_VALUES)
        put_answer(out, p, row);
    if (top)
        hr_meaning_rank(columns, p->ncolumns, top, ranked);
    for (size_t k = 1; k < top; k++)
        put_pair(out, p->names[ranked[k]], columns[ranked[k]]);
    for (size_t c = 0; p->columns && has_all(p, top) && c < p->ncolumns; c++)
        put_number(out, columns[c]);
    for (size_t c = 0; p->values && c < p->ncolumns; c++)
        fprintf(out, ",%s", hr_number_text(p->values[row * p->ncolumns + c]).text);
    fputc('\n', out);
}

static enum hr_status check_top(const struct hr_prediction *p, size_t top)
{
    if (!top || (p->ncolumns == p->classes && top <= p->classes))
        return HR_OK;
    if (p->ncolumns != p->classes)
        return hr_fail(HR_E_USAGE, "--top: is not supported for %s, which gives a single %s",
                       p->model, p->names[0]);
    return hr_fail(HR_E_USAGE, "--top %zu: expected at most %zu, the classes", top, p->classes);
}

/* Rows [first, end), with the head before the first. */
static enum hr_status put_block(FILE *out, const struct hr_prediction *p, size_t first, size_t end,
                                size_t top)
{
    size_t *ranked = malloc((top ? top : 1) * sizeof *ranked);
    if (!ranked)
        return hr_fail(HR_E_NOMEM, "no memory for %zu classes", top);
    if (first == 0)
        put_head(out, p, top);
    for (size_t row = first; row < end; row++)
        put_row(out, p, row, top, ranked);
    free(ranked);
    return HR_OK;
}

/* top 0: all classes. */
static enum hr_status print_csv(FILE *out, const struct hr_prediction *p, size_t top)
{
    HR_TRY(check_top(p, top));
    return put_block(out, p, 0, p->count, top);
}

/* Rows [first, ...) of a block, as text, into the file. */
static enum hr_status write_block(struct hr_file_writer *file, const struct hr_prediction *p,
                                  size_t first, size_t top)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream)
        return hr_fail(HR_E_NOMEM, "no memory for a table");
    enum hr_status status =
        put_block(stream, p, first, hr_min_size(first + BLOCK_ROWS, p->count), top);
    const bool torn = ferror(stream);
    if (fclose(stream) != 0 || torn)
        status = hr_fail(HR_E_NOMEM, "no memory for a table");
    if (status == HR_OK)
        status = hr_file_write(file, text, bytes);
    free(text);
    return status;
}

static enum hr_status write_csv(const char *path, const struct hr_prediction *p, size_t top)
{
    struct hr_file_writer file;
    HR_TRY(check_top(p, top));
    HR_TRY(hr_file_replace(&file, path, 0));
    enum hr_status status = HR_OK;
    for (size_t first = 0; status == HR_OK && first < p->count; first += BLOCK_ROWS)
        status = write_block(&file, p, first, top);
    if (status == HR_OK)
        return hr_file_finish(&file);
    hr_file_abandon(&file);
    return status;
}

/* As its name ends: .npy is (samples, columns) of float32, of values float64; all else CSV. */
static enum hr_status write_file(const char *path, const struct hr_prediction *p, size_t top)
{
    const bool npy = hr_path_ends_in(path, ".npy");
    if (npy && top)
        return hr_fail(HR_E_USAGE, "--top: is not supported for %s, which has all classes", path);
    if (!npy)
        return write_csv(path, p, top);
    const struct hr_npy matrix = p->values ? hr_npy_of_doubles(p->values, p->count, p->ncolumns)
                                           : hr_npy_of_floats(p->columns, p->count, p->ncolumns);
    return hr_npy_write(path, &matrix);
}

/* --- for people --- */

enum { ROWS = 10, CLASSES = 10, BOTH = 13, NEXT = 2, FILE_NAME = 24 };

/* Of a class, by its answers: */
struct class_summary {
    size_t class, samples;
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
        const double confidence = (double)confidence_of(p, i);
        struct class_summary *class = &classes[p->answers[i]];
        class->samples++;
        class->mean_confidence += confidence;
        sum += confidence;
        answered++;
    }
    for (size_t c = 0; c < p->classes; c++) {
        classes[c].class = c;
        classes[c].mean_confidence /= (double)classes[c].samples;
    }
    *unanswered = p->count - answered;
    return sum / (double)answered;
}

/* --- the first rows --- */

static void print_classes_rows(FILE *out, const struct hr_prediction *p, size_t rows, size_t width)
{
    const size_t next =
        p->ncolumns != p->classes || p->files ? 0 : hr_min_size(p->ncolumns - 1, NEXT);
    size_t ranked[NEXT + 1];
    char heads[64];
    struct hr_grid grid;
    snprintf(heads, sizeof heads, "row\t-file\t-class\t%s\t-next\t\t-\t", answer_word(p));
    hr_grid_begin(&grid, heads);
    for (size_t i = 0; i < rows; i++) {
        const uint32_t answer = p->answers[i];
        const char *file = p->files ? p->files[i] : "";
        const size_t length = strlen(file);
        fprintf(grid.cells, "%zu\t%s\t", number_of(p, i), /* of a picture, the end of its path */
                hr_printable(file + (length > FILE_NAME ? length - FILE_NAME : 0)).text);
        fprintf(grid.cells, "%s\t%.4f",
                answer == UINT32_MAX ? "-" : hr_printable(p->class_names[answer]).text,
                (double)confidence_of(p, i));
        if (answer != UINT32_MAX && next)
            hr_meaning_rank(p->columns + i * p->ncolumns, p->ncolumns, next + 1, ranked);
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

/* So that the first rows of a column differ where their values do. */
static int digits_of_column(const struct hr_prediction *p, size_t rows, size_t column)
{
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (size_t i = 0; i < rows; i++) {
        least = fmin(least, p->values[i * p->ncolumns + column]);
        most = fmax(most, p->values[i * p->ncolumns + column]);
    }
    return hr_digits_of(fmax(fabs(least), fabs(most)), most - least);
}

/* As many columns as there is room for. */
static void print_value_rows(FILE *out, const struct hr_prediction *p, size_t rows, size_t width)
{
    enum { VALUE = 14 };
    const size_t fit = width > 7 + VALUE ? (width - 7) / VALUE : 1;
    const size_t columns = hr_min_size(hr_min_size(p->ncolumns, fit), HR_GRID_COLUMNS - 1);
    struct hr_grid grid;
    hr_grid_begin(&grid, "row");
    for (size_t c = 0; c < columns; c++) {
        struct hr_printable name = hr_printable(p->names[c]);
        name.text[VALUE - 1] = '\0';
        hr_grid_add(&grid, name.text);
    }
    for (size_t i = 0; i < rows; i++) {
        fprintf(grid.cells, "%zu", number_of(p, i));
        for (size_t c = 0; c < columns; c++)
            fprintf(grid.cells, "\t%.*g", digits_of_column(p, rows, c),
                    p->values[i * p->ncolumns + c]);
        fputc('\n', grid.cells);
    }
    hr_grid_end(&grid, out, 0);
}

/* --- how many of which class --- */

static int by_samples(const void *a, const void *b)
{
    const struct class_summary *x = a, *y = b;
    if (x->samples != y->samples)
        return x->samples < y->samples ? 1 : -1;
    return x->class < y->class ? -1 : 1;
}

static void print_counts(FILE *out, const struct hr_prediction *p, struct class_summary *classes,
                         size_t width)
{
    const size_t shown = p->classes < CLASSES ? p->classes : CLASSES;
    struct hr_grid grid;
    char number[HR_HUMAN_MAX], heads[64];
    if (shown < p->classes)
        qsort(classes, p->classes, sizeof *classes, by_samples);
    snprintf(heads, sizeof heads, "-class\tsamples\tmean %s", answer_word(p));
    hr_grid_begin(&grid, heads);
    for (size_t i = 0; i < shown; i++) {
        const struct class_summary *class = &classes[i];
        fprintf(grid.cells, "%s\t%s\t", hr_printable(p->class_names[class->class]).text,
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
    size_t unanswered;
    if (!classes)
        return hr_fail(HR_E_NOMEM, "no memory for %zu classes", p->classes);
    summarize(p, classes, &unanswered);
    print_counts(out, p, classes, width);
    if (unanswered)
        fprintf(out, "%zu have no answer: an output is not a number\n", unanswered);
    free(classes);
    return HR_OK;
}

/* Within `width` columns; rest: where all rows are, as "--out FILE.csv writes all". */
static enum hr_status print_tables(FILE *out, const struct hr_prediction *p, const char *data,
                                   size_t width, const char *rest)
{
    const size_t classes = p->kind == HR_PREDICT_VALUES ? 0 : hr_min_size(p->classes, CLASSES);
    const size_t rows = hr_min_size(p->count, hr_min_size(ROWS, BOTH - classes));
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
        fprintf(out, "%7s  and %s more: %s\n", "...", hr_human_count(number, p->count - rows),
                rest);
    return p->kind == HR_PREDICT_VALUES ? HR_OK : print_summary(out, p, width);
}

/* --- JSON --- */

static json_t *value_json(const void *of, size_t column)
{
    const struct hr_prediction *p = of;
    double sum = 0, least = HUGE_VAL, most = -HUGE_VAL;
    for (size_t i = 0; i < p->count; i++) {
        const double x = p->values[i * p->ncolumns + column];
        sum += x - p->values[column];
        least = x < least ? x : least;
        most = x > most ? x : most;
    }
    return hr_json_object("name", HR_JSON(p->names[column]), "mean",
                          HR_JSON(p->values[column] + sum / (double)p->count), "min",
                          HR_JSON(least), "max", HR_JSON(most), NULL);
}

/* mean, unanswered: out */
static json_t *classes_json(const struct hr_prediction *p, double *mean, size_t *unanswered)
{
    struct class_summary *classes = malloc(p->classes * sizeof *classes);
    json_t *array = classes ? json_array() : NULL;
    if (classes)
        *mean = summarize(p, classes, unanswered);
    for (size_t c = 0; array && c < p->classes; c++)
        hr_json_append(&array, hr_json_object("name", HR_JSON(p->class_names[c]),
                                              HR_OF(&classes[c], samples),
                                              HR_OF(&classes[c], mean_confidence), NULL));
    free(classes);
    return array;
}

/* {"checkpoint", "model", "data", "kind", "samples", "classes": [{"name", "samples",
 * "mean_confidence"}], "mean_confidence", "unanswered"}; kind "values" has "values": [{"name",
 * "mean", "min", "max"}] in place of the last three. NULL: no memory. */
static json_t *prediction_json(const struct hr_prediction *p, const char *data)
{
    static const char *const kinds[] = {"probabilities", "scores", "values"};
    json_t *document =
        hr_json_object(HR_OF(p, checkpoint), HR_OF(p, model), "data", HR_JSON(data), "kind",
                       HR_JSON(kinds[p->kind]), "samples", HR_JSON(p->count), NULL);
    json_t *more;
    double mean = (double)NAN;
    size_t unanswered = 0;
    if (p->kind == HR_PREDICT_VALUES) {
        more = hr_json_object("values", hr_json_list(p->ncolumns, value_json, p), NULL);
    } else {
        json_t *classes = classes_json(p, &mean, &unanswered);
        more = hr_json_object("classes", classes, "mean_confidence", HR_JSON(mean), "unanswered",
                              HR_JSON(unanswered), NULL);
    }
    if (!document || !more || json_object_update(document, more) != 0) {
        json_decref(document);
        document = NULL;
    }
    json_decref(more);
    return document;
}

/* --- the command --- */

enum { WIDTH = 80 };

static bool is_stdout(const char *path)
{
    return !strcmp(path, "-");
}

static enum hr_status check(const struct hr_cli *cli)
{
    if (cli->npositional != 1)
        return hr_fail(HR_E_USAGE, "predict: which checkpoint? (hogring predict DIR --data NEW)");
    if (!hr_cli_was_given(cli, "data"))
        return hr_fail(HR_E_USAGE, "predict: of which samples? --data NEW.csv");
    if (cli->out[0] && !is_stdout(cli->out) && !hr_path_ends_in(cli->out, ".csv") &&
        !hr_path_ends_in(cli->out, ".npy"))
        return hr_fail(HR_E_USAGE, "--out %s: expected a name that ends in .csv or .npy, or -",
                       cli->out);
    if (is_stdout(cli->out) && is_stdout(cli->json))
        return hr_fail(HR_E_USAGE, "--out - and --json -: there is one stdout, expected a file for "
                                   "one of them");
    return HR_OK;
}

/* On a terminal the first rows; a pipe or a file gets all. */
static enum hr_status print(const struct hr_cli *cli, const struct hr_prediction *prediction)
{
    char rest[1100];
    if (is_stdout(cli->json))
        return HR_OK;
    if (is_stdout(cli->out) || (!cli->out[0] && !isatty(STDOUT_FILENO)))
        return print_csv(stdout, prediction, cli->top_classes);
    snprintf(rest, sizeof rest, cli->out[0] ? "%s" : "--out FILE.csv writes all%.0s", cli->out);
    return print_tables(stdout, prediction, cli->data,
                        hr_output_width() ? hr_output_width() : WIDTH, rest);
}

static enum hr_status report(const struct hr_cli *cli, const struct hr_prediction *prediction)
{
    if (cli->out[0] && !is_stdout(cli->out))
        HR_TRY(write_file(cli->out, prediction, cli->top_classes));
    if (cli->json[0])
        HR_TRY(hr_json_write(cli->json, prediction_json(prediction, cli->data)));
    return print(cli, prediction);
}

static enum hr_status predict(struct hr_cli *cli)
{
    struct hr_prediction prediction;
    const struct hr_predict_options options = {
        .layers = hr_cli_was_given(cli, "model") ? cli->train.model : NULL,
        .data = cli->data_options,
    };
    HR_TRY(check(cli));
    HR_TRY(hr_predict(cli->positional[0], cli->data, &options, &prediction));
    const enum hr_status status = report(cli, &prediction);
    hr_prediction_free(&prediction);
    return status;
}

static int run(struct hr_cli *cli)
{
    const enum hr_status status = predict(cli);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}

const struct hr_command hr_command_predict = {
    .name = "predict",
    .summary = "use a checkpoint's model on new data",
    .bit = HR_PREDICT,
    .usage = "CHECKPOINT|FILE.safetensors --data NEW [OPTIONS]",
    .story =
        "NEW needs no labels: CSV (columns are found by name, others are ignored), libsvm, npy\n"
        "(X alone), an IDX file of images, a PNG or JPEG file or a folder of them (resized to\n"
        "the model's input). If NEW is a data set with a test split, that is predicted. Inputs\n"
        "are scaled and normalised as in training. A terminal shows the first rows; a pipe, or\n"
        "--out, gets all: row (from 1), file of a picture, class, its probability, and the\n"
        "probabilities of all classes.\n",
    .examples = "  hogring predict runs/iris --data new.csv\n"
                "  hogring predict runs/iris --data new.csv --out answers.csv\n"
                "  hogring predict runs/pets --data holiday/ --out pets.csv\n"
                "  hogring predict runs/mlp --data X.npy --out probabilities.npy\n"
                "  hogring predict runs/cnn --data fashion-mnist --top 3 | head\n",
    .run = run,
};

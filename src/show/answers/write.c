#include "answers/write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/npy_writer.h"

enum { BLOCK_ROWS = 1024 };

static const char *answer_word(const struct hr_prediction *p)
{
    return p->kind == HR_PREDICT_PROBABILITIES ? "probability" : "score";
}

float hr_prediction_confidence(const struct hr_prediction *p, size_t row)
{
    const float *columns = p->columns + row * p->ncolumns;
    if (p->answers[row] == UINT32_MAX)
        return NAN;
    return columns[p->ncolumns == 1 ? 0 : p->answers[row]];
}

static bool is_before(float a, float b)
{
    return isnan(b) ? !isnan(a) : a > b;
}

void hr_prediction_rank(const struct hr_prediction *p, size_t row, size_t n, size_t *ranked)
{
    const float *x = p->columns + row * p->ncolumns;
    size_t have = 0;
    for (size_t c = 0; c < p->ncolumns; c++) {
        size_t at = have;
        while (at > 0 && is_before(x[c], x[ranked[at - 1]]))
            at--;
        if (at == n)
            continue;
        have += have < n;
        memmove(&ranked[at + 1], &ranked[at], (have - at - 1) * sizeof *ranked);
        ranked[at] = c;
    }
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
    const bool all = p->kind == HR_PREDICT_VALUES || (!top && p->ncolumns == p->classes);
    for (size_t c = 0; all && c < p->ncolumns; c++) {
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
        put_pair(out, p->class_names[p->answers[row]], hr_prediction_confidence(p, row));
}

/* ranked (top): scratch */
static void put_row(FILE *out, const struct hr_prediction *p, size_t row, size_t top,
                    size_t *ranked)
{
    const float *columns = p->columns + row * p->ncolumns;
    fprintf(out, "%zu", row + 1);
    if (p->files) {
        fputc(',', out);
        put_text(out, p->files[row]);
    }
    if (p->kind != HR_PREDICT_VALUES)
        put_answer(out, p, row);
    if (top)
        hr_prediction_rank(p, row, top, ranked);
    for (size_t k = 1; k < top; k++)
        put_pair(out, p->names[ranked[k]], columns[ranked[k]]);
    const bool all = p->kind == HR_PREDICT_VALUES || (!top && p->ncolumns == p->classes);
    for (size_t c = 0; all && c < p->ncolumns; c++)
        put_number(out, columns[c]);
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

enum hr_status hr_prediction_print_csv(FILE *out, const struct hr_prediction *p, size_t top)
{
    HR_TRY(check_top(p, top));
    return put_block(out, p, 0, p->count, top);
}

/* A block as text; free(*text). */
static enum hr_status block_text(const struct hr_prediction *p, size_t first, size_t top,
                                 char **text, size_t *bytes)
{
    const size_t end = first + BLOCK_ROWS < p->count ? first + BLOCK_ROWS : p->count;
    FILE *stream = open_memstream(text, bytes);
    if (!stream)
        return hr_fail(HR_E_NOMEM, "no memory for a table");
    const enum hr_status status = put_block(stream, p, first, end, top);
    const bool good = !ferror(stream);
    return fclose(stream) == 0 && good ? status : hr_fail(HR_E_NOMEM, "no memory for a table");
}

static enum hr_status write_blocks(struct hr_file_writer *file, const struct hr_prediction *p,
                                   size_t top)
{
    for (size_t first = 0; first < p->count; first += BLOCK_ROWS) {
        char *text = NULL;
        size_t bytes = 0;
        enum hr_status status = block_text(p, first, top, &text, &bytes);
        if (status == HR_OK)
            status = hr_file_write(file, text, bytes);
        free(text);
        HR_TRY(status);
    }
    return HR_OK;
}

static enum hr_status write_csv(const char *path, const struct hr_prediction *p, size_t top)
{
    struct hr_file_writer file;
    HR_TRY(check_top(p, top));
    HR_TRY(hr_file_replace(&file, path, 0));
    const enum hr_status status = write_blocks(&file, p, top);
    if (status == HR_OK)
        return hr_file_finish(&file);
    hr_file_abandon(&file);
    return status;
}

enum hr_status hr_prediction_write(const char *path, const struct hr_prediction *p, size_t top)
{
    const size_t length = strlen(path);
    const bool npy = length > 4 && !strcmp(path + length - 4, ".npy");
    if (npy && top)
        return hr_fail(HR_E_USAGE, "--top: is not supported for %s, which has all classes", path);
    return npy ? hr_npy_write(path, p->columns, p->count, p->ncolumns) : write_csv(path, p, top);
}

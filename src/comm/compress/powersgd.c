#include "compress/powersgd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/philox.h"
#include "compress/compress.h"

enum { LANES = 16 };
static const float LEAST_LEFT = 1e-6f; /* of a squared norm: a thousandth */

static bool take(const char *text, struct hr_compress *to)
{
    uint64_t rank;
    if (!hr_parse_count(text, &rank) || rank < 1 || rank > HR_COMPRESS_MAX_RANK)
        return false;
    to->rank = rank;
    return true;
}

const struct hr_compressor hr_compressor_powersgd = {
    .name = "powersgd",
    .example = "powersgd:2",
    .take = take,
};

/* --- which tensors --- */

enum hr_status hr_factors_begin(struct hr_factors *f, size_t rank, size_t tensors, uint64_t seed)
{
    *f = (struct hr_factors){
        .rank = rank, .seed = seed, .tensor = calloc(tensors ? tensors : 1, sizeof *f->tensor)};
    return f->tensor ? HR_OK
                     : hr_fail(HR_E_NOMEM, "no memory for the factors of %zu tensors", tensors);
}

void hr_factors_add(struct hr_factors *f, size_t begin, size_t rows, size_t columns)
{
    const bool smaller = columns && f->rank * (rows + columns) < rows * columns;
    struct hr_factored *tensor = &f->tensor[f->n++];
    *tensor = (struct hr_factored){begin, rows, columns, f->p_floats, f->q_floats};
    if (!smaller) {
        tensor->rows = columns ? rows * columns : rows;
        tensor->columns = 0;
    }
    f->p_floats += smaller ? f->rank * rows : tensor->rows;
    f->q_floats += smaller ? f->rank * columns : 0;
}

void hr_factors_fini(struct hr_factors *f)
{
    free(f->tensor);
    *f = (struct hr_factors){0};
}

/* --- sums in a fixed order --- */

static float dot(const float *x, const float *y, size_t n)
{
    float lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            lane[l] += x[i + l] * y[i + l];
    for (size_t l = 0; i < n; i++, l++)
        lane[l] += x[i] * y[i];
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

static void axpy(float *y, float a, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* --- the four steps --- */

static bool is_zero(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0)
            return false;
    return true;
}

/* Between -1 and 1. */
static void draw(const struct hr_factors *f, size_t tensor, size_t column, float *q, size_t n)
{
    const uint32_t sequence = (uint32_t)(tensor * HR_COMPRESS_MAX_RANK + column);
    for (size_t i = 0; i < n; i++) {
        const struct hr_philox block =
            hr_random_block(f->seed, HR_STREAM_FACTORS_OF_GRADIENTS, i / 4, sequence);
        q[i] = 2 * hr_random_unit(block.v[i % 4]) - 1;
    }
}

static void left(const struct hr_factors *f, size_t t, const float *m, float *q, float *p)
{
    const struct hr_factored *tensor = &f->tensor[t];
    const size_t rows = tensor->rows, columns = tensor->columns;
    for (size_t j = 0; j < f->rank; j++) {
        if (is_zero(q + j * columns, columns))
            draw(f, t, j, q + j * columns, columns);
        for (size_t i = 0; i < rows; i++)
            p[j * rows + i] = dot(m + i * columns, q + j * columns, columns);
    }
}

void hr_factors_left(const struct hr_factors *f, const float *x, float *error, float *q, float *p)
{
    for (size_t t = 0; t < f->n; t++) {
        const struct hr_factored *tensor = &f->tensor[t];
        const float *from = x + tensor->begin;
        float *due = error + tensor->begin;
        if (!tensor->columns) {
            memcpy(p + tensor->p, from, tensor->rows * sizeof *p);
            continue;
        }
        for (size_t i = 0; i < tensor->rows * tensor->columns; i++)
            due[i] += from[i];
        left(f, t, due, q + tensor->q, p + tensor->p);
    }
}

/* What scales a column of that squared norm to length 1, when it was `whole` before. */
static float to_length_one(float left_over, float whole)
{
    if (left_over != left_over)
        return left_over; /* NaN: the run has diverged */
    return left_over > LEAST_LEFT * whole ? 1 / sqrtf(left_over) : 0;
}

/* The column behind `before` others becomes one of length 1, at right angles to them. */
static void make_normal(float *p, size_t rows, size_t before)
{
    float *column = p + before * rows;
    const float whole = dot(column, column, rows);
    for (size_t k = 0; k < before; k++)
        axpy(column, -dot(column, p + k * rows, rows), p + k * rows, rows);
    const float scale = to_length_one(dot(column, column, rows), whole);
    for (size_t i = 0; i < rows; i++)
        column[i] *= scale;
}

void hr_factors_orthogonalise(const struct hr_factors *f, float *p)
{
    for (size_t t = 0; t < f->n; t++)
        for (size_t j = 0; f->tensor[t].columns && j < f->rank; j++)
            make_normal(p + f->tensor[t].p, f->tensor[t].rows, j);
}

void hr_factors_right(const struct hr_factors *f, const float *error, const float *p, float *q)
{
    memset(q, 0, f->q_floats * sizeof *q);
    for (size_t t = 0; t < f->n; t++) {
        const struct hr_factored *tensor = &f->tensor[t];
        const size_t rows = tensor->rows, columns = tensor->columns;
        for (size_t i = 0; columns && i < rows; i++)
            for (size_t j = 0; j < f->rank; j++)
                axpy(q + tensor->q + j * columns, p[tensor->p + j * rows + i],
                     error + tensor->begin + i * columns, columns);
    }
}

/* A row of P Q': its own sum for each column, over the rank in order. */
static void finish_row(const struct hr_factors *f, const struct hr_factored *tensor, size_t row,
                       const float *p, const float *q, float *x)
{
    const size_t columns = tensor->columns;
    memset(x, 0, columns * sizeof *x);
    for (size_t j = 0; j < f->rank; j++)
        axpy(x, p[tensor->p + j * tensor->rows + row], q + tensor->q + j * columns, columns);
}

void hr_factors_finish(const struct hr_factors *f, const float *p, const float *q, size_t ranks,
                       float *x, float *error)
{
    const float mine = 1.0f / (float)ranks;
    for (size_t t = 0; t < f->n; t++) {
        const struct hr_factored *tensor = &f->tensor[t];
        if (!tensor->columns)
            memcpy(x + tensor->begin, p + tensor->p, tensor->rows * sizeof *x);
        for (size_t i = 0; tensor->columns && i < tensor->rows; i++) {
            const size_t at = tensor->begin + i * tensor->columns;
            finish_row(f, tensor, i, p, q, x + at);
            axpy(error + at, -mine, x + at, tensor->columns);
        }
    }
}

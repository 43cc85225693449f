/* Along one axis, output i is a weighted sum of inputs begin[i] .. begin[i] + count[i] - 1. */
#include "images/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BITS = 32 - 8 - 2 };

/* One axis. */
struct weights {
    size_t outputs, most;  /* inputs of one output, at most */
    size_t *begin, *count; /* (outputs) */
    int32_t *of;           /* (outputs, most) */
    double *exact;         /* (most) */
};

static void forget(struct weights *w)
{
    free(w->begin), free(w->count), free(w->of), free(w->exact);
}

static double triangle(double x)
{
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

/* The terms, and their order, are Pillow's: so are the bits. */
static void weigh(struct weights *w, size_t i, size_t inputs, double scale)
{
    const double wide = scale < 1 ? 1 : scale, centre = ((double)i + 0.5) * scale;
    const double first = centre - wide + 0.5, last = centre + wide + 0.5;
    const size_t begin = first < 0 ? 0 : (size_t)first;
    const size_t end = last > (double)inputs ? inputs : (size_t)last;
    double sum = 0;
    w->begin[i] = begin;
    w->count[i] = end - begin;
    for (size_t k = 0; k < w->count[i]; k++)
        sum += w->exact[k] = triangle(((double)(begin + k) - centre + 0.5) * (1 / wide));
    for (size_t k = 0; k < w->count[i]; k++) {
        const double share = sum > 0 ? w->exact[k] / sum : w->exact[k];
        w->of[i * w->most + k] = (int32_t)(0.5 + share * (1 << BITS));
    }
}

static enum hr_status make_weights(size_t inputs, size_t outputs, struct weights *w)
{
    const double scale = (double)inputs / (double)outputs;
    *w = (struct weights){.outputs = outputs, .most = (size_t)ceil(scale < 1 ? 1 : scale) * 2 + 1};
    w->begin = calloc(outputs, sizeof *w->begin);
    w->count = calloc(outputs, sizeof *w->count);
    w->of = calloc(outputs, w->most * sizeof *w->of);
    w->exact = calloc(w->most, sizeof *w->exact);
    if (!w->begin || !w->count || !w->of || !w->exact)
        return hr_fail(HR_E_NOMEM, "no memory to resize %zu pixels to %zu", inputs, outputs);
    for (size_t i = 0; i < outputs; i++)
        weigh(w, i, inputs, scale);
    return HR_OK;
}

static uint8_t to_byte(int32_t sum)
{
    const int32_t value = sum >> BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* Output i of a line of inputs that are `step` apart. */
static uint8_t sum_of(const struct weights *w, size_t i, const uint8_t *line, size_t step)
{
    const int32_t *weight = w->of + i * w->most;
    const uint8_t *at = line + w->begin[i] * step;
    int32_t sum = 1 << (BITS - 1);
    for (size_t k = 0; k < w->count[i]; k++)
        sum += at[k * step] * weight[k];
    return to_byte(sum);
}

static void along_rows(const struct hr_resize *r, const struct weights *w, const uint8_t *from,
                       uint8_t *to)
{
    const size_t C = r->channels;
    for (size_t y = 0; y < r->from_height; y++, from += r->from_width * C)
        for (size_t i = 0; i < r->to_width; i++)
            for (size_t c = 0; c < C; c++)
                *to++ = sum_of(w, i, from + c, C);
}

static void along_columns(const struct hr_resize *r, const struct weights *w, const uint8_t *from,
                          uint8_t *to)
{
    const size_t row = r->to_width * r->channels;
    for (size_t i = 0; i < r->to_height; i++)
        for (size_t x = 0; x < row; x++)
            *to++ = sum_of(w, i, from + x, row);
}

size_t hr_resize_middle(const struct hr_resize *r)
{
    return r->from_height * r->to_width * r->channels;
}

enum hr_status hr_resize(const struct hr_resize *r, const uint8_t *from, uint8_t *middle,
                         uint8_t *to)
{
    struct weights rows = {0}, columns = {0};
    enum hr_status status;
    HR_TRY_GOTO(make_weights(r->from_width, r->to_width, &rows), status, out);
    HR_TRY_GOTO(make_weights(r->from_height, r->to_height, &columns), status, out);
    if (r->from_width == r->to_width)
        middle = memcpy(middle, from, hr_resize_middle(r));
    else
        along_rows(r, &rows, from, middle);
    if (r->from_height == r->to_height)
        memcpy(to, middle, r->to_height * r->to_width * r->channels);
    else
        along_columns(r, &columns, middle, to);
out:
    forget(&rows);
    forget(&columns);
    return status;
}

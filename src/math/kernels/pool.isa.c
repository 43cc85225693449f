/* Pooling, compiled once for each instruction set (see base/isa.h): window by window, a vector of
 * channels at a time, the window's places innermost, so that what is kept stays in registers. */
#include "kernels/pool.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/simd.h"

static inline vec choose(bits mask, vec yes, vec no)
{
    return (vec)((mask & (bits)yes) | (~mask & (bits)no));
}

/* The part of a window that lies on the image, along one side: places [from, to), the first at
 * `first`. */
struct span {
    size_t from, to, first;
};

static struct span span_of(size_t position, size_t size, size_t length, size_t stride, size_t pad)
{
    const size_t begin = position * stride; /* counted from the padding's edge */
    const size_t from = begin < pad ? pad - begin : 0;
    const size_t room = begin < size + pad ? size + pad - begin : 0;
    const size_t to = length < room ? length : room;
    return (struct span){from < to ? from : to, to, begin + from - pad};
}

/* One window, without the padding. */
struct window {
    size_t pixel;         /* of y */
    size_t at;            /* floats before the first channel of its first pixel */
    size_t first, wide;   /* number of its first place; places in a row, with padding */
    size_t rows, columns; /* of the window that there are */
    size_t row, step;     /* floats from a row of the image to the next, from a pixel to the next */
};

struct work {
    size_t C, step;
    const float *x, *y, *dy;
    float *out;
    uint8_t *place;
    const uint8_t *chosen;
    float area;
    bool apart; /* no two windows touch */
};

typedef void (*window_fn)(const struct work *work, const struct window *window);

/* Call fn for each window, row by row. */
static inline __attribute__((always_inline)) void for_each_window(const struct hr_sliding *s,
                                                                  size_t x_row,
                                                                  const struct work *work,
                                                                  window_fn fn)
{
    const struct hr_window *w = &s->window;
    struct window window = {.wide = w->width, .row = x_row, .step = s->step};
    for (size_t oy = 0; oy < s->OH; oy++) {
        const struct span rows = span_of(oy, s->H, w->height, w->stride, w->pad);
        for (size_t ox = 0; ox < s->OW; ox++, window.pixel++) {
            const struct span columns = span_of(ox, s->W, w->width, w->stride, w->pad);
            window.at = rows.first * x_row + columns.first * s->step;
            window.first = rows.from * w->width + columns.from;
            window.rows = rows.to - rows.from;
            window.columns = columns.to - columns.from;
            fn(work, &window);
        }
    }
}

/* The channels from c on, as many as a vector has, of a window of rows x columns. */
typedef void (*block_fn)(const struct work *work, const struct window *window, size_t c,
                         size_t rows, size_t columns);

/* All blocks of a window. Nearly all pools are whole 2x2: their loops are unrolled. */
static inline __attribute__((always_inline)) void for_each_block(const struct work *work,
                                                                 const struct window *window,
                                                                 block_fn block)
{
    if (window->rows == 2 && window->columns == 2)
        for (size_t c = 0; c < work->C; c += LANES)
            block(work, window, c, 2, 2);
    else
        for (size_t c = 0; c < work->C; c += LANES)
            block(work, window, c, window->rows, window->columns);
}

/* --- largest --- */

static inline __attribute__((always_inline)) void max_block(const struct work *work,
                                                            const struct window *window, size_t c,
                                                            size_t rows, size_t columns)
{
    const size_t count = work->C - c;
    const float *x = work->x + window->at + c;
    vec best = (vec){0} - INFINITY;
    bits place = (bits){0} + (int32_t)window->first;
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < columns; k++) {
            const vec value = load_part(x + r * window->row + k * window->step, count);
            const bits better = (value > best) | (value != value); /* no number: it stays */
            const bits number = (bits){0} + (int32_t)(window->first + r * window->wide + k);
            best = choose(better, value, best);
            place = (better & number) | (~better & place);
        }
    store_part(work->out + window->pixel * work->step + c, best, count);
    if (work->place)
        store_bytes(work->place + window->pixel * work->step + c, place, count);
}

static inline void max_window(const struct work *work, const struct window *window)
{
    for_each_block(work, window, max_block);
}

static void max(const struct hr_sliding *s, const float *x, float *y, uint8_t *place)
{
    const struct work work = {.C = s->C, .step = s->step, .x = x, .out = y, .place = place};
    for_each_window(s, s->W * s->step, &work, max_window);
}

static inline __attribute__((always_inline)) void max_back_block(const struct work *work,
                                                                 const struct window *window,
                                                                 size_t c, size_t rows,
                                                                 size_t columns)
{
    const size_t count = work->C - c, at = window->pixel * work->step + c;
    const bits place = load_bytes(work->chosen + at, count);
    vec d = load_part(work->dy + at, count);
    if (work->y)
        d = (vec)((bits)d & ~(bits)(load_part(work->y + at, count) <= 0.0f));
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < columns; k++) {
            float *dx = work->out + window->at + r * window->row + k * window->step + c;
            const bits number = (bits){0} + (int32_t)(window->first + r * window->wide + k);
            const vec share = (vec)((place == number) & (bits)d);
            store_part(dx, work->apart ? share : load_part(dx, count) + share, count);
        }
}

static inline void max_back_window(const struct work *work, const struct window *window)
{
    for_each_block(work, window, max_back_block);
}

static void zero_rows(const struct hr_sliding *s, float *dx, size_t x_row)
{
    const size_t strips = s->step == s->C ? 1 : s->W, length = s->W * s->C / strips;
    for (size_t r = 0; r < s->H; r++)
        for (size_t i = 0; i < strips; i++)
            memset(dx + r * x_row + i * s->step, 0, length * sizeof *dx);
}

static void max_back(const struct hr_sliding *s, const float *y, const float *dy,
                     const uint8_t *place, float *dx, size_t x_row)
{
    const struct hr_window *w = &s->window;
    struct work work = {.C = s->C, .step = s->step, .y = y, .dy = dy, .out = dx, .chosen = place};
    work.apart = w->stride >= w->height && w->stride >= w->width;
    const bool covered = w->pad == 0 && w->height == w->stride && w->width == w->stride &&
                         s->H == s->OH * w->stride && s->W == s->OW * w->stride;
    if (!covered)
        zero_rows(s, dx, x_row);
    for_each_window(s, x_row, &work, max_back_window);
}

/* --- mean --- */

static inline __attribute__((always_inline)) void mean_block(const struct work *work,
                                                             const struct window *window, size_t c,
                                                             size_t rows, size_t columns)
{
    const size_t count = work->C - c;
    const float *x = work->x + window->at + c;
    vec sum = {0};
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < columns; k++)
            sum += load_part(x + r * window->row + k * window->step, count);
    store_part(work->out + window->pixel * work->step + c, sum / work->area, count);
}

static inline void mean_window(const struct work *work, const struct window *window)
{
    for_each_block(work, window, mean_block);
}

static void mean(const struct hr_sliding *s, const float *x, float *y)
{
    const struct work work = {.C = s->C,
                              .step = s->step,
                              .x = x,
                              .out = y,
                              .area = (float)(s->window.height * s->window.width)};
    for_each_window(s, s->W * s->step, &work, mean_window);
}

static inline __attribute__((always_inline)) void mean_back_block(const struct work *work,
                                                                  const struct window *window,
                                                                  size_t c, size_t rows,
                                                                  size_t columns)
{
    const size_t count = work->C - c;
    const vec share = load_part(work->dy + window->pixel * work->step + c, count) / work->area;
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < columns; k++) {
            float *dx = work->out + window->at + r * window->row + k * window->step + c;
            store_part(dx, load_part(dx, count) + share, count);
        }
}

static inline void mean_back_window(const struct work *work, const struct window *window)
{
    for_each_block(work, window, mean_back_block);
}

static void mean_back(const struct hr_sliding *s, const float *dy, float *dx)
{
    const struct work work = {.C = s->C,
                              .step = s->step,
                              .dy = dy,
                              .out = dx,
                              .area = (float)(s->window.height * s->window.width)};
    zero_rows(s, dx, s->W * s->step);
    for_each_window(s, s->W * s->step, &work, mean_back_window);
}

const struct hr_pooling HR_ISA_NAME(hr_pooling) = {
    .max = max,
    .max_back = max_back,
    .mean = mean,
    .mean_back = mean_back,
};

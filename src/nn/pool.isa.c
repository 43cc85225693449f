/* Pooling, compiled once for each instruction set (see base/isa.h): one pass over the channels of
 * a pixel for each place of a window. */
#include "nn/pool_table.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* One place of one window: which it is, and where its pixel stands. */
struct spot {
    size_t number; /* in the window */
    size_t at;     /* first channel of the pixel */
};

/* What of a window lies on the image, along one side: places [from, to), the first at `first`. */
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

typedef void (*spot_fn)(void *arg, size_t pixel, struct spot spot);

/* Call fn for each place of each window: windows row by row, places row by row. */
static inline __attribute__((always_inline)) void for_each_spot(const struct hr_sliding *s,
                                                                size_t x_row, void *arg, spot_fn fn)
{
    const struct hr_window *w = &s->window;
    for (size_t oy = 0, pixel = 0; oy < s->OH; oy++) {
        const struct span rows = span_of(oy, s->H, w->height, w->stride, w->pad);
        for (size_t ox = 0; ox < s->OW; ox++, pixel++) {
            const struct span columns = span_of(ox, s->W, w->width, w->stride, w->pad);
            for (size_t r = rows.from; r < rows.to; r++)
                for (size_t c = columns.from; c < columns.to; c++)
                    fn(arg, pixel,
                       (struct spot){r * w->width + c,
                                     (rows.first + r - rows.from) * x_row +
                                         (columns.first + c - columns.from) * s->C});
        }
    }
}

struct work {
    size_t C;
    const float *x, *y, *dy;
    float *out;
    uint8_t *place;
    const uint8_t *chosen;
    float area;
};

/* Larger, or no number: then it stays. */
static inline bool beats(float x, float best)
{
    return x > best || isnan(x);
}

static inline void take_max(void *arg, size_t pixel, struct spot spot)
{
    const struct work *work = arg;
    const float *x = work->x + spot.at;
    float *y = work->out + pixel * work->C;
    uint8_t *place = work->place + pixel * work->C;
    const uint8_t number = (uint8_t)spot.number;
#pragma omp simd
    for (size_t c = 0; c < work->C; c++) {
        const bool better = beats(x[c], y[c]);
        y[c] = better ? x[c] : y[c];
        place[c] = better ? number : place[c];
    }
}

static inline void take_max_only(void *arg, size_t pixel, struct spot spot)
{
    const struct work *work = arg;
    const float *x = work->x + spot.at;
    float *y = work->out + pixel * work->C;
#pragma omp simd
    for (size_t c = 0; c < work->C; c++)
        y[c] = beats(x[c], y[c]) ? x[c] : y[c];
}

static void max(const struct hr_sliding *s, const float *x, float *y, uint8_t *place)
{
    struct work work = {.C = s->C, .x = x, .out = y, .place = place};
    const size_t count = s->OH * s->OW * s->C;
    for (size_t i = 0; i < count; i++)
        y[i] = -INFINITY;
    if (place) {
        memset(place, 0, count);
        for_each_spot(s, s->W * s->C, &work, take_max);
    } else {
        for_each_spot(s, s->W * s->C, &work, take_max_only);
    }
}

static inline void give_to_place(void *arg, size_t pixel, struct spot spot)
{
    const struct work *work = arg;
    const float *y = work->y + pixel * work->C, *dy = work->dy + pixel * work->C;
    const uint8_t *chosen = work->chosen + pixel * work->C;
    float *dx = work->out + spot.at;
#pragma omp simd
    for (size_t c = 0; c < work->C; c++)
        dx[c] += chosen[c] == spot.number && !(y[c] <= 0.0f) ? dy[c] : 0.0f;
}

static inline void give_to_place_unmasked(void *arg, size_t pixel, struct spot spot)
{
    const struct work *work = arg;
    const float *dy = work->dy + pixel * work->C;
    const uint8_t *chosen = work->chosen + pixel * work->C;
    float *dx = work->out + spot.at;
#pragma omp simd
    for (size_t c = 0; c < work->C; c++)
        dx[c] += chosen[c] == spot.number ? dy[c] : 0.0f;
}

static void zero_rows(const struct hr_sliding *s, float *dx, size_t x_row)
{
    for (size_t r = 0; r < s->H; r++)
        memset(dx + r * x_row, 0, s->W * s->C * sizeof *dx);
}

static void max_back(const struct hr_sliding *s, const float *y, const float *dy,
                     const uint8_t *place, float *dx, size_t x_row)
{
    struct work work = {.C = s->C, .y = y, .dy = dy, .out = dx, .chosen = place};
    zero_rows(s, dx, x_row);
    if (y)
        for_each_spot(s, x_row, &work, give_to_place);
    else
        for_each_spot(s, x_row, &work, give_to_place_unmasked);
}

static inline void take_sum(void *arg, size_t pixel, struct spot spot)
{
    const struct work *work = arg;
    const float *x = work->x + spot.at;
    float *y = work->out + pixel * work->C;
#pragma omp simd
    for (size_t c = 0; c < work->C; c++)
        y[c] += x[c];
}

static void mean(const struct hr_sliding *s, const float *x, float *y)
{
    struct work work = {.C = s->C, .x = x, .out = y};
    const float area = (float)(s->window.height * s->window.width);
    const size_t count = s->OH * s->OW * s->C;
    memset(y, 0, count * sizeof *y);
    for_each_spot(s, s->W * s->C, &work, take_sum);
    for (size_t i = 0; i < count; i++)
        y[i] = y[i] / area;
}

static inline void give_share(void *arg, size_t pixel, struct spot spot)
{
    const struct work *work = arg;
    const float *dy = work->dy + pixel * work->C;
    float *dx = work->out + spot.at;
#pragma omp simd
    for (size_t c = 0; c < work->C; c++)
        dx[c] += dy[c] / work->area;
}

static void mean_back(const struct hr_sliding *s, const float *dy, float *dx)
{
    struct work work = {.C = s->C, .dy = dy, .out = dx};
    work.area = (float)(s->window.height * s->window.width);
    zero_rows(s, dx, s->W * s->C);
    for_each_spot(s, s->W * s->C, &work, give_share);
}

const struct hr_pool_table HR_ISA_NAME(hr_pool_table) = {max, max_back, mean, mean_back};

#include "products/patches.h"

#include <string.h>

#include "base/fpenv.h"
#include "base/size.h"
#include "tiles/lanes.h"
#include "tiles/micro.h"

size_t hr_panels_elems(size_t rows, size_t columns)
{
    return rows * hr_round_up(columns, hr_tiles()->columns);
}

size_t hr_panels_at(size_t rows, size_t row, size_t column)
{
    const size_t width = hr_tiles()->columns, panel = column / width;
    return (panel * rows + row) * width + column % width;
}

/* Which tiles a product of some columns is made of, by how its rows stand. */
enum tiles { WIDE, NARROW, IN_LANES };

/* How much of what is computed is wanted. */
static double used(size_t count, size_t at_a_time)
{
    return (double)count / (double)hr_round_up(count, at_a_time);
}

/* A fifth less for turning what comes out of lanes, and what goes in. */
bool hr_patches_want_lanes(size_t columns, size_t length)
{
    if (columns > HR_LANES_MAX_COLUMNS || length == 0)
        return false;
    const double lanes =
        used(length, hr_lanes()->rows) * (double)columns / (double)hr_lanes_columns(columns);
    const double narrow = used(columns, hr_narrow_tiles()->columns);
    return 0.8 * lanes > narrow;
}

static enum tiles tiles_for(size_t columns, struct hr_line line)
{
    if (line.step == 1 && hr_patches_want_lanes(columns, line.length))
        return IN_LANES;
    return columns <= hr_narrow_tiles()->columns && line.length >= HR_NARROW_QUAD ? NARROW : WIDE;
}

/* Rows [from, to) of what micro says, in tiles of either kind. */
static void multiply_few(enum tiles tiles, const struct hr_micro *micro, const float *a,
                         const uint32_t *row, struct hr_line line, size_t from, size_t to)
{
    const struct hr_narrow narrow = {.K = micro->K,
                                     .a = a,
                                     .offset = micro->offset,
                                     .b = micro->b,
                                     .b_stride = micro->b_stride,
                                     .columns = micro->columns,
                                     .c = micro->c,
                                     .c_stride = micro->c_stride,
                                     .bias = micro->bias,
                                     .round = micro->round,
                                     .relu = micro->relu,
                                     .add = micro->add,
                                     .go_on = micro->go_on};
    (tiles == NARROW ? hr_narrow_tiles()->rows : hr_lanes()->tiles)(&narrow, row, line, from, to);
}

void hr_patches_multiply(const struct hr_patches *patches, const float *image, const float *panels,
                         const struct hr_patches_end *end, const struct hr_matrix *y)
{
    const size_t width = hr_tiles()->columns;
    struct hr_micro micro = {.K = patches->ntaps,
                             .offset = patches->tap,
                             .b_stride = width,
                             .c_stride = y->stride,
                             .round = end->round,
                             .relu = end->relu};
    const uint64_t mode = hr_fp_mode();
    if (patches->bf16)
        hr_fp_flush_denormals();
    for (size_t j = 0; j < y->columns; j += width) {
        micro.b = panels + j * patches->ntaps;
        micro.columns = hr_min_size(width, y->columns - j);
        micro.bias = end->bias ? end->bias + j : NULL;
        micro.c = y->at + j;
        const enum tiles tiles = tiles_for(micro.columns, patches->pixel_line);
        if (tiles != WIDE)
            multiply_few(tiles, &micro, image, patches->pixel, patches->pixel_line, 0,
                         patches->npixels);
        else
            hr_tiles()->tall(&micro, image, patches->pixel, patches->npixels);
    }
    hr_fp_mode_set(mode);
}

/* Pixels that are summed at a time: their dy stays in L1 while all rows of dw use it. */
enum { RUN = 512 };

/* Copy some columns of rows of dy side by side, `width` apart: rows a power of two apart would
 * share cache sets. */
static void pack(const struct hr_matrix *dy, const float *from, size_t rows, size_t columns,
                 size_t width, float *panel)
{
    for (size_t r = 0; r < rows; r++)
        memcpy(panel + r * width, from + r * dy->stride, columns * sizeof *panel);
}

bool hr_patches_read_beyond(const struct hr_patches *patches, size_t columns)
{
    const size_t left = columns % hr_tiles()->columns;
    const enum tiles tiles = left > 0 ? tiles_for(left, patches->tap_line) : NARROW;
    return tiles == WIDE || (tiles == IN_LANES && left < hr_lanes_columns(left));
}

/* What is summed at a time: dw of columns [j, j + columns), and `count` pixels from `first` on. */
struct run {
    size_t j, columns, first, count;
    const float *panel;
    size_t stride;
    bool add;
};

static void correlate_run(const struct hr_patches *patches, const float *image,
                          const struct run *run, size_t from, size_t to, float *dw, size_t dw_row)
{
    const enum tiles tiles = tiles_for(run->columns, patches->tap_line);
    struct hr_micro micro = {.K = run->count,
                             .offset = patches->pixel + run->first,
                             .b = run->panel,
                             .b_stride = run->stride,
                             .columns = run->columns,
                             .c = dw + run->j,
                             .c_stride = dw_row,
                             .add = run->add && !patches->bf16,
                             .go_on = run->add && patches->bf16};
    if (tiles != WIDE) {
        multiply_few(tiles, &micro, image, patches->tap, patches->tap_line, from, to);
        return;
    }
    micro.c += from * dw_row;
    hr_tiles()->tall(&micro, image, patches->tap + from, to - from);
}

void hr_patches_correlate(const struct hr_patches *patches, const float *image,
                          const struct hr_matrix *dy, size_t from, size_t to, bool add, float *dw)
{
    _Alignas(64) float panel[RUN * HR_MICRO_MAX_COLUMNS];
    const size_t width = hr_tiles()->columns, runs = (patches->npixels + RUN - 1) / RUN;
    const bool packed = dy->stride > width && to - from > 4 * HR_MICRO_ROWS;
    const uint64_t mode = hr_fp_mode();
    if (patches->bf16)
        hr_fp_flush_denormals();
    for (size_t j = 0; j < dy->columns; j += width)
        for (size_t r = 0; r < runs; r++) {
            const size_t first = hr_split_begin(patches->npixels, runs, r);
            struct run run = {.j = j,
                              .columns = hr_min_size(width, dy->columns - j),
                              .first = first,
                              .count = hr_split_begin(patches->npixels, runs, r + 1) - first,
                              .panel = dy->at + first * dy->stride + j,
                              .stride = dy->stride,
                              .add = add || r > 0};
            if (packed) {
                const bool all = hr_patches_read_beyond(patches, run.columns);
                pack(dy, run.panel, run.count, all ? width : run.columns, width, panel);
                run.panel = panel;
                run.stride = width;
            }
            correlate_run(patches, image, &run, from, to, dw, dy->columns);
        }
    hr_fp_mode_set(mode);
}

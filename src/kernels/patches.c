#include "kernels/patches.h"

#include <string.h>

#include "base/size.h"
#include "kernels/micro.h"

size_t hr_panels_elems(size_t rows, size_t columns)
{
    return rows * hr_round_up(columns, hr_tiles()->columns);
}

size_t hr_panels_at(size_t rows, size_t row, size_t column)
{
    const size_t width = hr_tiles()->columns, panel = column / width;
    return (panel * rows + row) * width + column % width;
}

void hr_patches_multiply(const struct hr_patches *patches, const float *image, const float *panels,
                         const float *bias, bool relu, const struct hr_matrix *y)
{
    const size_t width = hr_tiles()->columns;
    struct hr_micro micro = {
        .K = patches->ntaps, .offset = patches->tap, .b_stride = width, .relu = relu};
    micro.c_stride = y->stride;
    for (size_t j = 0; j < y->columns; j += width) {
        micro.b = panels + j * patches->ntaps;
        micro.columns = hr_min_size(width, y->columns - j);
        micro.bias = bias ? bias + j : NULL;
        micro.c = y->at + j;
        hr_tiles()->tall(&micro, image, patches->pixel, patches->npixels);
    }
}

/* Pixels that are summed at a time: their dy stays in L1 while all rows of dw use it. */
enum { RUN = 512 };

/* Copy columns [0, width) of rows of dy side by side: rows a power of two apart would share cache
 * sets. */
static void pack(const struct hr_matrix *dy, const float *from, size_t rows, size_t width,
                 float *panel)
{
    for (size_t r = 0; r < rows; r++)
        memcpy(panel + r * width, from + r * dy->stride, width * sizeof *panel);
}

void hr_patches_correlate(const struct hr_patches *patches, const float *image,
                          const struct hr_matrix *dy, size_t from, size_t to, bool add, float *dw)
{
    _Alignas(64) float panel[RUN * HR_MICRO_MAX_COLUMNS];
    const size_t width = hr_tiles()->columns, runs = (patches->npixels + RUN - 1) / RUN;
    const bool packed = dy->stride > width && to - from > 4 * HR_MICRO_ROWS;
    struct hr_micro micro = {.b_stride = packed ? width : dy->stride, .c_stride = dy->columns};
    for (size_t j = 0; j < dy->columns; j += width) {
        micro.columns = hr_min_size(width, dy->columns - j);
        micro.c = dw + from * dy->columns + j;
        for (size_t r = 0; r < runs; r++) {
            const size_t first = hr_split_begin(patches->npixels, runs, r);
            micro.K = hr_split_begin(patches->npixels, runs, r + 1) - first;
            micro.offset = patches->pixel + first;
            micro.b = dy->at + first * dy->stride + j;
            micro.add = add || r > 0;
            if (packed) {
                pack(dy, micro.b, micro.K, width, panel);
                micro.b = panel;
            }
            hr_tiles()->tall(&micro, image, patches->tap + from, to - from);
        }
    }
}

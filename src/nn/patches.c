#include "nn/patches.h"

#include "base/size.h"
#include "nn/micro.h"

size_t hr_panels_elems(size_t rows, size_t columns)
{
    return rows * hr_round_up(columns, hr_micro_columns());
}

size_t hr_panels_at(size_t rows, size_t row, size_t column)
{
    const size_t width = hr_micro_columns(), panel = column / width;
    return (panel * rows + row) * width + column % width;
}

/* The six rows from `first` on begin where the table says; behind the last, anything readable. */
static void point_rows(struct hr_micro *micro, const float *image, const uint32_t *table,
                       size_t first, size_t end)
{
    micro->rows = hr_min_size(HR_MICRO_ROWS, end - first);
    for (size_t i = 0; i < HR_MICRO_ROWS; i++)
        micro->a[i] = image + table[first + (i < micro->rows ? i : 0)];
}

void hr_patches_multiply(const struct hr_patches *patches, const float *image, const float *panels,
                         const float *bias, bool relu, const struct hr_matrix *y)
{
    const size_t width = hr_micro_columns();
    struct hr_micro micro = {
        .K = patches->ntaps, .offset = patches->tap, .b_stride = width, .relu = relu};
    micro.c_stride = y->stride;
    for (size_t j = 0; j < y->columns; j += width) {
        micro.b = panels + j * patches->ntaps;
        micro.columns = hr_min_size(width, y->columns - j);
        micro.bias = bias ? bias + j : NULL;
        for (size_t p = 0; p < patches->npixels; p += HR_MICRO_ROWS) {
            point_rows(&micro, image, patches->pixel, p, patches->npixels);
            micro.c = y->at + p * y->stride + j;
            hr_micro_tile(&micro);
        }
    }
}

void hr_patches_correlate(const struct hr_patches *patches, const float *image,
                          const struct hr_matrix *dy, size_t from, size_t to, bool add, float *dw)
{
    const size_t width = hr_micro_columns();
    struct hr_micro micro = {
        .K = patches->npixels, .offset = patches->pixel, .b_stride = dy->stride, .add = add};
    micro.c_stride = dy->columns;
    for (size_t j = 0; j < dy->columns; j += width) {
        micro.b = dy->at + j;
        micro.columns = hr_min_size(width, dy->columns - j);
        for (size_t k = from; k < to; k += HR_MICRO_ROWS) {
            point_rows(&micro, image, patches->tap, k, to);
            micro.c = dw + k * dy->columns + j;
            hr_micro_tile(&micro);
        }
    }
}

#include "products/patches_bf16.h"

#include "base/fpenv.h"
#include "base/size.h"
#include "kernels/bf16.h"
#include "products/patches_amx.h"
#include "tiles/micro_bf16.h"

enum { WIDTH = HR_BF16_COLUMNS };

size_t hr_panels_bf16_elems(size_t rows, size_t columns)
{
    return rows * hr_round_up(columns, WIDTH);
}

size_t hr_panels_bf16_at(size_t rows, size_t row, size_t column)
{
    return (column / WIDTH * rows + row) * WIDTH + column % WIDTH;
}

void hr_patches_multiply_bf16(const struct hr_patches *patches, const uint32_t *image,
                              const uint32_t *panels, const struct hr_patches_end *end,
                              const struct hr_matrix *y)
{
    if (hr_bf16_sums_as_amx()) {
        hr_patches_multiply_amx(patches, image, panels, end, y);
        return;
    }
    const uint64_t mode = hr_fp_mode();
    struct hr_micro_bf16 micro = {
        .K = patches->ntaps, .c_stride = y->stride, .round = end->round, .relu = end->relu};
    hr_fp_flush_denormals();
    for (size_t j = 0; j < y->columns; j += WIDTH) {
        micro.b = panels + j * patches->ntaps;
        micro.columns = hr_min_size(WIDTH, y->columns - j);
        micro.bias = end->bias ? end->bias + j : NULL;
        micro.c = y->at + j;
        hr_tiles_bf16()->tall(&micro, image, patches->tap, patches->pixel, patches->pixel_line,
                              patches->npixels);
    }
    hr_fp_mode_set(mode);
}

/* Pixels that are summed at a time: their panel stays in L1 while all rows of dw use it. */
enum { RUN = 224 };

void hr_patches_correlate_bf16(const struct hr_patches *patches, const uint32_t *image,
                               const uint32_t *panels, size_t columns, size_t from, size_t to,
                               bool more, float *dw)
{
    const uint64_t mode = hr_fp_mode();
    const size_t runs = (patches->npixels + RUN - 1) / RUN;
    struct hr_micro_bf16 micro = {.c_stride = columns};
    hr_fp_flush_denormals();
    for (size_t j = 0; j < columns; j += WIDTH) {
        micro.columns = hr_min_size(WIDTH, columns - j);
        micro.c = dw + from * columns + j;
        for (size_t r = 0; r < runs; r++) {
            const size_t first = hr_split_begin(patches->npixels, runs, r);
            micro.K = hr_split_begin(patches->npixels, runs, r + 1) - first;
            micro.b = panels + j * patches->npixels + first * WIDTH;
            micro.more = more || r > 0;
            hr_tiles_bf16()->tall(&micro, image, patches->pixel + first, patches->tap + from,
                                  from % HR_NARROW_QUAD ? (struct hr_line){0} : patches->tap_line,
                                  to - from);
        }
    }
    hr_fp_mode_set(mode);
}

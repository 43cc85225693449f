#include "nn/planes.h"

/* to (columns, rows) = from (rows, columns) transposed */
static void transpose(size_t rows, size_t columns, const float *from, float *to)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            to[c * rows + r] = from[r * columns + c];
}

void hr_planes_to_pixels(size_t B, size_t channels, size_t pixels, const float *from, float *to)
{
    for (size_t b = 0; b < B; b++)
        transpose(channels, pixels, from + b * channels * pixels, to + b * channels * pixels);
}

void hr_pixels_to_planes(size_t B, size_t channels, size_t pixels, const float *from, float *to)
{
    for (size_t b = 0; b < B; b++)
        transpose(pixels, channels, from + b * channels * pixels, to + b * channels * pixels);
}

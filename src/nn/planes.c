#include "nn/planes.h"

#include "tiles/lanes.h"

void hr_planes_to_pixels(size_t B, size_t channels, size_t pixels, const float *from, float *to)
{
    const size_t image = channels * pixels;
    for (size_t b = 0; b < B; b++)
        hr_lanes()->turn(channels, pixels, from + b * image, pixels, to + b * image, channels);
}

void hr_pixels_to_planes(size_t B, size_t channels, size_t pixels, const float *from, float *to)
{
    const size_t image = channels * pixels;
    for (size_t b = 0; b < B; b++)
        hr_lanes()->turn(pixels, channels, from + b * image, channels, to + b * image, pixels);
}

#include "nn/frame.h"

#include <string.h>

#include "kernels/bf16.h"
#include "tiles/lanes.h"

size_t hr_frame_elems(const struct hr_frame *frame)
{
    return frame->images * hr_frame_image_elems(frame);
}

size_t hr_frame_image_elems(const struct hr_frame *frame)
{
    return frame->height * frame->width * frame->channels;
}

size_t hr_frame_step(const struct hr_frame *frame)
{
    return frame->planes ? 1 : frame->channels;
}

size_t hr_frame_channel(const struct hr_frame *frame)
{
    return frame->planes ? frame->height * frame->width : 1;
}

bool hr_frame_is_bare(const struct hr_frame *frame)
{
    return frame->height == frame->H && frame->width == frame->W && !frame->planes;
}

struct hr_winograd_tiles hr_frame_tiles(const struct hr_frame *frame, size_t beyond, size_t images)
{
    const size_t high = (frame->height - beyond) / 2, wide = (frame->width - beyond) / 2;
    return (struct hr_winograd_tiles){.high = high,
                                      .wide = wide,
                                      .height = frame->height,
                                      .width = frame->width,
                                      .step = frame->channels,
                                      .row = frame->width * frame->channels,
                                      .image = hr_frame_image_elems(frame),
                                      .channels = frame->channels,
                                      .count = images * high * wide};
}

size_t hr_frame_origin(const struct hr_frame *frame)
{
    return (frame->top * frame->width + frame->left) * hr_frame_step(frame);
}

void hr_frame_fill(const struct hr_frame *frame, const float *images, size_t count, float *to)
{
    const size_t C = frame->channels, row = frame->W * C;
    const size_t step = frame->width * hr_frame_step(frame);
    to += hr_frame_origin(frame);
    for (size_t n = 0; n < count; n++, to += hr_frame_image_elems(frame))
        for (size_t y = 0; y < frame->H; y++, images += row)
            if (frame->planes)
                hr_lanes()->turn(frame->W, C, images, C, to + y * step, hr_frame_channel(frame));
            else
                memcpy(to + y * step, images, row * sizeof *to);
}

/* One row of pixels. */
static void pair_row(size_t pixels, size_t groups, size_t channels, const float *x, uint32_t *to)
{
    if (channels % 2 == 0) {
        hr_bf16()->pack(pixels * groups * channels, x, to);
        return;
    }
    for (size_t p = 0; p < pixels * groups; p++, x += channels) {
        for (size_t c = 0; c + 1 < channels; c += 2)
            *to++ = hr_bf16_pair(x[c], x[c + 1]);
        *to++ = hr_bf16_pair(x[channels - 1], 0);
    }
}

void hr_frame_fill_pairs(const struct hr_frame *frame, size_t groups, size_t channels,
                         const float *images, size_t count, uint32_t *to)
{
    const size_t row = frame->W * groups * channels, step = frame->width * frame->channels;
    to += hr_frame_origin(frame);
    for (size_t n = 0; n < count; n++, to += hr_frame_image_elems(frame))
        for (size_t y = 0; y < frame->H; y++, images += row)
            pair_row(frame->W, groups, channels, images, to + y * step);
}

void hr_frame_fill_two(const struct hr_frame *frame, const float *images, size_t count,
                       uint32_t *to)
{
    const size_t row = frame->W * frame->channels, step = frame->width * frame->channels;
    const size_t image = frame->H * row;
    to += hr_frame_origin(frame);
    for (size_t n = 0; n < count; n += 2, images += 2 * image, to += hr_frame_image_elems(frame))
        for (size_t y = 0; y < frame->H; y++) {
            const float *even = images + y * row, *odd = n + 1 < count ? even + image : NULL;
            hr_bf16()->pack_two(1, row, even, odd, row, row, to + y * step);
        }
}

#include "nn/conv_layout.h"

#include <string.h>

#include "base/size.h"
#include "kernels/bf16.h"
#include "products/patches_bf16.h"
#include "tiles/lanes.h"
#include "tiles/micro_bf16.h"

/* --- frames --- */

size_t hr_frame_elems(const struct hr_frame *frame)
{
    return frame->images * hr_frame_image_elems(frame) * (frame->zeros ? 2 : 1);
}

size_t hr_frame_image_elems(const struct hr_frame *frame)
{
    return frame->height * frame->width * frame->channels;
}

/* Floats from a pixel to its right neighbour, and from a channel to the next. */
static size_t frame_step(const struct hr_frame *frame)
{
    return frame->planes ? 1 : frame->channels;
}

static size_t frame_channel(const struct hr_frame *frame)
{
    return frame->planes ? frame->height * frame->width : 1;
}

bool hr_frame_is_bare(const struct hr_frame *frame)
{
    return frame->height == frame->H && frame->width == frame->W && !frame->planes && !frame->round;
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
    return (frame->top * frame->width + frame->left) * frame_step(frame);
}

/* One row of pixels. */
static void turn_row(const struct hr_frame *frame, const float *x, float *to)
{
    const size_t C = frame->channels, channel = frame_channel(frame);
    hr_lanes()->turn(frame->W, C, x, C, to, channel);
    for (size_t c = 0; frame->round && c < C; c++)
        hr_bf16()->round(frame->W, to + c * channel, to + c * channel);
}

void hr_frame_fill(const struct hr_frame *frame, const float *images, size_t count, float *to)
{
    const size_t C = frame->channels, row = frame->W * C;
    const size_t step = frame->width * frame_step(frame);
    to += hr_frame_origin(frame);
    for (size_t n = 0; n < count; n++, to += hr_frame_image_elems(frame))
        for (size_t y = 0; y < frame->H; y++, images += row)
            if (frame->planes)
                turn_row(frame, images, to + y * step);
            else if (frame->round)
                hr_bf16()->round(row, images, to + y * step);
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

/* dy with zeros around it, along one side: after `lead` zeros, pixel a of the padded input (in
 * strides) finds the output that tap t reached at a + lead - t * dilation / stride. */
static void frame_side(size_t size, size_t out, size_t length, const struct hr_window *window,
                       size_t *lead, size_t *whole)
{
    const size_t last = (size - 1 + window->pad) / window->stride;
    *lead = (length - 1) * window->dilation / window->stride;
    *whole = *lead + (last + 1 > out ? last + 1 : out);
}

/* As many images as make a few hundred pixels and still fit the cache. */
static size_t images_at_once(size_t pixels, const struct hr_frame *frame)
{
    enum { PIXELS = 256, ELEMS = 1 << 16 };
    const size_t by_size = ELEMS / hr_frame_image_elems(frame);
    const size_t images = hr_min_size(PIXELS / pixels, by_size);
    return images ? images : 1;
}

/* The layer's, whole or not at all: of a shard the answer would be another than of the whole. */
static bool wants_winograd(const struct hr_conv *conv, const struct hr_layer *layer)
{
    const struct hr_sliding *s = &conv->slide;
    const struct hr_window *w = &s->window;
    const bool three = w->height == 3 && w->width == 3 && w->stride == 1 && w->dilation == 1;
    return three && w->pad <= 2 && conv->groups == 1 && !conv->bf16 && layer->cut == HR_CUT_NOT &&
           hr_winograd_wins(conv->Cg, conv->Og, s->OH, s->OW) &&
           hr_winograd_wins(conv->Og, conv->Cg, s->H, s->W);
}

/* Zeros up to the last tile's end: of y for x, and of x for dy, which has so many that each pixel
 * of x finds all the outputs that it gave to. */
static void frame_tiles(struct hr_conv *conv)
{
    const struct hr_sliding *s = &conv->slide;
    struct hr_frame *x = &conv->x_frame, *dy = &conv->dy_frame;
    x->height = 2 * hr_winograd_side(s->OH) + 2;
    x->width = 2 * hr_winograd_side(s->OW) + 2;
    x->images = images_at_once(s->OH * s->OW, x);
    dy->top = dy->left = 2 - s->window.pad;
    dy->height = 2 * hr_winograd_side(s->H) + 2;
    dy->width = 2 * hr_winograd_side(s->W) + 2;
    dy->images = images_at_once(s->H * s->W, dy);
}

struct hr_conv hr_conv_of(const struct hr_layer *layer)
{
    struct hr_conv conv = {
        .slide = hr_sliding_of(layer), .O = layer->size[5], .groups = layer->size[6]};
    conv.bf16 = layer->precision == HR_PRECISION_BF16;
    conv.pairs = conv.bf16 && !hr_bf16_as_floats();
    conv.as_amx = conv.bf16 && hr_bf16_sums_as_amx();
    const struct hr_sliding *s = &conv.slide;
    const struct hr_window *w = &s->window;
    conv.Cg = s->C / conv.groups;
    conv.Og = conv.O / conv.groups;
    conv.ntaps = w->height * w->width * conv.Cg;
    struct hr_frame *x = &conv.x_frame;
    *x = (struct hr_frame){.channels = s->C, .H = s->H, .W = s->W, .top = w->pad, .left = w->pad};
    x->height = s->H + 2 * w->pad;
    x->width = s->W + 2 * w->pad;
    x->images = images_at_once(s->OH * s->OW, x);
    struct hr_frame *dy = &conv.dy_frame;
    *dy = (struct hr_frame){.channels = conv.O, .H = s->OH, .W = s->OW};
    frame_side(s->H, s->OH, w->height, w, &dy->top, &dy->height);
    frame_side(s->W, s->OW, w->width, w, &dy->left, &dy->width);
    dy->images = images_at_once(s->H * s->W, dy);
    x->round = dy->round = conv.bf16 && !conv.pairs;
    conv.winograd = wants_winograd(&conv, layer);
    if (conv.winograd)
        frame_tiles(&conv);
    return conv;
}

struct hr_conv hr_conv_in_memory(const struct hr_conv *conv)
{
    struct hr_conv paired = *conv;
    if (!conv->pairs) {
        paired.swapped = conv->bf16;
        paired.x_frame.zeros = conv->bf16 && conv->Cg % 2;
        paired.dy_frame.zeros = conv->bf16 && conv->Og % 2;
        paired.ntaps += paired.x_frame.zeros;
        return paired;
    }
    paired.Cg = (conv->Cg + 1) / 2;
    paired.Og = (conv->Og + 1) / 2;
    paired.slide.C = paired.x_frame.channels = conv->groups * paired.Cg;
    paired.O = paired.dy_frame.channels = conv->groups * paired.Og;
    paired.ntaps = conv->slide.window.height * conv->slide.window.width * paired.Cg;
    return paired;
}

/* The table of one image's pixels, behind it those of the others; returns how many in all. */
static size_t repeat_pixels(const struct hr_frame *frame, uint32_t *pixel, size_t count)
{
    for (size_t i = count; i < frame->images * count; i++)
        pixel[i] = pixel[i - count] + (uint32_t)hr_frame_image_elems(frame);
    return frame->images * count;
}

/* --- forward and the weights' gradient --- */

/* Which channel the i-th tap of a place has. */
static size_t in_turn(const struct hr_conv *conv, size_t i, size_t channels)
{
    return conv->swapped && (i ^ 1) < channels ? i ^ 1 : i;
}

/* Before the last tap one of zeros, if there are any. */
static size_t add_zero(const struct hr_frame *frame, uint32_t *tap, size_t ntaps)
{
    if (!frame->zeros || ntaps == 0)
        return ntaps;
    tap[ntaps] = tap[ntaps - 1];
    tap[ntaps - 1] = (uint32_t)(frame->images * hr_frame_image_elems(frame));
    return ntaps + 1;
}

struct hr_patches hr_conv_patches(const struct hr_conv *conv, uint32_t *pixel, uint32_t *tap)
{
    const struct hr_sliding *s = &conv->slide;
    const struct hr_window *w = &s->window;
    const size_t step = frame_step(&conv->x_frame), channel = frame_channel(&conv->x_frame);
    const size_t row = conv->x_frame.width * step;
    size_t npixels = 0, ntaps = 0;
    for (size_t y = 0; y < s->OH; y++)
        for (size_t x = 0; x < s->OW; x++)
            pixel[npixels++] = (uint32_t)(w->stride * (y * row + x * step));
    npixels = repeat_pixels(&conv->x_frame, pixel, npixels);
    for (size_t ky = 0; ky < w->height; ky++)
        for (size_t kx = 0; kx < w->width; kx++)
            for (size_t c = 0; c < conv->Cg; c++)
                tap[ntaps++] = (uint32_t)(w->dilation * (ky * row + kx * step) +
                                          in_turn(conv, c, conv->Cg) * channel);
    ntaps = add_zero(&conv->x_frame, tap, ntaps);
    const bool filter_row = conv->groups == 1 && w->dilation == 1 && channel == 1; /* is one run */
    return (struct hr_patches){npixels,
                               ntaps,
                               pixel,
                               tap,
                               {s->OW, w->stride * step},
                               {filter_row ? w->width * conv->Cg : conv->Cg, channel},
                               conv->bf16};
}

/* weight[o][c][ky][kx] of group g stands at the g-th group's beginning + this. */
static size_t weight_at(const struct hr_conv *conv, size_t o, size_t c, size_t spot)
{
    const size_t spots = conv->slide.window.height * conv->slide.window.width;
    return (o * conv->Cg + c) * spots + spot;
}

size_t hr_conv_panels_elems(const struct hr_conv *conv, size_t rows, size_t columns)
{
    return conv->pairs ? hr_panels_bf16_elems(rows, columns) : hr_panels_elems(rows, columns);
}

/* A row of panels, of a pair of rows of floats; odd NULL: zeros. */
static void pack_pairs_row(const float *even, const float *odd, size_t columns, size_t rows,
                           size_t k, uint32_t *panels)
{
    enum { WIDTH = HR_BF16_COLUMNS };
    for (size_t j = 0; j < columns; j += WIDTH)
        hr_bf16()->pack_two(1, hr_min_size(WIDTH, columns - j), even + j, odd ? odd + j : NULL, 0,
                            WIDTH, panels + hr_panels_bf16_at(rows, k, j));
}

/* A pair of channels is one of rows. */
static void pack_pairs(const struct hr_conv *conv, const float *weight, float *turned,
                       uint32_t *panels)
{
    const size_t spots = conv->slide.window.height * conv->slide.window.width;
    const size_t pairs = (conv->Cg + 1) / 2, rows = spots * pairs, channel = spots * conv->Og;
    hr_lanes()->turn(conv->Og, conv->ntaps, weight, conv->ntaps, turned, conv->Og);
    for (size_t c = 0; c < conv->Cg; c += 2, turned += 2 * channel)
        for (size_t spot = 0; spot < spots; spot++) {
            const float *even = turned + spot * conv->Og;
            pack_pairs_row(even, c + 1 < conv->Cg ? even + channel : NULL, conv->Og, rows,
                           spot * pairs + c / 2, panels);
        }
}

static float rounded(const struct hr_conv *conv, float weight)
{
    return conv->bf16 ? hr_bf16_round(weight) : weight;
}

/* Row k of panels, where a row of zeros may be the last but one. */
static size_t row_of(const struct hr_frame *frame, size_t k, size_t rows)
{
    return frame->zeros && k + 2 == rows ? k + 1 : k;
}

static void pack_floats(const struct hr_conv *conv, const float *weight, float *panels)
{
    memset(panels, 0, hr_panels_elems(conv->ntaps, conv->Og) * sizeof *panels);
    const size_t spots = conv->slide.window.height * conv->slide.window.width;
    const size_t width = hr_panels_elems(1, 1);
    for (size_t o = 0; o < conv->Og; o++) {
        float *to = panels + hr_panels_at(conv->ntaps, 0, o);
        for (size_t k = 0; k < spots * conv->Cg; k++) {
            const size_t c = in_turn(conv, k % conv->Cg, conv->Cg);
            to[row_of(&conv->x_frame, k, conv->ntaps) * width] =
                rounded(conv, weight[weight_at(conv, o, c, k / conv->Cg)]);
        }
    }
}

void hr_conv_pack(const struct hr_conv *conv, size_t g, const float *weight, float *turned,
                  void *panels)
{
    const struct hr_conv in_memory = hr_conv_in_memory(conv);
    weight += g * conv->Og * conv->ntaps;
    if (conv->pairs)
        pack_pairs(conv, weight, turned, panels);
    else
        pack_floats(&in_memory, weight, panels);
}

void hr_conv_unpack(const struct hr_conv *conv, size_t g, const float *dw, float *dweight)
{
    dweight += g * conv->Og * conv->ntaps;
    const size_t spots = conv->slide.window.height * conv->slide.window.width;
    for (size_t c = 0; c < conv->Cg; c++)
        hr_lanes()->turn(spots, conv->Og, dw + c * conv->Og, conv->Cg * conv->Og,
                         dweight + c * spots, conv->ntaps);
}

/* --- backward-data --- */

/* A phase along one side. */
struct side {
    size_t remainder; /* (pixel + pad) % stride of its pixels */
    size_t first, count,
        base; /* its first pixel in dx, how many, and the first's (+ pad) / stride */
};

static struct side side_of(size_t size, size_t remainder, const struct hr_window *window)
{
    const size_t stride = window->stride;
    const size_t first = (remainder + stride - window->pad % stride) % stride;
    const size_t count = first < size ? (size - first - 1) / stride + 1 : 0;
    return (struct side){remainder, first, count, (first + window->pad) / stride};
}

/* Does tap number `k` along one side touch the pixels of this remainder? */
static bool touches(size_t k, size_t remainder, const struct hr_window *window)
{
    return k * window->dilation % window->stride == remainder;
}

/* The next place of the filter, from `spot` on, that belongs to the phase; after the last: the
 * number of places. In AMX's order the last place is the first, so that taps stand side by side in
 * dy's frame. */
static size_t next_spot(const struct hr_conv *conv, size_t number, size_t spot, size_t *ky,
                        size_t *kx)
{
    const struct hr_window *w = &conv->slide.window;
    for (; spot < w->height * w->width; spot++) {
        const size_t place = conv->as_amx ? w->height * w->width - 1 - spot : spot;
        *ky = place / w->width;
        *kx = place % w->width;
        if (touches(*ky, number / w->stride, w) && touches(*kx, number % w->stride, w))
            break;
    }
    return spot;
}

static size_t phase_taps(const struct hr_conv *conv, size_t number, uint32_t *tap)
{
    const struct hr_window *w = &conv->slide.window;
    const struct hr_frame *frame = &conv->dy_frame;
    const size_t spots = w->height * w->width;
    const size_t step = frame_step(frame), channel = frame_channel(frame);
    size_t ntaps = 0, ky = 0, kx = 0;
    for (size_t spot = 0; (spot = next_spot(conv, number, spot, &ky, &kx)) < spots; spot++) {
        const size_t y = frame->top - ky * w->dilation / w->stride;
        const size_t x = frame->left - kx * w->dilation / w->stride;
        for (size_t o = 0; o < conv->Og; o++)
            tap[ntaps++] =
                (uint32_t)((y * frame->width + x) * step + in_turn(conv, o, conv->Og) * channel);
    }
    return add_zero(frame, tap, ntaps);
}

/* How many taps of a phase stand side by side: in AMX's order those of a row of the filter. */
static size_t phase_run(const struct hr_conv *conv, size_t remainder)
{
    const struct hr_window *w = &conv->slide.window;
    if (!conv->as_amx || conv->groups > 1 || w->dilation > 1 || w->width <= remainder)
        return conv->Og;
    return ((w->width - 1 - remainder) / w->stride + 1) * conv->Og;
}

struct hr_conv_phase hr_conv_phase(const struct hr_conv *conv, size_t number, uint32_t *pixel,
                                   uint32_t *tap)
{
    const struct hr_sliding *s = &conv->slide;
    const struct hr_frame *frame = &conv->dy_frame;
    const struct side rows = side_of(s->H, number / s->window.stride, &s->window);
    const struct side columns = side_of(s->W, number % s->window.stride, &s->window);
    struct hr_conv_phase phase = {
        .y = rows.first, .x = columns.first, .rows = rows.count, .columns = columns.count};
    const size_t step = frame_step(frame);
    size_t npixels = 0;
    for (size_t y = 0; y < rows.count; y++)
        for (size_t x = 0; x < columns.count; x++)
            pixel[npixels++] =
                (uint32_t)(((rows.base + y) * frame->width + columns.base + x) * step);
    npixels = repeat_pixels(frame, pixel, npixels);
    const size_t ntaps = phase_taps(conv, number, tap);
    phase.patches =
        (struct hr_patches){npixels,
                            ntaps,
                            pixel,
                            tap,
                            {phase.columns, step},
                            {phase_run(conv, number % s->window.stride), frame_channel(frame)},
                            conv->bf16};
    return phase;
}

/* Row k of the phase's panels: a pair of outputs, of the last perhaps one. turned (spots,Og,Cg) */
static void phase_pairs_row(const struct hr_conv *conv, size_t spot, size_t o, const float *turned,
                            size_t rows, size_t k, uint32_t *panels)
{
    const float *even = turned + (spot * conv->Og + o) * conv->Cg;
    pack_pairs_row(even, o + 1 < conv->Og ? even + conv->Cg : NULL, conv->Cg, rows, k, panels);
}

void hr_conv_turn(const struct hr_conv *conv, const float *weight, float *turned)
{
    const size_t spots = conv->slide.window.height * conv->slide.window.width;
    for (size_t g = 0; g < conv->groups; g++, turned += spots * conv->Og * conv->Cg)
        for (size_t o = 0; o < conv->Og; o++, weight += conv->ntaps)
            hr_lanes()->turn(conv->Cg, spots, weight, spots, turned + o * conv->Cg,
                             conv->Og * conv->Cg);
}

static void phase_floats_row(const struct hr_conv *conv, size_t spot, size_t o, const float *weight,
                             size_t rows, size_t k, float *panels)
{
    const size_t width = hr_panels_elems(1, 1);
    float *to = panels + hr_panels_at(rows, k, 0);
    for (size_t c = 0; c < conv->Cg; c += width, to += rows * width)
        for (size_t i = 0; i < width && c + i < conv->Cg; i++)
            to[i] = rounded(conv, weight[weight_at(conv, o, c + i, spot)]);
}

void hr_conv_phase_pack(const struct hr_conv *conv, size_t number, size_t g, const float *weight,
                        void *panels)
{
    const size_t spots = conv->slide.window.height * conv->slide.window.width;
    const size_t step = conv->pairs ? 2 : 1;
    const struct hr_conv in_memory = hr_conv_in_memory(conv);
    size_t rows = 0, k = 0, ky = 0, kx = 0;
    for (size_t spot = 0; (spot = next_spot(conv, number, spot, &ky, &kx)) < spots; spot++)
        rows += (conv->Og + step - 1) / step;
    rows += rows && in_memory.dy_frame.zeros;
    weight += g * conv->Og * conv->ntaps;
    if (!conv->pairs)
        memset(panels, 0, hr_conv_panels_elems(conv, rows, conv->Cg) * sizeof(float));
    for (size_t spot = 0; (spot = next_spot(conv, number, spot, &ky, &kx)) < spots; spot++)
        for (size_t o = 0; o < conv->Og; o += step, k++) {
            const size_t place = ky * conv->slide.window.width + kx;
            if (conv->pairs)
                phase_pairs_row(conv, place, o, weight, rows, k, panels);
            else
                phase_floats_row(conv, place, in_turn(&in_memory, o, conv->Og), weight, rows,
                                 row_of(&in_memory.dy_frame, k, rows), panels);
        }
}

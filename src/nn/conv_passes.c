/* A convolution's three passes: forward and backward-data are products of patches, the weights'
 * gradient one of their transposes; of tiles, all three. */
#include "nn/conv_job.h"

#include <string.h>

#include "base/fpenv.h"
#include "base/size.h"
#include "kernels/bf16.h"
#include "kernels/elementwise.h"
#include "kernels/pool.h"
#include "kernels/team.h"
#include "products/patches_amx.h"
#include "products/patches_bf16.h"
#include "tiles/micro.h"
#include "tiles/micro_amx.h"
#include "tiles/micro_bf16.h"

/* --- in tiles ---
 * Convolution of tiles (products/winograd.h): what forward and the gradient of x do with a part of
 * the batch, and the gradient of the weights. For that each thread has channels of x, and goes
 * through the batch in order, so that threads change no bit. */

enum { LINE = 16 }; /* floats: memory of a thread begins at multiples */

/* --- forward, and the gradient of x --- */

static size_t multiply_elems(size_t K)
{
    return hr_round_up(hr_winograd_multiply_elems(K), LINE);
}

/* Of so many channels in and out: panels, filters and tiles. */
static void conv_view_tiles(struct hr_conv_views *views, size_t K, size_t columns, size_t threads,
                            struct hr_conv_memory *out)
{
    out->panels = hr_conv_view(views, hr_winograd_panels_elems(K, columns), sizeof(float));
    out->filters = hr_conv_view(views, hr_winograd_pack_elems(K), sizeof(float));
    out->tiles = hr_conv_view(views, threads * multiply_elems(K), sizeof(float));
}

static void conv_multiply_tiles(const struct hr_conv_job *job, const struct hr_conv_tiles *t,
                                size_t thread)
{
    struct hr_winograd_product product = {.x = hr_frame_tiles(t->frame, 2, t->count),
                                          .images = t->images,
                                          .panels = job->memory.panels,
                                          .bias = t->bias,
                                          .relu = t->relu,
                                          .out = t->y};
    product.y = product.x;
    product.y.height = t->H;
    product.y.width = t->W;
    product.y.step = product.y.channels = t->columns;
    product.y.row = t->W * t->columns;
    product.y.image = t->H * product.y.row;
    product.own = job->memory.tiles + thread * multiply_elems(product.x.channels);
    hr_winograd_multiply(&product);
}

/* --- the gradient of the weights --- */

/* dy with zeros up to the end of the last tile, as many images at once as of x. */
static struct hr_frame dy_frame(const struct hr_conv *conv)
{
    const struct hr_sliding *s = &conv->slide;
    return (struct hr_frame){.channels = conv->O,
                             .H = s->OH,
                             .W = s->OW,
                             .height = 2 * hr_winograd_side(s->OH),
                             .width = 2 * hr_winograd_side(s->OW),
                             .images = conv->x_frame.images};
}

static size_t correlate_elems(const struct hr_conv *conv)
{
    return hr_round_up(hr_winograd_correlate_elems(conv->Cg, conv->Og), LINE);
}

static size_t lay_out_tiles(const struct hr_conv *conv, size_t threads, unsigned char *base,
                            struct hr_conv_memory *out)
{
    struct hr_conv_views views = {base, 0};
    const struct hr_frame dy = dy_frame(conv);
    *out = (struct hr_conv_memory){0};
    out->frames = hr_conv_view(&views, threads * hr_frame_elems(&conv->x_frame), sizeof(float));
    out->planes = hr_conv_view(&views, threads * hr_frame_elems(&dy), sizeof(float));
    out->dw = hr_conv_view(&views, hr_winograd_sums_elems(conv->Cg, conv->Og), sizeof(float));
    out->filters = hr_conv_view(&views, conv->ntaps * conv->O, sizeof(float));
    out->tiles = hr_conv_view(&views, threads * correlate_elems(conv), sizeof(float));
    return views.used;
}

static size_t conv_weights_tiles_bytes(const struct hr_conv *conv, size_t threads)
{
    struct hr_conv_memory unused;
    return lay_out_tiles(conv, threads, NULL, &unused);
}

/* Channels [from, to) of x, from a part of the batch; the first thread has dbias too. */
static void add_part(const struct hr_conv_job *job, struct hr_conv_part part, size_t thread,
                     size_t from, size_t to)
{
    const struct hr_conv *conv = &job->conv;
    const struct hr_frame *frame = &conv->x_frame, dy = dy_frame(conv);
    const float *gradients = hr_conv_framed_dy(
        job, &dy, part, hr_conv_at(job->memory.planes, thread * hr_frame_elems(&dy)), NULL);
    const float *images =
        hr_conv_framed(conv, frame, conv->Cg, job->pass->x + part.first * job->in, part.count,
                       hr_conv_at(job->memory.frames, thread * hr_frame_elems(frame)));
    hr_winograd_correlate(&(struct hr_winograd_correlation){
        .x = hr_frame_tiles(frame, 2, part.count),
        .dy = hr_frame_tiles(&dy, 0, part.count),
        .images = images,
        .gradients = gradients,
        .from = from,
        .to = to,
        .add = part.first > 0,
        .sums = job->memory.dw,
        .own = job->memory.tiles + thread * correlate_elems(conv)});
    if (from == 0)
        hr_elementwise()->column_add(part.count * dy.height * dy.width, conv->O, gradients, conv->O,
                                     job->pass->grads + conv->O * conv->ntaps);
}

static void weights_tiles_task(void *arg, size_t task, size_t thread)
{
    const struct hr_conv_job *job = arg;
    const struct hr_conv *conv = &job->conv;
    const size_t B = job->pass->B, threads = job->pass->threads;
    const size_t lines = (conv->Cg + LINE - 1) / LINE;
    const size_t from = LINE * hr_split_begin(lines, threads, task);
    const size_t to = hr_min_size(LINE * hr_split_begin(lines, threads, task + 1), conv->Cg);
    for (size_t n = 0; from < to && n < hr_conv_parts(&conv->x_frame, B); n++)
        add_part(job, hr_conv_part_of(&conv->x_frame, B, n), thread, from, to);
}

static void conv_backward_weights_tiles(struct hr_conv_job *job)
{
    const struct hr_pass *pass = job->pass;
    const struct hr_conv *conv = &job->conv;
    const struct hr_frame dy = dy_frame(conv);
    lay_out_tiles(conv, pass->threads, pass->scratch, &job->memory);
    hr_conv_zero_frames(&conv->x_frame, pass->threads, job->memory.frames);
    hr_conv_zero_frames(&dy, pass->threads, job->memory.planes);
    memset(pass->grads, 0, (conv->O * conv->ntaps + conv->O) * sizeof *pass->grads);
    hr_team_run(pass->threads, pass->threads, weights_tiles_task, job);
    if (pass->B)
        hr_winograd_unpack(conv->Cg, conv->Og, job->memory.dw, job->memory.filters, pass->grads);
}

/* --- forward ---
 * Convolution, forward: y = patches of x * weights. Parts of the batch are shared out among the
 * threads. */

static void view_tables(struct hr_conv_views *views, const struct hr_conv *conv,
                        const struct hr_conv *in_memory, struct hr_conv_memory *out)
{
    const size_t panels = hr_conv_panels_elems(conv, in_memory->ntaps, conv->Og);
    out->pixel = hr_conv_view(views, conv->x_frame.images * conv->slide.OH * conv->slide.OW,
                              sizeof(uint32_t));
    out->tap = hr_conv_view(views, in_memory->ntaps, sizeof(uint32_t));
    out->panels = hr_conv_view(views, conv->groups * panels, sizeof(float));
    out->turned = hr_conv_view(views, conv->pairs ? conv->ntaps * conv->Og : 0, sizeof(float));
}

static size_t lay_out_forward(const struct hr_conv *conv, size_t threads, unsigned char *base,
                              struct hr_conv_memory *out)
{
    struct hr_conv_views views = {base, 0};
    const struct hr_conv in_memory = hr_conv_in_memory(conv);
    *out = (struct hr_conv_memory){0};
    if (conv->winograd)
        conv_view_tiles(&views, conv->Cg, conv->Og, threads, out);
    else
        view_tables(&views, conv, &in_memory, out);
    out->frames = hr_conv_view(&views, threads * hr_frame_elems(&in_memory.x_frame), sizeof(float));
    out->planes = hr_conv_view(&views, threads * hr_conv_plane_elems(conv), sizeof(float));
    return views.used;
}

size_t hr_conv_forward_bytes(const struct hr_conv *conv, size_t threads)
{
    struct hr_conv_memory unused;
    return lay_out_forward(conv, threads, NULL, &unused);
}

/* `count` images of the frame to outputs (count, OH, OW, O). */
static void multiply_patches(const struct hr_conv_job *job, const void *images, size_t count,
                             const float *bias, float *plane)
{
    const struct hr_conv *conv = &job->conv;
    const size_t panels = hr_conv_panels_elems(conv, job->in_memory.ntaps, conv->Og);
    struct hr_patches patches = job->patches;
    patches.npixels = count * conv->slide.OH * conv->slide.OW;
    for (size_t g = 0; g < conv->groups; g++) {
        const struct hr_conv_product product = {.patches = &patches,
                                                .images = hr_conv_at(images, g * job->in_memory.Cg),
                                                .panels =
                                                    hr_conv_at(job->memory.panels, g * panels),
                                                .bias = bias + g * conv->Og,
                                                .relu = job->relu,
                                                .whole = true};
        hr_conv_multiply(conv, &product,
                         &(struct hr_matrix){plane + g * conv->Og, conv->Og, conv->O});
    }
}

static void multiply(const struct hr_conv_job *job, const void *images, size_t count, size_t thread,
                     float *plane)
{
    const struct hr_conv *conv = &job->conv;
    const float *bias = job->pass->params + conv->O * conv->ntaps;
    if (!conv->winograd) {
        multiply_patches(job, images, count, bias, plane);
        return;
    }
    conv_multiply_tiles(job,
                        &(struct hr_conv_tiles){.frame = &conv->x_frame,
                                                .images = images,
                                                .count = count,
                                                .H = conv->slide.OH,
                                                .W = conv->slide.OW,
                                                .columns = conv->O,
                                                .bias = bias,
                                                .relu = job->relu,
                                                .y = plane},
                        thread);
}

static void forward_part(void *arg, size_t task, size_t thread)
{
    const struct hr_conv_job *job = arg;
    const struct hr_conv *conv = &job->conv;
    const struct hr_pass *pass = job->pass;
    const struct hr_frame *frame = &job->in_memory.x_frame;
    const struct hr_conv_part part = hr_conv_part_of(frame, pass->B, task);
    const size_t b = part.first;
    const void *images =
        hr_conv_framed(conv, frame, conv->Cg, pass->x + b * job->in, part.count,
                       hr_conv_at(job->memory.frames, thread * hr_frame_elems(frame)));
    float *y = pass->y + b * job->out;
    float *plane = job->pool ? job->memory.planes + thread * hr_conv_plane_elems(conv) : y;
    multiply(job, images, part.count, thread, plane);
    uint8_t *places = pass->saved;
    const size_t plane_elems = conv->slide.OH * conv->slide.OW * conv->O;
    for (size_t n = 0; job->pool && n < part.count; n++)
        hr_pooling()->max(&job->pool_window, plane + n * plane_elems, y + n * job->out,
                          places ? places + (b + n) * job->out : NULL);
}

/* The weights as panels, and tables for them. */
static void pack(struct hr_conv_job *job)
{
    const struct hr_conv *conv = &job->conv;
    const float *weight = job->pass->params;
    if (conv->winograd) {
        hr_winograd_pack(conv->Cg, conv->Og, false, weight, job->memory.filters,
                         job->memory.panels);
        return;
    }
    job->patches = hr_conv_patches(&job->in_memory, job->memory.pixel, job->memory.tap);
    const size_t panels = hr_conv_panels_elems(conv, job->patches.ntaps, conv->Og);
    for (size_t g = 0; g < conv->groups; g++)
        hr_conv_pack(conv, g, weight, job->memory.turned,
                     hr_conv_at(job->memory.panels, g * panels));
}

void hr_conv_forward(struct hr_conv_job *job)
{
    const struct hr_pass *pass = job->pass;
    const struct hr_conv *conv = &job->conv;
    job->in_memory.x_frame.planes = !conv->pairs && !conv->winograd && conv->groups == 1 &&
                                    conv->slide.C > 1 && conv->slide.window.stride == 1 &&
                                    hr_patches_want_lanes(conv->O, conv->slide.OW);
    lay_out_forward(conv, pass->threads, pass->scratch, &job->memory);
    pack(job);
    hr_conv_zero_frames(&job->in_memory.x_frame, pass->threads, job->memory.frames);
    hr_team_run(pass->threads, hr_conv_parts(&conv->x_frame, pass->B), forward_part, job);
}

/* --- backward for the data ---
 * Convolution, gradient of x: each pixel gathers from dy, phase by phase (conv_layout.h). Parts of
 * the batch are shared out among the threads. */

/* What a phase computes, before it is copied to its pixels. */
static size_t strip_elems(const struct hr_conv *conv)
{
    return conv->dy_frame.images * conv->slide.H * conv->slide.W * conv->Cg;
}

/* dy with its channels one after another, for few columns (tiles/lanes.h). */
static bool wants_planes(const struct hr_conv *conv)
{
    return !conv->pairs && !conv->winograd && conv->groups == 1 && conv->O > 1 &&
           hr_patches_want_lanes(conv->Cg, conv->slide.W / conv->slide.window.stride);
}

static void view_phases(struct hr_conv_views *views, const struct hr_conv *conv, size_t threads,
                        struct hr_conv_memory *out)
{
    const struct hr_sliding *s = &conv->slide;
    const struct hr_window *w = &s->window;
    const struct hr_conv in_memory = hr_conv_in_memory(conv);
    const size_t taps = w->height * w->width * in_memory.Og +
                        (in_memory.dy_frame.zeros ? w->stride * w->stride : 0);
    const size_t panels = hr_conv_panels_elems(conv, taps, conv->Cg);
    const size_t pooled = conv->bf16 || wants_planes(conv) ? s->OH * s->OW * conv->O : 0;
    out->phases = hr_conv_view(views, w->stride * w->stride, sizeof(struct hr_conv_phase));
    out->pixel = hr_conv_view(views, conv->dy_frame.images * s->H * s->W, sizeof(uint32_t));
    out->tap = hr_conv_view(views, taps, sizeof(uint32_t));
    out->panels = hr_conv_view(views, conv->groups * panels, sizeof(float));
    out->turned = hr_conv_view(views, conv->pairs ? conv->ntaps * conv->O : 0, sizeof(float));
    out->planes = hr_conv_view(views, threads * strip_elems(conv), sizeof(float));
    out->pooled = hr_conv_view(views, threads * pooled, sizeof(float));
}

static size_t lay_out_data(const struct hr_conv *conv, size_t threads, unsigned char *base,
                           struct hr_conv_memory *out)
{
    struct hr_conv_views views = {base, 0};
    const struct hr_conv in_memory = hr_conv_in_memory(conv);
    *out = (struct hr_conv_memory){0};
    if (conv->winograd)
        conv_view_tiles(&views, conv->Og, conv->Cg, threads, out);
    else
        view_phases(&views, conv, threads, out);
    out->frames =
        hr_conv_view(&views, threads * hr_frame_elems(&in_memory.dy_frame), sizeof(float));
    return views.used;
}

size_t hr_conv_data_bytes(const struct hr_conv *conv, size_t threads)
{
    struct hr_conv_memory unused;
    return lay_out_data(conv, threads, NULL, &unused);
}

/* Copy what a phase has computed, contiguous, to its pixels of dx. */
static void scatter(const struct hr_conv_job *job, const struct hr_conv_phase *phase,
                    const float *from, size_t images, float *dx)
{
    const struct hr_sliding *s = &job->conv.slide;
    const size_t stride = s->window.stride, count = job->conv.Cg;
    for (size_t row = 0; row < images * phase->rows; row++) {
        const size_t y = row / phase->rows * s->H + phase->y + row % phase->rows * stride;
        hr_elementwise()->copy_rows(phase->columns, count, from, count,
                                    dx + (y * s->W + phase->x) * s->C, stride * s->C);
        from += phase->columns * count;
    }
}

/* Pixels that no tap of the filter ever touches. */
static void zero_untouched(const struct hr_conv_job *job, struct hr_conv_part part)
{
    const size_t stride = job->conv.slide.window.stride;
    bool untouched = false;
    for (size_t n = 0; n < stride * stride; n++)
        untouched |= job->memory.phases[n].patches.ntaps == 0;
    if (untouched)
        memset(job->pass->dx + part.first * job->in, 0, part.count * job->in * sizeof(float));
}

/* One phase of group g. */
static void data_phase(const struct hr_conv_job *job, const struct hr_conv_phase *phase,
                       struct hr_conv_part part, size_t g, const void *images, float *strip)
{
    const struct hr_conv *conv = &job->conv;
    const bool direct = conv->slide.window.stride == 1;
    const size_t panels = hr_conv_panels_elems(conv, phase->patches.ntaps, conv->Cg);
    float *dx = job->pass->dx + part.first * job->in + g * conv->Cg;
    struct hr_patches patches = phase->patches;
    patches.npixels = part.count * phase->rows * phase->columns;
    const struct hr_conv_product product = {
        .patches = &patches,
        .images = hr_conv_at(images, g * job->in_memory.Og),
        .panels = hr_conv_at(job->memory.panels, phase->panels + g * panels),
        .whole = !job->partial};
    hr_conv_multiply(
        conv, &product,
        &(struct hr_matrix){direct ? dx : strip, conv->Cg, direct ? conv->slide.C : conv->Cg});
    if (!direct)
        scatter(job, phase, strip, part.count, dx);
}

/* dx of a part's images, phase by phase. */
static void data_phases(const struct hr_conv_job *job, struct hr_conv_part part, const void *images,
                        size_t thread)
{
    const struct hr_conv *conv = &job->conv;
    const size_t stride = conv->slide.window.stride;
    float *strip = job->memory.planes + thread * strip_elems(conv);
    zero_untouched(job, part);
    for (size_t n = 0; n < stride * stride; n++)
        for (size_t g = 0; g < conv->groups && job->memory.phases[n].patches.ntaps; g++)
            data_phase(job, &job->memory.phases[n], part, g, images, strip);
}

static void data_part(void *arg, size_t task, size_t thread)
{
    const struct hr_conv_job *job = arg;
    const struct hr_conv *conv = &job->conv;
    const struct hr_frame *frame = &job->in_memory.dy_frame;
    const struct hr_conv_part part = hr_conv_part_of(frame, job->pass->B, task);
    float *pooled = job->memory.pooled; /* NULL: Winograd's tiles need none */
    const void *images = hr_conv_framed_dy(
        job, frame, part, hr_conv_at(job->memory.frames, thread * hr_frame_elems(frame)),
        pooled ? pooled + thread * frame->H * frame->W * conv->O : NULL);
    if (conv->winograd)
        conv_multiply_tiles(job,
                            &(struct hr_conv_tiles){.frame = frame,
                                                    .images = images,
                                                    .count = part.count,
                                                    .H = conv->slide.H,
                                                    .W = conv->slide.W,
                                                    .columns = conv->slide.C,
                                                    .y = job->pass->dx + part.first * job->in},
                            thread);
    else
        data_phases(job, part, images, thread);
}

static void prepare_phases(struct hr_conv_job *job)
{
    const struct hr_conv *conv = &job->conv;
    const size_t stride = conv->slide.window.stride;
    uint32_t *pixel = job->memory.pixel, *tap = job->memory.tap;
    const float *weight = job->pass->params;
    size_t panels = 0;
    if (conv->pairs) {
        hr_conv_turn(conv, weight, job->memory.turned);
        weight = job->memory.turned;
    }
    for (size_t n = 0; n < stride * stride; n++) {
        struct hr_conv_phase *phase = &job->memory.phases[n];
        *phase = hr_conv_phase(&job->in_memory, n, pixel, tap);
        phase->panels = panels;
        pixel += phase->patches.npixels;
        tap += phase->patches.ntaps;
        for (size_t g = 0; g < conv->groups; g++) {
            hr_conv_phase_pack(conv, n, g, weight, hr_conv_at(job->memory.panels, panels));
            panels += hr_conv_panels_elems(conv, phase->patches.ntaps, conv->Cg);
        }
    }
}

void hr_conv_backward_data(struct hr_conv_job *job)
{
    const struct hr_pass *pass = job->pass;
    const struct hr_conv *conv = &job->conv;
    job->in_memory.dy_frame.planes = wants_planes(conv);
    lay_out_data(conv, pass->threads, pass->scratch, &job->memory);
    if (conv->winograd)
        hr_winograd_pack(conv->Cg, conv->Og, true, pass->params, job->memory.filters,
                         job->memory.panels);
    else
        prepare_phases(job);
    hr_conv_zero_frames(&job->in_memory.dy_frame, pass->threads, job->memory.frames);
    hr_team_run(pass->threads, hr_conv_parts(&conv->dy_frame, pass->B), data_part, job);
}

/* --- backward for the weights ---
 * Convolution, gradient of the weights: dw = patches of x, transposed, * dy. Each thread has rows
 * of dw, and goes through the batch in order, so that threads change no bit. Of bfloat16 values two
 * images are one of pairs (products/patches_bf16.h), or side by side, the odd one's pixel first. */

/* A group's dy, of a part: panels, or rows. */
static size_t panels_elems(const struct hr_conv *conv)
{
    const size_t pixels = conv->x_frame.images * conv->slide.OH * conv->slide.OW;
    return conv->as_amx ? hr_amx_rows_elems(pixels, conv->Og)
                        : hr_panels_bf16_elems(pixels, conv->Og);
}

/* Of bfloat16 values as floats a pair of images is two. */
static struct hr_conv both_images(const struct hr_conv *conv)
{
    struct hr_conv both = *conv;
    if (conv->bf16 && !conv->pairs)
        both.x_frame.images *= 2;
    return both;
}

/* Of all groups' dy, of bfloat16 values. */
static size_t dy_elems(const struct hr_conv *conv)
{
    const struct hr_conv both = both_images(conv);
    return conv->pairs ? conv->groups * panels_elems(conv) : hr_conv_plane_elems(&both);
}

/* Of dw, a group's. */
static size_t dw_elems(const struct hr_conv *conv, const struct hr_patches *patches)
{
    return conv->as_amx ? hr_amx_dw_elems(patches, conv->Og) : conv->ntaps * conv->Og;
}

/* Lines of taps are at least a group's channels long. */
static size_t most_dw_elems(const struct hr_conv *conv)
{
    const struct hr_patches patches = {.ntaps = conv->ntaps, .tap_line = {conv->Cg, 1}};
    return dw_elems(conv, &patches);
}

static size_t lay_out_weights(const struct hr_conv *conv, size_t threads, unsigned char *base,
                              struct hr_conv_memory *out)
{
    struct hr_conv_views views = {base, 0};
    const size_t pixels = conv->slide.OH * conv->slide.OW;
    const size_t plane = conv->bf16 ? 2 * pixels * conv->O : hr_conv_plane_elems(conv);
    const struct hr_frame frame = both_images(conv).x_frame;
    *out = (struct hr_conv_memory){0};
    out->pixel = hr_conv_view(&views, frame.images * pixels, sizeof(uint32_t));
    out->tap = hr_conv_view(&views, conv->ntaps, sizeof(uint32_t));
    out->frames = hr_conv_view(&views, threads * hr_frame_elems(&frame), sizeof(float));
    out->planes = hr_conv_view(&views, threads * plane, sizeof(float));
    out->dy = hr_conv_view(&views, conv->bf16 ? threads * dy_elems(conv) : 0, sizeof(uint32_t));
    out->dw = hr_conv_view(&views, conv->groups * most_dw_elems(conv), sizeof(float));
    return views.used;
}

size_t hr_conv_weights_bytes(const struct hr_conv *conv, size_t threads)
{
    struct hr_conv_memory unused;
    return conv->winograd ? conv_weights_tiles_bytes(conv, threads)
                          : lay_out_weights(conv, threads, NULL, &unused);
}

/* The gradient of image `number` from the pool's. */
static void pool_back(const struct hr_conv_job *job, size_t number, float *to)
{
    const struct hr_pass *pass = job->pass;
    const uint8_t *places = pass->saved;
    const size_t at = number * job->out;
    hr_pooling()->max_back(&job->pool_window, job->relu ? pass->y + at : NULL, pass->dy + at,
                           places + at, to, job->conv.slide.OW * job->conv.O);
}

/* Its rows of dw: the groups' tiles end to end, [from, to) of them. */
struct tiles {
    size_t from, to, each, rows; /* each: of a group, of so many rows */
};

static struct tiles tiles_of(const struct hr_conv *conv, const struct hr_patches *patches)
{
    if (conv->as_amx)
        return (struct tiles){.each = hr_amx_tap_tiles(patches)};
    const size_t rows = conv->pairs ? HR_BF16_ROWS : HR_MICRO_ROWS;
    const size_t each = (conv->ntaps + rows - 1) / rows;
    return (struct tiles){0, each * conv->groups, each, rows};
}

/* Rows [*first, *end) of dw of group g. */
static void rows_of(const struct hr_conv *conv, const struct tiles *tiles, size_t g, size_t *first,
                    size_t *end)
{
    const size_t begin = g * tiles->each;
    *first = tiles->rows * (begin < tiles->from ? tiles->from - begin : 0);
    *end = hr_min_size(tiles->rows * hr_min_size(tiles->to - begin, tiles->each), conv->ntaps);
}

/* --- floats --- */

/* Images of dy, readable behind their last row. */
static const float *plain_dy(const struct hr_conv_job *job, struct hr_conv_part part, float *own)
{
    const size_t plane = job->conv.slide.OH * job->conv.slide.OW * job->conv.O;
    const float *dy = job->pass->dy + part.first * job->out;
    if (!job->pool && !hr_patches_read_beyond(&job->patches, job->conv.Og))
        return dy;
    if (!job->pool)
        return memcpy(own, dy, part.count * plane * sizeof *own);
    for (size_t n = 0; n < part.count; n++)
        pool_back(job, part.first + n, own + n * plane);
    return own;
}

static void floats_part(const struct hr_conv_job *job, struct hr_conv_part part, size_t thread,
                        const struct tiles *tiles)
{
    const struct hr_conv *conv = &job->conv;
    const struct hr_frame *frame = &conv->x_frame;
    const float *images =
        hr_conv_framed(conv, frame, conv->Cg, job->pass->x + part.first * job->in, part.count,
                       hr_conv_at(job->memory.frames, thread * hr_frame_elems(frame)));
    struct hr_patches patches = job->patches;
    patches.npixels = part.count * conv->slide.OH * conv->slide.OW;
    const float *dy = plain_dy(job, part, job->memory.planes + thread * hr_conv_plane_elems(conv));
    for (size_t g = tiles->from / tiles->each; g * tiles->each < tiles->to; g++) {
        size_t first, end;
        rows_of(conv, tiles, g, &first, &end);
        /* Only read: the right side of a product. */
        const struct hr_matrix right = {(float *)(uintptr_t)dy + g * conv->Og, conv->Og, conv->O};
        hr_patches_correlate(&patches, images + g * conv->Cg, &right, first, end, part.first > 0,
                             job->memory.dw + g * conv->ntaps * conv->Og);
    }
    if (tiles->from == 0)
        hr_elementwise()->column_add(patches.npixels, conv->O, dy, conv->O,
                                     job->pass->grads + conv->O * conv->ntaps);
}

/* --- pairs of images --- */

/* Where the gradient of an image stands, or through the pool is put. */
static const float *dy_of(const struct hr_conv_job *job, size_t number, float *own)
{
    if (!job->pool)
        return job->pass->dy + number * job->out;
    const size_t plane = job->conv.slide.OH * job->conv.slide.OW * job->conv.O;
    pool_back(job, number, own);
    const struct hr_window *w = &job->pool_window.window;
    if (w->height > w->stride || w->width > w->stride) /* windows overlap */
        hr_bf16()->round(plane, own, own);
    return own;
}

/* Pair number n of the part, images `number` and, with `two`, the next: into panels, or as floats
 * side by side, the odd image's of each pixel first; and added to dbias. */
static void pack_dy(const struct hr_conv_job *job, size_t thread, size_t n, size_t npixels,
                    size_t number, bool two, float *dbias)
{
    const struct hr_conv *conv = &job->conv;
    const size_t pixels = conv->slide.OH * conv->slide.OW, plane = pixels * conv->O;
    float *own = job->memory.planes + thread * 2 * plane;
    uint32_t *panels = job->memory.dy + thread * dy_elems(conv);
    const float *even = dy_of(job, number, own);
    const float *odd = two ? dy_of(job, number + 1, own + plane) : NULL;
    for (size_t g = 0; conv->as_amx && g < conv->groups; g++, panels += panels_elems(conv))
        hr_bf16()->pack_turned(pixels, odd ? pixels : 0, conv->Og, even + g * conv->Og,
                               (odd ? odd : even) + g * conv->Og, conv->O, panels + n * pixels,
                               hr_amx_row(npixels));
    const uint64_t mode = hr_fp_mode();
    hr_fp_flush_denormals();
    if (!conv->pairs)
        hr_bf16()->swap_two(pixels, conv->O, even, odd, conv->O, conv->O,
                            (float *)panels + 2 * n * plane);
    hr_fp_mode_set(mode);
    for (size_t g = 0; conv->pairs && !conv->as_amx && g < conv->groups;
         g++, panels += panels_elems(conv))
        for (size_t j = 0; j < conv->Og; j += HR_BF16_COLUMNS) {
            const size_t at = g * conv->Og + j, count = hr_min_size(conv->Og - j, HR_BF16_COLUMNS);
            hr_bf16()->pack_two(pixels, count, even + at, odd ? odd + at : NULL, conv->O,
                                HR_BF16_COLUMNS,
                                panels + hr_panels_bf16_at(npixels, n * pixels, j));
        }
    for (size_t i = 0; dbias && i <= (size_t)two; i++)
        hr_elementwise()->column_add(pixels, conv->O, i ? odd : even, conv->O, dbias);
}

/* Of group g, its tiles of taps. */
static void correlate_as_amx(const struct hr_conv *conv, const struct hr_patches *patches, size_t g,
                             const struct tiles *tiles, const uint32_t *images,
                             const uint32_t *rows, bool more, float *dw)
{
    const size_t begin = g * tiles->each;
    hr_patches_correlate_amx(patches, images + g * conv->Cg, rows + g * panels_elems(conv),
                             conv->Og, tiles->from > begin ? tiles->from - begin : 0,
                             hr_min_size(tiles->to - begin, tiles->each), more,
                             dw + g * dw_elems(conv, patches));
}

/* Images of a part: in pairs, or one by one, of an odd number one more of zeros. */
static void frame_pairs(const struct hr_conv *conv, const struct hr_frame *frame,
                        const float *images, size_t count, void *own)
{
    const size_t image = hr_frame_image_elems(frame);
    if (conv->pairs) {
        hr_frame_fill_two(frame, images, count, own);
        return;
    }
    hr_frame_fill(frame, images, count, own);
    if (count % 2)
        memset(hr_conv_at(own, count * image), 0, image * sizeof(float));
}

/* A part's images are counted in pairs. */
static void pairs_part(const struct hr_conv_job *job, struct hr_conv_part part, size_t thread,
                       const struct tiles *tiles)
{
    const struct hr_conv *conv = &job->conv;
    const struct hr_frame both = both_images(conv).x_frame, *frame = &both;
    const size_t first_image = 2 * part.first;
    const size_t images = hr_min_size(2 * part.count, job->pass->B - first_image);
    uint32_t *own = hr_conv_at(job->memory.frames, thread * hr_frame_elems(frame));
    const uint32_t *panels = job->memory.dy + thread * dy_elems(conv);
    float *dbias = tiles->from == 0 ? job->pass->grads + conv->O * conv->ntaps : NULL;
    struct hr_patches patches = job->patches;
    patches.npixels = part.count * conv->slide.OH * conv->slide.OW * (conv->pairs ? 1 : 2);
    frame_pairs(conv, frame, job->pass->x + first_image * job->in, images, own);
    for (size_t n = 0; n < part.count; n++)
        pack_dy(job, thread, n, patches.npixels, first_image + 2 * n, 2 * n + 1 < images, dbias);
    for (size_t g = tiles->from / tiles->each; g * tiles->each < tiles->to; g++) {
        size_t first, end;
        if (conv->as_amx) {
            correlate_as_amx(conv, &patches, g, tiles, own, panels, part.first > 0, job->memory.dw);
            continue;
        }
        rows_of(conv, tiles, g, &first, &end);
        if (!conv->pairs) {
            const struct hr_matrix dy = {(float *)(uintptr_t)panels + g * conv->Og, conv->Og,
                                         conv->O};
            hr_patches_correlate(&patches, (const float *)own + g * conv->Cg, &dy, first, end,
                                 part.first > 0, job->memory.dw + g * conv->ntaps * conv->Og);
            continue;
        }
        hr_patches_correlate_bf16(&patches, own + g * conv->Cg, panels + g * panels_elems(conv),
                                  conv->Og, first, end, part.first > 0,
                                  job->memory.dw + g * conv->ntaps * conv->Og);
    }
}

static void unpack_as_amx(const struct hr_conv_job *job, size_t g)
{
    const struct hr_conv *conv = &job->conv;
    const size_t spots = conv->slide.window.height * conv->slide.window.width;
    const float *dw = job->memory.dw + g * dw_elems(conv, &job->patches);
    float *to = job->pass->grads + g * conv->Og * conv->ntaps;
    for (size_t tap = 0; tap < conv->ntaps; tap++) {
        const size_t place = tap % conv->Cg * spots + tap / conv->Cg;
        for (size_t o = 0; o < conv->Og; o += HR_AMX_COLUMNS) {
            const float *from = dw + hr_amx_dw_at(&job->patches, tap, o);
            for (size_t i = 0; i < hr_min_size(HR_AMX_COLUMNS, conv->Og - o); i++)
                to[(o + i) * conv->ntaps + place] = from[i * HR_AMX_COLUMNS];
        }
    }
}

/* --- both --- */

static void weights_task(void *arg, size_t task, size_t thread)
{
    const struct hr_conv_job *job = arg;
    const struct hr_conv *conv = &job->conv;
    const size_t units = conv->bf16 ? (job->pass->B + 1) / 2 : job->pass->B;
    struct tiles tiles = tiles_of(conv, &job->patches);
    tiles.from = hr_split_begin(tiles.each * conv->groups, job->pass->threads, task);
    tiles.to = hr_split_begin(tiles.each * conv->groups, job->pass->threads, task + 1);
    for (size_t n = 0; n < hr_conv_parts(&conv->x_frame, units); n++)
        (conv->bf16 ? pairs_part : floats_part)(job, hr_conv_part_of(&conv->x_frame, units, n),
                                                thread, &tiles);
}

/* The table of pixels: each of an odd image, then of the even one before it. */
static void pair_pixels(const struct hr_conv *both, uint32_t *pixel)
{
    const size_t pixels = both->slide.OH * both->slide.OW;
    const uint32_t image = (uint32_t)hr_frame_image_elems(&both->x_frame);
    for (size_t i = both->x_frame.images / 2 * pixels; i-- > 0;) {
        const uint32_t at = pixel[i % pixels] + (uint32_t)(i / pixels * 2) * image;
        pixel[2 * i + 1] = at;
        pixel[2 * i] = at + image;
    }
}

void hr_conv_backward_weights(struct hr_conv_job *job)
{
    const struct hr_pass *pass = job->pass;
    const struct hr_conv *conv = &job->conv;
    if (conv->winograd) {
        conv_backward_weights_tiles(job);
        return;
    }
    lay_out_weights(conv, pass->threads, pass->scratch, &job->memory);
    const struct hr_conv both = both_images(conv);
    job->patches = hr_conv_patches(&both, job->memory.pixel, job->memory.tap);
    if (conv->bf16 && !conv->pairs)
        pair_pixels(&both, job->memory.pixel);
    hr_conv_zero_frames(&both.x_frame, pass->threads, job->memory.frames);
    memset(pass->grads, 0, (conv->O * conv->ntaps + conv->O) * sizeof *pass->grads);
    hr_team_run(pass->threads, pass->threads, weights_task, job);
    for (size_t g = 0; pass->B && g < conv->groups; g++)
        if (conv->as_amx)
            unpack_as_amx(job, g);
        else
            hr_conv_unpack(conv, g, job->memory.dw + g * conv->ntaps * conv->Og, pass->grads);
}

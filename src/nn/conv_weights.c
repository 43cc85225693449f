/* Convolution, gradient of the weights: dw = patches of x, transposed, * dy. Each thread has rows
 * of dw, and goes through the batch in order, so that threads change no bit. Of bfloat16 values two
 * images are one of pairs (products/patches_bf16.h). */
#include <string.h>

#include "base/size.h"
#include "nn/conv_job.h"
#include "kernels/bf16.h"
#include "kernels/elementwise.h"
#include "kernels/pool.h"
#include "kernels/team.h"
#include "products/patches_amx.h"
#include "products/patches_bf16.h"
#include "tiles/micro.h"
#include "tiles/micro_amx.h"
#include "tiles/micro_bf16.h"

/* A group's dy, of a part: panels, or rows. */
static size_t panels_elems(const struct hr_conv *conv)
{
    const size_t pixels = conv->x_frame.images * conv->slide.OH * conv->slide.OW;
    return conv->as_amx ? hr_amx_rows_elems(pixels, conv->Og)
                        : hr_panels_bf16_elems(pixels, conv->Og);
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

static size_t lay_out(const struct hr_conv *conv, size_t threads, unsigned char *base,
                      struct hr_conv_memory *out)
{
    struct hr_conv_views views = {base, 0};
    const size_t pixels = conv->slide.OH * conv->slide.OW;
    const size_t plane = conv->bf16 ? 2 * pixels * conv->O : hr_conv_plane_elems(conv);
    const size_t panels = conv->bf16 ? conv->groups * panels_elems(conv) : 0;
    *out = (struct hr_conv_memory){0};
    out->pixel = hr_conv_view(&views, conv->x_frame.images * pixels, sizeof(uint32_t));
    out->tap = hr_conv_view(&views, conv->ntaps, sizeof(uint32_t));
    out->frames = hr_conv_view(&views, threads * hr_frame_elems(&conv->x_frame), sizeof(float));
    out->planes = hr_conv_view(&views, threads * plane, sizeof(float));
    out->dy = hr_conv_view(&views, threads * panels, sizeof(uint32_t));
    out->dw = hr_conv_view(&views, conv->groups * most_dw_elems(conv), sizeof(float));
    return views.used;
}

size_t hr_conv_weights_bytes(const struct hr_conv *conv, size_t threads)
{
    struct hr_conv_memory unused;
    return conv->winograd ? hr_conv_weights_tiles_bytes(conv, threads)
                          : lay_out(conv, threads, NULL, &unused);
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
    const size_t rows = conv->bf16 ? HR_BF16_ROWS : HR_MICRO_ROWS;
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
    hr_bf16()->round(plane, own, own); /* where windows overlap */
    return own;
}

/* Pair number n of the part, images `number` and, with `two`, the next: into panels, and added to
 * dbias. */
static void pack_dy(const struct hr_conv_job *job, size_t thread, size_t n, size_t npixels,
                    size_t number, bool two, float *dbias)
{
    const struct hr_conv *conv = &job->conv;
    const size_t pixels = conv->slide.OH * conv->slide.OW, plane = pixels * conv->O;
    float *own = job->memory.planes + thread * 2 * plane;
    uint32_t *panels = job->memory.dy + thread * conv->groups * panels_elems(conv);
    const float *even = dy_of(job, number, own);
    const float *odd = two ? dy_of(job, number + 1, own + plane) : NULL;
    for (size_t g = 0; conv->as_amx && g < conv->groups; g++, panels += panels_elems(conv))
        hr_bf16()->pack_turned(pixels, odd ? pixels : 0, conv->Og, even + g * conv->Og,
                               (odd ? odd : even) + g * conv->Og, conv->O, panels + n * pixels,
                               hr_amx_row(npixels));
    for (size_t g = 0; !conv->as_amx && g < conv->groups; g++, panels += panels_elems(conv))
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

/* A part's images are counted in pairs. */
static void pairs_part(const struct hr_conv_job *job, struct hr_conv_part part, size_t thread,
                       const struct tiles *tiles)
{
    const struct hr_conv *conv = &job->conv;
    const struct hr_frame *frame = &conv->x_frame;
    const size_t first_image = 2 * part.first;
    const size_t images = hr_min_size(2 * part.count, job->pass->B - first_image);
    uint32_t *own = hr_conv_at(job->memory.frames, thread * hr_frame_elems(frame));
    const uint32_t *panels = job->memory.dy + thread * conv->groups * panels_elems(conv);
    float *dbias = tiles->from == 0 ? job->pass->grads + conv->O * conv->ntaps : NULL;
    struct hr_patches patches = job->patches;
    patches.npixels = part.count * conv->slide.OH * conv->slide.OW;
    hr_frame_fill_two(frame, job->pass->x + first_image * job->in, images, own);
    for (size_t n = 0; n < part.count; n++)
        pack_dy(job, thread, n, patches.npixels, first_image + 2 * n, 2 * n + 1 < images, dbias);
    for (size_t g = tiles->from / tiles->each; g * tiles->each < tiles->to; g++) {
        size_t first, end;
        if (conv->as_amx) {
            correlate_as_amx(conv, &patches, g, tiles, own, panels, part.first > 0, job->memory.dw);
            continue;
        }
        rows_of(conv, tiles, g, &first, &end);
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

void hr_conv_backward_weights(struct hr_conv_job *job)
{
    const struct hr_pass *pass = job->pass;
    const struct hr_conv *conv = &job->conv;
    if (conv->winograd) {
        hr_conv_backward_weights_tiles(job);
        return;
    }
    lay_out(conv, pass->threads, pass->scratch, &job->memory);
    job->patches = hr_conv_patches(conv, job->memory.pixel, job->memory.tap);
    hr_conv_zero_frames(&conv->x_frame, pass->threads, job->memory.frames);
    memset(pass->grads, 0, (conv->O * conv->ntaps + conv->O) * sizeof *pass->grads);
    hr_team_run(pass->threads, pass->threads, weights_task, job);
    for (size_t g = 0; pass->B && g < conv->groups; g++)
        if (conv->as_amx)
            unpack_as_amx(job, g);
        else
            hr_conv_unpack(conv, g, job->memory.dw + g * conv->ntaps * conv->Og, pass->grads);
}

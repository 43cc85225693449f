/* Convolution, gradient of the weights: dw = patches of x, transposed, * dy. Each thread has rows
 * of dw, and goes through the batch in order, so that threads change no bit. */
#include <string.h>

#include "base/size.h"
#include "nn/conv_job.h"
#include "kernels/elementwise.h"
#include "kernels/micro.h"
#include "kernels/pool.h"
#include "kernels/team.h"

static size_t lay_out(const struct hr_conv *conv, size_t threads, unsigned char *base,
                      struct hr_conv_memory *out)
{
    struct hr_conv_views views = {base, 0};
    *out = (struct hr_conv_memory){0};
    out->pixel = hr_conv_view(&views, conv->x_frame.images * conv->slide.OH * conv->slide.OW,
                              sizeof(uint32_t));
    out->tap = hr_conv_view(&views, conv->ntaps, sizeof(uint32_t));
    out->frames = hr_conv_view(&views, threads * hr_frame_elems(&conv->x_frame), sizeof(float));
    out->planes = hr_conv_view(&views, threads * hr_conv_plane_elems(conv), sizeof(float));
    out->dw = hr_conv_view(&views, conv->ntaps * conv->O, sizeof(float));
    return views.used;
}

size_t hr_conv_weights_bytes(const struct hr_conv *conv, size_t threads)
{
    struct hr_conv_memory unused;
    return lay_out(conv, threads, NULL, &unused);
}

/* Images of dy, readable behind their last row. */
static const float *plain_dy(const struct hr_conv_job *job, struct hr_conv_part part, float *own)
{
    const struct hr_pass *pass = job->pass;
    const struct hr_sliding *s = &job->conv.slide;
    const size_t plane = s->OH * s->OW * job->conv.O;
    const float *dy = pass->dy + part.first * job->out;
    const uint8_t *places = pass->saved;
    if (!job->pool && !hr_patches_read_beyond(&job->patches, job->conv.Og))
        return dy;
    if (!job->pool)
        return memcpy(own, dy, part.count * plane * sizeof *own);
    for (size_t n = 0; n < part.count; n++) {
        const size_t at = (part.first + n) * job->out;
        hr_pooling()->max_back(&job->pool_window, job->relu ? pass->y + at : NULL, pass->dy + at,
                               places + at, own + n * plane, s->OW * job->conv.O);
    }
    return own;
}

/* Rows of dw are cut into tiles of six: the groups' tiles end to end, [from, to) of them. */
static void weights_part(const struct hr_conv_job *job, struct hr_conv_part part, size_t thread,
                         size_t from, size_t to)
{
    const struct hr_conv *conv = &job->conv;
    const size_t tiles = (conv->ntaps + HR_MICRO_ROWS - 1) / HR_MICRO_ROWS;
    float *frame = job->memory.frames + thread * hr_frame_elems(&conv->x_frame);
    const float *images =
        hr_conv_framed(&conv->x_frame, job->pass->x + part.first * job->in, part.count, frame);
    struct hr_patches patches = job->patches;
    patches.npixels = part.count * conv->slide.OH * conv->slide.OW;
    const float *dy = plain_dy(job, part, job->memory.planes + thread * hr_conv_plane_elems(conv));
    for (size_t g = from / tiles; g * tiles < to; g++) {
        const size_t first = g * tiles < from ? from - g * tiles : 0;
        const size_t last = hr_min_size(to - g * tiles, tiles);
        /* Only read: the right side of a product. */
        const struct hr_matrix right = {(float *)(uintptr_t)dy + g * conv->Og, conv->Og, conv->O};
        hr_patches_correlate(&patches, images + g * conv->Cg, &right, first * HR_MICRO_ROWS,
                             hr_min_size(last * HR_MICRO_ROWS, conv->ntaps), part.first > 0,
                             job->memory.dw + g * conv->ntaps * conv->Og);
    }
    if (from == 0)
        hr_elementwise()->column_add(patches.npixels, conv->O, dy, conv->O,
                                     job->pass->grads + conv->O * conv->ntaps);
}

static void weights_task(void *arg, size_t task, size_t thread)
{
    const struct hr_conv_job *job = arg;
    const struct hr_conv *conv = &job->conv;
    const size_t tiles = (conv->ntaps + HR_MICRO_ROWS - 1) / HR_MICRO_ROWS * conv->groups;
    for (size_t n = 0; n < hr_conv_parts(&conv->x_frame, job->pass->B); n++)
        weights_part(job, hr_conv_part_of(&conv->x_frame, job->pass->B, n), thread,
                     hr_split_begin(tiles, job->pass->threads, task),
                     hr_split_begin(tiles, job->pass->threads, task + 1));
}

void hr_conv_backward_weights(struct hr_conv_job *job)
{
    const struct hr_pass *pass = job->pass;
    const struct hr_conv *conv = &job->conv;
    lay_out(conv, pass->threads, pass->scratch, &job->memory);
    job->patches = hr_conv_patches(conv, job->memory.pixel, job->memory.tap);
    hr_conv_zero_frames(&conv->x_frame, pass->threads, job->memory.frames);
    memset(pass->grads, 0, (conv->O * conv->ntaps + conv->O) * sizeof *pass->grads);
    hr_team_run(pass->threads, pass->threads, weights_task, job);
    for (size_t g = 0; pass->B && g < conv->groups; g++)
        hr_conv_unpack(conv, g, job->memory.dw + g * conv->ntaps * conv->Og, pass->grads);
}

#include "nn/conv_job.h"

#include <string.h>

#include "base/size.h"
#include "kernels/pool.h"
#include "products/patches_bf16.h"
#include "tiles/micro.h"

const struct hr_layer *hr_conv_pool(const struct hr_layer *layer)
{
    return layer->absorbs ? layer + layer->absorbs : NULL;
}

struct hr_conv_job hr_conv_job_of(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct hr_conv_job job = {.pass = pass,
                              .conv = hr_conv_of(layer),
                              .partial = layer->cut == HR_CUT_COLUMNS,
                              .relu = layer->relu_follows,
                              .pool = hr_conv_pool(layer),
                              .in = hr_dims_elems(&layer->in)};
    job.in_memory = hr_conv_in_memory(&job.conv);
    if (job.pool)
        job.pool_window = hr_sliding_of(job.pool);
    job.out = hr_dims_elems(job.pool ? &job.pool->out : &layer->out);
    return job;
}

void *hr_conv_view(struct hr_conv_views *views, size_t count, size_t size)
{
    void *at = views->base ? views->base + views->used : NULL;
    views->used += hr_round_up(count * size, 64);
    return at;
}

size_t hr_conv_plane_elems(const struct hr_conv *conv)
{
    return conv->x_frame.images * conv->slide.OH * conv->slide.OW * conv->O + HR_MICRO_MAX_COLUMNS;
}

size_t hr_conv_parts(const struct hr_frame *frame, size_t B)
{
    return (B + frame->images - 1) / frame->images;
}

struct hr_conv_part hr_conv_part_of(const struct hr_frame *frame, size_t B, size_t task)
{
    const size_t first = task * frame->images;
    return (struct hr_conv_part){first, hr_min_size(frame->images, B - first)};
}

const void *hr_conv_framed(const struct hr_conv *conv, const struct hr_frame *frame,
                           size_t channels, const float *images, size_t count, void *own)
{
    if (conv->pairs)
        hr_frame_fill_pairs(frame, conv->groups, channels, images, count, own);
    else if (hr_frame_is_bare(frame))
        return images;
    else
        hr_frame_fill(frame, images, count, own);
    return own;
}

/* The gradient of the pooled images [first, first + count), each `step` numbers behind the one
 * before it, rows of pixels x_row. */
static void pool_back(const struct hr_conv_job *job, struct hr_conv_part part, float *to,
                      size_t step, size_t x_row)
{
    const struct hr_pass *pass = job->pass;
    const uint8_t *places = pass->saved;
    for (size_t n = 0; n < part.count; n++, to += step) {
        const size_t at = (part.first + n) * job->out;
        hr_pooling()->max_back(&job->pool_window, job->relu ? pass->y + at : NULL, pass->dy + at,
                               places + at, to, x_row);
    }
}

const void *hr_conv_framed_dy(const struct hr_conv_job *job, const struct hr_frame *frame,
                              struct hr_conv_part part, void *own, float *pooled)
{
    const struct hr_conv *conv = &job->conv;
    const size_t image = hr_frame_image_elems(frame);
    if (!job->pool)
        return hr_conv_framed(conv, frame, conv->Og, job->pass->dy + part.first * job->out,
                              part.count, own);
    if (!conv->bf16 && !frame->planes)
        pool_back(job, part, (float *)own + hr_frame_origin(frame), image,
                  frame->width * frame->channels);
    for (size_t n = 0; (conv->bf16 || frame->planes) && n < part.count; n++) {
        pool_back(job, (struct hr_conv_part){part.first + n, 1}, pooled, 0, frame->W * conv->O);
        hr_conv_framed(conv, frame, conv->Og, pooled, 1, hr_conv_at(own, n * image));
    }
    return own;
}

void hr_conv_zero_frames(const struct hr_frame *frame, size_t threads, void *frames)
{
    memset(frames, 0, threads * hr_frame_elems(frame) * sizeof(float));
}

void hr_conv_multiply(const struct hr_conv *conv, const struct hr_conv_product *product,
                      const struct hr_matrix *y)
{
    const struct hr_patches_end end = {product->bias, conv->bf16 && product->whole, product->relu};
    if (conv->pairs)
        hr_patches_multiply_bf16(product->patches, product->images, product->panels, &end, y);
    else
        hr_patches_multiply(product->patches, product->images, product->panels, &end, y);
}

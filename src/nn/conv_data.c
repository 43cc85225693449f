/* Convolution, gradient of x: each pixel gathers from dy, phase by phase (conv_layout.h). Parts of
 * the batch are shared out among the threads. */
#include <string.h>

#include "nn/conv_job.h"
#include "kernels/pool.h"
#include "kernels/team.h"

static size_t lay_out(const struct hr_conv *conv, size_t threads, unsigned char *base,
                      struct hr_conv_memory *out)
{
    struct hr_conv_views views = {base, 0};
    const struct hr_sliding *s = &conv->slide;
    const struct hr_window *w = &s->window;
    const size_t taps = w->height * w->width * conv->Og;
    *out = (struct hr_conv_memory){0};
    out->phases = hr_conv_view(&views, w->stride * w->stride, sizeof(struct hr_phase));
    out->pixel = hr_conv_view(&views, conv->dy_frame.images * s->H * s->W, sizeof(uint32_t));
    out->tap = hr_conv_view(&views, taps, sizeof(uint32_t));
    out->panels =
        hr_conv_view(&views, conv->groups * hr_panels_elems(taps, conv->Cg), sizeof(float));
    out->frames = hr_conv_view(&views, threads * hr_frame_elems(&conv->dy_frame), sizeof(float));
    out->planes = hr_conv_view(&views, threads * conv->dy_frame.images * s->H * s->W * conv->Cg,
                               sizeof(float));
    return views.used;
}

size_t hr_conv_data_bytes(const struct hr_conv *conv, size_t threads)
{
    struct hr_conv_memory unused;
    return lay_out(conv, threads, NULL, &unused);
}

/* Copy dy's images, or the pool's gradient of them, into the middle of a frame. */
static const float *framed_dy(const struct hr_conv_job *job, struct hr_conv_part part, float *own)
{
    const struct hr_pass *pass = job->pass;
    const struct hr_frame *frame = &job->conv.dy_frame;
    if (!job->pool)
        return hr_conv_framed(frame, pass->dy + part.first * job->out, part.count, own);
    const uint8_t *places = pass->saved;
    for (size_t n = 0; n < part.count; n++) {
        const size_t at = (part.first + n) * job->out;
        hr_pooling()->max_back(&job->pool_window, job->relu ? pass->y + at : NULL, pass->dy + at,
                               places + at,
                               own + n * hr_frame_image_elems(frame) + hr_frame_origin(frame),
                               frame->width * frame->channels);
    }
    return own;
}

/* Copy what a phase has computed, contiguous, to its pixels of dx. */
static void scatter(const struct hr_conv_job *job, const struct hr_phase *phase, const float *from,
                    size_t images, float *dx)
{
    const struct hr_sliding *s = &job->conv.slide;
    const size_t stride = s->window.stride, count = job->conv.Cg;
    for (size_t row = 0; row < images * phase->rows; row++) {
        const size_t y = row / phase->rows * s->H + phase->y + row % phase->rows * stride;
        for (size_t x = phase->x; x < s->W; x += stride, from += count)
            memcpy(dx + (y * s->W + x) * s->C, from, count * sizeof *dx);
    }
}

static void data_part(void *arg, size_t task, size_t thread)
{
    const struct hr_conv_job *job = arg;
    const struct hr_conv *conv = &job->conv;
    const size_t stride = conv->slide.window.stride, pixels = conv->slide.H * conv->slide.W;
    const struct hr_conv_part part = hr_conv_part_of(&conv->dy_frame, job->pass->B, task);
    const float *images =
        framed_dy(job, part, job->memory.frames + thread * hr_frame_elems(&conv->dy_frame));
    float *strip = job->memory.planes + thread * conv->dy_frame.images * pixels * conv->Cg;
    for (size_t n = 0; n < stride * stride; n++) {
        const struct hr_phase *phase = &job->memory.phases[n];
        const size_t panels = hr_panels_elems(phase->patches.ntaps, conv->Cg);
        struct hr_patches patches = phase->patches;
        patches.npixels = part.count * phase->rows * phase->columns;
        for (size_t g = 0; g < conv->groups; g++) {
            float *dx = job->pass->dx + part.first * job->in + g * conv->Cg;
            const struct hr_matrix y = stride == 1 ? (struct hr_matrix){dx, conv->Cg, conv->slide.C}
                                                   : (struct hr_matrix){strip, conv->Cg, conv->Cg};
            hr_patches_multiply(&patches, images + g * conv->Og,
                                job->memory.panels + phase->panels + g * panels, NULL, false, &y);
            if (stride > 1)
                scatter(job, phase, strip, part.count, dx);
        }
    }
}

void hr_conv_backward_data(struct hr_conv_job *job)
{
    const struct hr_pass *pass = job->pass;
    const struct hr_conv *conv = &job->conv;
    const size_t stride = conv->slide.window.stride;
    lay_out(conv, pass->threads, pass->scratch, &job->memory);
    uint32_t *pixel = job->memory.pixel, *tap = job->memory.tap;
    size_t panels = 0;
    for (size_t n = 0; n < stride * stride; n++) {
        struct hr_phase *phase = &job->memory.phases[n];
        *phase = hr_conv_phase(conv, n, pixel, tap);
        phase->panels = panels;
        pixel += phase->patches.npixels;
        tap += phase->patches.ntaps;
        for (size_t g = 0; g < conv->groups; g++) {
            hr_conv_phase_pack(conv, n, g, pass->params, job->memory.panels + panels);
            panels += hr_panels_elems(phase->patches.ntaps, conv->Cg);
        }
    }
    hr_conv_zero_frames(&conv->dy_frame, pass->threads, job->memory.frames);
    hr_team_run(pass->threads, hr_conv_parts(&conv->dy_frame, pass->B), data_part, job);
}

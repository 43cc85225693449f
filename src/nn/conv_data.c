/* Convolution, gradient of x: each pixel gathers from dy, phase by phase (conv_layout.h). Parts of
 * the batch are shared out among the threads. */
#include <string.h>

#include "nn/conv_job.h"
#include "kernels/elementwise.h"
#include "kernels/team.h"

/* What a phase computes, before it is copied to its pixels. */
static size_t strip_elems(const struct hr_conv *conv)
{
    return conv->dy_frame.images * conv->slide.H * conv->slide.W * conv->Cg;
}

/* dy with its channels one after another, for few columns (tiles/lanes.h). */
static bool wants_planes(const struct hr_conv *conv)
{
    return !conv->bf16 && !conv->winograd && conv->groups == 1 && conv->O > 1 &&
           hr_patches_want_lanes(conv->Cg, conv->slide.W / conv->slide.window.stride);
}

static void view_phases(struct hr_conv_views *views, const struct hr_conv *conv, size_t threads,
                        struct hr_conv_memory *out)
{
    const struct hr_sliding *s = &conv->slide;
    const struct hr_window *w = &s->window;
    const size_t taps = w->height * w->width * hr_conv_in_memory(conv).Og;
    const size_t panels = hr_conv_panels_elems(conv, taps, conv->Cg);
    const size_t pooled = conv->bf16 || wants_planes(conv) ? s->OH * s->OW * conv->O : 0;
    out->phases = hr_conv_view(views, w->stride * w->stride, sizeof(struct hr_phase));
    out->pixel = hr_conv_view(views, conv->dy_frame.images * s->H * s->W, sizeof(uint32_t));
    out->tap = hr_conv_view(views, taps, sizeof(uint32_t));
    out->panels = hr_conv_view(views, conv->groups * panels, sizeof(float));
    out->turned = hr_conv_view(views, conv->bf16 ? conv->ntaps * conv->O : 0, sizeof(float));
    out->planes = hr_conv_view(views, threads * strip_elems(conv), sizeof(float));
    out->pooled = hr_conv_view(views, threads * pooled, sizeof(float));
}

static size_t lay_out(const struct hr_conv *conv, size_t threads, unsigned char *base,
                      struct hr_conv_memory *out)
{
    struct hr_conv_views views = {base, 0};
    const struct hr_conv in_memory = hr_conv_in_memory(conv);
    *out = (struct hr_conv_memory){0};
    if (conv->winograd)
        hr_conv_view_tiles(&views, conv->Og, conv->Cg, threads, out);
    else
        view_phases(&views, conv, threads, out);
    out->frames =
        hr_conv_view(&views, threads * hr_frame_elems(&in_memory.dy_frame), sizeof(float));
    return views.used;
}

size_t hr_conv_data_bytes(const struct hr_conv *conv, size_t threads)
{
    struct hr_conv_memory unused;
    return lay_out(conv, threads, NULL, &unused);
}

/* Copy what a phase has computed, contiguous, to its pixels of dx. */
static void scatter(const struct hr_conv_job *job, const struct hr_phase *phase, const float *from,
                    size_t images, float *dx)
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
static void data_phase(const struct hr_conv_job *job, const struct hr_phase *phase,
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
        hr_conv_multiply_tiles(job,
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
    if (conv->bf16) {
        hr_conv_turn(conv, weight, job->memory.turned);
        weight = job->memory.turned;
    }
    for (size_t n = 0; n < stride * stride; n++) {
        struct hr_phase *phase = &job->memory.phases[n];
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
    lay_out(conv, pass->threads, pass->scratch, &job->memory);
    if (conv->winograd)
        hr_winograd_pack(conv->Cg, conv->Og, true, pass->params, job->memory.filters,
                         job->memory.panels);
    else
        prepare_phases(job);
    hr_conv_zero_frames(&job->in_memory.dy_frame, pass->threads, job->memory.frames);
    hr_team_run(pass->threads, hr_conv_parts(&conv->dy_frame, pass->B), data_part, job);
}

/* Convolution, forward: y = patches of x * weights. Parts of the batch are shared out among the
 * threads. */
#include "nn/conv_job.h"
#include "kernels/pool.h"
#include "kernels/team.h"

static void view_tables(struct hr_conv_views *views, const struct hr_conv *conv,
                        const struct hr_conv *in_memory, struct hr_conv_memory *out)
{
    const size_t panels = hr_conv_panels_elems(conv, in_memory->ntaps, conv->Og);
    out->pixel = hr_conv_view(views, conv->x_frame.images * conv->slide.OH * conv->slide.OW,
                              sizeof(uint32_t));
    out->tap = hr_conv_view(views, in_memory->ntaps, sizeof(uint32_t));
    out->panels = hr_conv_view(views, conv->groups * panels, sizeof(float));
    out->turned = hr_conv_view(views, conv->bf16 ? conv->ntaps * conv->Og : 0, sizeof(float));
}

static size_t lay_out(const struct hr_conv *conv, size_t threads, unsigned char *base,
                      struct hr_conv_memory *out)
{
    struct hr_conv_views views = {base, 0};
    const struct hr_conv in_memory = hr_conv_in_memory(conv);
    *out = (struct hr_conv_memory){0};
    if (conv->winograd)
        hr_conv_view_tiles(&views, conv->Cg, conv->Og, threads, out);
    else
        view_tables(&views, conv, &in_memory, out);
    out->frames = hr_conv_view(&views, threads * hr_frame_elems(&in_memory.x_frame), sizeof(float));
    out->planes = hr_conv_view(&views, threads * hr_conv_plane_elems(conv), sizeof(float));
    return views.used;
}

size_t hr_conv_forward_bytes(const struct hr_conv *conv, size_t threads)
{
    struct hr_conv_memory unused;
    return lay_out(conv, threads, NULL, &unused);
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
    hr_conv_multiply_tiles(job,
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
    job->in_memory.x_frame.planes = !conv->bf16 && !conv->winograd && conv->groups == 1 &&
                                    conv->slide.C > 1 && conv->slide.window.stride == 1 &&
                                    hr_patches_want_lanes(conv->O, conv->slide.OW);
    lay_out(conv, pass->threads, pass->scratch, &job->memory);
    pack(job);
    hr_conv_zero_frames(&job->in_memory.x_frame, pass->threads, job->memory.frames);
    hr_team_run(pass->threads, hr_conv_parts(&conv->x_frame, pass->B), forward_part, job);
}

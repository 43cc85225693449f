/* Convolution of tiles (products/winograd.h): what forward and the gradient of x do with a part of
 * the batch, and the gradient of the weights. For that each thread has channels of x, and goes
 * through the batch in order, so that threads change no bit. */
#include <string.h>

#include "base/size.h"
#include "nn/conv_job.h"
#include "kernels/elementwise.h"
#include "kernels/team.h"

enum { LINE = 16 }; /* floats: memory of a thread begins at multiples */

/* --- forward, and the gradient of x --- */

static size_t multiply_elems(size_t K)
{
    return hr_round_up(hr_winograd_multiply_elems(K), LINE);
}

void hr_conv_view_tiles(struct hr_conv_views *views, size_t K, size_t columns, size_t threads,
                        struct hr_conv_memory *out)
{
    out->panels = hr_conv_view(views, hr_winograd_panels_elems(K, columns), sizeof(float));
    out->filters = hr_conv_view(views, hr_winograd_pack_elems(K), sizeof(float));
    out->tiles = hr_conv_view(views, threads * multiply_elems(K), sizeof(float));
}

void hr_conv_multiply_tiles(const struct hr_conv_job *job, const struct hr_conv_tiles *t,
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

static size_t lay_out(const struct hr_conv *conv, size_t threads, unsigned char *base,
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

size_t hr_conv_weights_tiles_bytes(const struct hr_conv *conv, size_t threads)
{
    struct hr_conv_memory unused;
    return lay_out(conv, threads, NULL, &unused);
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

static void weights_task(void *arg, size_t task, size_t thread)
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

void hr_conv_backward_weights_tiles(struct hr_conv_job *job)
{
    const struct hr_pass *pass = job->pass;
    const struct hr_conv *conv = &job->conv;
    const struct hr_frame dy = dy_frame(conv);
    lay_out(conv, pass->threads, pass->scratch, &job->memory);
    hr_conv_zero_frames(&conv->x_frame, pass->threads, job->memory.frames);
    hr_conv_zero_frames(&dy, pass->threads, job->memory.planes);
    memset(pass->grads, 0, (conv->O * conv->ntaps + conv->O) * sizeof *pass->grads);
    hr_team_run(pass->threads, pass->threads, weights_task, job);
    if (pass->B)
        hr_winograd_unpack(conv->Cg, conv->Og, job->memory.dw, job->memory.filters, pass->grads);
}

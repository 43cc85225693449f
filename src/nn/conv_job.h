/* conv_job.h - inside of the conv layer: what its three passes (conv_passes.c) have in common. */
#ifndef HR_NN_CONV_JOB_H
#define HR_NN_CONV_JOB_H

#include "nn/conv_layout.h"

/* Scratch memory of a pass; what it does not need is NULL. Numbers of frames and panels are floats,
 * or pairs of bfloat16 values (conv_layout.h), 32 bits each. */
struct hr_conv_memory {
    uint32_t *pixel, *tap;        /* tables of patches */
    struct hr_conv_phase *phases; /* (stride * stride) */
    void *panels;                 /* packed weights */
    float *turned;                /* pairs: weights on their way there */
    void *frames;                 /* (threads, frame) */
    float *planes;                /* (threads, plane) outputs of a part, or gradients */
    float *pooled;                /* bf16, planes: (threads) images that come through the pool */
    uint32_t *dy;                 /* bf16: (threads) gradients of pairs of images: (groups, panels),
                                   * or as floats (2 pixels, O), an odd image's first */
    float *dw;                    /* (groups, ntaps, Og) */
    float *filters;               /* winograd: to pack weights in, or dweight before it is turned */
    float *tiles;                 /* winograd: (threads) planes of some tiles */
};

/* One pass over one batch. */
struct hr_conv_job {
    const struct hr_pass *pass;
    struct hr_conv conv, in_memory; /* conv_layout.h */
    bool partial;                   /* of a shard: dx is a sum that is not whole yet */
    bool relu;                      /* follows */
    const struct hr_layer *pool;    /* does too, or NULL */
    struct hr_sliding pool_window;  /* of the pool */
    size_t in, out;                 /* floats of a sample of x and of y, which may be the pool's */
    struct hr_conv_memory memory;
    struct hr_patches patches;
};

/* The pool whose work the layer does, or NULL. */
const struct hr_layer *hr_conv_pool(const struct hr_layer *layer);
struct hr_conv_job hr_conv_job_of(const struct hr_layer *layer, const struct hr_pass *pass);

/* The three passes, and the bytes of scratch that each wants. */
void hr_conv_forward(struct hr_conv_job *job);
void hr_conv_backward_data(struct hr_conv_job *job);
void hr_conv_backward_weights(struct hr_conv_job *job);
size_t hr_conv_forward_bytes(const struct hr_conv *conv, size_t threads);
size_t hr_conv_data_bytes(const struct hr_conv *conv, size_t threads);
size_t hr_conv_weights_bytes(const struct hr_conv *conv, size_t threads);

/* Views into scratch memory, one after another; without memory, only counted. */
struct hr_conv_views {
    unsigned char *base; /* NULL: count */
    size_t used;
};

void *hr_conv_view(struct hr_conv_views *views, size_t count, size_t size);

/* Floats of a part's outputs, with room for a tile to read beyond the last. */
size_t hr_conv_plane_elems(const struct hr_conv *conv);

/* Images [first, first + count) that are computed at once, as the task's number says. */
struct hr_conv_part {
    size_t first, count;
};

size_t hr_conv_parts(const struct hr_frame *frame, size_t B);
struct hr_conv_part hr_conv_part_of(const struct hr_frame *frame, size_t B, size_t task);

/* The index-th number of a frame or of panels. */
static inline void *hr_conv_at(const void *numbers, size_t index)
{
    return (unsigned char *)(uintptr_t)numbers + index * sizeof(float);
}

/* Images with zeros around them: themselves, or a copy in `own`, where the zeros are already.
 *   channels  of a group of the images; the frame's may be pairs of them */
const void *hr_conv_framed(const struct hr_conv *conv, const struct hr_frame *frame,
                           size_t channels, const float *images, size_t count, void *own);
/* The same of dy, or of the gradient that comes back through the pool.
 *   pooled  an image's; only of bfloat16 values or planes */
const void *hr_conv_framed_dy(const struct hr_conv_job *job, const struct hr_frame *frame,
                              struct hr_conv_part part, void *own, float *pooled);
void hr_conv_zero_frames(const struct hr_frame *frame, size_t threads, void *frames);

/* --- winograd --- */

/* `count` images of a frame to y (count, H, W, columns). */
struct hr_conv_tiles {
    const struct hr_frame *frame;
    const float *images;
    size_t count, H, W, columns;
    const float *bias; /* NULL: none */
    bool relu;
    float *y;
};

/* Patches times panels, of whichever numbers they are: bias and relu as asked, rounded where the
 * layer is of bfloat16 values and the sums are whole. */
struct hr_conv_product {
    const struct hr_patches *patches;
    const void *images, *panels;
    const float *bias; /* NULL: none */
    bool relu, whole;
};
void hr_conv_multiply(const struct hr_conv *conv, const struct hr_conv_product *product,
                      const struct hr_matrix *y);

#endif

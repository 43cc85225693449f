/* layer.h - what a kind of layer is: a table of functions, one kind a file.
 *
 * To add a kind: write its file with one struct hr_layer_type, and its name into HR_LAYERS.
 *
 * Calls, in this order: parse (its words), fit (its input is known: sizes and tensors), then
 * forward and backward on batches. A layer is immutable once it is built; what a batch needs
 * stands in struct hr_pass.
 *
 * Split (part.h): a layer whose kind can may be asked for a shard of its work, the channels that
 * the pass says; memory is that of the whole layer, and the shard reads and writes its part of it.
 */
#ifndef HR_NN_LAYER_H
#define HR_NN_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "nn/model.h"
#include "nn/model_text.h"
#include "products/taker.h"

/* The kinds of layers there are. A new one is a file with its struct hr_layer_type, and its name
 * here, in alphabetical order: messages list them. */

#define HR_LAYERS(X)                                                                               \
    X(attention)                                                                                   \
    X(avgpool)                                                                                     \
    X(batchnorm)                                                                                   \
    X(conv)                                                                                        \
    X(dense)                                                                                       \
    X(dropout)                                                                                     \
    X(embedding)                                                                                   \
    X(flatten)                                                                                     \
    X(gelu)                                                                                        \
    X(globalavgpool)                                                                               \
    X(groupnorm) X(layernorm) X(maxpool) X(position) X(relu) X(residual) X(sigmoid) X(tanh) X(tied)

enum { HR_LAYER_MAX_TENSORS = 8, HR_LAYER_MAX_SIZES = 12, HR_LAYER_MAX_SIZE = 1 << 24 };

/* Dimensions of one sample: (features); (channels, height, width), as PyTorch names them; or of a
 * sequence (width, places), which is (places, width) in memory and in PyTorch. In memory images are
 * (height, width, channels): the channels of a pixel stand side by side, so
 * that a filter's row is one run. Only what stands behind a flatten, and the network's input
 * (data sets) where it is read by flattens alone, are in PyTorch's order (channels, height,
 * width); the two are the same where there is one channel, or one pixel. */
struct hr_dims {
    size_t ndim; /* 1, 2 of a sequence, or 3 */
    size_t size[3];
    bool planes; /* the network's input, in PyTorch's order */
};

static inline size_t hr_dims_elems(const struct hr_dims *dims)
{
    size_t product = 1;
    for (size_t d = 0; d < dims->ndim; d++)
        product *= dims->size[d];
    return product;
}

/* Of a sample: places of a sequence, pixels of an image, or 1. */
static inline size_t hr_dims_rows(const struct hr_dims *dims)
{
    return hr_dims_elems(dims) / dims->size[0];
}

/* "(1, 28, 28)", of a sequence "(128, 64)"; returns buffer. */
const char *hr_dims_text(const struct hr_dims *dims, char *buffer, size_t bytes);

/* How a layer is cut into shards (part.h). */
enum hr_layer_cut {
    HR_CUT_NOT,
    HR_CUT_COLUMNS,  /* a shard has some output channels, and its rows of the weights */
    HR_CUT_ROWS,     /* some input channels: its y is a partial sum, without bias and relu */
    HR_CUT_CHANNELS, /* the same channels of input and output, which do not meet */
    HR_CUT_HEADS,    /* some heads, of all of x: its y is a partial sum, without bias */
};
enum { HR_CUTS = HR_CUT_HEADS + 1 };

struct hr_channels {
    size_t begin, end;
};

/* Uniform: by fan_in; normal: of deviation 1. */
enum hr_layer_init { HR_INIT_UNIFORM, HR_INIT_ZEROS, HR_INIT_ONES, HR_INIT_NORMAL };

struct hr_layer_tensor {
    const char *name; /* "weight" */
    size_t ndim;      /* 1..4 */
    size_t shape[4];
    enum hr_layer_init init;
    enum hr_tensor_role role; /* model.h */
};

struct hr_layer {
    const struct hr_layer_type *type;
    size_t index;                    /* in the model */
    size_t size[HR_LAYER_MAX_SIZES]; /* what parse and fit worked out; each kind says what */
    double rate;                     /* the same, for a number that is no size */
    struct hr_dims in, out;
    struct hr_dims in2;           /* residual alone: of its second input */
    size_t head;                  /* attention: channels of a head, which stay together */
    size_t tokens;                /* of text: how many there are; else 0 */
    bool is_tied;                 /* embedding: a layer behind it has its weights */
    const struct hr_layer *table; /* tied: the embedding before it; NULL: there is none */
    size_t ntensors;              /* fit fills these in, in the order of the parameter array */
    struct hr_layer_tensor tensors[HR_LAYER_MAX_TENSORS];
    size_t fan_in; /* inputs of one output; bound of the initial values of all its tensors */
    double madds;  /* multiply-adds of one sample's forward pass */
    enum hr_precision precision; /* of bf16: y and dx are rounded, by it or by who asks (rounds) */
    bool in_place;     /* fit: backward does not need x, so y may be x in memory, and dx dy; the
                          model takes this back where others need x */
    bool relu_follows; /* forward also does the work of the relu layer behind it */
    bool done_before;  /* the layer before does this one's forward */
    size_t absorbs;    /* the layers right behind this one (in memory too) whose work it does,
                          forward and backward: a relu, a maxpool, or both; then pass->y and
                          pass->dy are those of the last of them */
    bool absorbed;     /* by a layer before: nothing is called, and only the last one has a y */
    size_t first_tensor, param_offset; /* in the model's tensors and parameters */
    enum hr_layer_cut cut;             /* of a split part (part.h), and whether ranks meet first: */
    bool meets[2];                     /* in forward, in backward */
};

/* Of a shard of it: y, and dx, are partial sums. */
static inline bool hr_layer_sums_y(const struct hr_layer *layer)
{
    return layer->cut == HR_CUT_ROWS || layer->cut == HR_CUT_HEADS;
}

static inline bool hr_layer_sums_dx(const struct hr_layer *layer)
{
    return layer->cut == HR_CUT_COLUMNS || layer->cut == HR_CUT_HEADS;
}

/* What a training batch draws its random numbers by (dropout): the same bits for the same sample
 * wherever it is computed. */
struct hr_draw {
    uint64_t seed, epoch;
    const uint32_t *samples; /* (B) numbers of the samples in the data set; NULL: 0, 1, ... */
};

/* One batch through one layer. */
struct hr_pass {
    size_t B;
    const float *params; /* the layer's tensors, end to end */
    float *grads;        /* out, the same layout, overwritten; backward only. NULL: not wanted,
                            where the kind has_halves */
    const float *x;      /* (B,in) */
    float *y;            /* (B,out); out in forward, in in backward; is x when in_place */
    const float *dy;     /* (B,out); backward only */
    float *dx;           /* (B,in) out, overwritten; NULL: not wanted; is dy when in_place */
    const float *x2;     /* (B,in) residual alone: its second input */
    float *dx2;          /* (B,in) out, as dx; never dy */
    void *saved;         /* saved_bytes: what forward leaves for backward; NULL in evaluation */
    void *scratch;       /* scratch_bytes: contents undefined */
    /* Places of a sequence behind `before` others (hr_model_go_on): what attention has saved of
     * those, and goes on with. NULL, 0: the sequence is whole. */
    void *kept;
    size_t before;
    size_t threads;               /* that may share the work (kernels/team.h) */
    const struct hr_taker *taker; /* of grads, by the model's indices, where the kind hands_over;
                                     NULL: nobody */
    const struct hr_draw *draw;   /* NULL in evaluation, which is how a layer knows */
    struct hr_channels in, out;   /* of a layer that is cut: the shard's channels of x and of y; by
                                     heads, in: those of q, k and v */
};

/* Some floats of x, or of y, that is alike: `count` strips, `step` apart, from `first` on. */
struct hr_strips {
    size_t first, count, length, step;
};
/* A pass's share of a layer that is whole, or cut by channels. */
struct hr_strips hr_layer_strips(const struct hr_layer *layer, const struct hr_pass *pass);
/* Of B samples of such dimensions, these channels. */
struct hr_strips hr_strips_of(const struct hr_dims *dims, size_t B, struct hr_channels channels);

struct hr_layer_type {
    const char *name;
    bool can_fuse_relu;    /* forward obeys relu_follows */
    bool can_absorb_relu;  /* and backward too, as absorbs says */
    bool can_fuse_pool;    /* forward and backward obey absorbs of a maxpool */
    bool reads_y;          /* backward needs y, so nobody may overwrite it */
    bool hands_over;       /* backward obeys a taker: of each tensor, as soon as nothing reads its
                              parameters any more */
    bool has_halves;       /* backward computes grads and dx each without the other, too */
    bool may_cut[HR_CUTS]; /* forward and backward obey a pass's channels, so cut */
    bool rounds[2];        /* of bfloat16 values, forward and backward make such, but for partial
                              sums of a layer that is cut */
    /* words[1..] to layer->size; HR_E_USAGE says what was found and expected. */
    enum hr_status (*parse)(struct hr_layer *layer, const struct hr_layer_text *text);
    /* layer->in is known: fill in out, tensors, fan_in, madds; HR_E_USAGE when it does not fit. */
    enum hr_status (*fit)(struct hr_layer *layer);
    /* Private memory, 64-byte aligned, for batches of up to B samples; NULL: none. saved is the
     * layer's own; scratch is shared by all layers and holds nothing between calls. */
    size_t (*saved_bytes)(const struct hr_layer *layer, size_t B);
    size_t (*scratch_bytes)(const struct hr_layer *layer, size_t B, size_t threads);
    /* Multiply-adds that forward does for a sample, where they may be fewer than madds: that needs
     * the kernels to be selected. NULL: madds. */
    double (*multiplied)(const struct hr_layer *layer);
    void (*forward)(const struct hr_layer *layer, const struct hr_pass *pass);
    void (*backward)(const struct hr_layer *layer, const struct hr_pass *pass);
};

#define HR_DECLARE_LAYER(name) extern const struct hr_layer_type hr_layer_##name;
HR_LAYERS(HR_DECLARE_LAYER)

/* The kind whose name is the first word, its arguments read; HR_E_USAGE offers the closest name.
 * `alone`: the list has no other layer, so the word may also be a misspelled built-in model. */
HR_CHECKED enum hr_status hr_layer_parse(const struct hr_layer_text *text, bool alone,
                                         struct hr_layer *out);

/* Floats of all its tensors. */
size_t hr_layer_param_count(const struct hr_layer *layer);

/* Multiply-adds that forward really does for a sample, and each half of backward: at most madds. */
double hr_layer_multiplied(const struct hr_layer *layer);

/* For parse functions: a number from `least` to HR_LAYER_MAX_SIZE, a size (from 1), and a layer
 * without arguments. */
HR_CHECKED enum hr_status hr_layer_parse_number(const char *word, size_t least, size_t *out);
HR_CHECKED enum hr_status hr_layer_parse_size(const char *word, size_t *out);
HR_CHECKED enum hr_status hr_layer_parse_nothing(struct hr_layer *layer,
                                                 const struct hr_layer_text *text);

/* Layer `index` of a model's flat list, for who writes it in another form (export/).
 * sources: layers whose outputs it reads, a body and its shortcut where they are two; or
 * HR_FROM_INPUT. */
struct hr_sources {
    size_t count, from[2];
};
const struct hr_layer *hr_model_layer_at(const struct hr_model *model, size_t index,
                                         struct hr_sources *sources);

#endif

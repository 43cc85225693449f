/* attention H - causal self-attention of H heads, as GPT-2's: Vaswani et al., "Attention is all you
 * need", arXiv 1706.03762.
 *
 *     q, k, v (T,D) = Linear(D, D) of x, each        head h has columns [h d, (h + 1) d), d = D / H
 *     o_h = softmax(q_h k_h^T / sqrt(d), up to the row's own place) v_h
 *     y = Linear(D, D) of o
 *
 * Tensors, as three Linears and one would have them: query, key and value weights (D,D) one behind
 * the other, so that they are one product of 3 D outputs; their biases; output weight and bias.
 *
 * No array of T x T is kept: tiles/attention.h. Order: of each head as said there; of projections
 * as nn/linear.h. Threads take heads of samples, and change no bit. Where a sequence goes on, q, k
 * and v of the places before stand in what is kept, and those of its own are written behind them.
 *
 * A shard (part.h) has some heads: their columns of q, k, v and o, of all of x. Its y and its dx
 * are partial sums: dx is dq Wq + dk Wk, + dv Wv, while the whole adds over all 3 D. Biases of the
 * output are its channels'.
 */
#include <math.h>

#include "base/size.h"
#include "base/vec.h"
#include "tiles/attention.h"
#include "kernels/elementwise.h"
#include "kernels/team.h"
#include "nn/layer.h"
#include "nn/linear.h"

enum { HEADS }; /* of layer->size */

static enum hr_status parse(struct hr_layer *layer, const struct hr_layer_text *text)
{
    if (text->nwords != 2)
        return hr_fail(HR_E_USAGE, "expected one number, the heads, as in \"attention 4\"");
    return hr_layer_parse_size(text->words[1], &layer->size[HEADS]);
}

static enum hr_status fit(struct hr_layer *layer)
{
    static const char *const names[] = {"query.weight",  "key.weight", "value.weight",
                                        "query.bias",    "key.bias",   "value.bias",
                                        "output.weight", "output.bias"};
    const size_t D = layer->in.size[0], H = layer->size[HEADS], T = layer->in.size[1];
    char text[80];
    if (layer->in.ndim != 2)
        return hr_fail(HR_E_USAGE,
                       "its input has shape %s, expected a sequence: put \"embedding\" before it",
                       hr_dims_text(&layer->in, text, sizeof text));
    if (D % H)
        return hr_fail(HR_E_USAGE, "%zu heads: expected a divisor of %zu, the width", H, D);
    layer->head = D / H;
    layer->out = layer->in;
    layer->ntensors = sizeof names / sizeof *names;
    for (size_t t = 0; t < layer->ntensors; t++) {
        const bool weight = t < 3 || t == 6;
        layer->tensors[t] = (struct hr_layer_tensor){
            .name = names[t], .ndim = weight ? 2 : 1, .shape = {D, weight ? D : 0}};
    }
    layer->fan_in = D;
    layer->madds = (double)T * (double)D * (4 * (double)D + (double)T);
    return HR_OK;
}

/* --- memory --- */

/* Of a batch: what forward leaves, or of it the gradients. */
struct arrays {
    float *qkv;      /* (B,T,3D) */
    float *o;        /* (B,T,D) */
    float *log_sums; /* (B,H,T) */
};

static size_t floats_of(size_t count)
{
    return hr_round_up(count, 16); /* whole lines */
}

static struct arrays arrays_at(const struct hr_layer *layer, size_t B, float *memory)
{
    const size_t elems = B * hr_dims_elems(&layer->in);
    return (struct arrays){memory, memory + floats_of(3 * elems),
                           memory + floats_of(3 * elems) + floats_of(elems)};
}

static size_t saved_bytes(const struct hr_layer *layer, size_t B)
{
    const size_t elems = B * hr_dims_elems(&layer->in);
    const size_t sums = B * layer->size[HEADS] * layer->in.size[1];
    return sizeof(float) * (floats_of(3 * elems) + floats_of(elems) + floats_of(sums));
}

static size_t head_bytes(const struct hr_layer *layer, size_t keys)
{
    return hr_round_up(hr_attention_scratch_bytes(keys, layer->head), 64);
}

static size_t linear_bytes(const struct hr_layer *layer, size_t B, size_t threads)
{
    const size_t D = layer->in.size[0];
    return hr_linear_scratch_bytes(layer->precision, B * layer->in.size[1], D, 3 * D, threads);
}

/* Arrays of gradients, or in evaluation those that are not saved; then what heads work in, or
 * products. */
static size_t scratch_bytes(const struct hr_layer *layer, size_t B, size_t threads)
{
    return saved_bytes(layer, B) + hr_max_size(threads * head_bytes(layer, layer->in.size[1]),
                                               linear_bytes(layer, B, threads));
}

/* --- heads --- */

/* Those of q, k, v and o. */
static struct hr_channels channels_of(const struct hr_layer *layer, const struct hr_pass *pass)
{
    return layer->cut == HR_CUT_HEADS ? pass->in : (struct hr_channels){0, layer->in.size[0]};
}

struct job {
    const struct hr_layer *layer;
    struct arrays at, gradients; /* gradients.qkv NULL: forward */
    size_t before;               /* places that at.qkv has before those of the pass */
    size_t first, heads;         /* of the pass */
    unsigned char *scratch;      /* (threads, head_bytes) */
    size_t bytes;
};

static void one_head(void *arg, size_t task, size_t thread)
{
    const struct job *job = arg;
    const size_t H = job->layer->size[HEADS], d = job->layer->head, heads = job->heads;
    const size_t D = job->layer->in.size[0], T = job->layer->in.size[1];
    const size_t b = task / heads, h = job->first + task % heads, first = b * T * 3 * D + h * d;
    const struct hr_attention_head head = {.queries = T,
                                           .keys = job->before + T,
                                           .width = d,
                                           .q = job->at.qkv + job->before * 3 * D + first,
                                           .k = job->at.qkv + first + D,
                                           .v = job->at.qkv + first + 2 * D,
                                           .q_row = 3 * D,
                                           .kv_row = 3 * D,
                                           .scale = (float)(1 / sqrt((double)d)),
                                           .o = job->at.o + b * T * D + h * d,
                                           .o_row = D,
                                           .log_sums = job->at.log_sums + (b * H + h) * T,
                                           .scratch = job->scratch + thread * job->bytes};
    if (!job->gradients.qkv) {
        hr_attention()->forward(&head);
        return;
    }
    float *to = job->gradients.qkv + first;
    hr_attention()->backward(
        &head,
        &(struct hr_attention_gradients){
            .d_o = job->gradients.o + b * T * D + h * d, .dq = to, .dk = to + D, .dv = to + 2 * D});
}

static void all_heads(const struct hr_pass *pass, struct job *job)
{
    const struct hr_channels own = channels_of(job->layer, pass);
    job->first = own.begin / job->layer->head;
    job->heads = (own.end - own.begin) / job->layer->head;
    job->bytes = head_bytes(job->layer, job->before + job->layer->in.size[1]);
    hr_team_run(pass->threads ? pass->threads : 1, pass->B * job->heads, one_head, job);
}

/* --- the layer --- */

struct weights {
    const float *qkv, *qkv_bias, *output, *output_bias; /* (3D,D), (3D), (D,D), (D) */
};

static struct weights weights_at(const struct hr_layer *layer, const float *params)
{
    const size_t D = layer->in.size[0];
    return (struct weights){params, params + 3 * D * D, params + 3 * D * D + 3 * D,
                            params + 4 * D * D + 3 * D};
}

static struct hr_linear linear_of(const struct hr_layer *layer, const struct hr_pass *pass,
                                  size_t outputs)
{
    struct hr_linear linear =
        hr_linear_of(layer, pass, pass->B * layer->in.size[1], layer->in.size[0], outputs);
    linear.scratch = (unsigned char *)pass->scratch + saved_bytes(layer, pass->B);
    return linear;
}

/* To q, k and v: one product, or of a shard three. */
enum { PRODUCTS = 3 };
static size_t products_of(const struct hr_layer *layer)
{
    return layer->cut == HR_CUT_HEADS ? PRODUCTS : 1;
}

static struct hr_linear product_of(const struct hr_layer *layer, const struct hr_pass *pass,
                                   size_t j)
{
    const size_t D = layer->in.size[0];
    const struct hr_channels own = channels_of(layer, pass);
    struct hr_linear linear = linear_of(layer, pass, PRODUCTS * D);
    if (layer->cut == HR_CUT_HEADS)
        linear.out = (struct hr_channels){j * D + own.begin, j * D + own.end};
    return linear;
}

static struct hr_linear output_of(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct hr_linear linear = linear_of(layer, pass, layer->in.size[0]);
    linear.in = channels_of(layer, pass);
    return linear;
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const bool sums = hr_layer_sums_y(layer);
    const struct weights w = weights_at(layer, pass->params);
    const struct hr_linear out = output_of(layer, pass);
    struct job job = {.layer = layer,
                      .at = arrays_at(layer, pass->B, pass->saved ? pass->saved : pass->scratch),
                      .before = pass->before,
                      .scratch = out.scratch};
    if (pass->kept)
        job.at.qkv = pass->kept;
    for (size_t j = 0; j < products_of(layer); j++) {
        const struct hr_linear in = product_of(layer, pass, j);
        hr_linear_forward(&in, pass->x, w.qkv, w.qkv_bias, false, true,
                          job.at.qkv + job.before * in.y_row);
    }
    all_heads(pass, &job);
    hr_linear_forward(&out, job.at.o, w.output, sums ? NULL : w.output_bias, false, !sums, pass->y);
}

/* Gradients of one product's weights and biases, and of x: written, or added. */
static void backward_product(const struct hr_layer *layer, const struct hr_pass *pass, size_t j,
                             const struct arrays *gradients)
{
    const struct weights w = weights_at(layer, pass->params);
    const struct hr_linear in = product_of(layer, pass, j);
    float *of_biases = pass->grads + in.O * in.I, *dx = j ? gradients->o : pass->dx;
    hr_linear_backward_weights(&in, gradients->qkv, pass->x, NULL, 0, pass->grads);
    hr_elementwise()->column_sums(in.rows, in.out.end - in.out.begin, gradients->qkv + in.out.begin,
                                  in.O, of_biases + in.out.begin);
    if (!pass->dx)
        return;
    hr_linear_backward_data(&in, gradients->qkv, w.qkv, !hr_layer_sums_dx(layer), dx);
    if (j)
        hr_vec()->add(pass->dx, dx, in.rows * in.I);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const size_t D = layer->in.size[0];
    const struct weights w = weights_at(layer, pass->params);
    const struct hr_linear out = output_of(layer, pass);
    const struct hr_channels biases = layer->cut == HR_CUT_HEADS ? pass->out : out.out;
    float *of_output = pass->grads + (w.output - pass->params);
    struct job job = {.layer = layer,
                      .at = arrays_at(layer, pass->B, pass->saved),
                      .gradients = arrays_at(layer, pass->B, pass->scratch),
                      .scratch = out.scratch};
    hr_linear_backward_weights(&out, pass->dy, job.at.o, NULL, 0, of_output);
    hr_elementwise()->column_sums(out.rows, biases.end - biases.begin, pass->dy + biases.begin, D,
                                  of_output + D * D + biases.begin);
    hr_linear_backward_data(&out, pass->dy, w.output, true, job.gradients.o);
    all_heads(pass, &job); /* behind which the gradient of o is read no more */
    for (size_t j = 0; j < products_of(layer); j++)
        backward_product(layer, pass, j, &job.gradients);
}

const struct hr_layer_type hr_layer_attention = {
    .name = "attention",
    .may_cut[HR_CUT_HEADS] = true,
    .rounds = {true, true},
    .parse = parse,
    .fit = fit,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .forward = forward,
    .backward = backward,
};

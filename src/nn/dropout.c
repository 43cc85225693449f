/* dropout P - torch.nn.Dropout(P): in training each unit is zero with probability P, and the
 * others grow by 1 / (1 - P); in evaluation nothing happens.
 *
 * Which units are kept is a pure function of (seed, epoch, sample, layer, unit): Philox with the
 * seed as key and counter (unit / 4, sample, epoch, layer and stream). So the mask does not depend
 * on how a batch is cut, nor on who computes it. It is saved as bits for backward.
 */
#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "base/philox.h"
#include "kernels/elementwise.h"
#include "nn/layer.h"

/* rate: P */
static enum hr_status parse(struct hr_layer *layer, const struct hr_layer_text *text)
{
    if (text->nwords != 2)
        return hr_fail(HR_E_USAGE,
                       "expected one number, the share that is dropped, as in \"dropout 0.5\"");
    if (!hr_parse_number(text->words[1], &layer->rate) || layer->rate >= 1)
        return hr_fail(HR_E_USAGE, "found \"%.40s\", expected a number from 0 to below 1",
                       text->words[1]);
    return HR_OK;
}

static enum hr_status fit(struct hr_layer *layer)
{
    layer->out = layer->in;
    layer->in_place = true;
    return HR_OK;
}

static size_t row_bytes(const struct hr_layer *layer)
{
    return (hr_dims_elems(&layer->in) + 7) / 8;
}

static size_t saved_bytes(const struct hr_layer *layer, size_t B)
{
    return B * row_bytes(layer);
}

/* Units [first, first + count) of a sample, first a multiple of eight: bytes that are nobody
 * else's. 1 is kept. */
static void draw_units(const struct hr_layer *layer, const struct hr_draw *draw, uint32_t sample,
                       size_t first, size_t count, uint8_t *bits)
{
    const uint32_t dropped = (uint32_t)(layer->rate * 0x1p32);
    const uint32_t counter[4] = {(uint32_t)(first / 4), sample, (uint32_t)draw->epoch,
                                 HR_STREAM_DROPOUT | (uint32_t)layer->index << 8};
    hr_elementwise()->draw_bits(count, counter, draw->seed, dropped, bits + first / 8);
}

/* A sample's strips: one, unless its channels are cut. */
static struct hr_strips strips_of(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct hr_pass one = *pass;
    one.B = 1;
    return hr_layer_strips(layer, &one);
}

static void apply_rows(const struct hr_layer *layer, const struct hr_pass *pass, const float *from,
                       float *to)
{
    const size_t elems = hr_dims_elems(&layer->in);
    const struct hr_strips strips = strips_of(layer, pass);
    const uint8_t *bits = pass->saved; /* (B,row_bytes) */
    const float scale = (float)(1 / (1 - layer->rate));
    for (size_t b = 0; b < pass->B; b++, bits += row_bytes(layer), from += elems, to += elems)
        for (size_t r = 0, at = strips.first; r < strips.count; r++, at += strips.step)
            hr_elementwise()->keep(strips.length, bits + at / 8, scale, from + at, to + at);
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const struct hr_draw *draw = pass->draw;
    const struct hr_strips strips = strips_of(layer, pass);
    uint8_t *bits = pass->saved; /* (B,row_bytes) */
    if (!draw) {
        if (pass->y != pass->x)
            memcpy(pass->y, pass->x, pass->B * hr_dims_elems(&layer->in) * sizeof *pass->y);
        return;
    }
    for (size_t b = 0; b < pass->B; b++, bits += row_bytes(layer)) {
        const uint32_t sample = draw->samples ? draw->samples[b] : (uint32_t)b;
        for (size_t r = 0, at = strips.first; r < strips.count; r++, at += strips.step)
            draw_units(layer, draw, sample, at, strips.length, bits);
    }
    apply_rows(layer, pass, pass->x, pass->y);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    if (pass->dx)
        apply_rows(layer, pass, pass->dy, pass->dx);
}

const struct hr_layer_type hr_layer_dropout = {
    .name = "dropout",
    .may_cut[HR_CUT_CHANNELS] = true,
    .parse = parse,
    .fit = fit,
    .saved_bytes = saved_bytes,
    .forward = forward,
    .backward = backward,
};

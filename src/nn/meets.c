/* Where ranks that compute a split part together must meet.
 *
 * Their activations and gradients are arrays that all of them reach. Between two meetings no rank
 * may read what another writes, nor write what another reads or writes. The passes are gone through
 * on paper, layer by layer; where one would break that, ranks meet before it (layer->meets). Sums
 * over shards have a meeting of their own, between the partial sums and their addition.
 *
 * Whoever begins a pass knows that all have ended the one before. */
#include <stdlib.h>

#include "nn/model_impl.h"

enum who {
    NOBODY,
    EVERYBODY, /* each rank all of it */
    ONE,       /* rank 0 */
    OWNERS,    /* each its shards' channels */
    SHARDS,    /* each its shards' own arrays: partial sums */
};

/* What has been done with an array since ranks met. */
struct touch {
    enum who who;
    size_t channels; /* OWNERS: of how many */
    bool written;
};

/* All arrays: outputs of layers (the input is number 0), gradients' slots, partial sums. */
struct paper {
    const struct hr_model *part;
    size_t n;
    struct touch *now; /* (n) */
    struct access {
        size_t array;
        struct touch touch;
    } next[8]; /* of the layer in hand */
    size_t nnext;
};

/* Layers that work in place have the array of another. */
static size_t output_array(const struct hr_model *part, size_t i)
{
    while (i != HR_FROM_INPUT && (part->layers[i].in_place || part->layers[i].absorbed))
        i = part->text.layers[i].from[0];
    return i == HR_FROM_INPUT ? 0 : i + 1;
}

static size_t slot_array(const struct hr_model *part, size_t slot)
{
    return part->text.nlayers + 1 + slot;
}

static size_t partial_array(const struct hr_model *part)
{
    return part->text.nlayers + 1 + part->nslots;
}

/* --- what is done --- */

static void add(struct paper *paper, size_t array, enum who who, const struct hr_dims *dims,
                bool writes)
{
    const size_t channels = who == OWNERS ? dims->size[0] : 0;
    paper->next[paper->nnext++] = (struct access){array, {who, channels, writes}};
}

static void add_slot(struct paper *paper, size_t slot, enum who who, const struct hr_dims *dims,
                     bool writes)
{
    if (slot != HR_NO_SLOT)
        add(paper, slot_array(paper->part, slot), who, dims, writes);
}

static bool is_disturbed(const struct touch *before, const struct touch *touch)
{
    if (before->who == NOBODY || (!before->written && !touch->written))
        return false;
    return before->who != touch->who || touch->who == EVERYBODY ||
           before->channels != touch->channels;
}

/* All that was added. Returns whether ranks must meet before it. */
static bool do_next(struct paper *paper, bool meets)
{
    for (size_t i = 0; i < paper->nnext; i++)
        meets |= is_disturbed(&paper->now[paper->next[i].array], &paper->next[i].touch);
    for (size_t i = 0; meets && i < paper->n; i++)
        paper->now[i] = (struct touch){0};
    for (size_t i = 0; i < paper->nnext; i++) {
        struct touch *now = &paper->now[paper->next[i].array];
        const struct touch *touch = &paper->next[i].touch;
        const bool alike = now->who == touch->who && now->channels == touch->channels;
        if (now->who == NOBODY)
            *now = *touch;
        else if (!alike) /* both read */
            now->who = EVERYBODY;
        now->written |= touch->written;
    }
    paper->nnext = 0;
    return meets;
}

/* --- layer by layer --- */

static const enum who reads_x[HR_CUTS] = {ONE, EVERYBODY, OWNERS, OWNERS};
static const enum who reads_dy[HR_CUTS] = {ONE, OWNERS, EVERYBODY, OWNERS};

static enum who writer_of(const struct hr_layer *layer)
{
    return layer->cut == HR_CUT_NOT ? ONE : OWNERS;
}

/* The partial sums are there: each rank adds its channels. */
static void add_sums(struct paper *paper)
{
    add(paper, partial_array(paper->part), EVERYBODY, NULL, false);
}

static void go_forward(struct paper *paper, size_t i)
{
    struct hr_layer *layer = &paper->part->layers[i];
    const struct hr_layer_text *text = &paper->part->text.layers[i];
    const struct hr_dims *out = &layer[layer->absorbs].out;
    const bool sums = layer->cut == HR_CUT_ROWS;
    add(paper, output_array(paper->part, text->from[0]), reads_x[layer->cut], &layer->in, false);
    if (text->nfrom > 1)
        add(paper, output_array(paper->part, text->from[1]), reads_x[layer->cut], &layer->in2,
            false);
    if (sums) {
        add(paper, partial_array(paper->part), SHARDS, NULL, true);
        layer->meets[0] = do_next(paper, false);
        add_sums(paper);
    }
    add(paper, output_array(paper->part, i + layer->absorbs), writer_of(layer), out, true);
    const bool meets = do_next(paper, sums);
    if (!sums)
        layer->meets[0] = meets;
}

static void go_backward(struct paper *paper, size_t i)
{
    struct hr_layer *layer = &paper->part->layers[i];
    const struct hr_flow *flow = &paper->part->flows[i];
    const bool sums = layer->cut == HR_CUT_COLUMNS && flow->dx[0] != HR_NO_SLOT;
    add_slot(paper, flow->dy, reads_dy[layer->cut], &layer[layer->absorbs].out, false);
    if (sums) {
        add(paper, partial_array(paper->part), SHARDS, NULL, true);
        layer->meets[1] = do_next(paper, false);
        add_sums(paper);
    }
    add_slot(paper, flow->dx[0], writer_of(layer), &layer->in, true);
    add_slot(paper, flow->dx[1], writer_of(layer), &layer->in2, true);
    add_slot(paper, flow->add_to[0], writer_of(layer), &layer->in, true);
    add_slot(paper, flow->add_to[1], writer_of(layer), &layer->in2, true);
    const bool meets = do_next(paper, sums);
    if (!sums)
        layer->meets[1] = meets;
}

static bool moves_nothing(const struct hr_layer *layer)
{
    return layer->type == &hr_layer_flatten && layer->in_place;
}

enum hr_status hr_meets_plan(struct hr_model *part)
{
    const size_t nlayers = part->text.nlayers;
    struct paper paper = {.part = part, .n = nlayers + 2 + part->nslots};
    paper.now = calloc(paper.n, sizeof *paper.now);
    if (!paper.now)
        return hr_fail(HR_E_NOMEM, "no memory for a part of %zu layers", nlayers);
    if (part->pixels_first) { /* rank 0 brings the input into order */
        add(&paper, 0, ONE, NULL, true);
        do_next(&paper, false);
    }
    for (size_t i = 0; i < nlayers; i++)
        if (!part->layers[i].done_before && !part->layers[i].absorbed &&
            !moves_nothing(&part->layers[i]))
            go_forward(&paper, i);
    for (size_t a = 0; a < paper.n; a++)
        paper.now[a] = (struct touch){0};
    if (!part->part.goes_on) { /* and computes the loss */
        add_slot(&paper, part->part.dy_slot, ONE, NULL, true);
        do_next(&paper, false);
    }
    for (size_t i = nlayers; i-- > 0;)
        if (part->flows[i].trained && !part->layers[i].absorbed && !moves_nothing(&part->layers[i]))
            go_backward(&paper, i);
    free(paper.now);
    return HR_OK;
}

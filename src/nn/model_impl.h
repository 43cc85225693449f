/* model_impl.h - inside of struct hr_model and struct hr_workspace, for model.c, part.c,
 * workspace.c, propagate.c and profile.c only. */
#ifndef HR_NN_MODEL_IMPL_H
#define HR_NN_MODEL_IMPL_H

#include "base/arena.h"
#include "nn/layer.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "nn/model_text.h"

#define HR_NO_SLOT ((size_t)-1)

/* Gradients lie in slots, buffers that are used again when nobody needs what is in them. This is
 * the way of a layer's. */
struct hr_flow {
    bool trained;     /* it, or a layer before it, has tensors: there is a backward */
    size_t dy;        /* slot of its output's gradient */
    size_t dx[2];     /* slots to write its inputs' to; HR_NO_SLOT: not wanted */
    size_t add_to[2]; /* then dx is added to this slot; HR_NO_SLOT: dx is all there is so far */
};

struct hr_slot {
    size_t elems; /* of a sample */
    bool kept;    /* read again by the half of backward that is for the weights (part.h) */
};

/* Where a part of a model stands in it; of a whole model all zeros. */
struct hr_part_place {
    size_t first;            /* layer */
    size_t param_begin;      /* of its slice of the whole model's parameters */
    bool continues, goes_on; /* other parts stand before it, behind it */
    bool in_halves;          /* its backward is */
    bool recomputes;         /* batches share the memory of activations */
    size_t dy_slot, dx_slot; /* of its output's gradient where it goes on; of its input's where it
                                  continues */
    size_t output_layer;     /* whose own memory the output is: lent where the part goes on */
};

struct hr_model {
    struct hr_model_text text;
    struct hr_loss_function loss;
    float *class_weights;    /* owned: those of the loss; a part borrows the loss of its whole */
    struct hr_layer *layers; /* (text.nlayers), owned */
    struct hr_tensor_info *tensors; /* (ntensors), owned */
    size_t ntensors, param_count;
    enum hr_precision precision; /* each layer's, too */
    struct hr_flow *flows;       /* (text.nlayers), owned */
    struct hr_slot *slots;       /* (nslots), owned */
    size_t nslots;
    size_t first_trained; /* the first layer that has a backward */
    struct hr_dims input; /* of one sample */
    bool pixels_first;    /* the input has to be brought into the layers' order, (H,W,C) */
    size_t classes;
    struct hr_part_place part;
    size_t shards, widest; /* of a split part (part.h): floats of a sample's largest sum */
};

/* Slots alone, of a part: its layers have the whole model's places. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_graph_route(struct hr_model *model);

/* What a layer leaves of a batch. */
struct hr_layer_trace {
    float *y;    /* (max_batch, out); in place: its input's */
    void *saved; /* saved_bytes, or NULL */
};

/* What a workspace keeps of a batch from its forward pass to its backward. */
struct hr_saved_batch {
    struct hr_draw draw;
    float *own_input;     /* (max_batch, features) as data sets have it; NULL: it is lent */
    uint32_t *own_labels; /* (max_batch); NULL: they are lent */
    float *input;         /* own_input, or lent */
    float *x;             /* the same in the layers' order; may be input */
    uint32_t *labels;     /* own_labels, or lent */
    struct hr_layer_trace *traces; /* (nlayers) */
    float **grads; /* (nlayers) between the halves of backward: of a kind without; NULL */
    float **slots; /* (nslots), each (max_batch, elems): its own where they are kept */
};

struct hr_workspace {
    const struct hr_model *model; /* borrowed */
    size_t max_batch;
    struct hr_workspace_options options;
    struct hr_arena arena;                 /* everything below */
    struct hr_saved_batch *kept;           /* (options.batches) */
    struct hr_saved_batch *batch;          /* the one of them that is in hand */
    float **slots;                         /* (nslots) those that all batches share, else NULL */
    const struct hr_taker *taker;          /* of gradients, or NULL */
    const float *table;                    /* lent (part.h), or NULL: weights of an embedding, */
    float *share;                          /* and of their gradient what `tied` writes */
    void *scratch;                         /* of all layers in turn */
    const struct hr_saved_batch *computed; /* whose forward went last */
    float *own_output; /* of a part that recomputes and goes on: (max_batch, outputs), else NULL */
    float *partial;    /* (shards, partial_elems): sums over shards, before they are */
    size_t partial_elems;
    size_t own_bytes; /* of the arena, this rank's; behind them what others share, if nobody does */
    uint64_t moved;   /* bytes */
    bool left;        /* the team's ranks do not meet any more */
};

#endif

/* model_impl.h - inside of struct hr_model and struct hr_workspace, for model.c, graph.c,
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

struct hr_model {
    struct hr_model_text text;
    struct hr_loss loss;
    struct hr_layer *layers;        /* (text.nlayers), owned */
    struct hr_tensor_info *tensors; /* (ntensors), owned */
    size_t ntensors, param_count;
    struct hr_flow *flows; /* (text.nlayers), owned */
    size_t *slot_elems;    /* (nslots) elements of a sample, owned */
    size_t nslots;
    size_t first_trained; /* the first layer that has a backward */
    struct hr_dims input; /* of one sample */
    bool pixels_first;    /* the input has to be brought into the layers' order, (H,W,C) */
    size_t classes;
};

/* Decide on fused relus, places and slots of a model whose layers are built. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_graph_plan(struct hr_model *model);

/* What a layer leaves of a batch. */
struct hr_trace {
    float *y;    /* (max_batch, out); in place: its input's */
    void *saved; /* saved_bytes, or NULL */
};

struct hr_workspace {
    const struct hr_model *model; /* borrowed */
    size_t max_batch;
    struct hr_workspace_options options;
    struct hr_draw draw;
    struct hr_arena arena;   /* everything below */
    float *own_input;        /* (max_batch, features) as data sets have it */
    uint32_t *own_labels;    /* (max_batch) */
    float *input;            /* own_input, or lent */
    float *x;                /* the same in the layers' order; may be input */
    uint32_t *labels;        /* own_labels, or lent */
    struct hr_trace *traces; /* (nlayers) */
    float **slots;           /* (nslots), each (max_batch, slot_elems) */
    void *scratch;           /* of all layers in turn */
};

#endif

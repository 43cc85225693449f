/* model_impl.h - inside of struct hr_model, for model.c, workspace.c and profile.c only. */
#ifndef HR_NN_MODEL_IMPL_H
#define HR_NN_MODEL_IMPL_H

#include "nn/layer.h"
#include "nn/model.h"
#include "nn/model_text.h"

struct hr_model {
    struct hr_model_text text;
    struct hr_layer *layers;        /* (text.nlayers), owned */
    struct hr_tensor_info *tensors; /* (ntensors), owned */
    size_t ntensors, param_count;
    size_t first_trained; /* the first layer with tensors; backward ends there */
    struct hr_dims input; /* of one sample */
    bool pixels_first;    /* the input has to be brought into the layers' order, (H,W,C) */
    size_t classes;
};

#endif

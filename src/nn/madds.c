#include "nn/madds.h"

#include "nn/model_impl.h"

/* Of a layer that `ranks` share, over one sample. */
static struct hr_model_madds madds_of(const struct hr_model *model, size_t i, size_t ranks)
{
    const struct hr_flow *flow = &model->flows[i];
    const struct hr_layer *layer = &model->layers[i];
    const double madds = layer->madds / (layer->cut == HR_CUT_NOT ? 1 : (double)ranks);
    const bool wants_dx = flow->trained && flow->dx[0] != HR_NO_SLOT;
    struct hr_model_madds of = {.forward = madds, .data = wants_dx ? madds : 0};
    *(layer->type->has_halves ? &of.weights : &of.data) += flow->trained ? madds : 0;
    return of;
}

struct hr_model_madds hr_model_madds_apart(const struct hr_model *model, size_t ranks)
{
    struct hr_model_madds sum = {0};
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_model_madds of = madds_of(model, i, ranks);
        sum.forward += of.forward;
        sum.data += of.data;
        sum.weights += of.weights;
    }
    return sum;
}

double hr_model_madds(const struct hr_model *model)
{
    const struct hr_model_madds sum = hr_model_madds_apart(model, 1);
    return sum.forward + sum.data + sum.weights;
}

double hr_model_multiplied(const struct hr_model *model)
{
    double sum = 0;
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_layer *layer = &model->layers[i];
        const struct hr_model_madds of = madds_of(model, i, 1);
        const double share = layer->madds > 0 ? hr_layer_multiplied(layer) / layer->madds : 0;
        sum += share * (of.forward + of.data + of.weights);
    }
    return sum;
}

bool hr_model_is_direct(const struct hr_model *model)
{
    for (size_t i = 0; i < model->text.nlayers; i++)
        if (hr_layer_multiplied(&model->layers[i]) < model->layers[i].madds)
            return false;
    return true;
}

static bool has_gradients(const struct hr_model *model, size_t i)
{
    return model->flows[i].trained && !model->layers[i].absorbed && model->layers[i].ntensors;
}

bool hr_model_final(const struct hr_model *model, size_t number, struct hr_model_final *out)
{
    const double all = hr_model_madds(model);
    double done = hr_model_madds_apart(model, 1).forward;
    for (size_t i = model->text.nlayers; i-- > 0;) {
        const struct hr_model_madds of = madds_of(model, i, 1);
        done += of.data + of.weights;
        if (!has_gradients(model, i) || number-- > 0)
            continue;
        *out = (struct hr_model_final){model->layers[i].param_offset, all > 0 ? done / all : 1};
        return true;
    }
    return false;
}

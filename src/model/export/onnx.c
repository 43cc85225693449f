#include "export/onnx.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"
#include "encode/protobuf.h"
#include "export/onnx_graph.h"
#include "export/onnx_layers.h"
#include "hogring/sparse.h"
#include "predict/meaning.h"
#include "session/model_input.h"
#include "session/target_scale.h"
#include "options/choices.h"
#include "state/model_file.h"
#include "state/state.h"

enum { IR_VERSION = 7, OPSET = 13 };
/* onnx.proto */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_PRODUCER_VERSION = 3, MODEL_VERSION = 5 };
enum { MODEL_DOC = 6, MODEL_GRAPH = 7, MODEL_OPSET = 8, MODEL_METADATA = 14 };
enum { OPSET_DOMAIN = 1, OPSET_VERSION = 2, ENTRY_KEY = 1, ENTRY_VALUE = 2, GRAPH_NAME = 2 };

enum hr_status hr_onnx_check_model(const char *model)
{
    if (hr_sparse_model_of(model) != HR_SPARSE_MF)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--export: mf is a table of users and items, and no network; "
                               "expected another model");
}

/* What is exported. */
struct exporting {
    const struct hr_checkpoint *checkpoint;
    const char *text; /* layers, or a sparse model's name */
    const char *loss;
    struct hr_model_input input;
    struct hr_class_list classes;
    struct hr_target_scale values; /* of a regression */
    struct hr_shape shape;
    struct hr_scaling scaling;
    struct hr_model *model; /* NULL: sparse */
    float *params;
    struct hr_meaning meaning;
    struct hr_protobuf p;
};

/* --- the model, read --- */

static enum hr_status take_shape(struct exporting *e, struct hr_shape shape)
{
    const struct hr_tensor *weight = hr_tensor_get(&e->checkpoint->model, "weight");
    e->shape = e->input.shape.channels ? e->input.shape : shape;
    if (!e->shape.channels && hr_sparse_is_model(e->text) && weight && weight->ndim == 2)
        e->shape = (struct hr_shape){weight->shape[1], 1, 1};
    if (e->shape.channels)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--export: %s does not say the shape of its input; --input 1x28x28 (channels, "
                   "height, width) does",
                   e->checkpoint->path);
}

static enum hr_status read_network(struct exporting *e, const char *layers)
{
    struct hr_dataset like = {.shape = e->shape, .classes = e->classes.count};
    snprintf(like.name, sizeof like.name, "%.255s", e->checkpoint->path);
    HR_TRY(hr_saved_model(e->checkpoint, layers, &like, &e->values, &e->model));
    const size_t params = hr_model_param_count(e->model);
    if (params > (HR_PROTOBUF_MAX - (1 << 20)) / sizeof *e->params)
        return hr_fail(HR_E_FAILED,
                       "--export: %zu parameters are more than the 2 GiB that an ONNX file may "
                       "have",
                       params);
    e->params = malloc(params * sizeof *e->params);
    if (!e->params)
        return hr_fail(HR_E_NOMEM, "no memory for %zu parameters", params);
    HR_TRY(hr_load_weights(e->checkpoint, e->model, e->params));
    return hr_load_scaling(e->checkpoint, e->shape.channels, &e->scaling);
}

static enum hr_status check_linear(const struct exporting *e)
{
    const struct hr_tensor *weight = hr_tensor_get(&e->checkpoint->model, "weight");
    HR_TRY(hr_onnx_check_model(e->text));
    if (!weight || weight->dtype != HR_F32 || weight->ndim != 2 ||
        weight->shape[1] != hr_shape_elems(e->shape))
        return hr_fail(HR_E_FORMAT, "%s: tensor weight is missing, or not (1, %zu) float32",
                       e->checkpoint->path, hr_shape_elems(e->shape));
    return HR_OK;
}

static enum hr_status read_model(struct exporting *e, const char *layers, struct hr_shape shape)
{
    enum hr_loss_kind loss = HR_LOSS_CROSS_ENTROPY;
    const struct hr_tensor_file *file = &e->checkpoint->model;
    e->text = layers ? layers : hr_metadata_get(file, "hogring.model");
    e->loss = hr_metadata_get(file, "hogring.loss");
    if (!e->text)
        return hr_fail(HR_E_FORMAT,
                       "--export: %s: metadata \"hogring.model\" is missing, so the layers are "
                       "not known",
                       e->checkpoint->path);
    if (e->loss)
        HR_TRY(hr_loss_parse(e->loss, &loss));
    HR_TRY(hr_model_input_get(e->checkpoint, &e->input));
    HR_TRY(hr_class_names_get(e->checkpoint, &e->classes));
    HR_TRY(hr_target_scale_get(e->checkpoint, &e->values));
    HR_TRY(take_shape(e, shape));
    HR_TRY(hr_sparse_is_model(e->text) ? check_linear(e) : read_network(e, layers));
    e->meaning =
        hr_meaning_of(e->text, loss, e->model ? hr_model_outputs(e->model) : 1, e->values.count);
    return HR_OK;
}

/* --- the graph --- */

static bool is_row(const struct exporting *e)
{
    return e->shape.height * e->shape.width == 1;
}

/* mean or deviation, of each channel: (C,1,1), or (F) */
static void put_channels(struct exporting *e, const char *name, const float *values)
{
    const size_t shape[3] = {e->scaling.channels, 1, 1};
    hr_onnx_floats(&e->p, name, is_row(e) ? 1 : 3, shape, values);
}

/* From the data's own units to the first layer; returns the name of what it reads. */
static const char *put_input(struct exporting *e)
{
    const size_t shape[3] = {e->shape.channels, e->shape.height, e->shape.width};
    const char *x = "input";
    hr_onnx_value(&e->p, HR_ONNX_INPUT, x, is_row(e) ? 1 : 3, shape, e->scaling.origin);
    if (e->scaling.origin) { /* what is subtracted before anything is rounded */
        const size_t channels[3] = {e->scaling.channels, 1, 1};
        hr_onnx_doubles(&e->p, "normalize.origin", is_row(e) ? 1 : 3, channels, e->scaling.origin);
        hr_onnx_node(&e->p, "Sub", (const char *[]){x, "normalize.origin", NULL}, "input_near");
        hr_onnx_cast(&e->p, "input_near", "input_rounded");
        x = "input_rounded";
        hr_log(HR_LOG_INFO,
               "--export: its input is float64: float32 cannot tell all values of the training "
               "data apart");
    }
    if (e->input.scale > 0 && (e->input.scale > 1 || e->input.scale < 1)) {
        hr_onnx_scalar(&e->p, "input_scale", e->input.scale);
        hr_onnx_node(&e->p, "Mul", (const char *[]){x, "input_scale", NULL}, "input_scaled");
        x = "input_scaled";
    }
    if (e->scaling.channels) {
        put_channels(e, "normalize.mean", e->scaling.mean);
        put_channels(e, "normalize.std", e->scaling.std);
        hr_onnx_node(&e->p, "Sub", (const char *[]){x, "normalize.mean", NULL}, "input_centered");
        hr_onnx_node(&e->p, "Div", (const char *[]){"input_centered", "normalize.std", NULL},
                     "input_normalized");
        x = "input_normalized";
    }
    return x;
}

static void put_linear(struct exporting *e, const char *x, const char *y)
{
    const struct hr_tensor *weight = hr_tensor_get(&e->checkpoint->model, "weight");
    hr_onnx_floats(&e->p, "weight", 2, weight->shape, weight->data);
    const size_t node =
        hr_onnx_node_begin(&e->p, "Gemm", "linear", (const char *[]){x, "weight", NULL}, y);
    hr_onnx_attribute_int(&e->p, "transB", 1);
    hr_onnx_node_end(&e->p, node);
}

/* A single output x is the classes' 1 - p and p: sigmoid(-x) and sigmoid(x). */
static void put_two_classes(struct exporting *e, const char *x, const char *y)
{
    hr_onnx_node(&e->p, "Neg", (const char *[]){x, NULL}, "logits_negated");
    const size_t concat = hr_onnx_node_begin(
        &e->p, "Concat", "both", (const char *[]){"logits_negated", x, NULL}, "logits_of_both");
    hr_onnx_attribute_int(&e->p, "axis", 1);
    hr_onnx_node_end(&e->p, concat);
    hr_onnx_node(&e->p, "Sigmoid", (const char *[]){"logits_of_both", NULL}, y);
}

static void put_probabilities(struct exporting *e, const char *x, const char *y)
{
    if (e->meaning.columns != e->meaning.outputs) {
        put_two_classes(e, x, y);
    } else if (e->meaning.loss == HR_LOSS_BCE) {
        hr_onnx_node(&e->p, "Sigmoid", (const char *[]){x, NULL}, y);
    } else {
        const size_t node = hr_onnx_node_begin(&e->p, "Softmax", y, (const char *[]){x, NULL}, y);
        hr_onnx_attribute_int(&e->p, "axis", 1);
        hr_onnx_node_end(&e->p, node);
    }
}

/* Values in the targets' own units. */
static enum hr_status put_values(struct exporting *e, const char *x, const char *y)
{
    const size_t count = e->values.count;
    float *numbers = malloc(2 * count * sizeof *numbers);
    if (!numbers)
        return hr_fail(HR_E_NOMEM, "no memory for %zu targets", count);
    for (size_t k = 0; k < count; k++) {
        numbers[k] = (float)e->values.deviation[k];
        numbers[count + k] = (float)e->values.mean[k];
    }
    hr_onnx_floats(&e->p, "target.std", 1, &count, numbers);
    hr_onnx_floats(&e->p, "target.mean", 1, &count, numbers + count);
    hr_onnx_node(&e->p, "Mul", (const char *[]){x, "target.std", NULL}, "values_centered");
    hr_onnx_node(&e->p, "Add", (const char *[]){"values_centered", "target.mean", NULL}, y);
    hr_onnx_value(&e->p, HR_ONNX_OUTPUT, y, 1, &count, false);
    free(numbers);
    return HR_OK;
}

static enum hr_status put_graph(struct exporting *e)
{
    static const char probabilities[] = "probabilities";
    const bool probable = e->meaning.kind == HR_PREDICT_PROBABILITIES;
    const char *last = probable ? "logits" : "scores";
    hr_protobuf_string(&e->p, GRAPH_NAME, "hogring");
    const char *x = put_input(e);
    if (e->model)
        HR_TRY(hr_onnx_layers(&e->p, e->model, e->params, e->shape, x, last));
    else
        put_linear(e, x, last);
    if (probable) {
        put_probabilities(e, last, probabilities);
        hr_onnx_value(&e->p, HR_ONNX_OUTPUT, probabilities, 1, &e->meaning.columns, false);
    }
    if (e->values.count)
        return put_values(e, last, "values");
    hr_onnx_value(&e->p, HR_ONNX_OUTPUT, last, 1, &e->meaning.outputs, false);
    return HR_OK;
}

/* --- the file --- */

static void put_entry(struct exporting *e, const char *key, const char *value)
{
    const size_t entry = hr_protobuf_begin(&e->p, MODEL_METADATA);
    hr_protobuf_string(&e->p, ENTRY_KEY, key);
    hr_protobuf_string(&e->p, ENTRY_VALUE, value);
    hr_protobuf_end(&e->p, entry);
}

/* A JSON list, where it has anything. */
static enum hr_status put_list(struct exporting *e, const char *key, json_t *array, bool good)
{
    char *text = good ? hr_json_dump(array, JSON_COMPACT) : NULL;
    if (text && json_array_size(array))
        put_entry(e, key, text);
    const bool done = text;
    free(text);
    json_decref(array);
    return done ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for names");
}

/* counted: a list without names has numbers. */
static enum hr_status put_names(struct exporting *e, const char *key,
                                const struct hr_class_list *list, bool counted)
{
    char number[24];
    json_t *array = json_array();
    bool good = array;
    for (size_t i = 0; good && i < list->count && (counted || list->labels.count); i++) {
        snprintf(number, sizeof number, "%zu", i);
        const bool named = list->labels.count > i;
        json_t *name = hr_json_text(named ? hr_labels_text(&list->labels, i) : number);
        good = name && json_array_append_new(array, name) == 0;
    }
    return put_list(e, key, array, good);
}

static enum hr_status put_targets(struct exporting *e)
{
    json_t *array = json_array();
    bool good = array, named = false;
    for (size_t k = 0; k < e->values.count; k++)
        named = named || e->values.name[k][0];
    for (size_t k = 0; named && good && k < e->values.count; k++)
        good = json_array_append_new(array, hr_json_text(e->values.name[k])) == 0;
    return put_list(e, "target_names", array, good);
}

static enum hr_status put_metadata(struct exporting *e)
{
    char number[32];
    const char *model = e->model ? hr_model_text(e->model) : e->text;
    put_entry(e, "model", model);
    if (e->model)
        put_entry(e, "loss", hr_loss_name(e->meaning.loss));
    snprintf(number, sizeof number, "%.9g", e->input.scale > 0 ? (double)e->input.scale : 1.0);
    put_entry(e, "input_scale", number);
    snprintf(number, sizeof number, "%" PRIu64, e->checkpoint->step);
    put_entry(e, "step", number);
    HR_TRY(put_names(e, "class_names", &e->classes, true));
    HR_TRY(put_targets(e));
    return put_names(e, "feature_names", &e->input.names, false);
}

static enum hr_status put_model(struct exporting *e)
{
    hr_protobuf_varint(&e->p, MODEL_IR, IR_VERSION);
    hr_protobuf_string(&e->p, MODEL_PRODUCER, "hogring");
    hr_protobuf_string(&e->p, MODEL_PRODUCER_VERSION, HR_VERSION);
    hr_protobuf_varint(&e->p, MODEL_VERSION, e->checkpoint->step);
    hr_protobuf_string(&e->p, MODEL_DOC,
                       "Input in the units of the training data; what is done to it before the "
                       "first layer is part of the graph. The first dimension is the batch.");
    const size_t opset = hr_protobuf_begin(&e->p, MODEL_OPSET);
    hr_protobuf_string(&e->p, OPSET_DOMAIN, "");
    hr_protobuf_varint(&e->p, OPSET_VERSION, OPSET);
    hr_protobuf_end(&e->p, opset);
    HR_TRY(put_metadata(e));
    const size_t graph = hr_protobuf_begin(&e->p, MODEL_GRAPH);
    HR_TRY(put_graph(e));
    hr_protobuf_end(&e->p, graph);
    return hr_protobuf_finish(&e->p);
}

static void drop(struct exporting *e)
{
    hr_protobuf_free(&e->p);
    hr_model_destroy(e->model);
    hr_scaling_free(&e->scaling);
    hr_model_input_free(&e->input);
    hr_class_list_free(&e->classes);
    hr_target_scale_free(&e->values);
    free(e->params);
}

enum hr_status hr_onnx_export(const char *path, const struct hr_checkpoint *checkpoint,
                              const char *layers, struct hr_shape shape)
{
    struct exporting e = {.checkpoint = checkpoint};
    enum hr_status status = read_model(&e, layers, shape);
    if (status == HR_OK)
        status = put_model(&e);
    if (status == HR_OK)
        status = hr_file_replace_durably(path, e.p.bytes, e.p.length);
    drop(&e);
    return status;
}

#include "export/pytorch.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "hogring/sparse.h"
#include "nn/layer.h"
#include "nn/window.h"
#include "session/model_input.h"
#include "session/target_scale.h"
#include "state/model_file.h"

static const struct {
    const char *layer, *text;
} classes[] = {
    {"residual",
     "class Residual(nn.Module):\n"
     "    def __init__(self, body, shortcut=None):\n"
     "        super().__init__()\n"
     "        self.body = body\n"
     "        if shortcut is not None:\n"
     "            self.shortcut = shortcut\n\n"
     "    def forward(self, x):\n"
     "        return self.body(x) + (self.shortcut(x) if hasattr(self, \"shortcut\") else "
     "x)\n\n\n"},
    {"position", "class Position(nn.Module):\n"
                 "    def __init__(self, places, width):\n"
                 "        super().__init__()\n"
                 "        self.weight = nn.Parameter(torch.randn(places, width))\n\n"
                 "    def forward(self, x):\n"
                 "        return x + self.weight[: x.shape[-2]]\n\n\n"},
    {"attention",
     "class Attention(nn.Module):\n"
     "    def __init__(self, width, heads):\n"
     "        super().__init__()\n"
     "        self.heads = heads\n"
     "        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)\n"
     "        self.value, self.output = nn.Linear(width, width), nn.Linear(width, width)\n\n"
     "    def forward(self, x):\n"
     "        apart = lambda y: y.reshape(*y.shape[:-1], self.heads, -1).transpose(-3, -2)\n"
     "        q, k, v = apart(self.query(x)), apart(self.key(x)), apart(self.value(x))\n"
     "        s = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5\n"
     "        behind = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(1)\n"
     "        o = s.masked_fill(behind, float(\"-inf\")).softmax(-1) @ v\n"
     "        return self.output(o.transpose(-3, -2).flatten(-2))\n\n\n"},
    {"tied", "class Tied(nn.Module):\n"
             "    def __init__(self, table):\n"
             "        super().__init__()\n"
             "        self.table = [table]  # no part of it: its weights are the embedding's\n\n"
             "    def forward(self, x):\n"
             "        return x @ self.table[0].weight.transpose(0, 1)\n\n\n"},
};

struct writing {
    FILE *out;
    const struct hr_model *model;
    size_t layers;
};

static const struct hr_layer *layer_at(const struct writing *w, size_t i)
{
    struct hr_sources sources;
    return hr_model_layer_at(w->model, i, &sources);
}

static bool has(const struct writing *w, const char *kind)
{
    bool found = false;
    for (size_t i = 0; i < w->layers; i++)
        found = found || !strcmp(layer_at(w, i)->type->name, kind);
    return found;
}

/* "(3, 2), stride=1, padding=0" */
static void put_window(FILE *out, const struct hr_layer *layer)
{
    const struct hr_window w = hr_window_of(layer);
    fprintf(out, "(%zu, %zu), stride=%zu, padding=%zu", w.height, w.width, w.stride, w.pad);
}

/* Layers whose module needs no more than its name and its sizes. */
static void put_layer(const struct writing *w, size_t i)
{
    static const struct {
        const char *layer, *module;
    } plain[] = {{"flatten", "nn.Flatten()"}, {"relu", "nn.ReLU()"},
                 {"gelu", "nn.GELU()"},       {"tanh", "nn.Tanh()"},
                 {"sigmoid", "nn.Sigmoid()"}, {"globalavgpool", "nn.AdaptiveAvgPool2d(1)"},
                 {"embedding", "table"},      {"tied", "Tied(table)"}};
    const struct hr_layer *layer = layer_at(w, i);
    const char *kind = layer->type->name;
    const size_t I = layer->in.size[0], O = layer->out.size[0];
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
        if (!strcmp(kind, plain[k].layer))
            fputs(plain[k].module, w->out);
    if (!strcmp(kind, "dense")) {
        fprintf(w->out, "nn.Linear(%zu, %zu)", I, O);
    } else if (!strcmp(kind, "dropout")) {
        fprintf(w->out, "nn.Dropout(%.17g)", layer->rate);
    } else if (!strcmp(kind, "layernorm")) {
        fprintf(w->out, "nn.LayerNorm(%zu)", I);
    } else if (!strcmp(kind, "position")) {
        fprintf(w->out, "Position(%zu, %zu)", layer->in.size[1], I);
    } else if (!strcmp(kind, "attention")) {
        fprintf(w->out, "Attention(%zu, %zu)", I, layer->size[0]);
    } else if (!strcmp(kind, "batchnorm")) {
        fprintf(w->out, "nn.BatchNorm%dd(%zu)", layer->in.ndim == 3 ? 2 : 1, I);
    } else if (!strcmp(kind, "groupnorm")) {
        fprintf(w->out, "nn.GroupNorm(%zu, %zu)", layer->size[0], I);
    } else if (!strcmp(kind, "conv")) {
        fprintf(w->out, "nn.Conv2d(%zu, %zu, ", I, O);
        put_window(w->out, layer);
        fprintf(w->out, ", dilation=%zu, groups=%zu)", hr_window_of(layer).dilation,
                I / layer->tensors[0].shape[1]);
    } else if (!strcmp(kind, "maxpool") || !strcmp(kind, "avgpool")) {
        fprintf(w->out, "nn.%s(", kind[0] == 'm' ? "MaxPool2d" : "AvgPool2d");
        put_window(w->out, layer);
        fputs(")", w->out);
    }
}

static bool begins_with(const char *path, const char *prefix)
{
    return !strncmp(path, prefix, strlen(prefix));
}

static size_t put_list(const struct writing *w, size_t begin, const char *prefix, size_t indent);

/* Layers [begin, ...) below `path`, and the residual that ends them; returns the one behind it. */
static size_t put_residual(const struct writing *w, size_t begin, const char *path, size_t indent)
{
    static const char *const branches[] = {"body", "shortcut"};
    char prefix[128];
    size_t at = begin;
    fputs("Residual(\n", w->out);
    for (size_t k = 0; k < 2; k++) {
        snprintf(prefix, sizeof prefix, "%.100s.%s.", path, branches[k]);
        if (!begins_with(hr_model_layer(w->model, at).path, prefix))
            continue;
        fprintf(w->out, "%*snn.Sequential(\n", (int)indent + 4, "");
        at = put_list(w, at, prefix, indent + 8);
        fprintf(w->out, "%*s),\n", (int)indent + 4, "");
    }
    fprintf(w->out, "%*s)", (int)indent, "");
    return at + 1;
}

/* All layers whose path is prefix and more, a line each; returns the first that is not. */
static size_t put_list(const struct writing *w, size_t begin, const char *prefix, size_t indent)
{
    char path[128];
    size_t at = begin;
    while (at < w->layers && begins_with(hr_model_layer(w->model, at).path, prefix)) {
        const char *whole = hr_model_layer(w->model, at).path, *rest = whole + strlen(prefix);
        const int length = (int)(strlen(prefix) + strcspn(rest, "."));
        snprintf(path, sizeof path, "%.*s", length, whole);
        fprintf(w->out, "%*s", (int)indent, "");
        if (strcmp(path, whole) != 0)
            at = put_residual(w, at, path, indent);
        else
            put_layer(w, at++);
        fputs(",\n", w->out);
    }
    return at;
}

/* How its weights are read, and what it reads. */
static void put_usage(FILE *out, const struct hr_checkpoint *checkpoint,
                      const struct hr_dataset *like, float scale)
{
    char file[4200];
    const bool single = hr_path_ends_in(checkpoint->path, ".safetensors");
    snprintf(file, sizeof file, "%.4090s%s", checkpoint->path, single ? "" : "/model.safetensors");
    json_t *text = hr_json_text(file);
    char *quoted = hr_json_dump(text, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    fprintf(out,
            "\n\n# from safetensors.torch import load_file\n# net = Net()\n"
            "# net.load_state_dict(load_file(%s))\n# net.eval()(x): ",
            quoted ? quoted : "\"model.safetensors\"");
    free(quoted);
    json_decref(text);
    if (like->tokens.context)
        fprintf(out, "x int64 (batch, places), at most %zu of them\n", like->tokens.context);
    else
        fprintf(out, "x float32 (batch, %zu, %zu, %zu), the data times %.9g\n",
                like->shape.channels, like->shape.height, like->shape.width,
                scale > 0 ? (double)scale : 1.0);
    if (hr_tensor_get(&checkpoint->trainer, "normalize.mean"))
        fputs("# then less normalize.mean, over normalize.std of trainer.safetensors\n", out);
}

static void put_module(const struct writing *w)
{
    fputs("import torch\nfrom torch import nn\n\n\n", w->out);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (has(w, classes[i].layer))
            fputs(classes[i].text, w->out);
    fputs("class Net(nn.Sequential):\n    def __init__(self):\n", w->out);
    const struct hr_layer *first = layer_at(w, 0);
    if (!strcmp(first->type->name, "embedding"))
        fprintf(w->out, "        table = nn.Embedding(%zu, %zu)\n", first->tokens,
                first->out.size[0]);
    fputs("        super().__init__(\n", w->out);
    put_list(w, 0, "", 12);
    fputs("        )\n", w->out);
}

static enum hr_status write(FILE *out, const struct hr_checkpoint *checkpoint,
                            struct hr_dataset *like, const struct hr_model_input *input,
                            struct hr_model **model)
{
    struct hr_class_list labels = {0};
    struct hr_target_scale values = {0};
    enum hr_status status = hr_class_names_get(checkpoint, &labels);
    if (status == HR_OK)
        status = hr_target_scale_get(checkpoint, &values);
    if (!like->tokens.context)
        like->classes = labels.count;
    if (status == HR_OK)
        status = hr_saved_model(checkpoint, NULL, like, &values, model);
    hr_class_list_free(&labels);
    hr_target_scale_free(&values);
    if (status != HR_OK)
        return status;
    put_module(&(struct writing){out, *model, hr_model_layer_count(*model)});
    put_usage(out, checkpoint, like, input->scale);
    return HR_OK;
}

enum hr_status hr_pytorch_write(FILE *out, const struct hr_checkpoint *checkpoint,
                                struct hr_shape shape)
{
    const char *text = hr_metadata_get(&checkpoint->model, "hogring.model");
    struct hr_model_input input;
    struct hr_dataset like;
    struct hr_model *model = NULL;
    if (text && hr_sparse_is_model(text))
        return hr_fail(HR_E_USAGE, "--pytorch: %s is no network; expected a checkpoint of one",
                       checkpoint->path);
    enum hr_status status = hr_model_input_get(checkpoint, &input);
    if (status == HR_OK) {
        hr_model_input_like(checkpoint, &input, 0, &like);
        if (!like.shape.channels)
            like.shape = shape;
        status = like.shape.channels
                     ? write(out, checkpoint, &like, &input, &model)
                     : hr_fail(HR_E_USAGE,
                               "--pytorch: %s does not say the shape of its input; --input 1x28x28 "
                               "(channels, height, width) does",
                               checkpoint->path);
    }
    hr_model_destroy(model);
    hr_model_input_free(&input);
    return status;
}

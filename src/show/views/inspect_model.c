/* What a network is made of, layer by layer, before anybody trains it. */
#include "views/inspect.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "nn/madds.h"
#include "nn/model.h"
#include "json/value.h"
#include "terminal/grid.h"

/* Sums over the layers, and memory in bytes for a batch. */
struct totals {
    size_t params, statistics, parameter_bytes, workspace_bytes;
    double madds;
};

enum hr_status hr_inspect_parse_input(const char *text, struct hr_shape *out)
{
    char end;
    if (text[0] != '-' &&
        sscanf(text, "%zux%zux%zu%c", &out->channels, &out->height, &out->width, &end) == 3)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--input %s: expected channels, height and width, as 1x28x28", text);
}

static struct totals totals_of(const struct hr_model *model, size_t batch)
{
    struct totals totals = {.parameter_bytes = hr_model_param_count(model) * sizeof(float),
                            .workspace_bytes = hr_workspace_bytes(model, batch, NULL)};
    for (size_t i = 0; i < hr_model_layer_count(model); i++) {
        const struct hr_layer_info info = hr_model_layer(model, i);
        totals.params += info.params;
        totals.statistics += info.statistics;
        totals.madds += info.madds;
    }
    return totals;
}

static void write_layer(FILE *cells, const struct hr_layer_info *info)
{
    char shape[48];
    if (info->ndim == 1)
        snprintf(shape, sizeof shape, "(%zu)", info->shape[0]);
    else
        snprintf(shape, sizeof shape, "(%zu, %zu, %zu)", info->shape[0], info->shape[1],
                 info->shape[2]);
    fprintf(cells, "%s\t%s\t%s\t%zu\t%.0f\n", info->path, info->text, shape, info->params,
            info->madds);
}

static void print_table(const struct hr_model *model, const struct totals *totals, size_t batch)
{
    struct hr_grid table;
    hr_grid_begin(&table, "-path\t-layer\toutput\tparameters\tmultiply-adds");
    for (size_t i = 0; i < hr_model_layer_count(model); i++) {
        const struct hr_layer_info info = hr_model_layer(model, i);
        write_layer(table.cells, &info);
    }
    fprintf(table.cells, "total\t\t\t%zu\t%.0f\n", totals->params, totals->madds);
    hr_grid_end(&table, stdout, 0);
    putchar('\n');
    printf("running statistics   %zu numbers, not trained\n", totals->statistics);
    printf("a sample             %.4g MFLOP forward, %.4g MFLOP forward and backward\n",
           2e-6 * totals->madds, 2e-6 * hr_model_madds(model));
    printf("parameters           %.2f MiB\n", (double)totals->parameter_bytes / (1 << 20));
    printf(
        "to train %-4zu at once %.2f MiB: input, activations, gradients of activations, scratch\n",
        batch, (double)totals->workspace_bytes / (1 << 20));
}

static json_t *table_json(const struct hr_model *model, const struct totals *totals, size_t batch)
{
    json_t *layers = json_array();
    for (size_t i = 0; i < hr_model_layer_count(model); i++) {
        const struct hr_layer_info info = hr_model_layer(model, i);
        json_t *shape = json_array();
        for (size_t d = 0; d < info.ndim; d++)
            json_array_append_new(shape, json_integer((json_int_t)info.shape[d]));
        json_array_append_new(layers, json_pack("{s:s, s:s, s:o, s:I, s:I, s:f}", "path", info.path,
                                                "layer", info.text, "output", shape, "params",
                                                (json_int_t)info.params, "statistics",
                                                (json_int_t)info.statistics, "madds", info.madds));
    }
    return json_pack("{s:s, s:o, s:I, s:I, s:f, s:f, s:I, s:I, s:I}", "model", hr_model_text(model),
                     "layers", layers, "params", (json_int_t)totals->params, "statistics",
                     (json_int_t)totals->statistics, "madds_forward", totals->madds, "madds",
                     hr_model_madds(model), "parameter_bytes", (json_int_t)totals->parameter_bytes,
                     "batch_size", (json_int_t)batch, "workspace_bytes",
                     (json_int_t)totals->workspace_bytes);
}

enum hr_status hr_inspect_model(const struct hr_cli *cli)
{
    struct hr_shape input;
    struct hr_model *model;
    const size_t batch = cli->train.batch_size;
    HR_TRY(hr_inspect_parse_input(cli->input, &input));
    HR_TRY(hr_model_create(cli->positional[0], input, cli->classes, &model));
    const struct totals totals = totals_of(model, batch);
    enum hr_status status = HR_OK;
    if (totals.workspace_bytes == 0)
        status = hr_fail(HR_E_NOMEM, "a workspace for batches of %zu samples is too large", batch);
    if (status == HR_OK && hr_cli_speaks(cli))
        print_table(model, &totals, batch);
    if (status == HR_OK && cli->json[0])
        status = hr_json_write(cli->json, table_json(model, &totals, batch));
    hr_model_destroy(model);
    return status;
}

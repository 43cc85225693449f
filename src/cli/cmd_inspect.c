/* hogring inspect - what a checkpoint holds, and what a model is made of. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "terminal/output.h"
#include "export/onnx.h"
#include "export/pytorch.h"
#include "formats/formats.h"
#include "hogring/checkpoint.h"
#include "nn/model.h"
#include "nn/model_text.h"
#include "session/saved.h"
#include "json/value.h"
#include "terminal/grid.h"

/* A shape as "(256, 784)"; "()" for a scalar. */
static void shape_text(const size_t *shape, size_t ndim, char *text, size_t size)
{
    snprintf(text, size, "(");
    for (size_t d = 0; d < ndim; d++)
        hr_append(text, size, "%s%zu", d ? ", " : "", shape[d]);
    hr_append(text, size, ")");
}

/* --- a model --- */

/* Sums over the layers, and memory in bytes for a batch. */
struct totals {
    size_t params, statistics, parameter_bytes, workspace_bytes;
    double madds;
};

/* --input, as "1x28x28". */
static enum hr_status parse_input(const char *text, struct hr_shape *out)
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
    char shape[60];
    shape_text(info->shape, info->ndim, shape, sizeof shape);
    fprintf(cells, "%s%s\t%s\t%s\t%zu\t%.0f\n", hr_yields(stdout, HR_ROW), info->path, info->text,
            shape, info->params, info->madds);
}

static void print_table(const struct hr_model *model, const struct totals *totals, size_t batch)
{
    struct hr_grid table;
    hr_output_hold();
    hr_grid_begin(&table, "-\npath\t-\nlayer\t\noutput\t\nparameters\tmultiply-\nadds");
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
        json_array_append_new(
            layers, hr_json_object(HR_OF(&info, path), "layer", HR_JSON(info.text), "output",
                                   hr_json_counts(info.shape, info.ndim), "params",
                                   json_integer(info.params), "statistics",
                                   json_integer(info.statistics), HR_OF(&info, madds), NULL));
    }
    return hr_json_object("model", HR_JSON(hr_model_text(model)), "layers", layers, "params",
                          json_integer(totals->params), "statistics",
                          json_integer(totals->statistics), "madds_forward", HR_JSON(totals->madds),
                          "madds", HR_JSON(hr_model_madds(model)), "parameter_bytes",
                          json_integer(totals->parameter_bytes), "batch_size", json_integer(batch),
                          "workspace_bytes", json_integer(totals->workspace_bytes), NULL);
}

static enum hr_status inspect_model(const struct hr_cli *cli)
{
    struct hr_shape input;
    struct hr_model *model;
    const size_t batch = cli->train.batch_size;
    HR_TRY(parse_input(cli->input, &input));
    const bool text = hr_model_text_reads_tokens(cli->positional[0]);
    if (text && !hr_cli_was_given(cli, "input"))
        input = (struct hr_shape){1, 1, cli->data_options.context};
    const struct hr_tokens tokens = {.context = text ? hr_shape_elems(input) : 0};
    const size_t bytes = 256;
    HR_TRY(hr_model_build(
        &(struct hr_model_options){
            .description = cli->positional[0],
            .input = input,
            .classes = text && !hr_cli_was_given(cli, "classes") ? bytes : cli->classes,
            .text = &tokens},
        &model));
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

/* --- a checkpoint --- */

/* An option of the run, at its default. */
static bool is_usual(const char *key, const char *value)
{
    const struct hr_option *row = strncmp(key, "option.", 7)
                                      ? NULL
                                      : hr_cli_option_at(hr_cli_option_find(key + 7, HR_TRAIN)).row;
    return row && (row->usual ? !strcmp(value, row->usual)
                              : !value[0] || !strcmp(value, "0") || !strcmp(value, "off"));
}

/* What a model is, of what is written beside its tensors. */
static bool says_what_it_is(const char *key)
{
    static const char *const keys[] = {"model", "input", "classes", "loss", "precision"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strncmp(key, "hogring.", 8) && !strcmp(key + 8, keys[i]))
            return true;
    return false;
}

/* Of the state beside a model nobody asks first: it all yields. */
static void print_file(const char *title, const struct hr_tensor_file *file, bool beside)
{
    const enum hr_yield rows = beside ? HR_REPEATED : HR_ROW;
    const char *yields = hr_yields(stdout, beside ? HR_REPEATED : HR_NOTICE);
    size_t elements = 0, bytes = 0, usual = 0;
    struct hr_grid table;
    printf("%s\n", title);
    hr_grid_begin(&table, "-\t-\t-\t");
    for (size_t i = 0; i < file->ntensors; i++) {
        const struct hr_tensor *tensor = &file->tensors[i];
        char shape[128];
        shape_text(tensor->shape, tensor->ndim, shape, sizeof shape);
        fprintf(table.cells, "%s  %s\t%s\t%s\t%zu bytes\n", hr_yields(stdout, rows),
                hr_printable(tensor->name).text, shape, hr_dtype_name(tensor->dtype),
                tensor->bytes);
        elements += tensor->bytes / hr_dtype_bytes(tensor->dtype);
        bytes += tensor->bytes;
    }
    hr_grid_end(&table, stdout, 0);
    printf("  %zu tensors, %zu elements, %zu bytes\n", file->ntensors, elements, bytes);
    for (size_t i = 0; i < file->nmetadata; i++)
        if (is_usual(file->metadata[i].key, file->metadata[i].value))
            usual++;
        else
            printf("%s  %s = %s\n", says_what_it_is(file->metadata[i].key) ? "" : yields,
                   file->metadata[i].key, file->metadata[i].value);
    if (usual)
        printf("%s  and %zu options at their defaults, which --json has\n", yields, usual);
}

static json_t *file_json(const struct hr_tensor_file *file)
{
    json_t *tensors = json_array(), *metadata = json_object();
    for (size_t i = 0; i < file->ntensors; i++) {
        const struct hr_tensor *tensor = &file->tensors[i];
        hr_json_append(&tensors, hr_json_object(HR_OF(tensor, name), "dtype",
                                                HR_JSON(hr_dtype_name(tensor->dtype)), "shape",
                                                hr_json_counts(tensor->shape, tensor->ndim),
                                                HR_OF(tensor, bytes), NULL));
    }
    for (size_t i = 0; i < file->nmetadata; i++)
        json_object_set_new(metadata, file->metadata[i].key, hr_json_text(file->metadata[i].value));
    return hr_json_object("tensors", tensors, "metadata", metadata, NULL);
}

static bool is_safetensors(const char *path)
{
    const size_t length = strlen(path);
    return length > 12 && !strcmp(path + length - 12, ".safetensors");
}

/* Of a PyTorch file, or of an earlier version's, the shape is not known: --input. */
static enum hr_status export_model(const struct hr_cli *cli)
{
    struct hr_shape shape = {0};
    if (hr_cli_was_given(cli, "input"))
        HR_TRY(parse_input(cli->input, &shape));
    struct hr_checkpoint checkpoint = {0};
    enum hr_status status = hr_saved_read(cli->positional[0], &checkpoint);
    if (status == HR_OK && cli->pytorch)
        status = hr_pytorch_write(stdout, &checkpoint, shape);
    if (status == HR_OK && cli->export_to[0])
        status = hr_onnx_export(cli->export_to, &checkpoint, NULL, shape);
    if (status == HR_OK && cli->export_to[0] && hr_cli_speaks(cli) && !cli->pytorch)
        printf("%s is written to %s\n", checkpoint.path, cli->export_to);
    hr_checkpoint_free(&checkpoint);
    return status;
}

static enum hr_status inspect_file(const struct hr_cli *cli)
{
    struct hr_tensor_file file = {0};
    enum hr_status status = hr_safetensors_read(cli->positional[0], &file);
    if (status != HR_OK)
        return status;
    if (hr_cli_speaks(cli) && !cli->pytorch) {
        hr_output_hold();
        print_file(cli->positional[0], &file, false);
    }
    if (cli->json[0])
        status = hr_json_write(cli->json, file_json(&file));
    hr_tensor_file_free(&file);
    return status;
}

static enum hr_status show_checkpoint(const struct hr_cli *cli, struct hr_checkpoint *checkpoint)
{
    HR_TRY(hr_checkpoint_load(cli->positional[0], checkpoint));
    if (hr_cli_speaks(cli) && !cli->pytorch) {
        hr_output_hold();
        printf("%s: step %llu, every digest verified\n", checkpoint->path,
               (unsigned long long)checkpoint->step);
        print_file("model.safetensors", &checkpoint->model, false);
        print_file("trainer.safetensors", &checkpoint->trainer, true);
    }
    if (!cli->json[0])
        return HR_OK;
    return hr_json_write(cli->json,
                         hr_json_object(HR_OF(checkpoint, path), HR_OF(checkpoint, step), "model",
                                        file_json(&checkpoint->model), "trainer",
                                        file_json(&checkpoint->trainer), NULL));
}

static enum hr_status inspect_checkpoint(const struct hr_cli *cli)
{
    struct hr_checkpoint checkpoint = {0};
    const enum hr_status status = show_checkpoint(cli, &checkpoint);
    hr_checkpoint_free(&checkpoint);
    return status;
}

/* A file that is no .safetensors, or a folder that some data format knows. A checkpoint's folder
 * holds none of their files. */
static bool is_data(const char *path)
{
    const struct hr_format *format = NULL;
    if (hr_dataset_is_built_in(path))
        return true;
    return hr_format_find(path, &format) == HR_OK && format && format != &hr_format_idx;
}

/* What stands on the disk, or is written as a path, is a file; all else is a model. (One that has a
 * dot in it has blanks, too: dropout 0.2.) */
static bool is_path(const char *text)
{
    const bool named = strchr(text, '.') && !strchr(text, ' ');
    return named || strchr(text, '/') || hr_dataset_is_built_in(text) || access(text, F_OK) == 0;
}

/* A file says itself what it is about. */
static enum hr_status check_options(const struct hr_cli *cli)
{
    static const char *const of_models[] = {"classes", "batch-size", "input"};
    const bool exports = cli->export_to[0] || cli->pytorch;
    const size_t n = sizeof of_models / sizeof *of_models - (exports ? 1 : 0);
    for (size_t i = 0; i < n; i++)
        if (hr_cli_was_given(cli, of_models[i]))
            return hr_fail(HR_E_USAGE, "--%s: is not supported for %s, which is no MODEL",
                           of_models[i], cli->positional[0]);
    return HR_OK;
}

static enum hr_status inspect(const struct hr_cli *cli)
{
    if (cli->npositional != 1)
        return hr_fail(HR_E_USAGE, "inspect: what? (hogring inspect DIR, FILE or MODEL)");
    if (!is_path(cli->positional[0])) {
        const enum hr_status status = inspect_model(cli);
        return status != HR_E_USAGE ? status
                                    : hr_fail_within(status, "inspect: not a file, and as a model");
    }
    if (!hr_dataset_is_built_in(cli->positional[0]) && access(cli->positional[0], F_OK) != 0)
        return hr_fail_errno(HR_E_IO, "%s: cannot be opened", cli->positional[0]);
    HR_TRY(check_options(cli));
    if (is_safetensors(cli->positional[0]))
        return inspect_file(cli);
    if (hr_is_trace(cli->positional[0]))
        return hr_inspect_trace(cli, cli->positional[0]);
    if (is_data(cli->positional[0]))
        return hr_cli_data_info(cli, cli->positional[0]);
    return inspect_checkpoint(cli);
}

/* What an option is about is no checkpoint. */
static bool exports_nothing(const struct hr_cli *cli)
{
    const char *what = cli->positional[0];
    return (cli->export_to[0] || cli->pytorch) && cli->npositional == 1 &&
           (!is_path(what) || hr_dataset_is_built_in(what) ||
            (!is_safetensors(what) && access(what, F_OK) == 0 &&
             (hr_is_trace(what) || is_data(what))));
}

static enum hr_status inspect_and_export(const struct hr_cli *cli)
{
    if (exports_nothing(cli))
        return hr_fail(HR_E_USAGE, "--%s: is not supported for %s, which is no checkpoint",
                       cli->pytorch ? "pytorch" : "export", cli->positional[0]);
    if (cli->pytorch && !hr_cli_speaks(cli))
        return hr_fail(HR_E_USAGE, "--pytorch and --json -: there is one stdout, expected a file "
                                   "for --json");
    if (!cli->pytorch || cli->json[0])
        HR_TRY(inspect(cli));
    return cli->export_to[0] || cli->pytorch ? export_model(cli) : HR_OK;
}

static int run(struct hr_cli *cli)
{
    const enum hr_status status = inspect_and_export(cli);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}

const struct hr_command hr_command_inspect = {
    .name = "inspect",
    .summary = "show what a checkpoint, trace, data set or model holds",
    .bit = HR_INSPECT,
    .usage = "CHECKPOINT|FILE.safetensors|TRACE|DATA|MODEL [OPTIONS]",
    .story =
        "Prints names, shapes, types, bytes and metadata. The digests of a checkpoint are\n"
        "verified; of a folder of checkpoints the newest good one is shown. A single\n"
        ".safetensors file from any program is checked against the format. For a trace (train\n"
        "--record): the order of updates, staleness, and what workers did with their time. For\n"
        "data: shape, counts and classes (as hogring data info). For a MODEL (a built-in name\n"
        "or layers): shapes, parameters, work and memory.\n",
    .examples = "  hogring inspect runs/mlp\n  hogring inspect run.trace\n  hogring inspect "
                "model.safetensors --json -\n"
                "  hogring inspect resnet8 --input 3x32x32 --classes 100\n"
                "  hogring inspect runs/mlp --export mlp.onnx\n"
                "  hogring inspect runs/words --pytorch > net.py\n",
    .run = run,
};

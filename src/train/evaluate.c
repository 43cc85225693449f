/* A checkpoint's model on a test split, in the caller's thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/evaluate.h"
#include "base/fpenv.h"
#include "base/needs.h"
#include "base/size.h"
#include "hogring/checkpoint.h"
#include "kernels/gemm.h"
#include "session/input_scale.h"
#include "session/saved.h"
#include "sparse/engine.h"
#include "session/class_names.h"
#include "worker/input.h"
#include "worker/job.h"
#include "train/state.h"
#include "train/model_file.h"

struct evaluation {
    struct hr_model *model;
    struct hr_workspace *workspace;
    float *params; /* (params) */
    struct hr_scaling scaling;
    struct hr_class_view classes;
    uint32_t samples[HR_EVAL_BLOCK];
};

static enum hr_status load_params(struct evaluation *e, const struct hr_checkpoint *checkpoint)
{
    e->params = malloc(hr_model_param_count(e->model) * sizeof *e->params);
    if (!e->params)
        return hr_fail(HR_E_NOMEM, "no memory for %zu parameters", hr_model_param_count(e->model));
    return hr_load_weights(checkpoint, e->model, e->params);
}

/* Samples [first, first + count) of the test split, added to *sum; their outputs too. */
static void run_rows(struct evaluation *e, const struct hr_dataset *dataset, size_t first,
                     size_t count, float *outputs, struct hr_batch_result *sum)
{
    for (size_t i = 0; i < count; i++)
        e->samples[i] = (uint32_t)(first + i);
    hr_dataset_gather(dataset, &dataset->test, e->samples, count, hr_workspace_input(e->workspace),
                      hr_workspace_labels(e->workspace));
    hr_scaling_apply(&e->scaling, dataset->shape, count, hr_workspace_input(e->workspace));
    hr_model_evaluate_more(e->model, e->workspace, e->params, count, sum);
    memcpy(outputs, hr_workspace_outputs(e->workspace),
           count * hr_model_outputs(e->model) * sizeof *outputs);
}

static enum hr_status run_blocks(struct evaluation *e, const struct hr_dataset *dataset,
                                 struct hr_evaluation *out)
{
    const size_t rows = hr_input_eval_rows(dataset);
    double loss_sum = 0;
    size_t correct = 0;
    out->count = dataset->test.count;
    out->noutputs = hr_model_outputs(e->model);
    out->outputs = calloc(out->count * out->noutputs, sizeof *out->outputs);
    if (!out->outputs)
        return hr_fail(HR_E_NOMEM, "no memory for %zu outputs of %zu samples", out->noutputs,
                       out->count);
    for (size_t first = 0; first < out->count; first += HR_EVAL_BLOCK) {
        struct hr_batch_result block = {0};
        const size_t end = hr_min_size(first + HR_EVAL_BLOCK, out->count);
        for (size_t at = first; at < end; at += rows)
            run_rows(e, dataset, at, hr_min_size(rows, end - at), out->outputs + at * out->noutputs,
                     &block);
        loss_sum += block.loss_sum;
        correct += block.correct;
    }
    out->test_loss = loss_sum / (double)out->count;
    out->test_accuracy = (double)correct / (double)out->count;
    return HR_OK;
}

static enum hr_status check_needs(const struct hr_model *model, const struct hr_dataset *dataset)
{
    struct hr_needs needs = {0};
    const size_t bytes = hr_workspace_bytes(model, hr_input_eval_rows(dataset), NULL);
    hr_needs_add_taken(&needs, "data", hr_dataset_bytes(dataset));
    hr_needs_add(&needs, "weights", hr_model_param_count(model), sizeof(float));
    hr_needs_add(&needs, "activations", 1, bytes ? bytes : SIZE_MAX);
    hr_needs_add(&needs, "outputs", dataset->test.count, hr_model_outputs(model) * sizeof(float));
    return hr_needs_check(&needs, "this evaluation needs", "");
}

static enum hr_status evaluate(struct evaluation *e, const struct hr_checkpoint *checkpoint,
                               const char *layers, const struct hr_dataset *dataset,
                               struct hr_evaluation *out)
{
    HR_TRY(hr_class_view_open(checkpoint, dataset, true, &e->classes));
    hr_input_scale_compare(checkpoint, dataset, &dataset->test);
    dataset = &e->classes.dataset;
    HR_TRY(hr_saved_model(checkpoint, layers, dataset, &e->model));
    HR_TRY(check_needs(e->model, dataset));
    HR_TRY(hr_workspace_create(e->model, hr_input_eval_rows(dataset), NULL, &e->workspace));
    HR_TRY(load_params(e, checkpoint));
    HR_TRY(hr_load_scaling(checkpoint, dataset->shape.channels, &e->scaling));
    hr_fp_flush_denormals();
    HR_TRY(hr_kernels_init_process(1));
    snprintf(out->model, sizeof out->model, "%.1023s", hr_model_text(e->model));
    return run_blocks(e, dataset, out);
}

enum hr_status hr_evaluate_checkpoint(const char *path, const char *layers,
                                      const struct hr_dataset *dataset, struct hr_evaluation *out)
{
    struct evaluation e = {0};
    *out = (struct hr_evaluation){0};
    struct hr_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    if (!checkpoint)
        return hr_fail(HR_E_NOMEM, "no memory to read a checkpoint");
    enum hr_status status = hr_saved_read(path, checkpoint);
    const char *model = layers ? layers : hr_metadata_get(&checkpoint->model, "hogring.model");
    if (status == HR_OK)
        status = model && hr_sparse_is_model(model)
                     ? hr_sparse_evaluate_checkpoint(checkpoint, model, dataset, out)
                     : evaluate(&e, checkpoint, layers, dataset, out);
    if (status != HR_OK)
        hr_evaluation_free(out);
    hr_scaling_free(&e.scaling);
    hr_class_view_close(&e.classes);
    hr_workspace_destroy(e.workspace);
    hr_model_destroy(e.model);
    free(e.params);
    hr_checkpoint_free(checkpoint);
    free(checkpoint);
    return status;
}

void hr_evaluation_free(struct hr_evaluation *evaluation)
{
    free(evaluation->outputs);
    *evaluation = (struct hr_evaluation){0};
}

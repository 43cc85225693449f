/* The test split: read once, of a run that held out another to validate with; and of a checkpoint's
 * model, in the caller's thread. */
#include "train/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/memory.h"
#include "base/size.h"
#include "hogring/checkpoint.h"
#include "hogring/evaluate.h"
#include "products/ready.h"
#include "session/class_scores.h"
#include "session/model_input.h"
#include "session/saved.h"
#include "session/target_scale.h"
#include "sparse/engine.h"
#include "state/model_file.h"
#include "state/state.h"
#include "train/run.h"
#include "worker/input.h"
#include "worker/job.h"
#include "worker/worker.h"

/* The test set, read once: after training, where a validation split was held out.
 *
 * While workers run there is no test split that they could reach (data/held_out.h). Then one rank,
 * a thread or a process as they were, does what a worker does at a cut: the same blocks, added in
 * the same order, so the bits are those of a run that evaluates the same weights at its last cut.
 */
enum hr_status hr_final_test_prepare(struct hr_run *run)
{
    const struct hr_train_options *o = &run->options;
    struct hr_final_test *test = &run->final_test;
    if (!hr_held_out_asked(run->job.dataset, o->validation_fraction))
        return HR_OK;
    test->dataset = run->job.dataset;
    HR_TRY(hr_held_out_open(test->dataset, o->validation_fraction, o->seed, &test->held_out));
    if (o->shuffle_window)
        hr_held_out_sort(&test->held_out);
    run->job.dataset = &test->held_out.dataset;
    return HR_OK;
}

static enum hr_status test_main(void *arg, size_t rank)
{
    const struct hr_train_job *job = arg;
    struct hr_compute_buffers buffers;
    struct hr_train_worker worker = {.job = job, .worker = {.group_rank = rank, .group_size = 1}};
    HR_TRY(hr_kernels_init_process(1));
    HR_TRY(hr_compute_buffers_start(&buffers, job));
    hr_train_worker_borrow(&worker, &buffers);
    const enum hr_status status = hr_train_worker_evaluate(&worker);
    hr_compute_buffers_stop(&buffers);
    return status;
}

/* Its control block is its own: that of the run says that all have ended. */
static enum hr_status run_rank(struct hr_run *run)
{
    struct hr_train_job *job = &run->final_test.job;
    struct hr_segment control = {0};
    bool stuck = false;
    HR_TRY(hr_segment_create(hr_control_bytes(1), false, &control));
    hr_control_init(control.base, 1);
    const struct hr_launch_options options = {
        .launch = job->launch,
        .nranks = 1,
        .control = control.base,
        .main = test_main,
        .arg = job,
    };
    const enum hr_status status = hr_launch_run(&options, &stuck);
    run->drive.stuck |= stuck;
    if (!stuck)
        hr_segment_destroy(&control);
    return status;
}

static bool wants_answers(const struct hr_run *run)
{
    return run->options.wants_answers && !run->job.values.count &&
           !run->job.dataset->tokens.context;
}

static enum hr_status take_answers(const struct hr_run *run, const struct hr_train_job *job)
{
    struct hr_run_result *result = run->result;
    const size_t count = job->dataset->test.count;
    if (!wants_answers(run))
        return HR_OK;
    result->answers = malloc((count + 1) * sizeof *result->answers);
    if (!result->answers)
        return hr_fail(HR_E_NOMEM, "no memory for %zu answers", count);
    memcpy(result->answers, job->tested.answers, count * sizeof *result->answers);
    result->nanswers = count;
    return HR_OK;
}

/* Of the last evaluation; where none was of the final weights, they are evaluated once more. */
static enum hr_status last_answers(struct hr_run *run)
{
    const bool measured = run->leader.cuts.cut->measured && !run->result->best.restored;
    struct hr_train_job *job = &run->final_test.job;
    if (!wants_answers(run) || (!measured && run->result->interrupted))
        return HR_OK;
    *job = run->job;
    job->pipeline = NULL;
    if (!measured)
        HR_TRY(run_rank(run));
    return take_answers(run, job);
}

enum hr_status hr_final_test(struct hr_run *run)
{
    struct hr_final_test *test = &run->final_test;
    struct hr_run_result *result = run->result;
    struct hr_train_job *job = &test->job;
    if (!test->dataset)
        return last_answers(run);
    result->validation_samples = run->job.dataset->test.count;
    result->test_loss = result->test_accuracy = (double)NAN;
    if (result->interrupted)
        return HR_OK;
    *job = run->job;
    job->pipeline = NULL;
    job->dataset = test->dataset;
    job->tested = test->tested;
    HR_TRY(run_rank(run));
    const struct hr_measured measured = hr_train_job_measured(job);
    result->test_loss = measured.loss;
    result->test_accuracy = measured.accuracy;
    result->test_fit = measured.fit;
    result->test_evaluations = 1;
    return take_answers(run, job);
}

struct evaluation {
    struct hr_model *model;
    struct hr_workspace *workspace;
    float *params; /* (params) */
    struct hr_scaling scaling;
    struct hr_class_view classes;
    struct hr_target_scale values;
    double *errors; /* (2, targets) */
    uint32_t samples[HR_EVAL_BLOCK];
};

static enum hr_status load_params(struct evaluation *e, const struct hr_checkpoint *checkpoint)
{
    e->params = malloc(hr_model_param_count(e->model) * sizeof *e->params);
    if (!e->params)
        return hr_fail(HR_E_NOMEM, "no memory for %zu parameters", hr_model_param_count(e->model));
    return hr_load_weights(checkpoint, e->model, e->params);
}

/* What the outputs are of, in the targets' units; and how far that is from what is there.
 * values (count, targets) out */
static void take_values(const struct evaluation *e, const struct hr_dataset *dataset, size_t count,
                        double *values, double *errors)
{
    const float *outputs = hr_workspace_outputs(e->workspace);
    hr_fit_add(&e->values, &dataset->targets, count, outputs, hr_workspace_labels(e->workspace),
               errors);
    for (size_t i = 0; i < count * e->values.count; i++)
        values[i] = hr_target_of_output(&e->values, i % e->values.count, outputs[i]);
}

/* Samples [first, first + count) of the test split, added to *sum; what each gave, too. */
static void run_rows(struct evaluation *e, const struct hr_dataset *dataset, size_t first,
                     size_t count, struct hr_evaluation *out, struct hr_batch_result *sum,
                     double *errors)
{
    const size_t outputs = hr_model_outputs(e->model);
    for (size_t i = 0; i < count; i++)
        e->samples[i] = (uint32_t)(first + i);
    hr_scaling_gather(&e->scaling, dataset, &dataset->test, e->samples, count,
                      hr_workspace_input(e->workspace), hr_workspace_labels(e->workspace));
    hr_scaling_apply(&e->scaling, dataset->shape, count, hr_workspace_input(e->workspace));
    hr_model_evaluate_more(e->model, e->workspace, e->params, count, sum);
    hr_workspace_losses(e->workspace, count, out->losses + first);
    if (!out->labels)
        return;
    if (out->values)
        take_values(e, dataset, count, out->values + first * outputs, errors);
    else
        memcpy(out->outputs + first * outputs, hr_workspace_outputs(e->workspace),
               count * outputs * sizeof *out->outputs);
    memcpy(out->labels + first, dataset->test.labels + first, count * sizeof *out->labels);
    hr_workspace_answers(e->workspace, count, out->answers + first);
}

static enum hr_status take_names(const struct hr_dataset *dataset, struct hr_evaluation *out)
{
    out->classes = dataset->classes;
    if (!dataset->class_names)
        return HR_OK;
    out->class_names = calloc(out->classes, sizeof *out->class_names);
    bool enough = out->class_names;
    for (size_t c = 0; enough && c < out->classes; c++) {
        out->class_names[c] = strdup(dataset->class_names[c]);
        enough = out->class_names[c];
    }
    return enough ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for names of %zu classes", out->classes);
}

static enum hr_status make_room(const struct hr_model *model, const struct hr_dataset *dataset,
                                bool values, struct hr_evaluation *out)
{
    out->count = dataset->test.count;
    out->noutputs = hr_model_outputs(model);
    out->losses = calloc(out->count, sizeof *out->losses);
    out->loss = hr_loss_name(hr_model_loss(model));
    if (dataset->tokens.context) /* of each window as many as it has tokens, times all there are */
        return out->losses ? HR_OK
                           : hr_fail(HR_E_NOMEM, "no memory for losses of %zu samples", out->count);
    if (values)
        out->values = calloc(out->count * out->noutputs, sizeof *out->values);
    else
        out->outputs = calloc(out->count * out->noutputs, sizeof *out->outputs);
    out->labels = calloc(out->count, sizeof *out->labels);
    out->answers = calloc(out->count, sizeof *out->answers);
    if (!(values ? (void *)out->values : out->outputs) || !out->labels || !out->answers ||
        !out->losses)
        return hr_fail(HR_E_NOMEM, "no memory for %zu outputs of %zu samples", out->noutputs,
                       out->count);
    return take_names(dataset, out);
}

/* The errors of all blocks, as a run adds them. */
static enum hr_status fill_fit(const struct evaluation *e, const struct hr_dataset *dataset,
                               struct hr_evaluation *out)
{
    struct hr_fit *each = calloc(e->values.count + 1, sizeof *each);
    out->target = calloc(e->values.count + 1, sizeof *out->target);
    if (!each || !out->target) {
        free(each);
        return hr_fail(HR_E_NOMEM, "no memory for %zu targets", e->values.count);
    }
    out->targets = e->values.count;
    out->test_accuracy = (double)NAN;
    out->fit = hr_fit_of(&dataset->targets, &dataset->test, e->errors, each);
    for (size_t k = 0; k < out->targets; k++) {
        struct hr_target_fit *target = &out->target[k];
        memcpy(target->name, e->values.name[k], sizeof target->name);
        target->mean = e->values.mean[k];
        target->deviation = e->values.deviation[k];
        target->fit = each[k];
    }
    free(each);
    return HR_OK;
}

static enum hr_status run_blocks(struct evaluation *e, const struct hr_dataset *dataset,
                                 struct hr_evaluation *out)
{
    const size_t rows = hr_input_eval_rows(dataset);
    double loss_sum = 0;
    size_t correct = 0;
    const size_t sums = 2 * e->values.count;
    HR_TRY(make_room(e->model, dataset, e->values.count, out));
    e->errors = calloc(2 * sums + 1, sizeof *e->errors); /* of all, and behind it of a block */
    if (!e->errors)
        return hr_fail(HR_E_NOMEM, "no memory for %zu targets", e->values.count);
    for (size_t first = 0; first < out->count; first += HR_EVAL_BLOCK) {
        struct hr_batch_result block = {0};
        const size_t end = hr_min_size(first + HR_EVAL_BLOCK, out->count);
        memset(e->errors + sums, 0, sums * sizeof *e->errors);
        for (size_t at = first; at < end; at += rows)
            run_rows(e, dataset, at, hr_min_size(rows, end - at), out, &block, e->errors + sums);
        for (size_t i = 0; i < sums; i++)
            e->errors[i] += e->errors[sums + i];
        loss_sum += block.loss_sum;
        correct += block.correct;
    }
    out->test_loss = loss_sum / (double)out->count;
    out->test_accuracy = (double)correct / (double)out->count;
    if (sums)
        return fill_fit(e, dataset, out);
    if (!out->answers) {
        out->test_accuracy = (double)NAN;
        out->tokens = dataset->tokens.context;
        out->fit = hr_fit_of_text(dataset, out->test_loss);
        return HR_OK;
    }
    const struct hr_answered answered = {.count = out->count,
                                         .classes = out->classes,
                                         .noutputs = out->noutputs,
                                         .answers = out->answers,
                                         .outputs = out->outputs,
                                         .labels = out->labels};
    out->fit = hr_fit_of_classes(&answered);
    return HR_OK;
}

static enum hr_status check_needs(const struct hr_model *model, const struct hr_dataset *dataset)
{
    struct hr_needs needs = {0};
    const size_t output = dataset->targets.count ? sizeof(double) : sizeof(float);
    const size_t bytes = hr_workspace_bytes(model, hr_input_eval_rows(dataset), NULL);
    hr_needs_add_taken(&needs, "data", hr_dataset_bytes(dataset));
    hr_needs_add(&needs, "weights", hr_model_param_count(model), sizeof(float));
    hr_needs_add(&needs, "activations", 1, bytes ? bytes : SIZE_MAX);
    hr_needs_add(&needs, dataset->tokens.context ? "losses" : "outputs", dataset->test.count,
                 dataset->tokens.context
                     ? sizeof(float)
                     : hr_model_outputs(model) * output + sizeof(float) + 2 * sizeof(uint32_t));
    return hr_needs_check(&needs, "this evaluation needs", "");
}

static enum hr_status evaluate(struct evaluation *e, const struct hr_checkpoint *checkpoint,
                               const char *layers, const struct hr_dataset *dataset,
                               struct hr_evaluation *out)
{
    HR_TRY(hr_class_view_open(checkpoint, dataset, true, &e->classes));
    HR_TRY(hr_model_input_compare(checkpoint, dataset));
    hr_input_scale_compare(checkpoint, dataset, &dataset->test);
    dataset = &e->classes.dataset;
    HR_TRY(hr_target_scale_get(checkpoint, &e->values));
    if (dataset->targets.count || e->values.count)
        HR_TRY(hr_target_scale_apply(dataset, &e->values));
    HR_TRY(hr_saved_model(checkpoint, layers, dataset, &e->values, &e->model));
    HR_TRY(check_needs(e->model, dataset));
    HR_TRY(hr_workspace_create(e->model, hr_input_eval_rows(dataset), NULL, &e->workspace));
    HR_TRY(load_params(e, checkpoint));
    HR_TRY(hr_load_scaling(checkpoint, dataset->shape.channels, &e->scaling));
    hr_fp_flush_denormals();
    HR_TRY(hr_kernels_init_process(1));
    snprintf(out->model, sizeof out->model, "%.1023s", hr_model_text(e->model));
    out->precision = hr_precision_name(hr_model_precision(e->model));
    return run_blocks(e, dataset, out);
}

enum hr_status hr_evaluate_saved(const struct hr_checkpoint *checkpoint, const char *layers,
                                 const struct hr_dataset *dataset, struct hr_evaluation *out)
{
    struct evaluation e = {0};
    const char *model = layers ? layers : hr_metadata_get(&checkpoint->model, "hogring.model");
    *out = (struct hr_evaluation){0};
    const enum hr_status status =
        model && hr_sparse_is_model(model)
            ? hr_sparse_evaluate_checkpoint(checkpoint, model, dataset, out)
            : evaluate(&e, checkpoint, layers, dataset, out);
    if (status != HR_OK)
        hr_evaluation_free(out);
    hr_scaling_free(&e.scaling);
    hr_target_scale_free(&e.values);
    free(e.errors);
    hr_class_view_close(&e.classes);
    hr_workspace_destroy(e.workspace);
    hr_model_destroy(e.model);
    free(e.params);
    return status;
}

enum hr_status hr_evaluate_checkpoint(const char *path, const char *layers,
                                      const struct hr_dataset *dataset, struct hr_evaluation *out)
{
    *out = (struct hr_evaluation){0};
    struct hr_checkpoint checkpoint = {0};
    const uint64_t mode = hr_fp_mode();
    enum hr_status status = hr_saved_read(path, &checkpoint);
    if (status == HR_OK)
        status = hr_evaluate_saved(&checkpoint, layers, dataset, out);
    hr_fp_mode_set(mode);
    hr_checkpoint_free(&checkpoint);
    return status;
}

void hr_evaluation_free(struct hr_evaluation *evaluation)
{
    for (size_t c = 0; evaluation->class_names && c < evaluation->classes; c++)
        free(evaluation->class_names[c]);
    free(evaluation->class_names);
    free(evaluation->outputs);
    free(evaluation->values);
    free(evaluation->labels);
    free(evaluation->answers);
    free(evaluation->losses);
    free(evaluation->target);
    *evaluation = (struct hr_evaluation){0};
}

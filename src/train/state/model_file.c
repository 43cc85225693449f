/* Models and weights from options and from files, for runs and evaluations. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state/model_file.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/printable.h"
#include "checkpoint/safetensors.h"
#include "hogring/checkpoint.h"
#include "session/model_input.h"
#include "session/saved.h"
#include "state/model_tensors.h"
#include "state/state.h"
#include "worker/job.h"

/* When outputs do not fit the classes, perhaps the wrong column was taken for the label. */
static enum hr_status build(const struct hr_model_options *model, const struct hr_dataset *dataset,
                            struct hr_model **out)
{
    const enum hr_status status = hr_model_build(model, out);
    if (status == HR_OK || !dataset->label_column[0])
        return status;
    return hr_fail(status, "%s (%s: %zu %s in %s)", hr_error_message(), dataset->name,
                   model->wanted.count ? model->wanted.count : dataset->classes,
                   model->wanted.count ? "values per sample," : "classes", dataset->label_column);
}

/* One weight of each class. */
static enum hr_status list_weights(const char *text, size_t classes, float *weights)
{
    size_t n = 0;
    for (const char *at = text; at; n++) {
        char piece[40];
        const size_t bytes = strcspn(at, ",");
        double weight = 0;
        snprintf(piece, sizeof piece, "%.*s", (int)bytes, at);
        if (bytes >= sizeof piece || !hr_parse_number(piece, &weight) || !((float)weight > 0) ||
            !isfinite((float)weight))
            return hr_fail(HR_E_USAGE,
                           "--class-weights %s: expected balanced, or a number above 0 for each "
                           "class",
                           text);
        if (n < classes)
            weights[n] = (float)weight;
        at = at[bytes] ? at + bytes + 1 : NULL;
    }
    return n == classes ? HR_OK
                        : hr_fail(HR_E_USAGE,
                                  "--class-weights: %zu numbers, expected %zu, the "
                                  "classes of the data",
                                  n, classes);
}

/* weights (classes) out: of mean 1 over the training samples. */
static enum hr_status weigh_classes(const char *text, const struct hr_dataset *dataset,
                                    float *weights)
{
    const bool balanced = !strcmp(text, "balanced");
    const struct hr_split *train = &dataset->train;
    size_t *counts = calloc(dataset->classes, sizeof *counts);
    double sum = 0;
    if (!counts)
        return hr_fail(HR_E_NOMEM, "no memory to count %zu classes", dataset->classes);
    for (size_t i = 0; i < train->count; i++)
        counts[train->labels[hr_split_row(train, i)]]++;
    enum hr_status status = balanced ? HR_OK : list_weights(text, dataset->classes, weights);
    for (size_t c = 0; balanced && c < dataset->classes; c++)
        weights[c] = counts[c] ? 1 / (float)counts[c] : 0;
    for (size_t c = 0; c < dataset->classes; c++)
        sum += (double)weights[c] * (double)counts[c];
    for (size_t c = 0; status == HR_OK && c < dataset->classes; c++)
        weights[c] = (float)((double)weights[c] * (double)train->count / sum);
    free(counts);
    return status;
}

enum hr_status hr_run_model(const struct hr_train_options *options,
                            const struct hr_dataset *dataset, const struct hr_target_scale *values,
                            struct hr_model **out)
{
    struct hr_model_options model = {.description = options->model,
                                     .input = dataset->shape,
                                     .classes = dataset->classes,
                                     .text = &dataset->tokens,
                                     .label_smoothing = options->label_smoothing,
                                     .wanted = {values->count, values->rows, values->values},
                                     .huber_delta = options->huber_delta};
    HR_TRY(hr_loss_parse(options->loss, &model.loss));
    HR_TRY(hr_precision_parse(options->precision, &model.precision));
    /* Where memory is planned before data are read, there are no samples to count. */
    const bool weighted = options->class_weights[0] && dataset->classes && dataset->train.labels;
    float *weights = weighted ? calloc(dataset->classes, sizeof *weights) : NULL;
    enum hr_status status = HR_OK;
    if (weighted)
        status = weights ? weigh_classes(options->class_weights, dataset, weights)
                         : hr_fail(HR_E_NOMEM, "no memory for %zu weights", dataset->classes);
    model.class_weights = weights;
    if (status == HR_OK)
        status = build(&model, dataset, out);
    free(weights);
    return status;
}

enum hr_status hr_saved_model(const struct hr_checkpoint *checkpoint, const char *layers,
                              const struct hr_dataset *dataset,
                              const struct hr_target_scale *values, struct hr_model **out)
{
    const char *delta = hr_metadata_get(&checkpoint->model, "hogring.huber_delta");
    const char *loss = hr_metadata_get(&checkpoint->model, "hogring.loss");
    const char *smoothing = hr_metadata_get(&checkpoint->model, "hogring.label_smoothing");
    const char *precision = hr_metadata_get(&checkpoint->model, "hogring.precision");
    struct hr_model_options model = {.description = layers,
                                     .input = dataset->shape,
                                     .classes = dataset->classes,
                                     .text = &dataset->tokens,
                                     .label_smoothing = smoothing ? strtod(smoothing, NULL) : 0,
                                     .wanted = {values->count, values->rows, values->values},
                                     .huber_delta = delta ? strtod(delta, NULL) : 1};
    if (!layers)
        model.description = hr_metadata_get(&checkpoint->model, "hogring.model");
    if (!model.description)
        return hr_fail(HR_E_FORMAT,
                       "%s: metadata \"hogring.model\" is missing, so the layers are not known; "
                       "--model says them",
                       checkpoint->path);
    if (loss)
        HR_TRY(hr_loss_parse(loss, &model.loss));
    if (precision && hr_precision_parse(precision, &model.precision) != HR_OK)
        return hr_fail(HR_E_FORMAT,
                       "%s: metadata \"hogring.precision\" is \"%s\", expected float32 or bf16",
                       checkpoint->path, hr_printable(precision).text);
    return build(&model, dataset, out);
}

/* Does the model have a tensor of this name? Also true for PyTorch's counter of batches, which our
 * batchnorm does not need. */
static bool has_tensor(const struct hr_model *model, const char *name)
{
    static const char counter[] = "num_batches_tracked";
    const size_t length = strlen(name), tail = sizeof counter - 1;
    if (length >= tail && !strcmp(name + length - tail, counter))
        return true;
    for (size_t i = 0; i < hr_model_tensor_count(model); i++)
        if (!strcmp(hr_model_tensor(model, i)->name, name))
            return true;
    return false;
}

static void note_unknown(const struct hr_tensor_file *file, const struct hr_model *model,
                         struct hr_misfits *misfits)
{
    for (size_t i = 0; i < file->ntensors; i++)
        if (!has_tensor(model, file->tensors[i].name))
            hr_listing_add(&misfits->unknown, "%s", file->tensors[i].name);
}

/* What is unknown costs a warning, where all else fits. */
static enum hr_status judge(const struct hr_checkpoint *checkpoint, const struct hr_model *model,
                            struct hr_misfits *misfits)
{
    note_unknown(&checkpoint->model, model, misfits);
    HR_TRY(hr_misfits_refuse(checkpoint, misfits));
    if (misfits->unknown.n)
        hr_log(HR_LOG_WARNING, "%s: the model has no place for %zu of %zu tensors, left out: %s",
               checkpoint->path, misfits->unknown.n, checkpoint->model.ntensors,
               hr_listing_text(&misfits->unknown));
    return HR_OK;
}

/* Is it of the last layer that has tensors, as the last tensor, "3.bias", is? */
static bool is_of_head(const struct hr_model *model, const struct hr_tensor_info *info)
{
    const char *last = hr_model_tensor(model, hr_model_tensor_count(model) - 1)->name;
    const size_t layer = (size_t)(strrchr(last, '.') - last) + 1;
    return !strncmp(info->name, last, layer);
}

/* All tensors, or all but the head's, which stay as they are. */
static void take(const struct hr_checkpoint *checkpoint, const struct hr_model *model,
                 bool but_head, float *params, struct hr_misfits *misfits)
{
    for (size_t i = 0; i < hr_model_tensor_count(model); i++) {
        const struct hr_tensor_info *info = hr_model_tensor(model, i);
        if (!but_head || !is_of_head(model, info))
            hr_try_tensor(&checkpoint->model, info, info->name, params, misfits);
    }
}

enum hr_status hr_load_weights(const struct hr_checkpoint *checkpoint, const struct hr_model *model,
                               float *params)
{
    struct hr_misfits misfits = {0};
    take(checkpoint, model, false, params, &misfits);
    return judge(checkpoint, model, &misfits);
}

/* Warn when the initial weights were trained on inputs of another scale. */
static void compare_inputs(const struct hr_train_job *job, const struct hr_checkpoint *checkpoint)
{
    hr_input_scale_compare(checkpoint, job->dataset, &job->dataset->train);
    if (!job->options->normalize && (hr_metadata_get(&checkpoint->model, "hogring.normalize") ||
                                     hr_tensor_get(&checkpoint->trainer, "normalize.mean")))
        hr_log(HR_LOG_WARNING,
               "--init-weights %s: was trained with --normalize, and here inputs are as they are",
               checkpoint->path);
}

/* Nobody means to train a body under a head that is random and stays so. */
static void log_head(const struct hr_train_job *job, size_t tensor)
{
    const bool frozen = job->shared->optimizer.segments[tensor].role == HR_SEGMENT_FROZEN;
    hr_log(frozen ? HR_LOG_WARNING : HR_LOG_INFO, "replace-head: %s is drawn from the seed%s",
           hr_model_tensor(job->model, tensor)->name,
           frozen ? ", and --freeze keeps it so: it is not trained" : "");
}

static enum hr_status load_body(const struct hr_train_job *job,
                                const struct hr_checkpoint *checkpoint, float *params)
{
    struct hr_misfits misfits = {0};
    take(checkpoint, job->model, true, params, &misfits);
    for (size_t i = 0; i < hr_model_tensor_count(job->model); i++)
        if (is_of_head(job->model, hr_model_tensor(job->model, i)))
            log_head(job, i);
    return judge(checkpoint, job->model, &misfits);
}

/* Where all but the head would fit, the user may want a new one. */
static enum hr_status suggest_head(enum hr_status status, const struct hr_checkpoint *checkpoint,
                                   const struct hr_model *model, float *params)
{
    struct hr_misfits body = {0};
    take(checkpoint, model, true, params, &body);
    if (status != HR_E_FORMAT || body.missing.n || body.unlike.n)
        return status;
    return hr_fail(status,
                   "%s; --init-weights FILE,replace-head draws the last layer from the seed",
                   hr_error_message());
}

/* Other classes are what a new head is for. */
static enum hr_status load_initial(const struct hr_train_job *job,
                                   const struct hr_checkpoint *checkpoint, float *params)
{
    if (job->options->replace_head)
        return load_body(job, checkpoint, params);
    const enum hr_status status = hr_load_weights(checkpoint, job->model, params);
    if (status != HR_OK)
        return suggest_head(status, checkpoint, job->model, params);
    return hr_class_names_compare(checkpoint, job->dataset);
}

enum hr_status hr_init_weights(const struct hr_train_job *job, float *params)
{
    const char *path = job->options->init_weights;
    if (!path[0] || job->options->replace_head)
        hr_model_init(job->model, job->options->seed, params);
    if (!path[0])
        return HR_OK;
    struct hr_checkpoint checkpoint = {0};
    enum hr_status status = hr_saved_read(path, &checkpoint);
    if (status == HR_OK)
        status = hr_model_input_compare(&checkpoint, job->dataset);
    if (status == HR_OK)
        status = load_initial(job, &checkpoint, params);
    if (status == HR_OK)
        compare_inputs(job, &checkpoint);
    hr_checkpoint_free(&checkpoint);
    return status == HR_OK ? HR_OK : hr_fail_within(status, "--init-weights");
}

/* A snapshot as a checkpoint; resume.c goes the other way. Tensors carry PyTorch's names; the
 * position in the data is kept in samples, so that a run with other workers or batches can go on
 * from it. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "hogring/checkpoint.h"
#include "strategy/shared.h"
#include "session/class_names.h"
#include "session/input_scale.h"
#include "train/run.h"
#include "train/saved.h"

enum { MODEL_METADATA = 7 + HR_INPUT_SCALE_ENTRIES, TRAINER_METADATA = 22, STEP_TENSORS = 1 };

uint64_t hr_run_step(const struct hr_run *run)
{
    return run->board->index + run->resumed_steps;
}

static void put(struct hr_tensor_file *file, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void put(struct hr_tensor_file *file, const char *key, const char *format, ...)
{
    struct hr_metadata *entry = &file->metadata[file->nmetadata++];
    va_list args;
    snprintf(entry->key, sizeof entry->key, "%s", key);
    va_start(args, format);
    vsnprintf(entry->value, sizeof entry->value, format, args);
    va_end(args);
}

/* One tensor of the parameter layout, named prefix + its name + suffix. */
static void add_tensor(struct hr_tensor_file *file, const struct hr_tensor_info *info,
                       const char *prefix, const char *suffix, float *params)
{
    struct hr_tensor *tensor = &file->tensors[file->ntensors++];
    *tensor = (struct hr_tensor){
        .dtype = HR_F32,
        .ndim = info->ndim,
        .bytes = info->count * sizeof(float),
        .data = params + info->offset,
    };
    memcpy(tensor->shape, info->shape, info->ndim * sizeof *info->shape);
    snprintf(tensor->name, sizeof tensor->name, "%s%s%s", prefix, info->name, suffix);
}

/* PyTorch's batchnorm has a counter behind its variance, which load_state_dict wants. */
static void add_counter(struct hr_tensor_file *file, const struct hr_tensor_info *info,
                        int64_t *batches)
{
    static const char before[] = "running_var";
    const size_t length = strlen(info->name), part = sizeof before - 1;
    if (length < part || strcmp(info->name + length - part, before) != 0)
        return;
    struct hr_tensor *tensor = &file->tensors[file->ntensors++];
    *tensor = (struct hr_tensor){.dtype = HR_I64, .bytes = sizeof *batches, .data = batches};
    snprintf(tensor->name, sizeof tensor->name, "%.*snum_batches_tracked", (int)(length - part),
             info->name);
}

static void fill_model(const struct hr_run *run, struct hr_tensor_file *file, int64_t *batches)
{
    for (size_t i = 0; i < hr_model_tensor_count(run->model); i++) {
        const struct hr_tensor_info *info = hr_model_tensor(run->model, i);
        add_tensor(file, info, "", "", run->shared.snapshot.weights);
        add_counter(file, info, batches);
    }
    put(file, "format", "pt");
    put(file, "hogring.version", "%s", HR_VERSION);
    put(file, "hogring.model", "%s", hr_model_text(run->model));
    put(file, "hogring.loss", "%s", run->options->loss);
    put(file, "hogring.label_smoothing", "%.17g", run->options->label_smoothing);
    put(file, "hogring.step", "%" PRIu64, hr_run_step(run));
    if (run->scaling.channels)
        put(file, "hogring.normalize", "on");
    hr_input_scale_put(run->dataset, file);
    hr_class_names_put(run->dataset, file);
}

/* Mean and deviation of --normalize stand in the trainer's file: the model's is a state_dict and
 * nothing else. */
static void add_scaling(const struct hr_scaling *scaling, struct hr_tensor_file *file)
{
    const struct hr_tensor_info info = {
        .name = "normalize", .ndim = 1, .shape = {scaling->channels}, .count = scaling->channels};
    if (scaling->channels == 0)
        return;
    add_tensor(file, &info, "", ".mean", scaling->mean);
    add_tensor(file, &info, "", ".std", scaling->std);
}

static void fill_state(const struct hr_run *run, size_t copy, size_t array,
                       struct hr_tensor_file *file)
{
    char prefix[32], suffix[32];
    hr_saved_prefix(prefix, sizeof prefix, run->shared.snapshot.state_copies, copy);
    snprintf(suffix, sizeof suffix, ".%s", run->shared.optimizer.rule->state_names[array]);
    for (size_t i = 0; i < hr_model_tensor_count(run->model); i++)
        if (hr_model_tensor(run->model, i)->role == HR_TENSOR_TRAINED)
            add_tensor(file, hr_model_tensor(run->model, i), prefix, suffix,
                       hr_saved_array(run, copy, array));
}

/* "step" (state_copies): updates made to each copy, as PyTorch's optimizers count them. */
static void fill_states(const struct hr_run *run, struct hr_tensor_file *file)
{
    const struct hr_snapshot *snapshot = &run->shared.snapshot;
    for (size_t copy = 0; copy < snapshot->state_copies; copy++)
        for (size_t array = 0; array < run->shared.optimizer.rule->nstates; array++)
            fill_state(run, copy, array, file);
    file->tensors[file->ntensors++] = (struct hr_tensor){
        .name = "step",
        .dtype = HR_I64,
        .ndim = 1,
        .shape = {snapshot->state_copies},
        .bytes = snapshot->state_copies * sizeof *snapshot->applied,
        .data = snapshot->applied,
    };
}

static void fill_trainer(const struct hr_run *run, double *curve, struct hr_tensor_file *file)
{
    const struct hr_batch at = hr_batch_schedule_batch(&run->shared.course, run->board->index);
    fill_states(run, file);
    add_scaling(&run->scaling, file);
    hr_past_put(run, curve, file);
    put(file, HR_RUN_KEY, "%s", run->claim.run);
    put(file, "strategy", "%s", run->strategy_name);
    put(file, "optimizer", "%s", run->shared.optimizer.rule->name);
    put(file, "seed", "%" PRIu64, run->options->seed);
    put(file, "data", "%s", run->dataset->digest);
    put(file, "epoch", "%" PRIu64, at.epoch);
    put(file, "position", "%" PRIu64, at.first);
    put(file, "epoch_size", "%" PRIu64, run->shared.course.samples);
    put(file, "workers", "%zu", run->shared.workers);
    put(file, "batch_size", "%zu", run->batch_size);
    put(file, "lr", "%.9g", (double)hr_batch_schedule_lr(&run->shared.course, run->board->index));
    put(file, "state_copies", "%zu", run->shared.snapshot.state_copies);
    put(file, "epoch_samples", "%" PRIu64, run->board->epoch_samples);
    put(file, "epoch_loss", "%.17g", run->board->epoch_loss);
    put(file, "first_epoch_loss", "%.17g", run->shared.snapshot.losses->first);
    put(file, "last_epoch_loss", "%.17g", run->shared.snapshot.losses->last);
    put(file, "samples", "%" PRIu64, run->past.samples + run->board->samples);
    put(file, "updates", "%" PRIu64, run->past.updates + run->board->updates);
    put(file, "seconds", "%.17g", run->past.seconds + hr_seconds(run->board->train_ns));
    hr_kept_put(run, file);
}

/* Arrays of (params) floats in the state of all copies. */
static size_t state_arrays(const struct hr_run *run)
{
    return run->shared.snapshot.state_copies * run->shared.optimizer.rule->nstates;
}

size_t hr_save_bytes(const struct hr_run *run)
{
    return (1 + state_arrays(run)) * run->shared.params * sizeof(float) +
           2 * run->scaling.channels * sizeof(float) +
           hr_class_names_entries(run->dataset) * sizeof(struct hr_metadata) +
           HR_PAST_POINT * run->curve_room * sizeof(double) + 65536;
}

enum hr_status hr_save_prepare(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const struct hr_train_options *o = run->options;
    const struct hr_claimant claimant = {o->checkpoint_dir, checkpoint, o->overwrite};
    if (!o->checkpoint_dir[0])
        return HR_OK;
    HR_TRY(hr_claim_take(&claimant, &run->claim));
    return hr_checkpoint_prepare(o->checkpoint_dir, hr_save_bytes(run));
}

enum hr_status hr_save(struct hr_run *run)
{
    enum hr_status status = HR_OK;
    const size_t tensors = hr_model_tensor_count(run->model);
    struct hr_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    struct hr_tensor *all = calloc(tensors * (2 + state_arrays(run)) + STEP_TENSORS +
                                       HR_PAST_TENSORS + HR_SAVED_SCALING,
                                   sizeof *all);
    const size_t model_metadata = MODEL_METADATA + hr_class_names_entries(run->dataset);
    struct hr_metadata *metadata =
        calloc(model_metadata + TRAINER_METADATA + hr_kept_entries(), sizeof *metadata);
    double *curve = calloc(hr_past_numbers(run) + 1, sizeof *curve);
    if (!checkpoint || !all || !metadata || !curve) {
        status = hr_fail(HR_E_NOMEM, "no memory to describe a checkpoint");
        goto out;
    }
    checkpoint->step = hr_run_step(run);
    checkpoint->model = (struct hr_tensor_file){.tensors = all, .metadata = metadata};
    checkpoint->trainer = (struct hr_tensor_file){.tensors = all + 2 * tensors,
                                                  .metadata = metadata + model_metadata};
    int64_t batches = (int64_t)hr_run_step(run);
    fill_model(run, &checkpoint->model, &batches);
    fill_trainer(run, curve, &checkpoint->trainer);
    HR_TRY_GOTO(hr_checkpoint_save(run->options->checkpoint_dir, checkpoint, run->options->keep),
                status, out);
    snprintf(run->result->checkpoint, sizeof run->result->checkpoint, "%.1099s", checkpoint->path);
out:
    free(checkpoint);
    free(all);
    free(metadata);
    free(curve);
    return status;
}

/* A snapshot as a checkpoint, and back. Tensors carry PyTorch's names; the position in the data is
 * kept in samples, so that a run with other workers or batches can go on from it. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "hogring/checkpoint.h"
#include "strategy/shared.h"
#include "train/class_names.h"
#include "train/run.h"

enum { MODEL_METADATA = 6, TRAINER_METADATA = 18, SCALING_TENSORS = 2, STEP_TENSORS = 1 };

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

/* "" where the state is one; "worker.3." where each worker has its own. */
static void state_prefix(char *prefix, size_t size, size_t copies, size_t copy)
{
    prefix[0] = '\0';
    if (copies > 1)
        snprintf(prefix, size, "worker.%zu.", copy);
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
        add_tensor(file, info, "", "", run->world.snapshot.weights);
        add_counter(file, info, batches);
    }
    put(file, "format", "pt");
    put(file, "hogring.version", "%s", HR_VERSION);
    put(file, "hogring.model", "%s", hr_model_text(run->model));
    put(file, "hogring.loss", "%s", run->options->loss);
    put(file, "hogring.label_smoothing", "%.17g", run->options->label_smoothing);
    put(file, "hogring.step", "%" PRIu64, hr_run_step(run));
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

/* Array `array` of state copy `copy`. */
static float *state_array(const struct hr_run *run, size_t copy, size_t array)
{
    const struct hr_world *world = &run->world;
    return world->snapshot.state + copy * hr_state_floats(world) + array * world->params;
}

static void fill_state(const struct hr_run *run, size_t copy, size_t array,
                       struct hr_tensor_file *file)
{
    char prefix[32], suffix[32];
    state_prefix(prefix, sizeof prefix, run->world.snapshot.state_copies, copy);
    snprintf(suffix, sizeof suffix, ".%s", run->world.optimizer.rule->state_names[array]);
    for (size_t i = 0; i < hr_model_tensor_count(run->model); i++)
        if (hr_model_tensor(run->model, i)->role == HR_TENSOR_TRAINED)
            add_tensor(file, hr_model_tensor(run->model, i), prefix, suffix,
                       state_array(run, copy, array));
}

/* "step" (state_copies): updates made to each copy, as PyTorch's optimizers count them. */
static void fill_states(const struct hr_run *run, struct hr_tensor_file *file)
{
    const struct hr_snapshot *snapshot = &run->world.snapshot;
    for (size_t copy = 0; copy < snapshot->state_copies; copy++)
        for (size_t array = 0; array < run->world.optimizer.rule->nstates; array++)
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

static void fill_trainer(const struct hr_run *run, struct hr_tensor_file *file)
{
    const struct hr_batch at = hr_course_batch(&run->world.course, run->board->index);
    fill_states(run, file);
    add_scaling(&run->scaling, file);
    put(file, "strategy", "%s", run->strategy_name);
    put(file, "optimizer", "%s", run->world.optimizer.rule->name);
    put(file, "seed", "%" PRIu64, run->options->seed);
    put(file, "data", "%s", run->dataset->digest);
    put(file, "epoch", "%" PRIu64, at.epoch);
    put(file, "position", "%" PRIu64, at.first);
    put(file, "epoch_size", "%" PRIu64, run->world.course.samples);
    put(file, "workers", "%zu", run->world.workers);
    put(file, "batch_size", "%zu", run->batch_size);
    put(file, "lr", "%.9g", (double)hr_course_lr(&run->world.course, run->board->index));
    put(file, "state_copies", "%zu", run->world.snapshot.state_copies);
    put(file, "epoch_samples", "%" PRIu64, run->board->epoch_samples);
    put(file, "epoch_loss", "%.17g", run->board->epoch_loss);
    put(file, "first_epoch_loss", "%.17g", run->world.snapshot.losses->first);
    put(file, "last_epoch_loss", "%.17g", run->world.snapshot.losses->last);
}

/* Arrays of (params) floats in the state of all copies. */
static size_t state_arrays(const struct hr_run *run)
{
    return run->world.snapshot.state_copies * run->world.optimizer.rule->nstates;
}

size_t hr_save_bytes(const struct hr_run *run)
{
    return (1 + state_arrays(run)) * run->world.params * sizeof(float) +
           2 * run->scaling.channels * sizeof(float) +
           hr_class_names_entries(run->dataset) * sizeof(struct hr_metadata) + 65536;
}

enum hr_status hr_save(struct hr_run *run)
{
    enum hr_status status = HR_OK;
    const size_t tensors = hr_model_tensor_count(run->model);
    struct hr_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    struct hr_tensor *all =
        calloc(tensors * (2 + state_arrays(run)) + STEP_TENSORS + SCALING_TENSORS, sizeof *all);
    const size_t model_metadata = MODEL_METADATA + hr_class_names_entries(run->dataset);
    struct hr_metadata *metadata = calloc(model_metadata + TRAINER_METADATA, sizeof *metadata);
    if (!checkpoint || !all || !metadata) {
        status = hr_fail(HR_E_NOMEM, "no memory to describe a checkpoint");
        goto out;
    }
    checkpoint->step = hr_run_step(run);
    checkpoint->model = (struct hr_tensor_file){.tensors = all, .metadata = metadata};
    checkpoint->trainer = (struct hr_tensor_file){.tensors = all + 2 * tensors,
                                                  .metadata = metadata + model_metadata};
    int64_t batches = (int64_t)hr_run_step(run);
    fill_model(run, &checkpoint->model, &batches);
    fill_trainer(run, &checkpoint->trainer);
    HR_TRY_GOTO(hr_checkpoint_save(run->options->checkpoint_dir, checkpoint, run->options->keep),
                status, out);
    snprintf(run->result->checkpoint, sizeof run->result->checkpoint, "%.1099s", checkpoint->path);
out:
    free(checkpoint);
    free(all);
    free(metadata);
    return status;
}

/* --- resuming --- */

static enum hr_status number_of(const struct hr_checkpoint *checkpoint, const char *key,
                                uint64_t *out)
{
    const char *text = hr_metadata_get(&checkpoint->trainer, key);
    char *end = NULL;
    *out = text ? strtoull(text, &end, 10) : 0;
    if (!text || end == text || *end)
        return hr_fail(HR_E_FORMAT, "%s: trainer metadata \"%s\" is %s, expected a number",
                       checkpoint->path, key, text ? text : "missing");
    return HR_OK;
}

static enum hr_status same_text(const struct hr_checkpoint *checkpoint, const char *what,
                                const char *saved, const char *ours)
{
    if (saved && !strcmp(saved, ours))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--resume %s: it was trained with %s %s, this run has %s",
                   checkpoint->path, what, saved ? saved : "(unknown)", ours);
}

/* A loss that the checkpoint may have; else 0. */
static double loss_of(const struct hr_checkpoint *checkpoint, const char *key)
{
    const char *loss = hr_metadata_get(&checkpoint->trainer, key);
    return loss ? strtod(loss, NULL) : 0;
}

/* Where it stands, in samples since the first run began. Epochs may have another size in this run;
 * then the losses of the one that it broke off say nothing about one of ours. Nor do they at an
 * epoch's end, where they are those of the epoch that had just ended. */
static enum hr_status resume_samples(struct hr_run *run, const struct hr_checkpoint *checkpoint,
                                     uint64_t *samples)
{
    uint64_t epoch, position, size = run->world.course.pass;
    HR_TRY(number_of(checkpoint, "epoch", &epoch));
    HR_TRY(number_of(checkpoint, "position", &position));
    if (hr_metadata_get(&checkpoint->trainer, "epoch_size")) /* the first ones had none */
        HR_TRY(number_of(checkpoint, "epoch_size", &size));
    *samples = epoch * size + position;
    if (size != run->world.course.samples || position == 0)
        return HR_OK;
    HR_TRY(number_of(checkpoint, "epoch_samples", &run->resumed_epoch_samples));
    run->resumed_epoch_loss = loss_of(checkpoint, "epoch_loss");
    return HR_OK;
}

enum hr_status hr_resume_position(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const struct hr_course *course = &run->world.course;
    uint64_t seed, samples;
    char ours[32];
    HR_TRY(same_text(checkpoint, "model", hr_metadata_get(&checkpoint->model, "hogring.model"),
                     hr_model_text(run->model)));
    HR_TRY(same_text(checkpoint, "data", hr_metadata_get(&checkpoint->trainer, "data"),
                     run->dataset->digest));
    HR_TRY(same_text(checkpoint, "--normalize",
                     hr_tensor_get(&checkpoint->trainer, "normalize.mean") ? "on" : "off",
                     run->scaling.channels ? "on" : "off"));
    HR_TRY(number_of(checkpoint, "seed", &seed));
    snprintf(ours, sizeof ours, "%" PRIu64, run->options->seed);
    HR_TRY(same_text(checkpoint, "--seed", hr_metadata_get(&checkpoint->trainer, "seed"), ours));
    HR_TRY(same_text(checkpoint, "--optimizer", hr_metadata_get(&checkpoint->trainer, "optimizer"),
                     run->options->optimizer));
    HR_TRY(resume_samples(run, checkpoint, &samples));
    const uint64_t epoch = samples / course->samples, position = samples % course->samples;
    if (position % course->batch != 0)
        return hr_fail(HR_E_USAGE,
                       "--resume %s: it stands at sample %" PRIu64
                       " of an epoch, which is no multiple of this "
                       "run's %" PRIu64 " samples a step",
                       checkpoint->path, position, course->batch);
    run->world.course.first = epoch * course->batches_per_epoch + position / course->batch;
    run->resumed_steps = checkpoint->step - course->first;
    return HR_OK;
}

/* "(64, 3)"; returns text. */
static const char *shape_text(size_t ndim, const size_t *shape, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "(");
    for (size_t d = 0; d < ndim && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%zu", d ? ", " : "", shape[d]);
    if (used < size)
        snprintf(text + used, size - used, ")");
    return text;
}

enum hr_status hr_load_tensor(const struct hr_checkpoint *checkpoint,
                              const struct hr_tensor_file *file, const struct hr_tensor_info *info,
                              const char *name, float *params)
{
    char found[96], expected[96];
    const struct hr_tensor *tensor = hr_tensor_get(file, name);
    if (!tensor)
        return hr_fail(HR_E_FORMAT, "%s: tensor %s is missing", checkpoint->path, name);
    if (tensor->dtype != HR_F32 || tensor->ndim != info->ndim ||
        memcmp(tensor->shape, info->shape, info->ndim * sizeof *info->shape) != 0)
        return hr_fail(HR_E_FORMAT,
                       "%s: tensor %s does not have the shape and type of the model's: found %s, "
                       "expected %s of float32 (another model, or another --data?)",
                       checkpoint->path, name,
                       shape_text(tensor->ndim, tensor->shape, found, sizeof found),
                       shape_text(info->ndim, info->shape, expected, sizeof expected));
    memcpy(params + info->offset, tensor->data, tensor->bytes);
    return HR_OK;
}

enum hr_status hr_load_scaling(const struct hr_checkpoint *checkpoint, size_t channels,
                               struct hr_scaling *out)
{
    const struct hr_tensor_info info = {.ndim = 1, .shape = {channels}, .count = channels};
    *out = (struct hr_scaling){0};
    if (!hr_tensor_get(&checkpoint->trainer, "normalize.mean"))
        return HR_OK;
    HR_TRY(hr_scaling_create(channels, out));
    const char *const names[] = {"normalize.mean", "normalize.std"};
    float *const to[] = {out->mean, out->std};
    for (size_t i = 0; i < SCALING_TENSORS; i++) {
        const enum hr_status status =
            hr_load_tensor(checkpoint, &checkpoint->trainer, &info, names[i], to[i]);
        if (status != HR_OK) {
            hr_scaling_free(out);
            return status;
        }
    }
    return HR_OK;
}

static enum hr_status load_array(struct hr_run *run, const struct hr_checkpoint *checkpoint,
                                 const char *prefix, size_t copy, size_t array)
{
    for (size_t i = 0; i < hr_model_tensor_count(run->model); i++) {
        const struct hr_tensor_info *info = hr_model_tensor(run->model, i);
        char name[128];
        if (info->role != HR_TENSOR_TRAINED)
            continue;
        snprintf(name, sizeof name, "%s%s.%s", prefix, info->name,
                 run->world.optimizer.rule->state_names[array]);
        HR_TRY(hr_load_tensor(checkpoint, &checkpoint->trainer, info, name,
                              state_array(run, copy, array)));
    }
    return HR_OK;
}

/* State copy `copy` of this run from copy `copy` of `saved`; where the numbers of copies differ,
 * from the first: a run with other workers or another strategy is a new run from the
 * same weights. */
static enum hr_status load_state(struct hr_run *run, const struct hr_checkpoint *checkpoint,
                                 size_t copy, size_t saved)
{
    const size_t from = saved == run->world.snapshot.state_copies ? copy : 0;
    const struct hr_tensor *steps = hr_tensor_get(&checkpoint->trainer, "step");
    char prefix[32];
    if (!steps || !saved || steps->dtype != HR_I64 || steps->bytes != saved * sizeof(int64_t))
        return hr_fail(HR_E_FORMAT, "%s: tensor step is missing, or is not one number a state",
                       checkpoint->path);
    memcpy(&run->world.snapshot.applied[copy], (const int64_t *)steps->data + from,
           sizeof(int64_t));
    state_prefix(prefix, sizeof prefix, saved, from);
    for (size_t array = 0; array < run->world.optimizer.rule->nstates; array++)
        HR_TRY(load_array(run, checkpoint, prefix, copy, array));
    return HR_OK;
}

enum hr_status hr_resume_state(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    uint64_t saved;
    HR_TRY(number_of(checkpoint, "state_copies", &saved));
    for (size_t i = 0; i < hr_model_tensor_count(run->model); i++) {
        const struct hr_tensor_info *info = hr_model_tensor(run->model, i);
        HR_TRY(hr_load_tensor(checkpoint, &checkpoint->model, info, info->name,
                              run->world.snapshot.weights));
    }
    for (size_t copy = 0; copy < run->world.snapshot.state_copies; copy++)
        HR_TRY(load_state(run, checkpoint, copy, saved));
    *run->world.snapshot.losses = (struct hr_epoch_losses){loss_of(checkpoint, "first_epoch_loss"),
                                                           loss_of(checkpoint, "last_epoch_loss")};
    run->world.stats[0].epoch_loss = run->resumed_epoch_loss;
    run->world.stats[0].epoch_samples = run->resumed_epoch_samples;
    return HR_OK;
}

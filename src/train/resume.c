/* A checkpoint as the state that a run begins with: the way back of save.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "strategy/shared.h"
#include "train/run.h"
#include "train/saved.h"

static enum hr_status same_text(const struct hr_checkpoint *checkpoint, const char *what,
                                const char *saved, const char *ours)
{
    if (saved && !strcmp(saved, ours))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--resume %s: it was trained with %s %s, this run has %s",
                   checkpoint->path, what, saved ? saved : "(unknown)", ours);
}

/* Where it stands, in samples since the first run began. Epochs may have another size in this run;
 * then the losses of the one that it broke off say nothing about one of ours. Nor do they at an
 * epoch's end, where they are those of the epoch that had just ended. */
static enum hr_status resume_samples(struct hr_run *run, const struct hr_checkpoint *checkpoint,
                                     uint64_t *samples)
{
    uint64_t epoch, position, size = run->shared.course.pass;
    HR_TRY(hr_saved_count(checkpoint, "epoch", &epoch));
    HR_TRY(hr_saved_count(checkpoint, "position", &position));
    if (hr_metadata_get(&checkpoint->trainer, "epoch_size")) /* the first ones had none */
        HR_TRY(hr_saved_count(checkpoint, "epoch_size", &size));
    *samples = epoch * size + position;
    run->in_epoch = size == run->shared.course.samples && position > 0;
    return HR_OK;
}

enum hr_status hr_resume_position(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const struct hr_batch_schedule *course = &run->shared.course;
    uint64_t seed, samples;
    char ours[32];
    HR_TRY(same_text(checkpoint, "model", hr_metadata_get(&checkpoint->model, "hogring.model"),
                     hr_model_text(run->model)));
    if (hr_metadata_get(&checkpoint->model, "hogring.loss"))
        HR_TRY(same_text(checkpoint, "--loss", hr_metadata_get(&checkpoint->model, "hogring.loss"),
                         run->options->loss));
    HR_TRY(same_text(checkpoint, "data", hr_metadata_get(&checkpoint->trainer, "data"),
                     run->dataset->digest));
    HR_TRY(same_text(checkpoint, "--normalize",
                     hr_tensor_get(&checkpoint->trainer, "normalize.mean") ? "on" : "off",
                     run->scaling.channels ? "on" : "off"));
    HR_TRY(hr_saved_count(checkpoint, "seed", &seed));
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
    run->shared.course.first = epoch * course->batches_per_epoch + position / course->batch;
    run->resumed_steps = checkpoint->step - course->first;
    return hr_past_take(run, checkpoint);
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
    if (!checkpoint->trainer.ntensors && hr_metadata_get(&checkpoint->model, "hogring.normalize"))
        return hr_fail(HR_E_USAGE,
                       "%s: was trained with --normalize, and mean and deviation stand beside it; "
                       "expected its folder",
                       checkpoint->path);
    if (!hr_tensor_get(&checkpoint->trainer, "normalize.mean"))
        return HR_OK;
    HR_TRY(hr_scaling_create(channels, out));
    const char *const names[] = {"normalize.mean", "normalize.std"};
    float *const to[] = {out->mean, out->std};
    for (size_t i = 0; i < HR_SAVED_SCALING; i++) {
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
                 run->shared.optimizer.rule->state_names[array]);
        HR_TRY(hr_load_tensor(checkpoint, &checkpoint->trainer, info, name,
                              hr_saved_array(run, copy, array)));
    }
    return HR_OK;
}

/* State copy `copy` of this run from copy `copy` of `saved`; where the numbers of copies differ,
 * from the first: a run with other workers or another strategy is a new run from the
 * same weights. */
static enum hr_status load_state(struct hr_run *run, const struct hr_checkpoint *checkpoint,
                                 size_t copy, size_t saved)
{
    const size_t from = saved == run->shared.snapshot.state_copies ? copy : 0;
    const struct hr_tensor *steps = hr_tensor_get(&checkpoint->trainer, "step");
    char prefix[32];
    if (!steps || !saved || steps->dtype != HR_I64 || steps->bytes != saved * sizeof(int64_t))
        return hr_fail(HR_E_FORMAT, "%s: tensor step is missing, or is not one number a state",
                       checkpoint->path);
    memcpy(&run->shared.snapshot.applied[copy], (const int64_t *)steps->data + from,
           sizeof(int64_t));
    hr_saved_prefix(prefix, sizeof prefix, saved, from);
    for (size_t array = 0; array < run->shared.optimizer.rule->nstates; array++)
        HR_TRY(load_array(run, checkpoint, prefix, copy, array));
    return HR_OK;
}

enum hr_status hr_resume_state(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    uint64_t saved;
    HR_TRY(hr_saved_count(checkpoint, "state_copies", &saved));
    for (size_t i = 0; i < hr_model_tensor_count(run->model); i++) {
        const struct hr_tensor_info *info = hr_model_tensor(run->model, i);
        HR_TRY(hr_load_tensor(checkpoint, &checkpoint->model, info, info->name,
                              run->shared.snapshot.weights));
    }
    for (size_t copy = 0; copy < run->shared.snapshot.state_copies; copy++)
        HR_TRY(load_state(run, checkpoint, copy, saved));
    *run->shared.snapshot.losses =
        (struct hr_epoch_losses){hr_saved_number(checkpoint, "first_epoch_loss"),
                                 hr_saved_number(checkpoint, "last_epoch_loss")};
    return hr_past_restore(run, checkpoint);
}

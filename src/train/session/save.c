#include "session/save.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/size.h"
#include "checkpoint/steps.h"
#include "session/class_names.h"
#include "session/input_scale.h"
#include "session/kept.h"
#include "session/model_input.h"
#include "session/target_scale.h"
#include "session/past.h"

static const char best_key[] = "best_step";

enum { MODEL_METADATA = 4 + HR_INPUT_SCALE_ENTRIES, TRAINER_METADATA = 17 };

/* Tensors and metadata of a checkpoint while it is written. */
struct hr_taken {
    struct hr_checkpoint checkpoint;
    struct hr_tensor *tensors;    /* owned: the model's, then the trainer's */
    struct hr_metadata *metadata; /* owned: the same */
    double *curve;                /* owned */
    size_t digested[2];           /* tensors of the two files that are the engine's */
    bool is_best;
};

static void describe_model(const struct hr_saver *saver, struct hr_tensor_file *file)
{
    hr_saved_put(file, "format", "pt");
    hr_saved_put(file, "hogring.version", "%s", HR_VERSION);
    hr_saved_put(file, "hogring.model", "%s", saver->model);
    hr_saved_put(file, "hogring.step", "%" PRIu64, hr_cut_step(saver->cuts));
    hr_input_scale_put(saver->dataset, file);
    hr_model_input_put(saver->dataset, file);
    hr_class_names_put(saver->dataset, file);
    hr_target_scale_put(saver->targets, file);
}

static void describe_trainer(const struct hr_saver *saver, double *curve,
                             struct hr_tensor_file *file)
{
    const struct hr_cut *cut = saver->cuts->cut;
    const struct hr_batch_schedule *schedule = saver->cuts->schedule;
    const struct hr_batch at = hr_batch_schedule_batch(schedule, cut->index);
    hr_saved_put(file, HR_RUN_KEY, "%s", saver->claim.run);
    hr_saved_put(file, "strategy", "%s", saver->strategy);
    hr_saved_put(file, "optimizer", "%s", saver->optimizer);
    hr_saved_put(file, "seed", "%" PRIu64, saver->options->seed);
    hr_saved_put(file, "data", "%s", saver->dataset->digest);
    hr_saved_put(file, "epoch", "%" PRIu64, at.epoch);
    hr_saved_put(file, "position", "%" PRIu64, at.first);
    hr_saved_put(file, "epoch_size", "%" PRIu64, schedule->samples);
    hr_saved_put(file, "workers", "%zu", saver->workers);
    hr_saved_put(file, "batch_size", "%zu", saver->batch_size);
    hr_saved_put(file, "epoch_samples", "%" PRIu64, cut->trained.epoch_samples);
    hr_saved_put(file, "epoch_loss", "%.17g", cut->trained.epoch_loss);
    if (saver->best.any)
        hr_saved_put(file, best_key, "%" PRIu64, saver->best.step);
    hr_past_put(saver->cuts, curve, file);
    hr_kept_put(saver->options, saver->dataset, file);
}

static enum hr_status take_room(const struct hr_saver *saver, struct hr_taken *taken)
{
    const size_t of_model = MODEL_METADATA + hr_model_input_entries(saver->dataset) +
                            hr_class_names_entries(saver->dataset) +
                            hr_target_scale_entries(saver->targets) + saver->metadata;
    const size_t of_trainer = TRAINER_METADATA + hr_kept_entries() + saver->metadata;
    taken->tensors = calloc(2 * saver->tensors + HR_PAST_TENSORS, sizeof *taken->tensors);
    taken->metadata = calloc(of_model + of_trainer, sizeof *taken->metadata);
    taken->curve = calloc(hr_past_numbers(saver->cuts) + 1, sizeof *taken->curve);
    if (!taken->tensors || !taken->metadata || !taken->curve)
        return hr_fail(HR_E_NOMEM, "no memory to describe a checkpoint");
    taken->checkpoint.step = hr_cut_step(saver->cuts);
    taken->checkpoint.model =
        (struct hr_tensor_file){.tensors = taken->tensors, .metadata = taken->metadata};
    taken->checkpoint.trainer = (struct hr_tensor_file){.tensors = taken->tensors + saver->tensors,
                                                        .metadata = taken->metadata + of_model};
    return HR_OK;
}

/* --- copied --- */

enum { COPY_ALIGN = 64 };

size_t hr_save_copy_bytes(const struct hr_saver *saver)
{
    return saver->cuts->saves ? saver->bytes + 2 * saver->tensors * COPY_ALIGN : 0;
}

/* Each tensor of `file` behind the `used` bytes of the copy. */
static void copy_tensors(const struct hr_saver *saver, struct hr_tensor_file *file, size_t *used)
{
    for (size_t i = 0; i < file->ntensors; i++) {
        struct hr_tensor *tensor = &file->tensors[i];
        unsigned char *at = saver->copy + *used;
        HR_ASSERT(tensor->bytes <= hr_save_copy_bytes(saver) - *used);
        memcpy(at, tensor->data, tensor->bytes);
        tensor->data = at;
        *used += hr_round_up(tensor->bytes, COPY_ALIGN);
    }
}

static void describe_all(struct hr_saver *saver, struct hr_taken *taken)
{
    struct hr_checkpoint *checkpoint = &taken->checkpoint;
    size_t used = 0;
    taken->is_best = hr_cut_is_best(saver->cuts, &saver->cuts->keep_best);
    if (taken->is_best) {
        saver->best.any = true;
        saver->best.step = checkpoint->step;
    }
    saver->describe(saver->engine, &checkpoint->model, &checkpoint->trainer);
    copy_tensors(saver, &checkpoint->model, &used);
    copy_tensors(saver, &checkpoint->trainer, &used);
    taken->digested[0] = checkpoint->model.ntensors;
    taken->digested[1] = checkpoint->trainer.ntensors;
    describe_model(saver, &checkpoint->model);
    describe_trainer(saver, taken->curve, &checkpoint->trainer);
}

enum hr_status hr_save_take(struct hr_saver *saver)
{
    HR_ASSERT(!saver->taken);
    saver->taken = calloc(1, sizeof *saver->taken);
    if (!saver->taken)
        return hr_fail(HR_E_NOMEM, "no memory to describe a checkpoint");
    const enum hr_status status = take_room(saver, saver->taken);
    if (status == HR_OK)
        describe_all(saver, saver->taken);
    else
        hr_save_drop(saver);
    return status;
}

void hr_save_drop(struct hr_saver *saver)
{
    struct hr_taken *taken = saver->taken;
    saver->taken = NULL;
    if (!taken)
        return;
    free(taken->tensors);
    free(taken->metadata);
    free(taken->curve);
    free(taken);
}

/* --- written --- */

static enum hr_status keep_digests(struct hr_saver *saver)
{
    const struct hr_checkpoint *checkpoint = &saver->taken->checkpoint;
    const size_t *n = saver->taken->digested;
    HR_TRY(hr_step_digests_add(&saver->digests, checkpoint->step, &checkpoint->model, n[0], NULL));
    return hr_step_digests_add(&saver->digests, checkpoint->step, &checkpoint->trainer, n[1],
                               saver->losses);
}

enum hr_status hr_save_write(void *arg)
{
    struct hr_saver *saver = arg;
    const struct hr_train_options *o = saver->options;
    struct hr_taken *taken = saver->taken;
    if (!o->checkpoint_dir[0])
        return keep_digests(saver);
    HR_TRY(hr_claim_keep(&saver->claim, o->checkpoint_dir));
    HR_TRY(hr_checkpoint_save(o->checkpoint_dir, &taken->checkpoint, o->keep));
    if (taken->is_best)
        hr_checkpoint_mark_best(o->checkpoint_dir, taken->checkpoint.step, o->keep);
    return HR_OK;
}

const char *hr_save_path(const struct hr_saver *saver)
{
    return saver->taken->checkpoint.path;
}

/* Approximate size of a checkpoint. */
static size_t bytes_of(const struct hr_saver *saver)
{
    enum { TEXTS = 65536 };
    return saver->bytes + hr_class_names_entries(saver->dataset) * sizeof(struct hr_metadata) +
           HR_PAST_VALUES * saver->cuts->curve_room * sizeof(double) + TEXTS;
}

/* A kill between a save and its mark leaves `best` behind, and so does going on from an older one,
 * whose best may be gone: then `best` comes with the next that is better. */
static enum hr_status repair_best(struct hr_saver *saver, const struct hr_checkpoint *from)
{
    const char *dir = saver->options->checkpoint_dir;
    char path[HR_PATH_MAX];
    if (!from || !hr_metadata_get(&from->trainer, best_key))
        return HR_OK;
    HR_TRY(hr_saved_count(from, best_key, &saver->best.step));
    HR_TRY(hr_path(path, "%s/%s", dir, hr_step_name(saver->best.step).text));
    saver->best.any = access(path, F_OK) == 0;
    if (saver->best.any)
        hr_checkpoint_mark_best(dir, saver->best.step, 0);
    else if (saver->cuts->keep_best.asked)
        hr_log(HR_LOG_WARNING,
               "%s: the best checkpoint so far is not there: best comes with the next "
               "better one",
               path);
    return HR_OK;
}

enum hr_status hr_save_prepare(struct hr_saver *saver, const struct hr_checkpoint *from)
{
    const struct hr_train_options *o = saver->options;
    const struct hr_claimant claimant = {o->checkpoint_dir, from, o->overwrite};
    const struct hr_batch_schedule *schedule = saver->schedule;
    if (!o->checkpoint_dir[0])
        return saver->cuts->saves ? hr_step_digests_check(schedule->checkpoint_every,
                                                          schedule->end - schedule->first,
                                                          saver->tensors + saver->workers)
                                  : HR_OK;
    HR_TRY(hr_claim_take(&claimant, &saver->claim));
    HR_TRY(repair_best(saver, from));
    return hr_checkpoint_prepare(o->checkpoint_dir, bytes_of(saver));
}

/* --- going on --- */

/* Else samples that it has learned from would be held out. Earlier versions held out none. What is
 * in a file is in the digest of the data. */
static enum hr_status check_held_out(const struct hr_saver *saver,
                                     const struct hr_checkpoint *checkpoint)
{
    const char *file = saver->dataset->options.validation_data;
    const char *kept = hr_metadata_get(&checkpoint->trainer, HR_KEPT_OPTION "validation-data");
    kept = kept ? kept : "";
    if (!file[0] != !kept[0])
        return hr_fail(HR_E_USAGE,
                       "--resume %s: it was trained with%s --validation-data%s%s, this run has %s; "
                       "expected the same samples",
                       checkpoint->path, kept[0] ? "" : "out", kept[0] ? " " : "", kept,
                       file[0] ? file : "none");
    const double is = saver->options->validation_fraction;
    const double was = hr_saved_number(checkpoint, HR_KEPT_OPTION "validation-fraction");
    if (!(is < was || is > was))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--resume %s: it was trained with --validation-fraction %g, this run has %g; "
                   "expected the same",
                   checkpoint->path, was, is);
}

/* Else a pass would have samples twice. */
static enum hr_status check_order(const struct hr_saver *saver,
                                  const struct hr_checkpoint *checkpoint)
{
    char was[32], is[32];
    const double kept = hr_saved_number(checkpoint, HR_KEPT_OPTION "shuffle-window");
    snprintf(was, sizeof was, "%.0f", kept);
    snprintf(is, sizeof is, "%zu", saver->options->shuffle_window);
    return hr_saved_same(checkpoint, "--shuffle-window", was, is);
}

static enum hr_status check_same(const struct hr_saver *saver,
                                 const struct hr_checkpoint *checkpoint)
{
    const struct hr_tensor_file *trainer = &checkpoint->trainer;
    uint64_t seed;
    char ours[32];
    HR_TRY(hr_saved_same(checkpoint, "model", hr_metadata_get(&checkpoint->model, "hogring.model"),
                         saver->model));
    HR_TRY(check_held_out(saver, checkpoint));
    HR_TRY(check_order(saver, checkpoint));
    HR_TRY(hr_saved_same(checkpoint, "data", hr_metadata_get(trainer, "data"),
                         saver->dataset->digest));
    HR_TRY(hr_saved_count(checkpoint, "seed", &seed));
    snprintf(ours, sizeof ours, "%" PRIu64, saver->options->seed);
    return hr_saved_same(checkpoint, "--seed", hr_metadata_get(trainer, "seed"), ours);
}

/* Its position, in samples since the first run began. The saved losses are used only if it stopped
 * inside an epoch of this run's size; at an epoch's end they belong to the epoch that has ended. */
static enum hr_status find_samples(const struct hr_saver *saver,
                                   const struct hr_checkpoint *checkpoint, uint64_t *samples)
{
    uint64_t epoch, position, size = saver->schedule->pass;
    HR_TRY(hr_saved_count(checkpoint, "epoch", &epoch));
    HR_TRY(hr_saved_count(checkpoint, "position", &position));
    if (hr_metadata_get(&checkpoint->trainer, "epoch_size")) /* the first ones had none */
        HR_TRY(hr_saved_count(checkpoint, "epoch_size", &size));
    *samples = epoch * size + position;
    saver->cuts->past.in_epoch = size == saver->schedule->samples && position > 0;
    return HR_OK;
}

enum hr_status hr_resume_position(struct hr_saver *saver, const struct hr_checkpoint *checkpoint)
{
    struct hr_batch_schedule *schedule = saver->schedule;
    uint64_t samples;
    HR_TRY(check_same(saver, checkpoint));
    HR_TRY(find_samples(saver, checkpoint, &samples));
    const uint64_t epoch = samples / schedule->samples, position = samples % schedule->samples;
    if (position % schedule->batch != 0)
        return hr_fail(HR_E_USAGE,
                       "--resume %s: it stands at sample %" PRIu64
                       " of an epoch, which is no multiple of this "
                       "run's %" PRIu64 " samples a step",
                       checkpoint->path, position, schedule->batch);
    schedule->first = epoch * schedule->batches_per_epoch + position / schedule->batch;
    saver->cuts->past.steps = checkpoint->step - schedule->first;
    return hr_past_take(checkpoint, saver->cuts);
}

#include "session/save.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/size.h"
#include "checkpoint/digest.h"
#include "checkpoint/steps.h"
#include "session/model_input.h"
#include "session/saved.h"
#include "session/target_scale.h"

/* Numbers of a point of the curve: samples, seconds, epoch, train_loss, loss; then rmse, mae and
 * r2; or where classes are predicted accuracy, then balanced accuracy, macro F1 and ROC AUC. Once a
 * row was narrow: it ended with accuracy, or (mf) with what now stands as loss. */
enum { PAST_TENSORS = 1, PAST_NARROW = 6, PAST_VALUES = 8, PAST_CLASSES = 9 };

enum { MOST_DIGESTS = 1 << 18 };

static const char curve_name[] = "curve";

/* --- what earlier runs did: saved --- */

static size_t points_of(const struct hr_cuts *cuts)
{
    return hr_atom64_load_acquire(&cuts->cut->ncurve); /* partner: hr_cut_add_point */
}

static size_t width_of(const struct hr_cuts *cuts)
{
    return cuts->values ? PAST_VALUES : PAST_CLASSES;
}

static void write_point(const struct hr_curve_point *p, bool values, double *row)
{
    row[0] = (double)p->samples;
    row[1] = p->seconds;
    row[2] = p->epoch;
    row[3] = p->train_loss;
    row[4] = hr_curve_loss(p);
    double *fit = &row[values ? 5 : 6]; /* its first three, whichever they are */
    if (!values)
        row[5] = hr_curve_accuracy(p);
    fit[0] = p->fit.rmse;
    fit[1] = p->fit.mae;
    fit[2] = p->fit.r2;
}

/* Put curve and counts into a trainer's file. curve: room for those doubles, kept by the caller
 * until the file is written. */
static void past_put(const struct hr_cuts *cuts, double *curve, struct hr_tensor_file *file)
{
    const struct hr_cut *cut = cuts->cut;
    const size_t points = points_of(cuts), width = width_of(cuts);
    for (size_t i = 0; i < points; i++)
        write_point(&cuts->curve[i], cuts->values, curve + width * i);
    hr_saved_put_table(file, curve_name, points, width, curve);
    hr_saved_put(file, "samples", "%" PRIu64, cuts->history.samples + cut->trained.samples);
    hr_saved_put(file, "updates", "%" PRIu64, cuts->history.updates + cut->trained.updates);
    hr_saved_put(file, "seconds", "%.17g", cuts->history.seconds + hr_seconds(cut->train_ns));
}

/* --- read back --- */

/* The curve of a checkpoint. */
struct saved_curve {
    const double *numbers;
    size_t points, width;
};

static enum hr_status find_curve(const struct hr_checkpoint *checkpoint, const struct hr_cuts *cuts,
                                 struct saved_curve *out)
{
    const struct hr_tensor *tensor = hr_tensor_get(&checkpoint->trainer, curve_name);
    const bool narrow = tensor && tensor->ndim == 2 && tensor->shape[1] == PAST_NARROW;
    out->width = narrow ? PAST_NARROW : width_of(cuts);
    return hr_saved_table(checkpoint, curve_name, out->width, &out->points, &out->numbers);
}

/* Before the segment exists: read the counts and the number of points, and reserve room. */
static enum hr_status past_take(const struct hr_checkpoint *checkpoint, struct hr_cuts *cuts)
{
    struct hr_history *history = &cuts->history;
    struct saved_curve curve;
    if (!hr_metadata_get(&checkpoint->trainer, "samples")) {
        hr_log(HR_LOG_INFO,
               "%s: is of an earlier version and does not say how many samples and seconds it "
               "took: curve and counts begin here",
               checkpoint->path);
        return HR_OK;
    }
    HR_TRY(hr_saved_count(checkpoint, "samples", &history->samples));
    HR_TRY(hr_saved_count(checkpoint, "updates", &history->updates));
    HR_TRY(hr_saved_amount(checkpoint, "seconds", &history->seconds));
    HR_TRY(find_curve(checkpoint, cuts, &curve));
    history->points = curve.points;
    cuts->curve_room += history->points;
    return HR_OK;
}

static struct hr_curve_point point_of(const struct hr_cuts *cuts, const struct saved_curve *curve,
                                      size_t i)
{
    const double *row = curve->numbers + curve->width * i;
    const double *fit = curve->width == PAST_NARROW ? NULL : &row[cuts->values ? 5 : 6];
    const double none = (double)NAN;
    struct hr_curve_point point = {
        .seconds = row[1],
        .epoch = row[2],
        .train_loss = row[3],
        .test_loss = row[4],
        .test_accuracy = cuts->values ? (double)NAN : row[5],
        .values = cuts->values,
        .text = cuts->text,
        .fit = {.rmse = cuts->values ? row[4] : none, .mae = none, .r2 = none}};
    if (fit)
        point.fit = (struct hr_fit){.rmse = fit[0], .mae = fit[1], .r2 = fit[2]};
    return hr_cut_measured(cuts, point);
}

enum hr_status hr_history_restore(const struct hr_checkpoint *checkpoint,
                                  const struct hr_cuts *cuts)
{
    struct saved_curve curve;
    HR_TRY(find_curve(checkpoint, cuts, &curve));
    for (size_t i = 0; i < cuts->history.points; i++) {
        cuts->curve[i] = point_of(cuts, &curve, i);
        HR_TRY(hr_saved_samples(checkpoint, curve_name, curve.numbers[curve.width * i],
                                &cuts->curve[i].samples));
    }
    hr_atom64_store_release(&cuts->cut->ncurve, cuts->history.points); /* partner: the launcher */
    cuts->cut->points = cuts->history.points;
    return HR_OK;
}

/* Which of its points is the best by --early-stop. HR_E_FORMAT, HR_E_NOMEM. */
static enum hr_status past_best(const struct hr_checkpoint *checkpoint, const struct hr_cuts *cuts,
                                struct hr_best *out)
{
    struct saved_curve saved;
    *out = (struct hr_best){.any = false};
    HR_TRY(find_curve(checkpoint, cuts, &saved));
    struct hr_curve_point *curve = calloc(saved.points + 1, sizeof *curve);
    if (!curve)
        return hr_fail(HR_E_NOMEM, "no memory for a curve of %zu points", saved.points);
    for (size_t i = 0; i < saved.points; i++)
        curve[i] = point_of(cuts, &saved, i);
    *out = hr_best_of(&cuts->early_stop, curve, saved.points);
    free(curve);
    return HR_OK;
}

static enum hr_status check_rule(const struct hr_checkpoint *checkpoint, const char *name,
                                 const struct hr_early_stop *was, const struct hr_early_stop *is)
{
    const bool same = was->metric == is->metric && !(was->min_delta < is->min_delta) &&
                      !(was->min_delta > is->min_delta);
    if (same || !was->asked || !is->asked)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--resume %s: it looked for the best by --%s %s%s; expected the same, but for "
                   "the patience",
                   checkpoint->path, name, hr_metric_kind(was->metric)->name,
                   was->metric == is->metric ? " and another MIN-DELTA" : "");
}

enum hr_status hr_history_check_best(const struct hr_checkpoint *checkpoint,
                                     const struct hr_cuts *cuts,
                                     const struct hr_train_options *options)
{
    const char *stop = hr_saved_option(checkpoint, "early-stop");
    const char *keep = hr_saved_option(checkpoint, "keep-best");
    struct hr_early_stop was;
    HR_TRY(hr_keep_best_parse(keep ? keep : "", &was));
    HR_TRY(check_rule(checkpoint, "keep best", &was, &cuts->keep_best));
    HR_TRY(hr_early_stop_parse(stop ? stop : "", &was));
    HR_TRY(check_rule(checkpoint, "early-stop", &was, &cuts->early_stop));
    if (was.asked || !cuts->early_stop.asked || cuts->history.points == 0)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--early-stop %s: %s was trained without it, and has no weights but its last; "
                   "expected it from the beginning",
                   options->early_stop, checkpoint->path);
}

/* HR_E_USAGE: so many steps with so many tensors each are too many to keep. */
static enum hr_status step_digests_check(uint64_t every, uint64_t steps, size_t tensors)
{
    const uint64_t most = MOST_DIGESTS / tensors ? MOST_DIGESTS / tensors : 1;
    if (steps / every <= most)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--json digests=%" PRIu64 ": %" PRIu64
                   " times %zu tensors are more digests than "
                   "%d; expected %" PRIu64 " or more, or fewer steps",
                   every, steps / every, tensors, MOST_DIGESTS, steps / most + 1);
}

static enum hr_status add(struct hr_step_digests *digests, uint64_t step, const char *part,
                          const void *data, size_t bytes)
{
    if (digests->n == digests->room) {
        const size_t room = digests->room ? 2 * digests->room : 256;
        struct hr_step_digest *list = realloc(digests->list, room * sizeof *list);
        if (!list)
            return hr_fail(HR_E_NOMEM, "no memory for %zu digests", room);
        digests->list = list;
        digests->room = room;
    }
    struct hr_step_digest *digest = &digests->list[digests->n++];
    *digest = (struct hr_step_digest){.step = step, .digest = hr_digest64(data, bytes)};
    snprintf(digest->part, sizeof digest->part, "%s", part);
    return HR_OK;
}

static enum hr_status add_rows(struct hr_step_digests *digests, uint64_t step,
                               const struct hr_tensor *table)
{
    const size_t rows = table->shape[0];
    for (size_t r = 0; r < rows; r++) {
        char part[40];
        const size_t bytes = table->bytes / rows;
        snprintf(part, sizeof part, "worker.%zu.loss", r);
        HR_TRY(add(digests, step, part, (const unsigned char *)table->data + r * bytes, bytes));
    }
    return HR_OK;
}

/* Those of the first `ntensors` tensors of a file; of the table named `losses` (NULL: of none) a
 * digest a row. HR_E_NOMEM. */
static enum hr_status step_digests_add(struct hr_step_digests *digests, uint64_t step,
                                       const struct hr_tensor_file *file, size_t ntensors,
                                       const char *losses)
{
    for (size_t i = 0; i < ntensors; i++) {
        const struct hr_tensor *tensor = &file->tensors[i];
        if (losses && !strcmp(tensor->name, losses))
            HR_TRY(add_rows(digests, step, tensor));
        else
            HR_TRY(add(digests, step, tensor->name, tensor->data, tensor->bytes));
    }
    return HR_OK;
}

static const char best_key[] = "best_step";

enum { MODEL_METADATA = 4, TRAINER_METADATA = 17 };

/* Tensors and metadata of a checkpoint while it is written. */
struct hr_saving {
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
    hr_saved_put(file, "strategy", "%s", saver->options->strategy);
    hr_saved_put(file, "optimizer", "%s", saver->optimizer);
    hr_saved_put(file, "seed", "%" PRIu64, saver->options->seed);
    hr_saved_put(file, "data", "%s", saver->dataset->digest);
    hr_saved_put(file, "epoch", "%" PRIu64, at.epoch);
    hr_saved_put(file, "position", "%" PRIu64, at.first);
    hr_saved_put(file, "epoch_size", "%" PRIu64, schedule->samples);
    hr_saved_put(file, "workers", "%zu", saver->options->workers);
    hr_saved_put(file, "batch_size", "%zu", saver->batch_size);
    hr_saved_put(file, "epoch_samples", "%" PRIu64, cut->trained.epoch_samples);
    hr_saved_put(file, "epoch_loss", "%.17g", cut->trained.epoch_loss);
    if (saver->best.any)
        hr_saved_put(file, best_key, "%" PRIu64, saver->best.step);
    past_put(saver->cuts, curve, file);
    hr_saved_options_put(saver->options, saver->dataset, file);
}

static enum hr_status take_room(const struct hr_saver *saver, struct hr_saving *taken)
{
    const size_t of_model = MODEL_METADATA + hr_model_input_entries(saver->dataset) +
                            hr_class_names_entries(saver->dataset) +
                            hr_target_scale_entries(saver->targets) + saver->metadata;
    const size_t of_trainer = TRAINER_METADATA + hr_saved_options_entries() + saver->metadata;
    taken->tensors = calloc(2 * saver->tensors + PAST_TENSORS, sizeof *taken->tensors);
    taken->metadata = calloc(of_model + of_trainer, sizeof *taken->metadata);
    taken->curve = calloc(width_of(saver->cuts) * points_of(saver->cuts) + 1, sizeof *taken->curve);
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

static void describe_all(struct hr_saver *saver, struct hr_saving *taken)
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
    struct hr_saving *taken = saver->taken;
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
    HR_TRY(step_digests_add(&saver->digests, checkpoint->step, &checkpoint->model, n[0], NULL));
    return step_digests_add(&saver->digests, checkpoint->step, &checkpoint->trainer, n[1],
                            saver->losses);
}

enum hr_status hr_save_write(void *arg)
{
    struct hr_saver *saver = arg;
    const struct hr_train_options *o = saver->options;
    struct hr_saving *taken = saver->taken;
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
           PAST_CLASSES * saver->cuts->curve_room * sizeof(double) + TEXTS;
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
        return saver->cuts->saves
                   ? step_digests_check(schedule->checkpoint_every, schedule->end - schedule->first,
                                        saver->tensors + saver->options->workers)
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
    const char *kept = hr_saved_option(checkpoint, "validation-data");
    kept = kept ? kept : "";
    if (!file[0] != !kept[0])
        return hr_fail(HR_E_USAGE,
                       "--resume %s: it was trained with%s --validation%s%s, this run has %s; "
                       "expected the same samples",
                       checkpoint->path, kept[0] ? "" : "out", kept[0] ? " " : "", kept,
                       file[0] ? file : "none");
    const double is = saver->options->validation_fraction;
    const double was = hr_saved_number(checkpoint, HR_SAVED_OPTION "validation-fraction");
    if (!(is < was || is > was))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--resume %s: it was trained with --validation %g, this run has %g; "
                   "expected the same",
                   checkpoint->path, was, is);
}

/* Else a pass would have samples twice. */
static enum hr_status check_order(const struct hr_saver *saver,
                                  const struct hr_checkpoint *checkpoint)
{
    char was[32], is[32];
    const double kept = hr_saved_number(checkpoint, HR_SAVED_OPTION "shuffle-window");
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
    saver->cuts->history.in_epoch = size == saver->schedule->samples && position > 0;
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
                       "--resume %s: it was saved at sample %" PRIu64
                       " of an epoch, which is no multiple of this "
                       "run's %" PRIu64 " samples per step",
                       checkpoint->path, position, schedule->batch);
    schedule->first = epoch * schedule->batches_per_epoch + position / schedule->batch;
    saver->cuts->history.steps = checkpoint->step - schedule->first;
    return past_take(checkpoint, saver->cuts);
}

enum hr_status hr_resume_open(struct hr_train_options *options, const struct hr_dataset **dataset,
                              struct hr_resume *out)
{
    *out = (struct hr_resume){0};
    if (!options->resume[0])
        return HR_OK;
    HR_TRY(hr_checkpoint_load(options->resume, &out->loaded));
    out->checkpoint = &out->loaded;
    if (strlen(out->checkpoint->path) < sizeof options->resume)
        strcpy(options->resume, out->checkpoint->path);
    HR_TRY(hr_class_view_open(out->checkpoint, *dataset, false, &out->classes));
    hr_input_scale_compare(out->checkpoint, *dataset, &(*dataset)->train);
    *dataset = &out->classes.dataset;
    return HR_OK;
}

void hr_resume_close(struct hr_resume *resume)
{
    hr_class_view_close(&resume->classes);
    hr_checkpoint_free(&resume->loaded); /* zeroed when nothing was loaded */
    *resume = (struct hr_resume){0};
}

enum hr_status hr_resume_finished(const struct hr_saver *saver,
                                  const struct hr_checkpoint *checkpoint,
                                  struct hr_run_result *result, bool *finished)
{
    const struct hr_batch_schedule *schedule = saver->schedule;
    struct hr_best best;
    HR_TRY(past_best(checkpoint, saver->cuts, &best));
    const bool stopped = hr_best_is_over(&saver->cuts->early_stop, &best);
    *finished = schedule->first >= schedule->end || stopped;
    if (!*finished)
        return HR_OK;
    if (!saver->options->finished_ok && stopped)
        return hr_fail(
            HR_E_USAGE,
            "--resume %s: --early-stop %s has stopped it, %zu evaluations after the best; "
            "raise its patience to continue",
            checkpoint->path, saver->options->early_stop, best.since);
    if (!saver->options->finished_ok)
        return hr_fail(HR_E_USAGE,
                       "--resume %s: finished at step %llu of %llu; raise --%s to continue",
                       checkpoint->path, (unsigned long long)schedule->first,
                       (unsigned long long)schedule->end,
                       saver->options->budget[0]   ? "budget"
                       : saver->options->max_steps ? "epochs or --max-steps"
                                                   : "epochs");
    hr_log(HR_LOG_INFO, "%s: this run is finished, at step %llu", checkpoint->path,
           (unsigned long long)checkpoint->step);
    snprintf(result->checkpoint, sizeof result->checkpoint, "%.1099s", checkpoint->path);
    return HR_OK;
}

#include "state/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/size.h"
#include "session/save.h"
#include "session/saved.h"
#include "state/model_tensors.h"
#include "strategy/compression.h"
#include "strategy/pause.h"
#include "strategy/shared.h"

static const struct hr_pause *pause_of(const struct hr_run *run)
{
    const struct hr_pause *pause = run->shared.pause;
    return pause && pause->is_saved ? pause : NULL;
}

/* What is to be saved now: the copy of a pause, or the snapshot. */
static const struct hr_snapshot *saved_snapshot(const struct hr_run *run)
{
    const struct hr_pause *pause = pause_of(run);
    return pause ? &pause->snapshot : &run->shared.snapshot;
}

static const char shares_name[] = "epoch_shares";
static const char origin_name[] = "normalize.origin"; /* hr_scaling.origin, where it has any */
static const char graph_name[] = "gossip_graph";
static const char apart_name[] = "batches_apart"; /* snapshot.apart; earlier versions: none */

enum { SHARE = sizeof(struct hr_epoch_share) / sizeof(double) };
enum { STEP_TENSORS = 1, SHARES_TENSORS = 1, SCALING_TENSORS = 3, METADATA = 7 };

static const char since_name[] = "steps_since_exchange"; /* of replicas that are tied */

/* "" for a single state; "worker.3." when each worker has its own. */
static void make_prefix(char *prefix, size_t size, size_t copies, size_t copy)
{
    prefix[0] = '\0';
    if (copies > 1)
        snprintf(prefix, size, "worker.%zu.", copy);
}

static float *array_of(const struct hr_run *run, size_t copy, size_t array)
{
    const struct hr_shared_state *shared = &run->shared;
    return saved_snapshot(run)->state + copy * hr_state_floats(shared) + array * shared->params;
}

/* Arrays of (params) floats in the state of all copies, and what a strategy keeps besides. */
static size_t state_arrays(const struct hr_run *run)
{
    return run->shared.snapshot.state_copies * run->shared.optimizer.rule->nstates +
           hr_rows_more(&run->shared.strategy->rows);
}

/* May replicas that are tied to the weights differ from these where the run is? At an epoch's end
 * they do not, nor at any cut where all begin level; in the copy of a pause they do. */
static bool tied_differ(const struct hr_run *run, const struct hr_snapshot *snapshot)
{
    const uint64_t index = run->leader.cuts.cut->index;
    return snapshot->tied && (snapshot != &run->shared.snapshot ||
                              hr_batch_schedule_only_quiesces(&run->shared.schedule, index));
}

/* How many replicas of it differ from the weights. */
static size_t replicas_apart(const struct hr_run *run, const struct hr_snapshot *snapshot)
{
    const bool apart = run->shared.strategy->rows.weights == HR_KEPT_MEAN || *snapshot->apart ||
                       tied_differ(run, snapshot);
    return apart ? snapshot->replica_copies : 0;
}

static void name_replica(const struct hr_run *run, char *prefix, size_t size, size_t worker)
{
    make_prefix(prefix, size, run->shared.workers + (run->shared.strategy->rows.since != NULL),
                worker);
}

void hr_state_share(struct hr_run *run)
{
    const struct hr_snapshot *snapshot = &run->shared.snapshot;
    for (size_t w = 0; w < snapshot->replica_copies; w++)
        memcpy(snapshot->replicas + w * run->shared.params, snapshot->weights,
               run->shared.params * sizeof(float));
}

/* Has the trainer's file weights of that prefix, or an array of them? */
static bool has(const struct hr_run *run, const struct hr_checkpoint *checkpoint,
                const char *prefix, const char *array)
{
    char name[128];
    hr_model_tensor_name(name, sizeof name, prefix, hr_model_tensor(run->job.model, 0), array);
    return hr_tensor_get(&checkpoint->trainer, name);
}

/* --- a pause: batches in hand --- */

static const char hands_name[] = "in_hand";

enum { HAND = 2 };

/* Bytes of its tables, and of the one of tied replicas. */
static size_t pause_state_bytes(const struct hr_run *run)
{
    const struct hr_shared_state *shared = &run->shared;
    return shared->strategy->pause
               ? (HAND * hr_pause_room(shared) + shared->workers) * sizeof(double)
               : 0;
}

/* Where the first sample of a batch stands since training began. */
static uint64_t position_of(const struct hr_batch_schedule *schedule, uint64_t index)
{
    const struct hr_batch batch = hr_batch_schedule_batch(schedule, index);
    return batch.epoch * schedule->samples + batch.first;
}

static void pause_state_put(const struct hr_run *run, struct hr_tensor_file *trainer)
{
    const struct hr_pause *pause = pause_of(run);
    const struct hr_batch_schedule *schedule = &run->shared.schedule;
    for (size_t i = 0; pause && i < pause->hands; i++) {
        const struct hr_hand *hand = &pause->hand[i];
        uint64_t samples = 0;
        for (uint64_t k = 0; k < hand->count; k++)
            samples += hr_batch_schedule_batch(schedule, hand->first + k).count;
        pause->saved_hands[HAND * i] = (double)position_of(schedule, hand->first);
        pause->saved_hands[HAND * i + 1] = (double)samples;
    }
    if (pause)
        hr_saved_put_table(trainer, hands_name, pause->hands, HAND, pause->saved_hands);
}

static enum hr_status not_ours(const struct hr_run *run, const struct hr_checkpoint *checkpoint,
                               const double *row)
{
    return hr_fail(HR_E_USAGE,
                   "--resume %s: %.0f samples from number %.0f on were in hand, which are no whole "
                   "batches of this run's %" PRIu64 " samples; expected the batch size it had",
                   checkpoint->path, row[1], row[0], run->shared.schedule.batch);
}

/* The batches of a row. */
static enum hr_status take_hand(struct hr_run *run, const struct hr_checkpoint *checkpoint,
                                const double *row)
{
    const struct hr_batch_schedule *schedule = &run->shared.schedule;
    struct hr_begins_with *begins = &run->shared.begins_with;
    uint64_t position, samples;
    HR_TRY(hr_saved_samples(checkpoint, hands_name, row[0], &position));
    HR_TRY(hr_saved_samples(checkpoint, hands_name, row[1], &samples));
    uint64_t index = position / schedule->samples * schedule->batches_per_epoch +
                     position % schedule->samples / schedule->batch;
    if (position_of(schedule, index) != position)
        return not_ours(run, checkpoint, row);
    for (; samples > 0; index++) {
        const uint64_t count = hr_batch_schedule_batch(schedule, index).count;
        if (count > samples)
            return not_ours(run, checkpoint, row);
        if (index >= schedule->first)
            return hr_fail(HR_E_FORMAT, "%s: batches in hand are behind its position",
                           checkpoint->path);
        uint64_t *more = realloc(begins->index, (begins->n + 1) * sizeof *more);
        if (!more)
            return hr_fail(HR_E_NOMEM, "no memory for batches in hand");
        begins->index = more;
        more[begins->n++] = index;
        begins->lowest = index < begins->lowest ? index : begins->lowest;
        samples -= count;
    }
    return HR_OK;
}

static void say_untrained(const struct hr_run *run, const struct hr_checkpoint *checkpoint,
                          const double *rows, size_t n)
{
    double samples = 0;
    for (size_t i = 0; i < n; i++)
        samples += rows[HAND * i + 1];
    hr_log(HR_LOG_WARNING,
           "%s: %.0f samples were in hand when it was saved, and %s does not hand them out again: "
           "they are not trained on in this epoch",
           checkpoint->path, samples, run->job.options->strategy);
}

enum hr_status hr_pause_state_position(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const double *rows;
    size_t n;
    run->shared.begins_with.lowest = run->shared.schedule.first;
    HR_TRY(hr_saved_table(checkpoint, hands_name, HAND, &n, &rows));
    if (n && !run->shared.strategy->pause) {
        say_untrained(run, checkpoint, rows, n);
        return HR_OK;
    }
    const size_t before = pause_state_bytes(run);
    for (size_t i = 0; i < n; i++)
        HR_TRY(take_hand(run, checkpoint, rows + HAND * i));
    run->saver.bytes += pause_state_bytes(run) - before;
    return HR_OK;
}

/* --- errors of --compress: "worker.3.compress", a row of numbers per worker (compression.h) --- */

static size_t floats_of(const struct hr_run *run)
{
    return hr_compression_state_floats(&run->shared);
}

static size_t compress_state_tensors(const struct hr_run *run)
{
    return floats_of(run) ? run->shared.workers : 0;
}

static size_t compress_state_bytes(const struct hr_run *run)
{
    return compress_state_tensors(run) * floats_of(run) * sizeof(float);
}

static void name_row(char *name, size_t size, size_t worker)
{
    snprintf(name, size, "worker.%zu.compress", worker);
}

static void compress_state_put(const struct hr_run *run, struct hr_tensor_file *trainer)
{
    const size_t floats = floats_of(run);
    for (size_t w = 0; w < compress_state_tensors(run); w++) {
        struct hr_tensor *tensor = &trainer->tensors[trainer->ntensors++];
        *tensor = (struct hr_tensor){.dtype = HR_F32,
                                     .ndim = 1,
                                     .shape = {floats},
                                     .bytes = floats * sizeof(float),
                                     .data = run->shared.snapshot.errors + w * floats};
        name_row(tensor->name, sizeof tensor->name, w);
    }
}

/* Was it saved by such a run? */
static bool is_ours(const struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const char *strategy = hr_metadata_get(&checkpoint->trainer, "strategy");
    const char *compress = hr_saved_option(checkpoint, "compress");
    char last[48], behind[48];
    name_row(last, sizeof last, run->shared.workers - 1);
    name_row(behind, sizeof behind, run->shared.workers);
    return strategy && !strcmp(strategy, run->options.strategy) && compress &&
           !strcmp(compress, run->options.compress) && hr_tensor_get(&checkpoint->trainer, last) &&
           !hr_tensor_get(&checkpoint->trainer, behind);
}

void hr_compress_state_begin(const struct hr_run *run)
{
    const struct hr_snapshot *snapshot = &run->shared.snapshot;
    const size_t floats = floats_of(run);
    if (!snapshot->errors || !hr_compression_is_public(&run->shared))
        return;
    for (size_t w = 0; w < run->shared.workers; w++)
        hr_compression_take(&run->shared, snapshot->replicas + w * run->shared.params,
                            snapshot->errors + w * floats);
}

/* Take them up where workers, strategy and compressor are as saved; else say that they begin at 0,
 * where there were any. HR_E_FORMAT. */
static enum hr_status compress_state_load(struct hr_run *run,
                                          const struct hr_checkpoint *checkpoint)
{
    const size_t floats = floats_of(run);
    char name[48];
    hr_compress_state_begin(run);
    name_row(name, sizeof name, 0);
    if (!hr_tensor_get(&checkpoint->trainer, name))
        return HR_OK;
    if (!is_ours(run, checkpoint)) {
        hr_log(
            HR_LOG_INFO,
            "%s: its workers kept errors of --compress, which are for the same strategy, workers "
            "and compressor alone: they are left out",
            checkpoint->path);
        return HR_OK;
    }
    for (size_t w = 0; w < compress_state_tensors(run); w++) {
        name_row(name, sizeof name, w);
        const struct hr_tensor *tensor = hr_tensor_get(&checkpoint->trainer, name);
        if (!tensor || tensor->dtype != HR_F32 || tensor->bytes != floats * sizeof(float))
            return hr_fail(HR_E_FORMAT, "%s: tensor %s is missing, or is not %zu numbers",
                           checkpoint->path, name, floats);
        memcpy(run->shared.snapshot.errors + w * floats, tensor->data, tensor->bytes);
    }
    return HR_OK;
}

/* --- the best weights, of --early-stop --- */

static const char best_prefix[] = "best.", last_prefix[] = "last.";

/* The best weights, if the run ends with them at the current cut; else NULL. */
static float *ends_with(const struct hr_run *run)
{
    const struct hr_cut *cut = run->leader.cuts.cut;
    return cut->halt && !cut->interrupted ? hr_best_weights_last(&run->job.best) : NULL;
}

/* (params) The weights of the model's file at the current cut. */
static float *best_state_model(const struct hr_run *run)
{
    float *best = ends_with(run);
    return best ? best : saved_snapshot(run)->weights;
}

/* Append the other ones to the trainer's. */
static void best_state_put(const struct hr_run *run, struct hr_tensor_file *trainer)
{
    float *best = hr_best_weights_last(&run->job.best);
    if (ends_with(run))
        hr_model_tensors_put(trainer, run->job.model, false, last_prefix, "",
                             run->shared.snapshot.weights);
    else if (best)
        hr_model_tensors_put(trainer, run->job.model, false, best_prefix, "", best);
}

/* The current weights into the snapshot, and the best ones into their place. */
static enum hr_status best_state_load(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const struct hr_tensor_file *model = &checkpoint->model, *trainer = &checkpoint->trainer;
    float *weights = run->shared.snapshot.weights;
    const bool ended = has(run, checkpoint, last_prefix, "");
    if (run->job.best.kept && (ended || has(run, checkpoint, best_prefix, ""))) {
        HR_TRY(hr_load_tensors(checkpoint, ended ? model : trainer, run->job.model, false,
                               ended ? "" : best_prefix, "", weights));
        hr_best_weights_keep(&run->job.best, weights);
    }
    return hr_load_tensors(checkpoint, ended ? trainer : model, run->job.model, false,
                           ended ? last_prefix : "", "", weights);
}

void hr_best_state_end(struct hr_run *run)
{
    const float *best = hr_best_weights_last(&run->job.best);
    if (best && !run->leader.cuts.cut->interrupted)
        memcpy(run->shared.snapshot.weights, best, run->shared.params * sizeof *best);
}

/* --- saved --- */

static void fill_model(struct hr_run *run, struct hr_tensor_file *file)
{
    hr_model_state_put(file, run->job.model, best_state_model(run), &run->batches_saved);
    hr_saved_put(file, "hogring.loss", "%s", run->job.options->loss);
    hr_saved_put(file, "hogring.precision", "%s", run->job.options->precision);
    hr_saved_put(file, "hogring.label_smoothing", "%.17g", run->job.options->label_smoothing);
    if (run->job.choices.loss == HR_LOSS_OF_HUBER)
        hr_saved_put(file, "hogring.huber_delta", "%.17g", run->job.options->huber_delta);
    if (run->job.scaling.channels)
        hr_saved_put(file, "hogring.normalize", "on");
}

/* Mean and deviation of --normalize go into the trainer's file: the model's file is a state_dict
 * and nothing else. */
static void add_scaling(const struct hr_scaling *scaling, struct hr_tensor_file *file)
{
    const struct hr_tensor_info info = {
        .name = "normalize", .ndim = 1, .shape = {scaling->channels}, .count = scaling->channels};
    if (scaling->channels == 0)
        return;
    hr_model_tensor_put(file, &info, "", "mean", scaling->mean);
    hr_model_tensor_put(file, &info, "", "std", scaling->std);
    if (scaling->origin)
        hr_saved_put_table(file, origin_name, scaling->channels, 1, scaling->origin);
}

static void fill_state(const struct hr_run *run, size_t copy, struct hr_tensor_file *file)
{
    const struct hr_rule *rule = run->shared.optimizer.rule;
    char prefix[32];
    make_prefix(prefix, sizeof prefix, run->shared.snapshot.state_copies, copy);
    for (size_t array = 0; array < rule->nstates; array++)
        hr_model_tensors_put(file, run->job.model, true, prefix, rule->state_names[array],
                             array_of(run, copy, array));
}

/* "step" (state_copies): updates made to each copy, as PyTorch's optimizers count them. */
static void fill_states(const struct hr_run *run, struct hr_tensor_file *file)
{
    const struct hr_snapshot *snapshot = saved_snapshot(run);
    for (size_t copy = 0; copy < snapshot->state_copies; copy++)
        fill_state(run, copy, file);
    file->tensors[file->ntensors++] = (struct hr_tensor){
        .name = "step",
        .dtype = HR_I64,
        .ndim = 1,
        .shape = {snapshot->state_copies},
        .bytes = snapshot->state_copies * sizeof *snapshot->applied,
        .data = snapshot->applied,
    };
}

/* "0.weight.NAME": what a strategy keeps besides. */
static void fill_more(const struct hr_run *run, struct hr_tensor_file *file)
{
    const struct hr_rows *rows = &run->shared.strategy->rows;
    for (size_t array = 0; array < hr_rows_more(rows); array++)
        hr_model_tensors_put(file, run->job.model, false, "", rows->more[array],
                             run->shared.snapshot.more + array * run->shared.params);
}

/* "worker.3.0.weight": a worker's own weights. */
static void fill_replicas(const struct hr_run *run, struct hr_tensor_file *file)
{
    const struct hr_snapshot *snapshot = saved_snapshot(run);
    const size_t n = replicas_apart(run, snapshot);
    for (size_t w = 0; w < n; w++) {
        char prefix[32];
        name_replica(run, prefix, sizeof prefix, w);
        hr_model_tensors_put(file, run->job.model, false, prefix, "",
                             snapshot->replicas + w * run->shared.params);
    }
    if (n && snapshot->tied)
        hr_saved_put_table(file, since_name, n, 1, snapshot->since);
}

static void describe(void *arg, struct hr_tensor_file *model, struct hr_tensor_file *trainer)
{
    struct hr_run *run = arg;
    const struct hr_snapshot *snapshot = saved_snapshot(run);
    const double lr =
        (double)hr_batch_schedule_lr(&run->shared.schedule, run->leader.cuts.cut->index);
    run->batches_saved = (int64_t)hr_cut_step(&run->leader.cuts);
    fill_model(run, model);
    best_state_put(run, trainer);
    fill_states(run, trainer);
    fill_more(run, trainer);
    pause_state_put(run, trainer);
    fill_replicas(run, trainer);
    compress_state_put(run, trainer);
    add_scaling(&run->job.scaling, trainer);
    hr_saved_put_table(trainer, shares_name, run->shared.workers, SHARE,
                       (double *)(void *)snapshot->shares);
    if (run->shared.graph_digest.hex[0])
        hr_saved_put(trainer, graph_name, "%s", run->shared.graph_digest.hex);
    hr_saved_put(trainer, "lr", "%.9g", lr);
    hr_saved_put(trainer, "state_copies", "%zu", snapshot->state_copies);
    hr_saved_put(trainer, apart_name, "%" PRIu64, *snapshot->apart);
    hr_saved_put(trainer, "first_epoch_loss", "%.17g", snapshot->losses->first);
    hr_saved_put(trainer, "last_epoch_loss", "%.17g", snapshot->losses->last);
}

void hr_state_describe(struct hr_run *run)
{
    const size_t tensors = hr_model_tensor_count(run->job.model);
    const size_t ends_with_best = run->leader.cuts.early_stop.asked ? 1 : 0;
    const size_t most_replicas = /* those that are tied may be in the copy of a pause */
        run->shared.strategy->rows.since ? run->shared.workers
                                         : run->shared.snapshot.replica_copies;
    run->saver = (struct hr_saver){
        .options = run->job.options,
        .dataset = run->job.dataset,
        .targets = &run->job.values,
        .cuts = &run->leader.cuts,
        .schedule = &run->shared.schedule,
        .model = hr_model_text(run->job.model),
        .optimizer = run->job.options->optimizer,
        .batch_size = run->job.batch_size,
        .tensors = tensors * (2 + state_arrays(run) + most_replicas + ends_with_best) +
                   STEP_TENSORS + HR_PAUSE_TENSORS + SHARES_TENSORS + SCALING_TENSORS +
                   compress_state_tensors(run),
        .metadata = METADATA,
        .bytes = (1 + state_arrays(run) + most_replicas + ends_with_best) * run->shared.params *
                     sizeof(float) +
                 tensors * sizeof run->batches_saved +
                 run->shared.snapshot.state_copies * sizeof *run->shared.snapshot.applied +
                 run->shared.workers * sizeof *run->shared.snapshot.shares +
                 run->job.dataset->shape.channels * (2 * sizeof(float) + sizeof(double)) +
                 pause_state_bytes(run) + compress_state_bytes(run),
        .describe = describe,
        .losses = shares_name,
        .engine = run,
    };
}

/* --- read --- */

/* Where the order of messages changes bits, so does the placement of servers; it must stay. */
static enum hr_status check_placement(const struct hr_run *run,
                                      const struct hr_checkpoint *checkpoint)
{
    const struct hr_shared_state *shared = &run->shared;
    const char *saved = hr_saved_option(checkpoint, "placement");
    const char *strategy = hr_metadata_get(&checkpoint->trainer, "strategy");
    if (!shared->servers || shared->strategy->synchronous || shared->workers == 1 || !strategy ||
        strcmp(strategy, run->job.options->strategy) != 0)
        return HR_OK;
    return hr_saved_same(checkpoint, "--placement", saved ? saved : "dedicated",
                         run->job.options->placement);
}

/* Replicas differ in what was trained, and only in that. */
static enum hr_status check_frozen(const struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const char *saved = hr_saved_option(checkpoint, "freeze");
    const char *ours = run->job.options->freeze;
    if (!strcmp(saved ? saved : "", ours))
        return HR_OK;
    return hr_fail(
        HR_E_USAGE,
        "--resume %s: it was trained with --freeze %s, this run has %s; expected the same "
        "(to train other tensors, begin a run with --init-weights)",
        checkpoint->path, saved && saved[0] ? saved : "\"\"", ours[0] ? ours : "\"\"");
}

enum hr_status hr_state_check(const struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const char *loss = hr_metadata_get(&checkpoint->model, "hogring.loss");
    const char *scale = hr_saved_option(checkpoint, "target-scale");
    HR_TRY(hr_saved_same(checkpoint, "--optimizer",
                         hr_metadata_get(&checkpoint->trainer, "optimizer"),
                         run->job.options->optimizer));
    if (loss)
        HR_TRY(hr_saved_same(checkpoint, "--loss", loss, run->job.options->loss));
    if (run->job.values.count && scale)
        HR_TRY(hr_saved_same(checkpoint, "--task regress", scale, run->job.options->target_scale));
    HR_TRY(check_frozen(run, checkpoint));
    HR_TRY(check_placement(run, checkpoint));
    HR_TRY(hr_history_check_best(checkpoint, &run->leader.cuts, &run->options));
    HR_TRY(hr_strategy_same_graph(&run->shared, hr_saved_option(checkpoint, "gossip-graph"),
                                  hr_metadata_get(&checkpoint->trainer, graph_name)));
    return hr_saved_same(checkpoint, "--normalize",
                         hr_tensor_get(&checkpoint->trainer, "normalize.mean") ? "on" : "off",
                         run->job.scaling.channels ? "on" : "off");
}

static enum hr_status load_scaling(const struct hr_checkpoint *checkpoint, size_t channels,
                                   const double *origin, struct hr_scaling *out)
{
    const struct hr_tensor_info info = {.ndim = 1, .shape = {channels}, .count = channels};
    if (origin)
        memcpy(out->origin, origin, channels * sizeof *origin);
    HR_TRY(hr_load_tensor(checkpoint, &checkpoint->trainer, &info, "normalize.mean", out->mean));
    return hr_load_tensor(checkpoint, &checkpoint->trainer, &info, "normalize.std", out->std);
}

enum hr_status hr_load_scaling(const struct hr_checkpoint *checkpoint, size_t channels,
                               struct hr_scaling *out)
{
    const double *origin;
    size_t origins;
    *out = (struct hr_scaling){0};
    if (!checkpoint->trainer.ntensors && hr_metadata_get(&checkpoint->model, "hogring.normalize"))
        return hr_fail(HR_E_USAGE,
                       "%s: was trained with --normalize, and mean and deviation stand beside it; "
                       "expected its folder",
                       checkpoint->path);
    if (!hr_tensor_get(&checkpoint->trainer, "normalize.mean"))
        return HR_OK;
    HR_TRY(hr_saved_table(checkpoint, origin_name, 1, &origins, &origin));
    if (origins && origins != channels)
        return hr_fail(HR_E_FORMAT, "%s: tensor %s has %zu numbers, expected %zu", checkpoint->path,
                       origin_name, origins, channels);
    HR_TRY(hr_scaling_create(channels, origins, out));
    const enum hr_status status = load_scaling(checkpoint, channels, origin, out);
    if (status != HR_OK)
        hr_scaling_free(out);
    return status;
}

/* Load state copy `copy` from copy `copy` of `saved`, or from the first when the numbers of copies
 * differ: then other workers or another strategy go on from the same weights. */
static enum hr_status load_state(struct hr_run *run, const struct hr_checkpoint *checkpoint,
                                 size_t copy, size_t saved)
{
    const size_t from = saved == run->shared.snapshot.state_copies ? copy : 0;
    const struct hr_tensor *steps = hr_tensor_get(&checkpoint->trainer, "step");
    const struct hr_rule *rule = run->shared.optimizer.rule;
    const bool without = rule->no_momentum && /* begins at 0, then */
                         hr_saved_number(checkpoint, HR_SAVED_OPTION "momentum") == 0;
    char prefix[32];
    if (!steps || !saved || steps->dtype != HR_I64 || steps->bytes != saved * sizeof(int64_t))
        return hr_fail(HR_E_FORMAT, "%s: tensor step is missing, or is not one number a state",
                       checkpoint->path);
    memcpy(&run->shared.snapshot.applied[copy], (const int64_t *)steps->data + from,
           sizeof(int64_t));
    make_prefix(prefix, sizeof prefix, saved, from);
    for (size_t array = 0; array < rule->nstates; array++)
        if (!without || has(run, checkpoint, prefix, rule->state_names[array]))
            HR_TRY(hr_load_tensors(checkpoint, &checkpoint->trainer, run->job.model, true, prefix,
                                   rule->state_names[array], array_of(run, copy, array)));
    return HR_OK;
}

/* What a strategy keeps besides, if it was saved by the same; else that begins at 0. */
static enum hr_status load_more(const struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const char *strategy = hr_metadata_get(&checkpoint->trainer, "strategy");
    const struct hr_rows *rows = &run->shared.strategy->rows;
    const bool same = strategy && !strcmp(strategy, run->job.options->strategy);
    const size_t n = same ? hr_rows_more(rows) : 0;
    for (size_t array = 0; array < n; array++)
        HR_TRY(hr_load_tensors(checkpoint, &checkpoint->trainer, run->job.model, false, "",
                               rows->more[array],
                               run->shared.snapshot.more + array * run->shared.params));
    return HR_OK;
}

/* Has the checkpoint weights of each worker, and may this run not go on with them? One line. */
static void say_mean(const struct hr_run *run, const struct hr_checkpoint *checkpoint,
                     const char *strategy, uint64_t saved)
{
    const struct hr_train_options *o = run->job.options;
    const bool tied = hr_tensor_get(&checkpoint->trainer, since_name);
    char prefix[32], why[64];
    make_prefix(prefix, sizeof prefix, saved, 0);
    if (!prefix[0] || !has(run, checkpoint, prefix, ""))
        return;
    if (strategy && !strcmp(strategy, o->strategy))
        snprintf(why, sizeof why, "%zu worker%s", run->shared.workers,
                 run->shared.workers == 1 ? "" : "s");
    else
        snprintf(why, sizeof why, "--strategy %.32s", o->strategy);
    hr_log(HR_LOG_INFO,
           "%s: its %" PRIu64 " workers had weights of their own; with %s now, all begin with %s",
           checkpoint->path, saved, why, tied ? "the center" : "their mean");
}

/* Steps since tied replicas exchanged. *n: workers, or 0 where it has none: a cut that was more
 * than a rest made them the weights. */
static enum hr_status load_since(struct hr_run *run, const struct hr_checkpoint *checkpoint,
                                 size_t *n)
{
    const double *since;
    uint64_t steps;
    HR_TRY(hr_saved_table(checkpoint, since_name, 1, n, &since));
    *n = *n == run->shared.workers ? *n : 0;
    for (size_t w = 0; w < *n; w++) {
        HR_TRY(hr_saved_samples(checkpoint, since_name, since[w], &steps));
        run->shared.snapshot.since[w] = (double)steps;
    }
    return HR_OK;
}

/* Load replicas if strategy and workers are as saved; else all are the model's weights. */
static enum hr_status load_replicas(struct hr_run *run, const struct hr_checkpoint *checkpoint,
                                    uint64_t saved)
{
    const struct hr_snapshot *snapshot = &run->shared.snapshot;
    const char *strategy = hr_metadata_get(&checkpoint->trainer, "strategy");
    const bool ours =
        strategy && !strcmp(strategy, run->job.options->strategy) && saved == run->shared.workers;
    hr_state_share(run);
    if (!ours) {
        say_mean(run, checkpoint, strategy, saved);
        return HR_OK;
    }
    if (hr_metadata_get(&checkpoint->trainer, apart_name))
        HR_TRY(hr_saved_count(checkpoint, apart_name, snapshot->apart));
    size_t n = replicas_apart(run, snapshot);
    if (snapshot->tied)
        HR_TRY(load_since(run, checkpoint, &n));
    for (size_t w = 0; w < n; w++) {
        char prefix[32];
        name_replica(run, prefix, sizeof prefix, w);
        HR_TRY(hr_load_tensors(checkpoint, &checkpoint->trainer, run->job.model, false, prefix, "",
                               snapshot->replicas + w * run->shared.params));
    }
    return HR_OK;
}

/* Each worker gets its losses and samples of the epoch back, so that the sums have the bits of a
 * run that was never stopped. If there are other workers now, or the file has only the sum, the
 * first worker gets all. */
static enum hr_status load_shares(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    const double *shares;
    size_t saved;
    HR_TRY(hr_saved_table(checkpoint, shares_name, SHARE, &saved, &shares));
    if (saved != run->shared.workers) {
        struct hr_worker_stats *first = &run->shared.stats[0];
        first->epoch_loss = hr_saved_number(checkpoint, "epoch_loss");
        return hr_saved_count(checkpoint, "epoch_samples", &first->epoch_samples);
    }
    for (size_t w = 0; w < saved; w++) {
        struct hr_worker_stats *stats = &run->shared.stats[w];
        stats->epoch_loss = shares[SHARE * w];
        HR_TRY(hr_saved_samples(checkpoint, shares_name, shares[SHARE * w + 1],
                                &stats->epoch_samples));
    }
    return HR_OK;
}

enum hr_status hr_state_restore(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    uint64_t saved;
    HR_TRY(hr_saved_count(checkpoint, "state_copies", &saved));
    HR_TRY(best_state_load(run, checkpoint));
    for (size_t copy = 0; copy < run->shared.snapshot.state_copies; copy++)
        HR_TRY(load_state(run, checkpoint, copy, saved));
    HR_TRY(load_more(run, checkpoint));
    HR_TRY(load_replicas(run, checkpoint, saved));
    hr_begin_with(&run->shared);
    HR_TRY(compress_state_load(run, checkpoint));
    *run->shared.snapshot.losses =
        (struct hr_epoch_losses){hr_saved_number(checkpoint, "first_epoch_loss"),
                                 hr_saved_number(checkpoint, "last_epoch_loss")};
    HR_TRY(hr_history_restore(checkpoint, &run->leader.cuts));
    return run->leader.cuts.history.in_epoch ? load_shares(run, checkpoint) : HR_OK;
}

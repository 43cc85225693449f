/* From options to a run: resolves, checks and sets up all constants; shared memory comes later. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/size.h"
#include "data/look.h"
#include "drive/record.h"
#include "drive/replay.h"
#include "group/executor.h"
#include "kernels/select.h"
#include "nn/part.h"
#include "options/choices.h"
#include "options/metric.h"
#include "options/pairs.h"
#include "options/train_options.h"
#include "session/saved.h"
#include "stages/pipeline.h"
#include "state/model_file.h"
#include "state/state.h"
#include "strategies/compressed_sum.h"
#include "strategies/public_copies.h"
#include "strategies/strategies.h"
#include "strategy/shared.h"
#include "train/optimizer_setup.h"
#include "train/pipeline_setup.h"
#include "train/run.h"
#include "train/multinode.h"
#include "worker/input.h"

static enum hr_status refuse_values(const struct hr_dataset *dataset,
                                    const struct hr_label_look *look)
{
    char place[100] = "", why[120];
    if (dataset->label_column[0])
        snprintf(place, sizeof place, " (%s)", dataset->label_column);
    if (look->fraction)
        snprintf(why, sizeof why, "%.40s is not whole", look->fraction);
    else
        snprintf(why, sizeof why, "%zu different numbers in %zu samples", look->distinct,
                 look->samples);
    return hr_fail(HR_E_USAGE,
                   "%s: the labels%s look like values and not like classes: %s. --task regress "
                   "predicts values, --task classify makes a class of each",
                   dataset->name, place, why);
}

enum hr_status hr_task_check(const struct hr_train_options *options,
                             const struct hr_dataset *dataset)
{
    const bool classify = hr_choices_of(options).task == HR_TASK_CLASSIFY;
    struct hr_label_look look;
    if (dataset->targets.count)
        return classify ? hr_fail(HR_E_USAGE, "--task classify: %s was read as values to predict",
                                  dataset->name)
                        : HR_OK;
    if (hr_task_is_regress(options))
        return hr_fail(HR_E_USAGE, "--task regress: the labels of %s were read as classes",
                       dataset->name);
    if (classify || dataset->options.classes[0])
        return HR_OK;
    HR_TRY(hr_look_at_labels(dataset, &look));
    return look.kind == HR_LABELS_VALUES ? refuse_values(dataset, &look) : HR_OK;
}

/* What means nothing for numbers of tokens. */
static enum hr_status check_text(const struct hr_train_options *o, const struct hr_dataset *dataset)
{
    const char *option = o->augment[0]            ? "augment"
                         : o->normalize           ? "normalize"
                         : o->class_weights[0]    ? "class-weights"
                         : o->target_accuracy > 0 ? "time-to accuracy"
                         : hr_task_is_regress(o)  ? "task regress"
                                                  : NULL;
    if (!dataset->tokens.context || !option)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--%s: is not supported for text (%s)", option, dataset->name);
}

enum hr_status hr_task_check_metrics(const struct hr_train_options *options,
                                     const struct hr_dataset *dataset)
{
    const size_t classes = dataset->classes;
    const enum hr_predicted of = hr_predicted_of(dataset);
    struct hr_early_stop rule;
    HR_TRY(hr_early_stop_parse(options->early_stop, &rule));
    HR_TRY(hr_early_stop_fits(&rule, "early-stop", of, classes));
    HR_TRY(hr_keep_best_parse(options->keep_best, &rule));
    return hr_early_stop_fits(&rule, "keep best", of, classes);
}

/* How gradients travel: in place or through the rings, over emulated links. */
/* Payload of a ring slot. Large, so that a bucket is sent in one go, as a network card would, and
 * backward need not be interrupted for every piece. */
static size_t slot_bytes(size_t workers)
{
    enum { PAYLOAD = 64 << 20, LARGEST = 1 << 20, LEAST = 4096 };
    const size_t streams = workers * (2 * workers - 1);
    size_t slot = LARGEST;
    while (slot > LEAST && slot * streams * HR_STREAM_SLOTS > PAYLOAD)
        slot /= 2;
    return slot;
}

/* The group's options, and the links' words in the segment. */
static enum hr_status links_setup(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    struct hr_group_options *group = &run->shared.group_options;
    group->copies = run->job.choices.transport == HR_TRANSPORT_COPY;
    if (group->copies)
        group->slot_bytes = slot_bytes(run->shared.workers);
    if (!o->link[0] || run->job.simulated || run->shared.workers == 1)
        return HR_OK; /* simulated: conditions.c reads it; one worker sends nothing */
    return hr_wires_open(&run->job.wires, run->shared.workers, o->link, NULL, 1);
}

/* Where gradients become final, in the order of backward. */
static bool next_final(const struct hr_train_job *job, size_t number, size_t *offset)
{
    const struct hr_pipeline *pipeline = job->pipeline;
    struct hr_model_final at;
    if (pipeline && number < pipeline->parts)
        *offset = hr_part_param_begin(pipeline->part[pipeline->parts - 1 - number]);
    else if (!pipeline && hr_model_final(job->model, number, &at))
        *offset = at.offset;
    else
        return false;
    return true;
}

/* Of an all-reduce (strategies/buckets.h). */
static enum hr_status buckets_text(const struct hr_train_job *job, char *text, size_t size)
{
    size_t least, offset, end = job->shared->params, buckets = 1;
    HR_TRY(hr_overlap_least(job->shared, &least));
    for (size_t i = 0; next_final(job, i, &offset); i++)
        if (hr_overlap_goes_ahead(least, offset, end)) {
            buckets++;
            end = offset;
        }
    if (job->shared->workers == 1)
        snprintf(text, size, "none: one worker has nobody to add its gradient with");
    else if (buckets == 1)
        snprintf(text, size,
                 "none: no layers behind the first fill a bucket of %s (--overlap on:BYTES), and a "
                 "gradient is added whole",
                 job->options->bucket_size);
    else
        snprintf(text, size,
                 "gradients are added in %zu buckets, all but one while backward computes the rest",
                 buckets);
    return HR_OK;
}

enum hr_status hr_overlap_text(const struct hr_run *run, char *text, size_t size)
{
    const struct hr_train_job *job = &run->job;
    struct hr_model_final *part;
    size_t n;
    text[0] = '\0';
    if (!job->shared->overlaps)
        return HR_OK;
    if (!hr_strategy_is_served(job->shared->strategy))
        return buckets_text(job, text, size);
    HR_TRY(hr_ahead_list(job->shared, job->model, &part, &n));
    free(part);
    if (!job->simulated && !hr_shared_is_multinode(job->shared))
        snprintf(text, size, "none: servers read a gradient where it lies, and no push travels");
    else if (n == 0)
        snprintf(
            text, size,
            "none: no layers behind the first fill a part of %s (--overlap on:BYTES), and a push "
            "leaves whole",
            job->options->bucket_size);
    else
        snprintf(text, size,
                 "a push leaves in %s%zu parts, all but one while backward computes the rest",
                 job->simulated ? "" : "up to ", n + 1);
    return HR_OK;
}

static void add_tensor(struct hr_factors *factors, const struct hr_tensor_info *info,
                       enum hr_segment_role role)
{
    const bool matrix = info->ndim > 1 && role == HR_SEGMENT_TRAINED;
    if (role == HR_SEGMENT_FROZEN || !info->count)
        return;
    if (matrix)
        hr_factors_add(factors, info->offset, info->shape[0], info->count / info->shape[0]);
    else
        hr_factors_add(factors, info->offset, info->count, 0);
}

/* Was it asked to compress, and does its strategy, of several workers, obey? */
static bool compresses(const struct hr_run *run)
{
    return run->options.compress[0] && run->shared.workers > 1 &&
           hr_strategy_obeys(run->shared.strategy, "compress");
}

/* Set run->compression; the strategy is prepared. HR_E_USAGE: not with that; HR_E_NOMEM. */
static enum hr_status compress_setup(struct hr_run *run)
{
    struct hr_compression *compression = &run->compression;
    if (!compresses(run))
        return HR_OK;
    HR_TRY(hr_compression_begin(&run->shared, compression));
    if (!hr_compress_is_factors(&compression->how))
        return HR_OK;
    for (size_t i = 0; i < hr_model_tensor_count(run->job.model); i++)
        add_tensor(&compression->factors, hr_model_tensor(run->job.model, i),
                   run->shared.optimizer.segments[i].role);
    return HR_OK;
}

static void say_public(const struct hr_run *run, char *text, size_t size)
{
    const struct hr_shared_state *shared = &run->shared;
    const size_t bytes = hr_public_copies_packet_bytes(shared);
    snprintf(text, size,
             "%s, of weights less their public copies: %s sent to each neighbour in a step, %s "
             "without",
             run->options.compress, hr_bytes_text(bytes).text,
             hr_bytes_text(shared->params * sizeof(float)).text);
}

void hr_compress_text(const struct hr_run *run, char *text, size_t size)
{
    uint64_t bytes, plain;
    text[0] = '\0';
    if (!hr_compression_of(&run->shared))
        return;
    if (hr_compression_is_public(&run->shared)) {
        say_public(run, text, size);
        return;
    }
    if (hr_compressed_step_bytes(&run->shared, &bytes, &plain) != HR_OK)
        return;
    snprintf(text, size, "%s with error feedback: %s sent a worker and step, %s without",
             run->options.compress, hr_bytes_text(bytes).text, hr_bytes_text(plain).text);
}

/* Why each pushes for itself though a machine's workers could push as one: ": it is recorded". */
static const char *kept_apart(const struct hr_run *run)
{
    if (run->job.choices.aggregate == HR_AGGREGATE_NONE)
        return "";
    if (run->options.record[0])
        return ": the trace is replayed on one machine";
    if (run->shared.outlives)
        return ": the run outlives them one by one (--on-loss)";
    if (run->shared.overlaps)
        return ": --overlap is on";
    return compresses(run) ? ": each keeps what its own push left out" : "";
}

/* Does it change which updates are made? Then nobody but the user chooses it. */
static bool changes_updates(const struct hr_run *run)
{
    return run->shared.strategy->aggregated && !run->shared.strategy->synchronous;
}

/* Workers of a machine. */
static size_t each_of(const struct hr_run *run)
{
    return run->machines ? run->shared.workers / run->shared.hosts.machines : 0;
}

/* Why not; false: they do. */
static bool cannot(const struct hr_run *run, size_t each, char *why, size_t size)
{
    const struct hr_strategy *strategy = run->shared.strategy;
    why[0] = '\0';
    if (!run->machines)
        snprintf(why, size,
                 "is not supported on one machine (it belongs to a run on several, which mpirun "
                 "starts)");
    else if (!strategy->aggregated)
        snprintf(why, size, "with --strategy %s %s; expected ps-sync, ps-async or ssp",
                 strategy->name,
                 hr_strategy_is_served(strategy) ? "servers have to know whose push it is"
                                                 : "nobody pushes");
    else if (each < 2)
        snprintf(
            why, size,
            "each machine has one worker%s, whose gradient is its machine's; expected 2, 4, 8, "
            "... on each",
            each ? "" : ", or a part of one");
    else if (strategy->synchronous && each & (each - 1))
        snprintf(why, size,
                 "%zu workers on each machine cannot add in the order of all; expected 2, 4, 8, "
                 "...",
                 each);
    else if (run->options.record[0])
        snprintf(why, size,
                 "a recorded run is replayed on one machine, where each worker pushes; expected it "
                 "without --record");
    else if (run->shared.outlives)
        snprintf(why, size,
                 "workers that push as one are not lost one by one; expected it without "
                 "--on-loss continue");
    else if (compresses(run))
        snprintf(why, size,
                 "with --compress each worker keeps what its own push left out; expected it "
                 "without");
    return why[0];
}

/* Where it cannot be: asked for now, or when a run began that goes on in another place. */
static enum hr_status go_without(const struct hr_run *run, const char *why)
{
    if (run->job.choices.aggregate != HR_AGGREGATE_NODE)
        return HR_OK;
    if (!hr_saved_option_is(run->resume.checkpoint, "aggregate", "node"))
        return hr_fail(HR_E_USAGE, "--aggregate node: %s", why);
    if (run->shared.strategy->aggregated)
        hr_log(HR_LOG_INFO,
               "--resume %s: previously a machine's workers pushed as one; now each "
               "pushes: --aggregate node %s",
               run->resume.checkpoint->path, why);
    return HR_OK;
}

/* Do a machine's workers push as one (--aggregate)?
 *
 *   auto   yes, where it can be: ps-sync on several machines, whose workers are 2, 4, 8, ... each,
 *          wherever servers are; but not in a recorded run, since its trace is replayed on one
 *          machine, where each worker pushes, nor with --compress, which keeps an error for each
 *          worker's push: the banner says so.
 *   node   yes; refused, with the reason, where it cannot be. Where a checkpoint says node, and the
 *          run that goes on cannot: a line says so, and each pushes.
 *   none   no.
 * With --overlap on, where they would push as one: refused, since that push leaves whole. A run
 * that goes on with auto and --overlap on goes on with the push of each. Test:
 * tests/unit/server/test_served_machines.c */
static enum hr_status aggregate_setup(struct hr_run *run)
{
    const enum hr_aggregate_choice how = run->job.choices.aggregate;
    const bool chosen = how == HR_AGGREGATE_AUTO, overlaps = run->shared.overlaps;
    char why[200];
    run->shared.node_workers = 0;
    if (how == HR_AGGREGATE_NONE || (chosen && changes_updates(run)) ||
        (chosen && overlaps && hr_saved_option_is(run->resume.checkpoint, "overlap", "on")))
        return HR_OK;
    if (cannot(run, each_of(run), why, sizeof why))
        return go_without(run, why);
    if (overlaps)
        return hr_fail(HR_E_USAGE, "--overlap on: a machine's workers push as one (--aggregate "
                                   "node), whole; expected --aggregate none as well, or --overlap "
                                   "off");
    run->shared.node_workers = each_of(run);
    run->shared.strategy = run->shared.strategy->aggregated;
    return HR_OK;
}

/* Why each pushes for itself, with " (--aggregate none)" where they could have been told to. */
static void apart_text(const struct hr_run *run, char *text, size_t size)
{
    const struct hr_strategy *strategy = run->shared.strategy;
    const size_t each = each_of(run);
    const char *told = strategy->aggregated && each > 1 ? " (--aggregate none)" : "";
    if (each < 2)
        snprintf(text, size, "one per worker: each machine has one%s", each ? "" : ", or a part");
    else if (!strategy->aggregated)
        snprintf(text, size, "one per worker");
    else if (!strategy->synchronous)
        snprintf(text, size, "one per worker%s: each is an update of its own", told);
    else if (each & (each - 1))
        snprintf(text, size, "one per worker%s: %zu per machine cannot add in the order of all",
                 told, each);
    else
        snprintf(text, size, "one per worker%s%s", told, kept_apart(run));
}

void hr_aggregate_text(const struct hr_run *run, char *text, size_t size)
{
    const size_t together = run->shared.node_workers;
    text[0] = '\0';
    if (!run->machines || !hr_strategy_is_served(run->shared.strategy))
        return;
    if (together && !run->shared.strategy->synchronous)
        snprintf(text, size,
                 "one per machine: gradients of its %zu workers, of a minibatch each, are added "
                 "there, and are one update",
                 together);
    else if (together)
        snprintf(text, size, "one per machine: gradients of its %zu workers are added there",
                 together);
    else
        apart_text(run, text, size);
}

void hr_run_begin(struct hr_run *run, const struct hr_train_call *call)
{
    static const struct hr_observer nobody;
    run->options = *call->options;
    if (call->dataset->targets.count && hr_choices_of(&run->options).task == HR_TASK_AUTO)
        snprintf(run->options.task, sizeof run->options.task, "regress");
    run->job = (struct hr_train_job){.options = &run->options,
                                     .dataset = call->dataset,
                                     .conditions = {.times = call->times},
                                     .shared = &run->shared};
    run->launcher.observer = call->observer ? call->observer : &nobody;
    run->drive = (struct hr_drive){.job = &run->job,
                                   .leader = &run->leader,
                                   .launcher = &run->launcher,
                                   .replay = call->replay,
                                   .chooser = call->chooser};
    run->machines = call->machines;
}

void hr_run_finish(struct hr_run *run)
{
    hr_launcher_stop(&run->launcher);
    hr_record_abandon(&run->drive); /* unless it ended well */
    hr_claim_drop(&run->saver.claim);
    if (run->drive.stuck)
        return;
    hr_multinode_free(run);
    hr_losses_end(&run->drive.losses);
    hr_pipeline_destroy(run->job.pipeline);
    if (run->job.timer)
        hr_pipeline_timer_fini(run->job.timer);
    free(run->job.timer);
    hr_model_destroy(run->job.model);
    hr_scaling_free(&run->job.scaling);
    hr_target_scale_free(&run->job.values);
    hr_conditions_close(&run->job.conditions);
    hr_local_group_destroy(run->job.local);
    hr_wires_close(&run->job.wires);
    hr_held_out_close(&run->final_test.held_out);
    hr_resume_close(&run->resume);
    hr_strategy_forget(&run->shared);
    hr_compression_fini(&run->compression);
    free(run->tensors);
    free(run->shared.begins_with.index);
    free(run->shared.spans);
    free(run->shared.weights);
    hr_segment_destroy(&run->segment);
    hr_segment_destroy(&run->control_segment);
    free(run);
}

static enum hr_status count_ranks(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    struct hr_shared_state *shared = &run->shared;
    shared->workers = o->workers;
    shared->servers = hr_strategy_is_served(shared->strategy) ? o->servers : 0;
    shared->colocated = shared->servers && run->job.choices.placement == HR_PLACEMENT_COLOCATED;
    run->job.nranks = shared->workers + (shared->colocated ? 0 : shared->servers);
    const size_t most = run->drive.driver->local ? HR_LOCAL_GROUP_RANKS : HR_MAX_RANKS;
    if (shared->workers < 1 || shared->workers > most)
        return hr_fail(HR_E_USAGE, "--workers %zu: expected 1 to %zu", shared->workers, most);
    if (shared->colocated && o->servers > shared->workers)
        return hr_fail(HR_E_USAGE,
                       "--servers %zu: colocated in %zu worker%s, there are at most as many",
                       o->servers, shared->workers, shared->workers == 1 ? "" : "s");
    if (o->servers > most || run->job.nranks > most)
        return hr_fail(HR_E_USAGE, "--workers %zu and --servers %zu: at most %zu ranks in all",
                       shared->workers, o->servers, most);
    return hr_pipeline_count_ranks(run);
}

static enum hr_status parse_schedule(const char *text, bool explored, struct hr_drive *drive)
{
    static const char prefix[] = "explore:";
    const size_t length = sizeof prefix - 1;
    char *end = NULL;
    drive->driver = &hr_driver_threads;
    if (!explored)
        return HR_OK;
    drive->driver = &hr_driver_explore;
    if (!strncmp(text, prefix, length)) {
        drive->explore_seed = strtoull(text + length, &end, 10);
        if (end != text + length && !*end)
            return HR_OK;
    }
    return hr_fail(HR_E_USAGE, "--clock %s: expected real, virtual or explore:SEED", text);
}

static enum hr_status choose_driver(const struct hr_train_options *o, struct hr_drive *drive)
{
    if (drive->replay)
        drive->driver = &hr_driver_replay;
    else
        HR_TRY(parse_schedule(o->schedule, hr_choices_of(o).explored, drive));
    const struct hr_choices choice = hr_choices_of(o);
    if (choice.clock == HR_CLOCK_REAL)
        return HR_OK;
    if (choice.explored) /* of a library's caller, or of an entry of a file */
        return hr_fail(HR_E_USAGE, "--clock virtual: not with a schedule, %s; expected one of them",
                       o->schedule);
    drive->driver = &hr_driver_virtual;
    return HR_OK;
}

static enum hr_status parse_names(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    struct hr_shared_state *shared = &run->shared;
    HR_TRY(hr_strategy_find(o->strategy, o->staleness, &shared->strategy));
    HR_TRY(hr_algorithm_find(o->algorithm, &shared->group_options.algorithm));
    /* Gradients are never small; but between machines auto is what it is. */
    if (shared->group_options.algorithm == &hr_allreduce_auto && !run->machines)
        shared->group_options.algorithm = &hr_allreduce_direct;
    HR_TRY(hr_launch_parse(o->launch, &run->job.launch));
    HR_TRY(choose_driver(o, &run->drive));
    shared->outlives = run->job.choices.on_loss != HR_ON_LOSS_STOP;
    shared->reissues = run->job.choices.lost_batch == HR_LOST_BATCH_REISSUE;
    shared->repeats = run->drive.replay;
    run->job.serial = run->drive.driver->serial;
    shared->local = run->drive.driver->local;
    run->job.simulated = run->drive.driver->simulated;
    return hr_kernels_select_named(o->kernels, hr_machine_bits_are_bf16(o->precision));
}

/* --batch-size and --global-batch-size: two ways to say the same. */
static enum hr_status resolve_batch(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    const size_t workers = run->shared.workers, global = o->global_batch_size;
    run->job.batch_size = global ? (global + workers - 1) / workers : o->batch_size;
    run->job.global_batch = global ? global : o->batch_size * workers;
    if (global && global % workers && !run->shared.strategy->shares_batch)
        return hr_fail(HR_E_USAGE,
                       "--global-batch-size %zu: the %zu workers of %s cannot share it evenly",
                       global, workers, o->strategy);
    return HR_OK;
}

/* --reduce repro (worker/gradient.c): a batch is cut into so many micro-shards at most. */
enum { MOST_SHARDS = 64 };

static bool power_of_two(size_t n)
{
    return n && (n & (n - 1)) == 0;
}

/* A micro-shard is a part, and no part is larger than a minibatch. */
static enum hr_status check_accumulate(const struct hr_train_job *job)
{
    const size_t accumulate = job->options->accumulate, workers = job->shared->workers;
    size_t enough = job->micro_shards;
    char cure[40] = "";
    if (accumulate <= job->parts)
        return HR_OK;
    while (enough < accumulate * workers)
        enough *= 2;
    if (enough <= MOST_SHARDS)
        snprintf(cure, sizeof cure, ", or --reduce repro:%zu", enough);
    return hr_fail(HR_E_USAGE,
                   "--accumulate %zu: each of the %zu workers has %zu micro-shard%s, and none is "
                   "larger than a minibatch: expected at most %zu%s",
                   accumulate, workers, job->parts, job->parts == 1 ? "" : "s", job->parts, cure);
}

/* Check and resolve --reduce. */
static enum hr_status resolve_micro_shards(struct hr_train_job *job)
{
    const struct hr_train_options *o = job->options;
    const size_t workers = job->shared->workers, shards = o->micro_shards;
    if (job->choices.reduce == HR_REDUCE_SUM)
        return HR_OK;
    if (!o->global_batch_size)
        return hr_fail(HR_E_USAGE, "--reduce repro: expected --global-batch-size N with it, the "
                                   "same for any number of workers");
    if (!power_of_two(shards) || shards > MOST_SHARDS)
        return hr_fail(HR_E_USAGE, "--reduce repro:%zu: expected a power of two up to %d", shards,
                       MOST_SHARDS);
    if (!power_of_two(workers) || workers > shards)
        return hr_fail(HR_E_USAGE,
                       "--reduce repro: %zu workers; expected a power of two, at most the %zu "
                       "micro-shards that a batch is cut into",
                       workers, shards);
    job->micro_shards = shards;
    job->parts = shards / workers;
    HR_TRY(check_accumulate(job));
    /* Shards that are a sample larger come first, so worker 0's are the largest share. */
    job->batch_size = hr_split_begin(job->global_batch, shards, shards / workers);
    return HR_OK;
}

/* Under --reduce repro a worker's micro-shards are its parts. */
static enum hr_status resolve_parts(struct hr_train_job *job)
{
    const struct hr_train_options *o = job->options;
    job->parts = o->accumulate;
    HR_TRY(resolve_micro_shards(job));
    job->piece = job->batch_size;
    job->global_batch *= o->accumulate;
    job->most_parts = job->shared->outlives && job->shared->strategy->shares_batch
                          ? job->parts * job->shared->workers
                          : job->parts;
    return HR_OK;
}

static enum hr_status lay_out_schedule(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    struct hr_batch_schedule *schedule = &run->shared.schedule;
    const bool shares = run->shared.strategy->shares_batch;
    schedule->pass = run->job.dataset->train.count;
    schedule->samples = o->epoch_size ? o->epoch_size : schedule->pass;
    schedule->batch = shares ? run->job.global_batch : run->job.batch_size * o->accumulate;
    schedule->batches_per_epoch = (schedule->samples + schedule->batch - 1) / schedule->batch;
    run->length = hr_run_length(o, schedule->samples, schedule->batch);
    schedule->end = run->length.end;
    if (o->max_steps && o->max_steps < schedule->end)
        schedule->end = o->max_steps;
    schedule->checkpoint_every = o->checkpoint_dir[0]
                                     ? hr_batch_schedule_every(schedule, &o->checkpoint_every)
                                     : hr_digest_every(o);
    schedule->levels = run->shared.outlives;
    /* Where something is compressed, a gradient that is given up would take its error with it. */
    schedule->pauses = run->shared.strategy->pause && run->drive.driver->serial && !compresses(run);
    return hr_run_length_check(o, &run->length);
}

/* The first layer that measures its batch, and has one value of a channel in a sample; or NULL. */
static const char *measures_samples(const struct hr_model *model)
{
    for (size_t i = 0; i < hr_model_layer_count(model); i++) {
        const struct hr_layer_info layer = hr_model_layer(model, i);
        size_t values = 1;
        for (size_t d = 0; d < layer.ndim; d++)
            values *= layer.shape[d];
        if (layer.statistics && layer.statistics == 2 * values)
            return layer.path;
    }
    return NULL;
}

/* Of `full` samples each share of a batch is one: what to do? */
static enum hr_status fail_alone(const struct hr_run *run, const char *path, size_t full,
                                 size_t pieces)
{
    const struct hr_train_options *o = run->job.options;
    const bool global = o->global_batch_size > 0;
    char cure[80];
    snprintf(cure, sizeof cure, "--%sbatch-size %zu or more", global ? "global-" : "",
             global ? 2 * pieces : 2 * run->job.parts / o->accumulate);
    if (run->shared.schedule.samples <= pieces)
        snprintf(cure, sizeof cure, "more samples, or fewer workers and micro-batches");
    return hr_fail(
        HR_E_USAGE,
        "batchnorm (layer %s) measures a channel over a share of a batch, and has one value of it "
        "in "
        "a sample: a batch of %zu is cut into %zu share%s, so that all would become 0; expected %s",
        path, full, pieces, pieces == 1 ? "" : "s", cure);
}

/* The largest of so many pieces of n samples has ceil(n / pieces), the smallest floor(). */
enum hr_status hr_batchnorm_check(const struct hr_run *run, char *note, size_t size)
{
    const struct hr_batch_schedule *schedule = &run->shared.schedule;
    const size_t sharing = run->shared.strategy->shares_batch ? run->shared.workers : 1;
    const size_t pieces = sharing * run->job.parts;
    const size_t full = hr_min_size(schedule->batch, schedule->samples);
    const size_t rest = schedule->samples % full, last = rest ? rest : full;
    const bool always = full / pieces == 1;
    const char *path = measures_samples(run->job.model);
    note[0] = '\0';
    if (!path || schedule->end == 0)
        return HR_OK;
    if (full <= pieces)
        return fail_alone(run, path, full, pieces);
    if (always || last <= pieces || last / pieces == 1)
        snprintf(note, size,
                 "batchnorm (layer %s) leaves shares of one sample out of its means and variances: "
                 "%s of %zu in %zu share%s has some",
                 path, always ? "a batch" : "the last batch of an epoch", always ? full : last,
                 pieces, pieces == 1 ? "" : "s");
    return HR_OK;
}

/* Whose gradients a worker may wait for while it communicates. */
static void resolve_stalls(struct hr_run *run)
{
    const struct hr_shared_state *shared = &run->shared;
    const bool bounded = shared->staleness_bound < UINT64_MAX;
    run->job.stall = (struct hr_wait_rules){
        .warn_ns = hr_stall_limit_ns(run->options.stall_warn, run->options.timeout),
        .workers = shared->workers,
        .owners = shared->colocated ? shared->servers : 0,
        .first_stage = run->job.first_stage,
        .stages = run->job.pipeline ? run->job.pipeline->members : 0,
        .waits = shared->strategy->shares_batch              ? HR_WAITS_FOR_STEP
                 : bounded || shared->leaders.options.nranks ? HR_WAITS_FOR_SLOWEST
                                                             : HR_WAITS_FOR_SERVERS,
    };
}

/* How long ranks spin and yield follows from how many threads will be busy. */
static void resolve_waiting(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    const size_t busy = hr_ranks_here(&run->shared, run->job.nranks) + o->ranks_beside +
                        hr_workers_here(&run->shared) * (o->threads_per_worker - 1);
    run->shared.group_options.crowded = busy > hr_cpus_allowed();
    run->shared.group_options.helpers = hr_cpus_cores() - 1;
    run->job.waits.spin_ns = hr_spin_budget_ns(busy);
    run->job.waits.yield_ns = hr_yield_budget_ns(busy);
    run->job.waits.timeout_ns = (int64_t)(o->timeout * (double)HR_NS_PER_SECOND);
}

static enum hr_status set_up_leader(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    struct hr_cuts *cuts = &run->leader.cuts;
    run->leader = (struct hr_leader){
        .cuts = {.curve_room = run->length.begun + 2,
                 .schedule = &run->shared.schedule,
                 .saves = o->checkpoint_dir[0] || hr_digest_every(o),
                 .validates = run->final_test.dataset,
                 .values = run->job.values.count,
                 .text = run->job.dataset->tokens.context},
        .job = &run->job,
    };
    HR_TRY(hr_early_stop_parse(o->early_stop, &cuts->early_stop));
    return hr_keep_best_parse(o->keep_best, &cuts->keep_best);
}

/* What of the state at a cut is copied. */
static void plan_snapshot(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    struct hr_shared_state *shared = &run->shared;
    const struct hr_rows *rows = &shared->strategy->rows;
    const bool saves = o->checkpoint_dir[0] || hr_digest_every(o);
    /* Is it read when ranks go on, or by those who begin, from a checkpoint? Where one process
     * runs all ranks, they do not go on together. */
    const bool copied = saves || o->resume[0] || o->record[0] || run->drive.replay ||
                        shared->outlives || run->drive.driver->serial;
    /* Those that are tied may be in a checkpoint that a cut writes, or that the run begins with. */
    const bool tied = rows->since && ((saves && !shared->schedule.pauses && !shared->outlives) ||
                                      run->resume.checkpoint);
    /* Those that drift differ where all only quiesce, to be saved. */
    const bool drift = rows->due && (o->resume[0] || shared->schedule.checkpoint_every || saves ||
                                     shared->outlives);
    const bool combines = hr_rows_mean(rows) && hr_shared_is_multinode(shared);
    const bool replicas = combines || rows->weights == HR_KEPT_MEAN || drift || tied;
    shared->snapshot = (struct hr_snapshot){
        .live = !copied && hr_rows_stand(rows) && !hr_hosts_are_many(&shared->hosts),
        .copied = copied,
        .state_copies = rows->state == HR_KEPT_OWN ? shared->workers : 1,
        .replica_copies = replicas ? shared->workers : 0,
        .tied = tied,
    };
}

static enum hr_status check_pairs(const struct hr_run *run)
{
    struct hr_pair_run pairs = hr_pair_run_of(&run->options, NULL);
    pairs.machines = run->machines;
    pairs.serial |= run->drive.replay != NULL;
    return hr_pairs_check(&pairs);
}

enum hr_status hr_run_prepare(struct hr_run *run)
{
    const struct hr_train_options *o = &run->options;
    struct hr_shared_state *shared = &run->shared;
    shared->options = o;
    HR_TRY(hr_train_complete(&run->options));
    run->job.choices = hr_choices_of(&run->options);
    shared->overlaps = run->job.choices.overlap == HR_OVERLAP_ON;
    shared->slows = run->job.choices.staleness_lr == HR_STALENESS_LR_INVERSE;
    HR_TRY(hr_train_options_check(o, false));
    HR_TRY(check_pairs(run));
    HR_TRY(check_text(o, run->job.dataset));
    HR_TRY(hr_final_test_prepare(run));
    HR_TRY(hr_target_scale_begin(run->job.dataset, run->resume.checkpoint,
                                 run->job.choices.target_scale == HR_TARGETS_STANDARD,
                                 &run->job.values));
    HR_TRY(parse_names(run));
    HR_TRY(count_ranks(run));
    HR_TRY(hr_multinode_deal(run));
    HR_TRY(aggregate_setup(run));
    HR_TRY(hr_augment_parse(o->augment, run->job.dataset->shape, &run->job.augment));
    HR_TRY(hr_run_model(o, run->job.dataset, &run->job.values, &run->job.model));
    HR_TRY(resolve_batch(run));
    HR_TRY(resolve_parts(&run->job));
    HR_TRY(hr_pipeline_setup(run));
    HR_TRY(lay_out_schedule(run));
    HR_TRY(hr_rate_setup(run));
    HR_TRY(hr_optimizer_setup(run));
    shared->params = hr_model_param_count(run->job.model);
    HR_TRY(hr_strategy_prepare(shared));
    HR_TRY(compress_setup(run));
    if (run->drive.replay)
        HR_TRY(hr_replay_prepare(&run->drive));
    shared->group_options.nranks = shared->workers;
    shared->group_options.hosts = shared->hosts;
    /* Who is left may sum by another algorithm, and find its rings. */
    shared->group_options.blocks |= shared->outlives && run->machines;
    resolve_waiting(run);
    resolve_stalls(run);
    plan_snapshot(run);
    HR_TRY(links_setup(run));
    HR_TRY(hr_conditions_open(&run->job));
    HR_TRY(hr_pipeline_setup_time(&run->job));
    HR_TRY(hr_calibrate_check(&run->job));
    HR_TRY(set_up_leader(run));
    hr_state_describe(run);
    shared->weights = calloc(2 * shared->workers, sizeof *shared->weights);
    if (!shared->weights)
        return hr_fail(HR_E_NOMEM, "no memory for %zu workers", shared->workers);
    shared->grads = shared->weights + shared->workers;
    return HR_OK;
}

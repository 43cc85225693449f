/* Runs that must be one another: small networks on the digits. */
#include "verify/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "hogring/replay.h"
#include "base/isa.h"
#include "base/vec.h"
#include "options/choices.h"
#include "options/train_options.h"
#include "strategies/strategies.h"

/* Put text into a field of options that is an array. */
#define HR_SAY(field, ...) ((void)snprintf(field, sizeof(field), __VA_ARGS__))

/* Dense layers of odd sizes, whole images, statistics of a batch, units that are dropped. */
static const char *const models[] = {
    "flatten, dense 11, relu, dense 10",
    "flatten, dense 33, gelu, dropout 0.2, dense 10",
    "conv 4 3x3 pad 1, relu, maxpool 2, flatten, dense 10",
    "conv 3 3x3, batchnorm, relu, flatten, dense 17, tanh, dense 10",
    NULL,
};
static const char *const optimizers[] = {"sgd", "sgd", "adam", "adagrad", "adamw", NULL};
static const char *const schedules[] = {"constant", "cosine", "linear", NULL};

static void draw_base(struct hr_trial *trial)
{
    struct hr_train_options *base = &trial->base;
    hr_train_defaults(base);
    HR_SAY(base->model, "%s", hr_trial_pick(trial, models));
    HR_SAY(base->optimizer, "%s", hr_trial_pick(trial, optimizers));
    HR_SAY(base->lr_schedule, "%s", hr_trial_pick(trial, schedules));
    base->lr = strcmp(base->optimizer, "sgd") ? 0.003 : 0.05;
    base->seed = 1 + hr_trial_draw(trial, 1 << 30);
    base->batch_size = 3 + hr_trial_draw(trial, 14);
    base->epoch_size = 130 + hr_trial_draw(trial, 90); /* the last batch of an epoch is smaller */
    base->epochs = 2;
    base->backups = 0;
    base->stall_warn = 0;
    base->timeout = 60;
}

/* A run of milliseconds under these: model, optimizer, rate, batch size and seed are drawn, the
 * same for all of a case. */
static struct hr_train_options trial_options(struct hr_trial *trial, const char *strategy,
                                             size_t workers)
{
    if (!trial->base.epochs)
        draw_base(trial);
    struct hr_train_options options = trial->base;
    HR_SAY(options.strategy, "%s", strategy);
    options.workers = workers;
    return options;
}

/* Options in which a run differs from another, as they would be typed. */
static void write_differences(char *text, size_t size, const struct hr_train_options *options,
                              const struct hr_train_options *other)
{
    const struct hr_option *row;
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; (row = hr_train_option_at(i)) && used < size; i++) {
        char value[256];
        if (hr_option_equal(row, options, other))
            continue;
        hr_option_text(row, options, value, sizeof value);
        const char *quote = strchr(value, ' ') ? "'" : "";
        used += (size_t)snprintf(text + used, size - used, "%s%s%s%s", used ? " " : "", quote,
                                 hr_option_said(row, value).text, quote);
    }
}

static bool is_of(const struct hr_strategy *strategy, enum hr_trial_of of)
{
    const struct hr_rows *rows = &strategy->rows;
    switch (of) {
    case HR_TRIAL_IN_STEP:
        return strategy->synchronous;
    case HR_TRIAL_TOGETHER:
        return strategy->shares_batch;
    case HR_TRIAL_ORDERED:
        return !strategy->synchronous;
    default:
        return !rows->more && !rows->since;
    }
}

const char *hr_trial_strategy(enum hr_trial_of of, size_t i)
{
    const struct hr_strategy *strategy;
    for (size_t at = 0; (strategy = hr_strategy_at(at)); at++)
        if (is_of(strategy, of) && i-- == 0)
            return strategy->name;
    return NULL;
}

static const char *trial_pick_strategy(struct hr_trial *trial, enum hr_trial_of of)
{
    size_t n = 0;
    while (hr_trial_strategy(of, n))
        n++;
    return hr_trial_strategy(of, hr_trial_draw(trial, n));
}

static const struct hr_strategy *table_of(const char *strategy)
{
    const struct hr_strategy *table = NULL;
    return hr_strategy_find(strategy, 1, &table) == HR_OK ? table : NULL;
}

/* Has the strategy servers, of which there may be several? */
static bool trial_served(const char *strategy)
{
    const struct hr_strategy *table = table_of(strategy);
    return table && hr_strategy_is_served(table) && !table->one_shard;
}

static bool trial_obeys(const char *strategy, const char *option)
{
    const struct hr_strategy *table = table_of(strategy);
    return table && hr_strategy_obeys(table, option);
}

static enum hr_status trial_same_digest(struct hr_trial *trial,
                                        const struct hr_train_options *options, const char *how,
                                        const char *digest)
{
    char mine[220], theirs[220];
    trial->compared++;
    if (!trial->want[0]) {
        HR_SAY(trial->want, "%s", digest);
        trial->first = *options;
        return HR_OK;
    }
    if (!strcmp(trial->want, digest))
        return HR_OK;
    write_differences(mine, sizeof mine, options, &trial->first);
    write_differences(theirs, sizeof theirs, &trial->first, options);
    return hr_fail(HR_E_FAILED, "%s%s%s gives %.8s, and %s %.8s (%s, %zu workers)", mine,
                   how[0] && mine[0] ? " " : "", how, digest, theirs[0] ? theirs : "before",
                   trial->want, options->strategy, options->workers);
}

/* Train; the digest is that of the first run of this case, or HR_E_FAILED names the options in
 * which the two differ. */
static enum hr_status trial_same(struct hr_trial *trial, const struct hr_train_options *options)
{
    struct hr_run_result result;
    char why[300], mine[160];
    const enum hr_status status = hr_train(options, trial->dataset, NULL, &result);
    if (status != HR_OK) {
        snprintf(why, sizeof why, "%s", hr_error_message());
        write_differences(mine, sizeof mine, options, &trial->base);
        return hr_fail(status, "%s%s%s", mine, mine[0] ? ": " : "", why);
    }
    const enum hr_status same = trial_same_digest(trial, options, "", result.weights_digest);
    hr_run_result_free(&result);
    return same;
}

/* Forget the first run: another begins. */
static void trial_anew(struct hr_trial *trial)
{
    trial->want[0] = 0;
}

/* --- one worker ---
 * With one worker nothing can be stale and nothing is added, so a strategy is serial, unless it
 * keeps more than weights and the state of an optimizer: the same updates of the same batches in
 * the same order, by the one update expression. */

static const char *const placements[] = {"dedicated", "colocated", NULL};

static enum hr_status try_one_worker(struct hr_trial *trial)
{
    const char *strategy;
    for (size_t i = 0; (strategy = hr_trial_strategy(HR_TRIAL_PLAIN, i)); i++) {
        struct hr_train_options options = trial_options(trial, strategy, 1);
        if (trial_served(strategy)) {
            HR_SAY(options.placement, "%s", hr_trial_pick(trial, placements));
            options.servers = hr_choices_of(&options).placement == HR_PLACEMENT_DEDICATED
                                  ? 1 + hr_trial_draw(trial, 3)
                                  : 1;
        }
        HR_TRY(trial_same(trial, &options));
    }
    return HR_OK;
}

const struct hr_check hr_check_one_worker = {
    .name = "one-worker",
    .claim = "1 worker: every strategy same",
    .story =
        "With one worker strategies that keep nothing but weights and the state of an optimizer "
        "end with the same bits, with any servers wherever they are.",
    .what = "runs",
    .run = try_one_worker,
};

/* --- synchronous ---
 * What adds in T(n) gives one sum, whoever adds it: all-reduces, servers, and one worker that
 * accumulates as many minibatches. ssp with staleness 0 is ps-sync; backup-workers without backups
 * wait for all. */

static const char *const in_tree_order[] = {"one-shot", "tree", "master-worker", NULL};

static enum hr_status check_servers(struct hr_trial *trial, size_t workers)
{
    struct hr_train_options options = trial_options(trial, "ps-sync", workers);
    HR_SAY(options.placement, "%s", hr_trial_pick(trial, placements));
    options.servers = 1 + hr_trial_draw(trial, workers);
    HR_TRY(trial_same(trial, &options));
    HR_SAY(options.strategy, "ssp");
    options.staleness = 0;
    return trial_same(trial, &options);
}

static enum hr_status try_synchronous(struct hr_trial *trial)
{
    const size_t workers = 2 + hr_trial_draw(trial, 5);
    struct hr_train_options options = trial_options(trial, "allreduce", workers);
    HR_SAY(options.algorithm, "direct");
    HR_TRY(trial_same(trial, &options));
    HR_SAY(options.algorithm, "%s", hr_trial_pick(trial, in_tree_order));
    HR_TRY(trial_same(trial, &options));
    HR_TRY(check_servers(trial, workers));
    options = trial_options(trial, "backup-workers", workers);
    HR_TRY(trial_same(trial, &options));
    options = trial_options(trial, "allreduce", 1);
    options.accumulate = workers;
    return trial_same(trial, &options);
}

const struct hr_check hr_check_synchronous = {
    .name = "synchronous",
    .claim = "allreduce=ps-sync=accumulated",
    .story = "allreduce (direct, one-shot, tree, master-worker) = ps-sync with any servers = ssp "
             "--staleness 0 = backup-workers:0 = one worker with --accumulate, to the "
             "bit: all add in T(n).",
    .what = "runs",
    .run = try_synchronous,
};

/* --- repro ---
 * --reduce repro cuts a global batch into pieces of one shape and folds them in T: who computes
 * them decides nothing. */

static const char *const tree_algorithms[] = {
    "direct", "tree", "one-shot", "master-worker", "hierarchical", "halving-doubling", NULL};

static struct hr_train_options shards(struct hr_trial *trial, const char *strategy, size_t workers,
                                      size_t batch)
{
    struct hr_train_options options = trial_options(trial, strategy, workers);
    HR_SAY(options.reduce, "repro");
    options.global_batch_size = batch;
    return options;
}

static enum hr_status try_repro(struct hr_trial *trial)
{
    const size_t batch = 20 + hr_trial_draw(trial, 30);
    for (size_t workers = 1; workers <= 8; workers *= 2) {
        struct hr_train_options options = shards(trial, "allreduce", workers, batch);
        if (workers > 1)
            HR_SAY(options.algorithm, "%s", hr_trial_pick(trial, tree_algorithms));
        HR_TRY(trial_same(trial, &options));
    }
    struct hr_train_options options =
        shards(trial, "ps-sync", (size_t)1 << hr_trial_draw(trial, 4), batch);
    options.servers = 1 + hr_trial_draw(trial, 3);
    HR_TRY(trial_same(trial, &options));
    options = shards(trial, "allreduce", (size_t)1 << hr_trial_draw(trial, 4), batch);
    options.threads_per_worker = 2;
    return trial_same(trial, &options);
}

const struct hr_check hr_check_repro = {
    .name = "repro",
    .claim = "--reduce repro: any workers",
    .story = "With --reduce repro and --global-batch-size, 1, 2, 4 and 8 workers, every algorithm "
             "that adds in T(n), ps-sync, and threads inside a worker change no bit.",
    .what = "runs",
    .run = try_repro,
};

/* --- processes ---
 * Ranks are the same code as threads and as processes. Processes come first: who forks them must
 * not have multiplied anything. */

static const char *const launches[] = {"process", "thread", NULL};

static enum hr_status try_processes(struct hr_trial *trial)
{
    const char *strategy = trial_pick_strategy(trial, HR_TRIAL_TOGETHER);
    const size_t workers = 2 + hr_trial_draw(trial, 3);
    struct hr_train_options options = trial_options(trial, strategy, workers);
    if (trial_served(strategy))
        options.servers = 1 + hr_trial_draw(trial, 3);
    if (trial_obeys(strategy, "sync-every"))
        options.sync_every = 1 + hr_trial_draw(trial, 5);
    for (size_t i = 0; launches[i]; i++) {
        HR_SAY(options.launch, "%s", launches[i]);
        HR_TRY(trial_same(trial, &options));
    }
    return trial_same(trial, &options);
}

const struct hr_check hr_check_processes = {
    .name = "processes",
    .claim = "processes = threads = again",
    .story =
        "Strategies whose workers share a batch end with the same bits as forked processes, as "
        "threads, and as threads once more.",
    .what = "runs",
    .run = try_processes,
};

/* --- virtual time ---
 * In virtual time one process runs all ranks, and events have made-up times: of what does not
 * depend on the order of events, the bits are those of threads. */

static const char *const times[] = {"10ms", "lognormal(10ms,0.5)", "exponential(3ms)",
                                    "pareto(5ms,1.5)", NULL};
static const char *const troubles[] = {"", "slow:0x5", "slow:*x3@20%", "stall:1@step=3+2s", NULL};
static const char *const links[] = {"", "1MB/s,1ms", "1GB/s,5us", NULL};

static enum hr_status try_virtual_time(struct hr_trial *trial)
{
    const char *strategy = trial_pick_strategy(trial, HR_TRIAL_IN_STEP);
    struct hr_train_options options = trial_options(trial, strategy, 2 + hr_trial_draw(trial, 6));
    HR_TRY(trial_same(trial, &options));
    HR_SAY(options.clock, "virtual");
    for (size_t i = 0; i < 3; i++) {
        HR_SAY(options.compute_time, "%s", hr_trial_pick(trial, times));
        HR_SAY(options.inject, "%s", hr_trial_pick(trial, troubles));
        HR_SAY(options.link, "%s", hr_trial_pick(trial, links));
        if (trial_served(strategy))
            options.servers = 1 + hr_trial_draw(trial, 3);
        HR_TRY(trial_same(trial, &options));
    }
    return HR_OK;
}

const struct hr_check hr_check_virtual_time = {
    .name = "virtual-time",
    .claim = "virtual time = threads",
    .story =
        "Synchronous strategies end with the same bits in virtual time, whatever gradients take, "
        "whoever is slow or stalls, over whatever links.",
    .what = "runs",
    .run = try_virtual_time,
};

/* --- any order ---
 * One thread runs all ranks in a drawn order of events. A synchronous run is the same in every
 * order; an asynchronous one is a function of it: the same again, and another in another order. */

static const char *const event_algorithms[] = {"direct", "tree", "master-worker", NULL};

static enum hr_status in_any_order(struct hr_trial *trial, size_t workers)
{
    const char *strategy = trial_pick_strategy(trial, HR_TRIAL_IN_STEP);
    struct hr_train_options options = trial_options(trial, strategy, workers);
    if (trial_obeys(strategy, "algorithm"))
        HR_SAY(options.algorithm, "%s", hr_trial_pick(trial, event_algorithms));
    HR_TRY(trial_same(trial, &options));
    for (size_t i = 0; i < 3; i++) {
        HR_SAY(options.schedule, "explore:%zu", hr_trial_draw(trial, 1 << 20));
        HR_TRY(trial_same(trial, &options));
    }
    return HR_OK;
}

static enum hr_status in_the_same_order(struct hr_trial *trial, size_t workers)
{
    const char *strategy = trial_pick_strategy(trial, HR_TRIAL_ORDERED);
    struct hr_train_options options = trial_options(trial, strategy, workers);
    trial_anew(trial);
    HR_SAY(options.schedule, "explore:%zu", hr_trial_draw(trial, 1 << 20));
    HR_TRY(trial_same(trial, &options));
    return trial_same(trial, &options);
}

static enum hr_status try_any_order(struct hr_trial *trial)
{
    const size_t workers = 2 + hr_trial_draw(trial, 4);
    HR_TRY(in_any_order(trial, workers));
    return in_the_same_order(trial, workers);
}

const struct hr_check hr_check_any_order = {
    .name = "any-order",
    .claim = "synchronous in any order",
    .story = "Synchronous strategies end with the same bits in any order of events (--clock "
             "explore); all others again in the same order.",
    .what = "runs",
    .run = try_any_order,
};

/* --- buckets ---
 * Where a gradient is cut, and whether its parts are summed while the rest is computed, changes no
 * bit: of an element, the order of addition is a function of its place in the whole. */

static const char *const bucket_algorithms[] = {
    "direct", "ring", "tree", "halving-doubling", "bidirectional-ring", NULL};
static const char *const transports[] = {"zero-copy", "copy", NULL};

static enum hr_status check_buckets(struct hr_trial *trial, const char *algorithm)
{
    struct hr_train_options options =
        trial_options(trial, "allreduce", 2 + hr_trial_draw(trial, 4));
    trial_anew(trial);
    HR_SAY(options.algorithm, "%s", algorithm);
    HR_SAY(options.model, "flatten, dense 300, relu, dense 31, relu, dense 10"); /* three runs */
    HR_TRY(trial_same(trial, &options));
    HR_SAY(options.overlap, "on");
    HR_SAY(options.bucket_size, "%u", 1u << (6 + hr_trial_draw(trial, 12)));
    HR_SAY(options.transport, "%s", hr_trial_pick(trial, transports));
    return trial_same(trial, &options);
}

static enum hr_status try_buckets(struct hr_trial *trial)
{
    for (size_t i = 0; bucket_algorithms[i]; i++)
        HR_TRY(check_buckets(trial, bucket_algorithms[i]));
    return HR_OK;
}

const struct hr_check hr_check_buckets = {
    .name = "buckets",
    .claim = "buckets of any size: one sum",
    .story = "For every algorithm of all-reduce, also rings: buckets of any size, summed while "
             "backward goes on, in place or through rings, end with the bits of one sum at the "
             "end.",
    .what = "runs",
    .run = try_buckets,
};

/* --- pipelines ---
 * A pipeline beside one worker that accumulates as many micro-batches, which is unsplit. */

static const char *const long_models[] = {
    "flatten, dense 21, relu, dense 18, relu, dense 15, tanh, dense 10",
    "conv 4 3x3 pad 1, relu, maxpool 2, conv 5 3x3, relu, flatten, dense 16, relu, dense 10",
    NULL,
};
static const char *const pipeline_schedules[] = {"gpipe", "1f1b", "zero-bubble", NULL};

/* Stages from micro-batches and the schedule: interleaved deals the micro-batches out evenly. */
static struct hr_train_options staged(struct hr_trial *trial, const char *model, size_t micro)
{
    struct hr_train_options options = trial_options(trial, "allreduce", 1);
    const bool two = micro % 2 == 0 && hr_trial_draw(trial, 3) == 0;
    const char *schedule = two ? "interleaved" : hr_trial_pick(trial, pipeline_schedules);
    HR_SAY(options.model, "%s", model);
    HR_SAY(options.pipeline_schedule, "%s", schedule);
    options.pipeline = two ? 2 : 2 + hr_trial_draw(trial, 2);
    options.chunks = two ? 2 : 1;
    options.micro_batches = micro;
    options.batch_size = 2 * micro;
    options.recompute = hr_trial_draw(trial, 2);
    return options;
}

static enum hr_status try_pipelines(struct hr_trial *trial)
{
    const size_t micro = 2 + hr_trial_draw(trial, 7);
    const char *model = hr_trial_pick(trial, long_models);
    struct hr_train_options options = trial_options(trial, "allreduce", 1);
    HR_SAY(options.model, "%s", model);
    options.batch_size = 2;
    options.accumulate = micro;
    HR_TRY(trial_same(trial, &options));
    for (size_t i = 0; i < 3; i++) {
        options = staged(trial, model, micro);
        if (i == 1)
            HR_SAY(options.clock, "virtual");
        if (i == 2)
            HR_SAY(options.schedule, "explore:%zu", hr_trial_draw(trial, 1 << 20));
        HR_TRY(trial_same(trial, &options));
    }
    return HR_OK;
}

const struct hr_check hr_check_pipelines = {
    .name = "pipelines",
    .claim = "stages = unsplit, accumulated",
    .story = "A network in 2 or 3 stages under gpipe, 1f1b, zero-bubble and interleaved (threads, "
             "virtual time, explored) ends with the bits of one worker that accumulates as many "
             "micro-batches.",
    .what = "runs",
    .run = try_pipelines,
};

/* --- layers cut into shards: who computes them decides nothing --- */

enum { SHARDS = 4 };

static enum hr_status try_tensor(struct hr_trial *trial)
{
    const char *strategy = trial_pick_strategy(trial, HR_TRIAL_IN_STEP);
    struct hr_train_options options = trial_options(trial, strategy, 1 + hr_trial_draw(trial, 2));
    HR_SAY(options.model, "flatten, dense 40, relu, dense 36, batchnorm, relu, dropout 0.3, "
                          "dense 32, gelu, dense 10");
    options.tensor_shards = SHARDS;
    options.max_steps = 10;
    for (options.tensor_parallel = 1; options.tensor_parallel <= SHARDS;
         options.tensor_parallel *= 2)
        HR_TRY(trial_same(trial, &options));
    return HR_OK;
}

const struct hr_check hr_check_tensor = {
    .name = "tensor",
    .claim = "ranks of a layer: 1 = 2 = 4",
    .story =
        "With --tensor-parallel 1:4, a network whose layers 1, 2 or 4 ranks share ends with the "
        "same bits, under any synchronous strategy.",
    .what = "runs",
    .run = try_tensor,
};

/* --- a run that was stopped and goes on from its checkpoint, beside one that never was --- */

/* Stops behind update k, and goes on. */
static enum hr_status stop_and_go_on(struct hr_trial *trial, struct hr_train_options options,
                                     uint64_t k)
{
    struct hr_train_options before = options;
    struct hr_run_result result;
    HR_TRY(hr_trial_folder(trial));
    HR_SAY(before.checkpoint_dir, "%s", trial->folder);
    before.overwrite = true;
    before.max_steps = k;
    HR_TRY(hr_train(&before, trial->dataset, NULL, &result));
    hr_run_result_free(&result);
    HR_SAY(options.resume, "%s", trial->folder);
    return trial_same(trial, &options);
}

static enum hr_status try_resume(struct hr_trial *trial)
{
    struct hr_run_result whole;
    const char *strategy = trial_pick_strategy(trial, HR_TRIAL_IN_STEP);
    struct hr_train_options options = trial_options(trial, strategy, 1 + hr_trial_draw(trial, 4));
    HR_TRY(hr_train(&options, trial->dataset, NULL, &whole));
    const uint64_t updates = whole.updates;
    const enum hr_status status = trial_same_digest(trial, &options, "", whole.weights_digest);
    hr_run_result_free(&whole);
    HR_TRY(status);
    return updates < 2 ? HR_OK
                       : stop_and_go_on(trial, options, 1 + hr_trial_draw(trial, updates - 1));
}

const struct hr_check hr_check_resume = {
    .name = "resume",
    .claim = "resumed = never stopped",
    .story =
        "Synchronous strategies, stopped after a few steps and resumed from the checkpoint, end "
        "with the bits of a run that was not.",
    .what = "runs",
    .run = try_resume,
};

/* --- Asynchronous runs in real time, recorded, beside their replays --- */

static enum hr_status replay(struct hr_trial *trial, const struct hr_train_options *options)
{
    struct hr_replay *replay;
    struct hr_run_result result;
    HR_TRY(hr_replay_open(options->record, &replay));
    enum hr_status status = hr_replay_run(replay, trial->dataset, NULL, &result);
    if (status == HR_OK) {
        status = trial_same_digest(trial, options, "replayed", result.weights_digest);
        hr_run_result_free(&result);
    }
    hr_replay_close(replay);
    return status;
}

static enum hr_status try_replay(struct hr_trial *trial)
{
    const char *strategy = trial_pick_strategy(trial, HR_TRIAL_ORDERED);
    struct hr_train_options options = trial_options(trial, strategy, 2 + hr_trial_draw(trial, 3));
    HR_TRY(hr_trial_folder(trial));
    HR_SAY(options.record, "%.511s/trace", trial->folder);
    if (trial_served(strategy))
        options.servers = 1 + hr_trial_draw(trial, 3);
    HR_TRY(trial_same(trial, &options));
    return replay(trial, &options);
}

const struct hr_check hr_check_replay = {
    .name = "replay",
    .claim = "replayed = recorded",
    .story =
        "Strategies that are not synchronous, recorded in real time, end with the same bits when "
        "they are replayed.",
    .what = "runs",
    .run = try_replay,
};

/* --- rounding ---
 * What is equal to rounding: a ring adds in another order than a tree, and a batch cut over workers
 * in another order than the whole. Weights after a few steps differ, and by little. */

/* Of the largest weight. A step multiplies what rounding did by little; a sum that lost a part is
 * wrong by far more. */
static const double TOLERANCE = 1e-4;

static const char *const rings[] = {"ring", "bidirectional-ring", "double-tree", NULL};

struct weights {
    struct hr_checkpoint checkpoint;
    struct hr_train_options options;
};

static enum hr_status train(struct hr_trial *trial, struct hr_train_options options,
                            struct weights *out)
{
    struct hr_run_result result;
    HR_TRY(hr_trial_folder(trial));
    HR_SAY(options.checkpoint_dir, "%s", trial->folder);
    options.overwrite = true;
    HR_TRY(hr_train(&options, trial->dataset, NULL, &result));
    hr_run_result_free(&result);
    out->options = options;
    return hr_checkpoint_load(trial->folder, &out->checkpoint);
}

/* Largest weight, and largest difference. */
static void compare(const struct weights *a, const struct weights *b, double *largest,
                    double *difference)
{
    *largest = *difference = 0;
    for (size_t t = 0; t < a->checkpoint.model.ntensors; t++) {
        const struct hr_tensor *x = &a->checkpoint.model.tensors[t],
                               *y = &b->checkpoint.model.tensors[t];
        const float *u = x->data, *v = y->data;
        for (size_t i = 0; i < x->bytes / sizeof *u; i++) {
            *largest = fmax(*largest, fabs((double)u[i]));
            *difference = fmax(*difference, fabs((double)u[i] - (double)v[i]));
            if (isnan(u[i]) || isnan(v[i]))
                *difference = INFINITY;
        }
    }
}

static enum hr_status near(struct hr_trial *trial, struct hr_train_options a,
                           struct hr_train_options b)
{
    struct weights x = {0}, y = {0};
    double largest, difference;
    enum hr_status status = train(trial, a, &x);
    if (status == HR_OK)
        status = train(trial, b, &y);
    if (status == HR_OK) {
        compare(&x, &y, &largest, &difference);
        trial->compared += 2;
        trial->worst = fmax(trial->worst, difference / largest);
        if (!(difference <= TOLERANCE * largest))
            status =
                hr_fail(HR_E_FAILED,
                        "%zu workers, %s, batch %zu, and %zu workers, %s, batch %zu, differ by "
                        "%.2g of the largest weight; %.0e is rounding (seed %llu)",
                        a.workers, a.algorithm, a.batch_size, b.workers, b.algorithm, b.batch_size,
                        difference / largest, TOLERANCE, (unsigned long long)a.seed);
    }
    hr_checkpoint_free(&x.checkpoint);
    hr_checkpoint_free(&y.checkpoint);
    return status;
}

static enum hr_status try_rounding(struct hr_trial *trial)
{
    const size_t workers = 3 + hr_trial_draw(trial, 5);
    struct hr_train_options tree = trial_options(trial, "allreduce", workers);
    HR_SAY(tree.optimizer, "sgd");
    HR_SAY(tree.model, "flatten, dense 300, tanh, dense 31, tanh, dense 10"); /* several chunks */
    tree.lr = 0.02;
    tree.max_steps = 8;
    struct hr_train_options other = tree;
    HR_SAY(other.algorithm, "%s", hr_trial_pick(trial, rings));
    HR_TRY(near(trial, tree, other));
    other = tree;
    other.workers = 1;
    other.batch_size = workers * tree.batch_size;
    return near(trial, tree, other);
}

const struct hr_check hr_check_rounding = {
    .name = "rounding",
    .claim = "ring ~ tree, N workers ~ N B",
    .story = "Rings and double-tree beside direct, and N workers beside one whose batch is N times "
             "as large: after 8 steps weights differ by at most 1e-4 of the largest.",
    .what = "runs",
    .run = try_rounding,
};

/* --- instructions ---
 * One source, several instruction sets: vector kernels of all give the same bits; so do whole runs
 * of the reference kernels and of bfloat16 values, and of the fast ones where both have fused
 * multiply-adds. Levels are lowered one by one: v4, v3, plain, as far as the processor has them. */

enum { MOST_FLOATS = 700, INPUTS = 9 };

static const char *const kernels[] = {"reference", "fast", NULL};

static float value_of(uint32_t i)
{
    i = (i ^ i >> 16) * 0x7feb352du;
    i = (i ^ i >> 15) * 0x846ca68bu;
    return (float)(int32_t)(i ^ i >> 16) * 0x1p-20f;
}

struct outcome {
    float sum[MOST_FLOATS], added[MOST_FLOATS], scaled[MOST_FLOATS], stepped[MOST_FLOATS];
};

static void compute(size_t count, size_t n, uint32_t salt, struct outcome *out)
{
    static float x[INPUTS][MOST_FLOATS];
    const float *in[INPUTS];
    float *to = out->sum;
    for (size_t r = 0; r < n; r++)
        in[r] = x[r];
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < count; i++)
            x[r][i] = value_of(salt + (uint32_t)(r * MOST_FLOATS + i));
    memset(out, 0, sizeof *out);
    memcpy(out->added, x[0], count * sizeof(float));
    memcpy(out->scaled, x[0], count * sizeof(float));
    memcpy(out->stepped, x[0], count * sizeof(float));
    hr_vec()->tree_sum(&to, 1, in, n, count);
    hr_vec()->add(out->added, x[n - 1], count);
    hr_vec()->scale(out->scaled, 0.7f, count);
    hr_vec()->axpy(out->stepped, 0.3f, x[n - 1], count);
}

static enum hr_status check_level(struct hr_trial *trial, enum hr_isa level,
                                  const struct outcome *want, size_t count, size_t n, uint32_t salt)
{
    struct outcome got;
    compute(count, n, salt, &got);
    trial->compared++;
    if (!memcmp(&got, want, sizeof got))
        return HR_OK;
    return hr_fail(HR_E_FAILED, "vector kernels of %zu inputs of %zu floats: %s gives other bits",
                   n, count, hr_isa_level_name(level));
}

static enum hr_status check_levels(struct hr_trial *trial, enum hr_isa best)
{
    for (size_t k = 0; kernels[k]; k++) {
        struct hr_train_options options = trial_options(trial, "allreduce", 2);
        const enum hr_isa least = k ? HR_ISA_V3 : HR_ISA_PLAIN;
        HR_SAY(options.kernels, "%s", kernels[k]);
        trial_anew(trial);
        for (int level = (int)best; level >= (int)least; level--) {
            hr_isa_lower((enum hr_isa)level);
            HR_TRY(trial_same(trial, &options));
        }
        hr_isa_restore();
    }
    return HR_OK;
}

/* First with all that there is; each lowering is without AVX512_BF16 and AMX. The plain level's
 * fast kernels would load OpenBLAS, and its reference sums pairs alone. */
static enum hr_status check_bf16(struct hr_trial *trial, enum hr_isa best, bool as_amx)
{
    const enum hr_isa least = as_amx ? HR_ISA_V3 : HR_ISA_PLAIN;
    struct hr_train_options options = trial_options(trial, "allreduce", 2);
    HR_SAY(options.precision, "bf16");
    trial_anew(trial);
    hr_isa_sum_as_amx(as_amx);
    HR_TRY(trial_same(trial, &options));
    for (int level = (int)best; level >= (int)least; level--) {
        hr_isa_lower((enum hr_isa)level);
        if (level == HR_ISA_PLAIN)
            HR_SAY(options.kernels, "reference");
        HR_TRY(trial_same(trial, &options));
    }
    hr_isa_restore();
    return HR_OK;
}

static enum hr_status try_instructions(struct hr_trial *trial)
{
    const enum hr_isa best = hr_isa();
    const size_t count = hr_trial_draw(trial, MOST_FLOATS + 1),
                 n = 1 + hr_trial_draw(trial, INPUTS);
    const uint32_t salt = (uint32_t)hr_trial_draw(trial, 1 << 30);
    struct outcome want;
    if (best == HR_ISA_PLAIN)
        return hr_fail(HR_E_IO, "this processor, or HOGRING_ISA, has the plain ones alone");
    HR_TRY(check_bf16(trial, best, true));
    HR_TRY(check_bf16(trial, best, false));
    compute(count, n, salt, &want);
    for (int level = (int)best - 1; level >= HR_ISA_PLAIN; level--) {
        hr_isa_lower((enum hr_isa)level);
        HR_TRY(check_level(trial, (enum hr_isa)level, &want, count, n, salt));
    }
    hr_isa_restore();
    return check_levels(trial, best);
}

const struct hr_check hr_check_instructions = {
    .name = "instructions",
    .claim = "plain = v3 = v4",
    .story = "Each instruction set that this processor has, forced: vector kernels and whole runs "
             "of --kernels reference and of --precision bf16, in either order of its sums, have "
             "the same "
             "bits under all, with and without AVX512_BF16 and AMX; whole runs of the fast kernels "
             "under "
             "v3 and v4.",
    .what = "pieces",
    .run = try_instructions,
};

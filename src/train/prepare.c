/* From options to a run: what they mean is settled, checked and set up; no memory is taken that
 * ranks share. */
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "kernels/gemm.h"
#include "train/model_file.h"
#include "train/prefetch.h"
#include "train/recipe.h"
#include "train/replay.h"

enum hr_status hr_check_range(const char *flag, double value, double least, double most)
{
    if (value >= least && value <= most)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--%s %.15g: expected %.15g to %.15g", flag, value, least, most);
}

static enum hr_status check_numbers(const struct hr_train_options *o)
{
    HR_TRY(hr_check_range("batch-size", (double)o->batch_size, 1, 1 << 20));
    HR_TRY(hr_check_range("global-batch-size", (double)o->global_batch_size, 0, 1 << 24));
    HR_TRY(hr_check_range("threads-per-worker", (double)o->threads_per_worker, 1, 256));
    HR_TRY(hr_check_range("epochs", (double)o->epochs, 1, 1 << 20));
    HR_TRY(hr_check_range("epoch-size", (double)o->epoch_size, 0, 0x1p40));
    HR_TRY(hr_check_range("prefetch", (double)o->prefetch, 0, HR_PREFETCH_MAX));
    HR_TRY(hr_check_range("sync-every", (double)o->sync_every, 1, 1 << 20));
    HR_TRY(hr_check_range("moving-rate", o->moving_rate, 0, 1));
    HR_TRY(hr_check_range("delay-compensation", o->delay_compensation, 0, 1e6));
    HR_TRY(hr_check_range("timeout", o->timeout, 0, 1e6));
    HR_TRY(hr_check_range("max-seconds", o->max_seconds, 0, 1e9));
    HR_TRY(hr_check_range("target-accuracy", o->target_accuracy, 0, 1));
    return HR_OK;
}

static enum hr_status count_ranks(struct hr_run *run)
{
    const struct hr_train_options *o = run->options;
    struct hr_shared_state *shared = &run->shared;
    shared->workers = o->workers;
    shared->servers = shared->strategy->served ? o->servers : 0;
    shared->colocated = shared->servers && !strcmp(o->placement, "colocated");
    run->nranks = shared->workers + (shared->colocated ? 0 : shared->servers);
    const bool local = run->schedule == HR_SCHEDULE_VIRTUAL || run->replay;
    const size_t most = local ? HR_LOCAL_GROUP_RANKS : HR_MAX_RANKS;
    if (shared->workers < 1 || shared->workers > most)
        return hr_fail(HR_E_USAGE, "--workers %zu: expected 1 to %zu", shared->workers, most);
    if (!shared->colocated && strcmp(o->placement, "dedicated") != 0 && shared->servers)
        return hr_fail(HR_E_USAGE, "--placement %s: expected dedicated or colocated", o->placement);
    if (shared->colocated && o->servers > shared->workers)
        return hr_fail(HR_E_USAGE,
                       "--servers %zu: colocated in %zu worker%s, there are at most as many",
                       o->servers, shared->workers, shared->workers == 1 ? "" : "s");
    if (o->servers > most || run->nranks > most)
        return hr_fail(HR_E_USAGE, "--workers %zu and --servers %zu: at most %zu ranks in all",
                       shared->workers, o->servers, most);
    return HR_OK;
}

static enum hr_status parse_schedule(struct hr_run *run, const char *text)
{
    static const char prefix[] = "explore:";
    char *end = NULL;
    if (run->replay)
        run->schedule = HR_SCHEDULE_REPLAY;
    if (run->replay || !strcmp(text, "free"))
        return HR_OK;
    const bool explore = !strncmp(text, prefix, sizeof prefix - 1);
    run->schedule = explore ? HR_SCHEDULE_EXPLORE : HR_SCHEDULE_FREE;
    run->explore_seed = explore ? strtoull(text + sizeof prefix - 1, &end, 10) : 0;
    if (explore && end != text + sizeof prefix - 1 && !*end)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--schedule %s: expected free or explore:SEED", text);
}

static enum hr_status parse_clock(struct hr_run *run, const char *text)
{
    if (!strcmp(text, "real"))
        return HR_OK;
    if (strcmp(text, "virtual") != 0)
        return hr_fail(HR_E_USAGE, "--clock %s: expected real or virtual", text);
    if (run->schedule != HR_SCHEDULE_FREE)
        return hr_fail(HR_E_USAGE, "--clock virtual: the clock is the schedule; expected it "
                                   "without --schedule explore");
    run->schedule = HR_SCHEDULE_VIRTUAL;
    return HR_OK;
}

static enum hr_status parse_names(struct hr_run *run)
{
    const struct hr_train_options *o = run->options;
    struct hr_shared_state *shared = &run->shared;
    run->strategy_name = o->strategy;
    HR_TRY(hr_strategy_find(o->strategy, o->staleness, &shared->strategy));
    if (o->record[0] || run->replay)
        shared->strategy = hr_strategy_recorded(shared->strategy);
    HR_TRY(hr_algorithm_find(o->algorithm, &shared->group_options.algorithm));
    if (shared->group_options.algorithm == &hr_allreduce_auto) /* gradients are never small */
        shared->group_options.algorithm = &hr_allreduce_direct;
    HR_TRY(hr_launch_parse(o->launch, &run->launch));
    HR_TRY(parse_schedule(run, o->schedule));
    HR_TRY(parse_clock(run, o->clock));
    if (strcmp(o->async_lr, "same") != 0 && strcmp(o->async_lr, "divide") != 0)
        return hr_fail(HR_E_USAGE, "--async-lr %s: expected same or divide", o->async_lr);
    return hr_kernels_select_named(o->kernels);
}

/* --batch-size and --global-batch-size: two ways to say the same. */
static enum hr_status settle_batch(struct hr_run *run)
{
    const struct hr_train_options *o = run->options;
    const size_t workers = run->shared.workers, global = o->global_batch_size;
    run->batch_size = global ? (global + workers - 1) / workers : o->batch_size;
    run->global_batch = global ? global : o->batch_size * workers;
    if (global && global % workers && !run->shared.strategy->shares_batch)
        return hr_fail(HR_E_USAGE,
                       "--global-batch-size %zu: the %zu workers of %s cannot share it evenly",
                       global, workers, o->strategy);
    return HR_OK;
}

static void plot_course(struct hr_run *run)
{
    const struct hr_train_options *o = run->options;
    struct hr_batch_schedule *course = &run->shared.course;
    const bool shares = run->shared.strategy->shares_batch;
    course->pass = run->dataset->train.count;
    course->samples = o->epoch_size ? o->epoch_size : course->pass;
    course->batch = shares ? run->global_batch : run->batch_size;
    course->batches_per_epoch = (course->samples + course->batch - 1) / course->batch;
    course->end = o->epochs * course->batches_per_epoch;
    if (o->max_steps && o->max_steps < course->end)
        course->end = o->max_steps;
    course->checkpoint_every = o->checkpoint_dir[0] ? o->checkpoint_every : 0;
}

/* How long ranks spin and yield follows from how many threads will be busy. */
static void settle_waiting(struct hr_run *run)
{
    const struct hr_train_options *o = run->options;
    const size_t busy =
        run->nranks + o->ranks_beside + run->shared.workers * (o->threads_per_worker - 1);
    run->shared.group_options.crowded = busy > hr_cpus_allowed();
    run->shared.group_options.helpers = hr_cpus_allowed() - 1;
    run->spin_ns = hr_spin_budget_ns(busy);
    run->yield_ns = hr_yield_budget_ns(busy);
    run->timeout_ns = (int64_t)(o->timeout * (double)HR_NS_PER_SECOND);
}

static void set_up_leader(struct hr_run *run)
{
    const size_t tests = run->dataset->test.count;
    run->leader = (struct hr_leader){
        .cuts = {.curve_room = run->options->epochs + 2,
                 .schedule = &run->shared.course,
                 .saves = run->options->checkpoint_dir[0]},
        .shared = &run->shared,
        .neval = (tests + HR_EVAL_BLOCK - 1) / HR_EVAL_BLOCK,
        .tests = tests,
    };
}

enum hr_status hr_run_prepare(struct hr_run *run)
{
    const struct hr_train_options *o = &run->settled;
    struct hr_shared_state *shared = &run->shared;
    shared->options = o;
    HR_TRY(hr_train_complete(&run->settled));
    HR_TRY(check_numbers(o));
    HR_TRY(parse_names(run));
    HR_TRY(count_ranks(run));
    HR_TRY(hr_augment_parse(o->augment, run->dataset->shape, &run->augment));
    HR_TRY(hr_run_model(o, run->dataset, &run->model));
    HR_TRY(settle_batch(run));
    HR_TRY(hr_repro_prepare(run));
    plot_course(run);
    HR_TRY(hr_recipe_rate(run));
    HR_TRY(hr_recipe_optimizer(run));
    shared->params = hr_model_param_count(run->model);
    HR_TRY(hr_strategy_prepare(shared));
    if (run->replay)
        HR_TRY(hr_replay_prepare(run));
    shared->group_options.nranks = shared->workers;
    settle_waiting(run);
    shared->snapshot.state_copies = shared->strategy->private_state ? shared->workers : 1;
    HR_TRY(hr_wiring_prepare(run));
    HR_TRY(hr_conditions_open(run));
    HR_TRY(hr_calibrate_check(run));
    set_up_leader(run);
    shared->weights = calloc(2 * shared->workers, sizeof *shared->weights);
    if (!shared->weights)
        return hr_fail(HR_E_NOMEM, "no memory for %zu workers", shared->workers);
    shared->grads = shared->weights + shared->workers;
    return HR_OK;
}

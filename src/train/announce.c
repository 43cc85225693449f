/* What a run is about to do, told to whoever observes it. */
#include "base/cpus.h"
#include "nn/gemm.h"
#include "train/recipe.h"
#include "train/run.h"

static const char *played_as(const struct hr_run *run)
{
    return run->schedule == HR_SCHEDULE_VIRTUAL ? "in virtual time" : "one thread plays all ranks";
}

void hr_announce(const struct hr_run *run)
{
    const struct hr_train_options *o = run->options;
    const struct hr_world *world = &run->world;
    const struct hr_course *course = &world->course;
    const bool all_reduces = !world->strategy->served && world->strategy->synchronous;
    char optimizer[160], rate[160], manner[96];
    hr_recipe_optimizer_text(run, optimizer, sizeof optimizer);
    hr_recipe_rate_text(run, rate, sizeof rate);
    hr_manner_text(run, manner, sizeof manner);
    const struct hr_run_info info = {
        .strategy = run->strategy_name,
        .algorithm = all_reduces ? world->group_options.algorithm->name : NULL,
        .order = all_reduces ? world->group_options.algorithm->order : NULL,
        .launch = hr_run_is_played(run) ? played_as(run) : hr_launch_name(run->launch),
        .guarantee = world->strategy->guarantee,
        .model = hr_model_text(run->model),
        .kernels = hr_kernels_name(),
        .optimizer = optimizer,
        .lr_course = rate,
        .manner = manner,
        .workers = world->workers,
        .servers = world->servers,
        .processors = hr_cpus_allowed(),
        .batch_size = run->batch_size,
        .global_batch = run->global_batch,
        .threads_per_worker = o->threads_per_worker,
        .micro_shards = run->micro_shards,
        .params = world->params,
        .lr = (double)hr_course_lr(course, course->first),
        .epochs = o->epochs,
        .steps = course->end,
        .first = course->first,
        .seed = o->seed,
        .staleness = o->staleness,
        .synchronous = world->strategy->synchronous,
        .shares_batch = world->strategy->shares_batch,
        .averages = world->strategy->averages,
        .served = world->strategy->served,
        .bounded = world->strategy->bounded,
        .simulated = run->schedule == HR_SCHEDULE_VIRTUAL,
    };
    if (run->observer->started)
        run->observer->started(run->observer->arg, &info);
}

/* From options to a run's constants. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "options/choices.h"
#include "options/pairs.h"
#include "options/train_options.h"
#include "sparse/run.h"
#include "strategies/strategies.h"

/* The rate is constant in an epoch: a shorter warm-up would not rise in steps. */
static enum hr_status check_warmup(const struct hr_train_options *o)
{
    if (o->warmup_epochs == 0 || o->warmup_epochs >= 2)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--warmup-epochs %g: --model %s keeps its rate for a whole epoch, and cannot "
                   "raise it within so few; expected 0, or 2 and more",
                   o->warmup_epochs, o->model);
}

static enum hr_status choose_strategy(struct hr_sparse_run *run)
{
    const struct hr_train_options *o = &run->options;
    const struct hr_strategy *strategy;
    run->locked = !strcmp(o->strategy, "locked");
    if (run->locked || (hr_strategy_find(o->strategy, o->staleness, &strategy) == HR_OK &&
                        hr_strategy_shares_weights(strategy)))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--strategy %s: --model %s is trained by hogwild or locked",
                   o->strategy, o->model);
}

static enum hr_status choose_solver(struct hr_sparse_run *run)
{
    struct hr_train_options *o = &run->options;
    const bool mf = hr_sparse_model_of(o->model) == HR_SPARSE_MF;
    if (o->update_rule)
        return hr_fail(HR_E_USAGE, "an update rule: --model %s has its own", o->model);
    if (hr_choices_of(o).solver == HR_SOLVER_AUTO)
        snprintf(o->solver, sizeof o->solver, "%s", mf ? "sgd" : "dual");
    run->dual = hr_choices_of(o).solver == HR_SOLVER_DUAL;
    run->steps = mf ? hr_sparse_factorise : run->dual ? hr_sparse_dual : hr_sparse_sgd;
    if (run->steps == hr_sparse_sgd && o->workers > 1 && !run->locked)
        run->hot_copies = o->hot_copies;
    return HR_OK;
}

/* Rows to measure on at cuts. */
static enum hr_status hold_out(struct hr_sparse_run *run)
{
    const struct hr_train_options *o = &run->options;
    if (!hr_held_out_asked(run->dataset, o->validation_fraction))
        return HR_OK;
    run->whole = run->dataset;
    run->dataset = &run->held_out.dataset;
    return hr_held_out_open(run->whole, o->validation_fraction, o->seed, &run->held_out);
}

/* Behind plan_epochs. */
static enum hr_status look_for_best(struct hr_sparse_run *run)
{
    const struct hr_train_options *o = &run->options;
    struct hr_cuts *cuts = &run->cuts;
    cuts->validates = run->whole;
    cuts->values = hr_sparse_is_of_values(hr_sparse_model_of(o->model));
    HR_TRY(hr_early_stop_parse(o->early_stop, &cuts->early_stop));
    HR_TRY(hr_keep_best_parse(o->keep_best, &cuts->keep_best));
    HR_TRY(hr_early_stop_fits(&cuts->early_stop, "early-stop", cuts->values));
    return hr_early_stop_fits(&cuts->keep_best, "keep-best", cuts->values);
}

static enum hr_status settle_rate(struct hr_sparse_run *run)
{
    const struct hr_train_options *o = &run->options;
    const double usual = hr_sparse_usual_rate(o->model);
    run->schedule.lr = (struct hr_lr_schedule){.peak = o->lr < 0 ? usual : o->lr,
                                               .epochs = run->length.epochs,
                                               .warmup_epochs = o->warmup_epochs,
                                               .step_epochs = o->lr_step_epochs,
                                               .gamma = o->lr_gamma};
    return hr_lr_kind_parse(o->lr_schedule, &run->schedule.lr.kind);
}

static void plan_epochs(struct hr_sparse_run *run)
{
    const struct hr_train_options *o = &run->options;
    struct hr_batch_schedule *schedule = &run->schedule;
    const uint64_t rows = run->dataset->train.count;
    struct hr_every every = o->checkpoint_every;
    if (every.steps) /* whole epochs */
        every = (struct hr_every){.epochs = (every.steps - 1) / rows + 1};
    schedule->samples = schedule->pass = schedule->batches_per_epoch = rows;
    schedule->batch = 1;
    run->length = hr_run_length(o, rows, 1);
    run->length.epochs = run->length.epochs > 0 ? (double)run->length.begun : 0; /* whole ones */
    schedule->end = run->length.begun * rows;
    schedule->checkpoint_every = hr_batch_schedule_every(schedule, &every);
    run->cuts = (struct hr_cuts){
        .schedule = schedule, .saves = o->checkpoint_dir[0], .curve_room = run->length.begun + 1};
}

static void settle_waiting(struct hr_sparse_run *run)
{
    const struct hr_train_options *o = &run->options;
    const size_t busy = o->workers + o->ranks_beside;
    run->spin_ns = hr_spin_budget_ns(busy);
    run->yield_ns = hr_yield_budget_ns(busy);
    run->timeout_ns = (int64_t)(o->timeout * (double)HR_NS_PER_SECOND);
    run->group_options = (struct hr_group_options){.nranks = o->workers,
                                                   .algorithm = &hr_allreduce_direct,
                                                   .crowded = busy > hr_cpus_allowed(),
                                                   .helpers = hr_cpus_allowed() - 1};
}

enum hr_status hr_sparse_settle(struct hr_sparse_run *run)
{
    const struct hr_train_options *o = &run->options;
    if (!hr_sparse_is_model(o->model))
        return hr_fail(HR_E_USAGE, "--model %.40s: expected logistic, svm, linear or mf", o->model);
    HR_TRY(hr_train_options_check(o, true));
    HR_TRY(check_warmup(o));
    HR_TRY(hr_pairs_check_of(o, NULL));
    if (o->factors % 2)
        return hr_fail(HR_E_USAGE, "--factors %zu: expected an even number", o->factors);
    HR_TRY(choose_strategy(run));
    HR_TRY(choose_solver(run));
    HR_TRY(hr_launch_parse(o->launch, &run->launch));
    HR_TRY(hr_sparse_problem_check(o->model, run->dataset));
    HR_TRY(hold_out(run));
    plan_epochs(run);
    HR_TRY(hr_run_length_check(o, &run->length));
    HR_TRY(settle_rate(run));
    HR_TRY(look_for_best(run));
    settle_waiting(run);
    return HR_OK;
}

/* hr_sparse_train: from options to a run, and from a run to its result. */
#include "sparse/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "data/look.h"
#include "launch/runs.h"
#include "options/choices.h"
#include "options/pairs.h"
#include "options/train_options.h"
#include "session/carve.h"
#include "session/result.h"
#include "session/save.h"
#include "session/saved.h"
#include "sparse/engine.h"
#include "sparse/state.h"
#include "strategies/strategies.h"

/* From options to a run's constants. */
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
    HR_TRY(hr_early_stop_fits_sparse(&cuts->early_stop, "early-stop", cuts->values));
    return hr_early_stop_fits_sparse(&cuts->keep_best, "keep best", cuts->values);
}

static enum hr_status resolve_rate(struct hr_sparse_run *run)
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

static void resolve_waiting(struct hr_sparse_run *run)
{
    const struct hr_train_options *o = &run->options;
    const size_t busy = o->workers + o->ranks_beside;
    run->waits.spin_ns = hr_spin_budget_ns(busy);
    run->waits.yield_ns = hr_yield_budget_ns(busy);
    run->waits.timeout_ns = (int64_t)(o->timeout * (double)HR_NS_PER_SECOND);
    run->group_options = (struct hr_group_options){.nranks = o->workers,
                                                   .algorithm = &hr_allreduce_direct,
                                                   .crowded = busy > hr_cpus_allowed(),
                                                   .helpers = hr_cpus_cores() - 1};
}

/* The constants of a run whose options and data set are there. hr_held_out_close
 * afterwards, even on error. HR_E_USAGE, HR_E_NOMEM. */
static enum hr_status sparse_resolve(struct hr_sparse_run *run)
{
    const struct hr_train_options *o = &run->options;
    if (!hr_sparse_is_model(o->model))
        return hr_fail(HR_E_USAGE, "--model %.40s: expected logistic, svm, linear or mf", o->model);
    HR_TRY(hr_train_options_check(o, true));
    HR_TRY(check_warmup(o));
    HR_TRY(hr_pairs_check_of(o, NULL));
    if (o->factors % 2)
        return hr_fail(HR_E_USAGE, "--model mf:%zu: expected an even number", o->factors);
    HR_TRY(choose_strategy(run));
    HR_TRY(choose_solver(run));
    HR_TRY(hr_launch_parse(o->launch, &run->launch));
    HR_TRY(hr_sparse_problem_check(o->model, run->dataset));
    HR_TRY(hold_out(run));
    plan_epochs(run);
    HR_TRY(hr_run_length_check(o, &run->length));
    HR_TRY(resolve_rate(run));
    HR_TRY(look_for_best(run));
    resolve_waiting(run);
    return HR_OK;
}

/* The memory that a run on sparse data will take, before it is allocated. */
static size_t pairs_of(const struct hr_split *split)
{
    size_t sum = 0;
    if (!split->chosen)
        return split->rows ? split->rows[split->count] : 0;
    for (size_t i = 0; i < split->count; i++)
        sum += split->rows[split->chosen[i] + 1] - split->rows[split->chosen[i]];
    return sum;
}

/* (features, users) of tables in problem.c, and the largest of the temporary ones, which exist one
 * at a time: to sort rows, to count conflicts, to copy the weights at the end. */
static void add_tables(const struct hr_sparse_run *run, size_t features, size_t users,
                       size_t params, struct hr_needs *needs)
{
    const struct hr_dataset *d = run->dataset;
    const size_t pairs = pairs_of(&d->train), all = pairs + pairs_of(&d->test);
    const size_t table = 2 * sizeof(uint32_t) + (users ? 0 : sizeof(uint32_t));
    const size_t sorting = features * sizeof(uint64_t) + pairs * (sizeof(uint32_t) + sizeof(float));
    const size_t copies = params * 2 * sizeof(float);
    hr_needs_add(needs, "rows", all, sizeof(struct hr_sparse_pair));
    hr_needs_add(needs, "rows", d->train.count + d->test.count + 2, sizeof(uint64_t));
    hr_needs_add(needs, "feature tables", users + features, table);
    hr_needs_add(needs, "sorting and copying", 1, sorting > copies ? sorting : copies);
}

/* What hr_held_out_gather copies. */
static void add_parts(const struct hr_dataset *d, struct hr_needs *needs)
{
    hr_needs_add(needs, "held out", pairs_of(&d->train) + pairs_of(&d->test),
                 sizeof(uint32_t) + sizeof(float));
    hr_needs_add(needs, "held out", d->train.count + d->test.count + 2,
                 sizeof(uint64_t) + sizeof(uint32_t));
}

/* The memory of a resolved run, with the checkpoint that it resumes (or NULL); and
 * HR_E_NOMEM when that is more than there is. */
static enum hr_status sparse_sum_up(const struct hr_sparse_run *run,
                                    const struct hr_checkpoint *checkpoint, struct hr_needs *needs)
{
    const struct hr_dataset *d = run->dataset;
    const struct hr_train_options *o = &run->options;
    const bool mf = run->steps == hr_sparse_factorise;
    const size_t features = hr_shape_elems(d->shape), users = mf ? d->classes : 0;
    const size_t params = mf ? (users + features) * o->factors : features;
    size_t group_bytes;
    HR_TRY(hr_group_bytes(&run->group_options, &group_bytes));
    hr_needs_add_taken(needs, "data", hr_dataset_bytes(d));
    if (checkpoint)
        hr_needs_add_taken(needs, "checkpoint", hr_saved_bytes(checkpoint));
    else if (o->init_weights[0])
        hr_needs_add(needs, "initial weights", params, sizeof(float));
    add_tables(run, features, users, params, needs);
    hr_needs_add(needs, "weights", params, sizeof(float));
    hr_needs_add(needs, "targets", d->targets.rows, sizeof *run->scale.values);
    if (run->held_out.chosen)
        add_parts(d, needs);
    if (run->cuts.early_stop.asked)
        hr_needs_add(needs, "best weights", 2 * params, sizeof(float));
    if (run->dual)
        hr_needs_add(needs, "dual variables", d->train.count,
                     sizeof *run->alphas + sizeof *run->norms);
    if (run->cuts.saves)
        hr_needs_add(needs, "copies to save", 2, params * sizeof(float));
    if (run->cuts.saves && run->dual)
        hr_needs_add(needs, "copies to save", d->train.count, sizeof *run->alphas);
    hr_needs_add(needs, "counters and curve", run->cuts.curve_room, sizeof *run->cuts.curve);
    if (run->launcher.observer && run->launcher.observer->stepped)
        hr_needs_add(needs, "records of steps", 1, hr_feed_bytes(o->workers, HR_FEED_SLOTS));
    hr_needs_add(needs, "rings", 1, group_bytes);
    return HR_OK;
}

static enum hr_status sparse_fits(struct hr_sparse_run *run, const struct hr_checkpoint *checkpoint)
{
    struct hr_train_options *o = &run->options;
    char advice[80] = "";
    const struct hr_memory there = hr_memory_there_is();
    HR_TRY(sparse_sum_up(run, checkpoint, &run->needs));
    if (hr_needs_fit(&run->needs, &there))
        return HR_OK;
    const size_t asked = o->factors;
    while (run->steps == hr_sparse_factorise && o->factors > 2 && !advice[0]) {
        struct hr_needs fewer = {0};
        o->factors = o->factors / 4 * 2;
        HR_TRY(sparse_sum_up(run, checkpoint, &fewer));
        if (hr_needs_fit(&fewer, &there))
            snprintf(advice, sizeof advice, "--model mf:%zu would fit", o->factors);
    }
    o->factors = asked;
    return hr_needs_check(&run->needs, "this run needs", advice);
}

void hr_sparse_options_init(struct hr_train_options *options, size_t size)
{
    const struct hr_option *row;
    hr_train_options_init(options, size);
    (void)hr_train_set(options, "model", "logistic");
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++)
        if (row->sparse_usual)
            (void)hr_train_set(options, row->name, row->sparse_usual);
}

/* --- memory --- */

/* Records of blocks, for who looks on. */
static void lay_out_feed(struct hr_sparse_run *run, struct hr_carver *to)
{
    struct hr_feed *feed = &run->feed;
    if (!run->launcher.observer->stepped)
        return;
    *feed = (struct hr_feed){.nranks = run->options.workers, .slots = HR_FEED_SLOTS, .steps = true};
    run->trained = hr_carve(to, "", sizeof *run->trained);
    feed->memory = hr_carve(to, "", hr_feed_bytes(feed->nranks, feed->slots));
}

static void begin_feed(struct hr_sparse_run *run)
{
    if (!hr_feed_is_on(&run->feed))
        return;
    run->feed.launcher = &run->control->launcher_bell;
    hr_feed_init(&run->feed, run->feed.memory);
    hr_atom64_store_relaxed(run->trained, run->schedule.first);
}

static enum hr_status lay_out(struct hr_sparse_run *run, struct hr_carver *to)
{
    const struct hr_sparse_problem *p = &run->problem;
    const size_t rows = run->dual ? p->train.count : 0;
    size_t group_bytes;
    HR_TRY(hr_group_bytes(&run->group_options, &group_bytes));
    run->cuts.cut = hr_carve(to, "", sizeof *run->cuts.cut);
    run->stop = hr_carve(to, "", sizeof *run->stop);
    run->cuts.request = hr_carve(to, "", sizeof *run->cuts.request);
    run->inner_eps = hr_carve(to, "", sizeof *run->inner_eps);
    run->lock = hr_carve(to, "", sizeof *run->lock);
    run->tally = hr_carve(to, "", run->options.workers * sizeof *run->tally);
    run->group = hr_carve(to, "", group_bytes);
    run->cells = hr_carve(to, "", (run->ncells[0] + run->ncells[1]) * sizeof *run->cells);
    run->cuts.curve = hr_carve(to, "", run->cuts.curve_room * sizeof *run->cuts.curve);
    run->alphas = hr_carve(to, "", rows * sizeof *run->alphas);
    run->norms = hr_carve(to, "", rows * sizeof *run->norms);
    run->weights = hr_carve(to, "", p->params * sizeof *run->weights);
    run->factors = (struct hr_atom64 *)(void *)run->weights;
    if (run->cuts.early_stop.asked) {
        run->best.params = p->params;
        run->best.kept = hr_carve(to, "", sizeof *run->best.kept);
        for (size_t i = 0; i < 2; i++)
            run->best.place[i] = hr_carve(to, "", p->params * sizeof *run->best.place[i]);
    }
    run->saved = hr_carve(to, "", run->cuts.saves * p->params * sizeof *run->saved);
    run->saver.copy = hr_carve(to, "", hr_save_copy_bytes(&run->saver));
    lay_out_feed(run, to);
    return HR_OK;
}

static enum hr_status take_memory(struct hr_sparse_run *run)
{
    const size_t workers = run->options.workers;
    struct hr_carver count = {0};
    run->ncells[0] = hr_sparse_cells(run->problem.train.count);
    run->ncells[1] = hr_sparse_cells(run->problem.test.count);
    hr_runs_sweep();
    HR_TRY(lay_out(run, &count));
    HR_TRY(hr_segment_create(hr_control_bytes(workers), true, &run->control_segment));
    HR_TRY(hr_segment_create(count.used, false, &run->segment));
    run->control = run->cuts.control = run->control_segment.base;
    run->waits.abort = &run->control->abort;
    hr_control_init(run->control, workers);
    hr_about_run(&run->control->about, run->options.strategy, count.used);
    HR_TRY(lay_out(run, &(struct hr_carver){.base = run->segment.base}));
    run->cuts.cut->index = run->schedule.first;
    begin_feed(run);
    return hr_group_init(run->group, &run->group_options);
}

/* --- the launcher's side --- */

static enum hr_status announce(const struct hr_sparse_run *run, bool resumed)
{
    const struct hr_train_options *o = &run->options;
    char optimizer[160], rate[160], task[160], memory[HR_NEEDS_TEXT];
    hr_needs_text(&run->needs, memory);
    hr_target_scale_text(&run->scale, "squared error", task, sizeof task);
    if (run->dual) {
        snprintf(optimizer, sizeof optimizer, "coordinate descent on the dual, cost %g", o->cost);
        snprintf(rate, sizeof rate, "each step as long as it needs to be");
    } else {
        snprintf(optimizer, sizeof optimizer, "sgd, cost %g", o->cost);
        snprintf(rate, sizeof rate, "%s rate, %g to begin with", o->lr_schedule,
                 run->schedule.lr.peak);
    }
    const struct hr_run_info info = {
        .strategy = o->strategy,
        .launch = hr_launch_name(run->launch),
        .guarantee = run->locked ? "one update at a time; staleness unbounded"
                                 : "no torn values; updates may be lost, counted by sample",
        .model = o->model,
        .task = run->scale.count ? task : NULL,
        .kernels = "sparse",
        .optimizer = optimizer,
        .lr_schedule = rate,
        .memory = memory,
        .workers = o->workers,
        .processors = hr_cpus_allowed(),
        .batch_size = 1,
        .global_batch = 1,
        .threads_per_worker = 1,
        .params = run->problem.params,
        .lr = run->dual ? 0 : run->schedule.lr.peak,
        .epochs = run->length.epochs > 0 ? run->length.begun : 0,
        .length_s = run->length.epochs > 0 ? 0 : hr_run_seconds(o),
        .length = run->length.epochs,
        .validation_samples = run->whole ? run->dataset->test.count : 0,
        .validation_data = run->held_out.chosen ? "" : run->dataset->options.validation_data,
        .steps = run->schedule.end,
        .first = run->schedule.first,
        .resumed = resumed,
        .begins = run->schedule.first + run->cuts.history.steps,
        .seed = o->seed,
        .conflicts = &run->problem.conflicts,
    };
    return hr_observer_begins(run->launcher.observer, &info);
}

static int64_t now_ns(const void *clock)
{
    (void)clock;
    return hr_clock_ns();
}

static enum hr_status launch(struct hr_sparse_run *run)
{
    const struct hr_wait_rules stall = {
        .warn_ns = hr_stall_limit_ns(run->options.stall_warn, run->options.timeout),
        .workers = run->options.workers};
    const struct hr_launch_options options = {.launch = run->launch,
                                              .nranks = run->options.workers,
                                              .control = run->control,
                                              .main = hr_sparse_worker_main,
                                              .tick = hr_launcher_tick,
                                              .tick_arg = &run->launcher,
                                              .tick_ns = HR_NS_PER_SECOND / 10,
                                              .timeout_ns = run->waits.timeout_ns,
                                              .stall = stall,
                                              .arg = run};
    run->launcher = (struct hr_launcher){
        .observer = run->launcher.observer,
        .cuts = &run->cuts,
        .feed = &run->feed,
        .by_rows = true,
        .rateless = run->dual,
        .stop = run->stop,
        .seen = &run->tally->seen,
        .seen_stride = sizeof *run->tally,
        .max_seconds = hr_run_seconds(&run->options),
        .now_ns = now_ns,
        .saver = &run->saver,
        .result = run->result,
    };
    run->cpu_began_ns = hr_clock_cpu_ns();
    hr_launcher_begin(&run->launcher);
    HR_TRY(hr_launch_run(&options, &run->stuck));
    return hr_launcher_end(&run->launcher);
}

/* --- the result --- */

static void fill_configuration(const struct hr_sparse_run *run, struct hr_run_result *result)
{
    const struct hr_train_options *o = &run->options;
    snprintf(result->strategy, sizeof result->strategy, "%s", o->strategy);
    snprintf(result->order, sizeof result->order, "as updates arrive");
    snprintf(result->launch, sizeof result->launch, "%s", hr_launch_name(run->launch));
    snprintf(result->kernels, sizeof result->kernels, "sparse");
    snprintf(result->model, sizeof result->model, "%s", o->model);
    snprintf(result->loss, sizeof result->loss, "%.16s", o->model); /* each has its own */
    snprintf(result->optimizer, sizeof result->optimizer, "%s", o->solver);
    result->workers = o->workers;
    result->targets = run->cuts.values;
    result->test_samples = (run->whole ? run->whole : run->dataset)->test.count;
    result->params = run->problem.params;
    result->batch_size = result->global_batch = result->threads_per_worker = 1;
    result->seed = o->seed;
    result->conflicts = run->problem.conflicts;
    result->asynchrony =
        (struct hr_asynchrony){NAN, NAN, NAN, NAN, false}; /* nobody counts staleness */
    const uint64_t index = run->cuts.cut->index,
                   last = index ? (index - 1) / run->schedule.samples : 0;
    result->lr = run->dual ? NAN : (double)hr_lr_at(&run->schedule.lr, (double)last, 1);
}

/* The run ends with the best weights, unless it was interrupted. */
static void take_best(const struct hr_sparse_run *run)
{
    const float *best = hr_best_weights_last(&run->best);
    if (best && !run->cuts.cut->interrupted)
        hr_sparse_set_weights(run, best);
}

static enum hr_status fill_result(struct hr_sparse_run *run)
{
    struct hr_run_result *result = run->result;
    const struct hr_accounts accounts = {&run->tally->account, sizeof *run->tally,
                                         run->options.workers};
    take_best(run);
    fill_configuration(run, result);
    for (size_t w = 0; w < run->options.workers; w++) {
        const struct hr_sparse_tally *tally = &run->tally[w];
        result->samples += tally->rows;
        result->updates += tally->updates;
        result->conflicts.lost += tally->lost;
        result->conflicts.looked_at += tally->looked_at;
    }
    HR_TRY(hr_result_finish(&run->cuts, &run->options, &accounts, result));
    if (run->launcher.began_ns)
        result->wall_s = hr_seconds(hr_clock_ns() - run->launcher.began_ns);
    result->cpu_s = hr_seconds(hr_clock_cpu_ns() - run->cpu_began_ns);
    result->repeats = run->options.workers == 1;
    HR_TRY(hr_sparse_test(run, result));
    char what[100];
    if (!result->targets && hr_look_at_chance(run->whole ? run->whole : run->dataset,
                                              result->test_accuracy, what, sizeof what))
        snprintf(result->chance, sizeof result->chance, "%s; likely the rate, or too few --epochs",
                 what);
    return hr_sparse_digest(run, result->weights_digest);
}

static enum hr_status begin_state(struct hr_sparse_run *run, const struct hr_checkpoint *checkpoint)
{
    if (run->dual)
        hr_sparse_dual_begin(run);
    if (run->problem.model == HR_SPARSE_MF)
        hr_sparse_factors_begin(run);
    if (checkpoint)
        return hr_sparse_restore(run, checkpoint);
    return run->options.init_weights[0] ? hr_sparse_init_weights(run) : HR_OK;
}

/* Targets are scaled as the training rows have them, or where it goes on, as those had that it
 * began with. */
static enum hr_status make_problem(struct hr_sparse_run *run,
                                   const struct hr_checkpoint *checkpoint)
{
    HR_TRY(hr_held_out_gather(&run->held_out));
    HR_TRY(hr_sparse_problem_make(&run->options, run->dataset, (float)(1 / run->schedule.lr.peak),
                                  &run->problem));
    if (run->problem.model != HR_SPARSE_LINEAR)
        return HR_OK;
    run->problem.scale = &run->scale;
    return hr_target_scale_begin(run->dataset, checkpoint,
                                 hr_choices_of(&run->options).target_scale == HR_TARGETS_STANDARD,
                                 &run->scale);
}

/* whole: the result is, whatever becomes of files. */
static enum hr_status train(struct hr_sparse_run *run, struct hr_resume *resume, bool *whole)
{
    bool finished = false;
    HR_TRY(hr_resume_open(&run->options, &run->dataset, resume));
    const struct hr_checkpoint *checkpoint = resume->checkpoint;
    HR_TRY(sparse_resolve(run));
    HR_TRY(sparse_fits(run, checkpoint));
    HR_TRY(make_problem(run, checkpoint));
    hr_sparse_describe(run);
    if (checkpoint) {
        HR_TRY(hr_resume_position(&run->saver, checkpoint));
        HR_TRY(hr_sparse_check_saved(run, checkpoint));
        HR_TRY(hr_resume_finished(&run->saver, checkpoint, run->result, &finished));
        HR_TRY(hr_saved_check(checkpoint, (struct hr_saved_run){.direct = true}));
    }
    HR_TRY(hr_save_prepare(&run->saver, checkpoint));
    HR_TRY(take_memory(run));
    HR_TRY(begin_state(run, checkpoint));
    if (finished)
        return fill_result(run);
    HR_TRY(announce(run, checkpoint != NULL));
    HR_TRY(launch(run));
    HR_TRY(fill_result(run));
    *whole = true;
    return hr_launcher_saved(&run->launcher);
}

enum hr_status hr_sparse_train_whole(const struct hr_train_options *options,
                                     const struct hr_dataset *dataset,
                                     const struct hr_observer *observer,
                                     struct hr_run_result *result)
{
    static const struct hr_observer nobody;
    struct hr_resume resume = {0};
    struct hr_train_options own;
    memset(result, 0, sizeof *result);
    HR_TRY(hr_train_options_take(options, &own));
    struct hr_sparse_run *run = calloc(1, sizeof *run);
    if (!run)
        return hr_fail(HR_E_NOMEM, "no memory for a run");
    run->options = own;
    run->dataset = dataset;
    run->launcher.observer = observer ? observer : &nobody;
    run->result = result;
    bool whole = false;
    const enum hr_status status = train(run, &resume, &whole);
    if (status != HR_OK && !whole)
        hr_run_result_free(result);
    hr_launcher_stop(&run->launcher);
    hr_claim_drop(&run->saver.claim);
    if (run->stuck) /* a thread that does not end still uses all of it */
        return status;
    hr_resume_close(&resume);
    hr_held_out_close(&run->held_out);
    hr_sparse_problem_free(&run->problem);
    hr_target_scale_free(&run->scale);
    hr_segment_destroy(&run->segment);
    hr_segment_destroy(&run->control_segment);
    free(run);
    return status;
}

enum hr_status hr_sparse_needs(const struct hr_train_options *options,
                               const struct hr_dataset *dataset, struct hr_needs *out)
{
    struct hr_sparse_run run = {.options = *options, .dataset = dataset};
    enum hr_status status = sparse_resolve(&run);
    if (status == HR_OK)
        status = sparse_sum_up(&run, NULL, out);
    hr_held_out_close(&run.held_out);
    return status;
}

enum hr_status hr_sparse_check_run(const struct hr_train_options *options,
                                   const struct hr_dataset *dataset)
{
    struct hr_sparse_run run = {.options = *options, .dataset = dataset};
    enum hr_status status = sparse_resolve(&run);
    if (status == HR_OK)
        status = sparse_fits(&run, NULL);
    hr_held_out_close(&run.held_out);
    return status;
}

enum hr_status hr_sparse_train(const struct hr_train_options *options,
                               const struct hr_dataset *dataset, const struct hr_observer *observer,
                               struct hr_run_result *result)
{
    const enum hr_status status = hr_sparse_train_whole(options, dataset, observer, result);
    if (status != HR_OK)
        hr_run_result_free(result);
    return status;
}

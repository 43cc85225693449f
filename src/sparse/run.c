/* hr_sparse_train: from options to a run, and from a run to its result. */
#include "sparse/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/size.h"
#include "hogring/checkpoint.h"

/* --- from options --- */

static enum hr_status check_number(const char *flag, double value, double least, double most)
{
    if (value >= least && value <= most)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--%s %.15g: expected %.15g to %.15g", flag, value, least, most);
}

/* The rate is one for an epoch: a shorter ramp would have no step below the peak, or one. */
static enum hr_status check_warmup(const struct hr_train_options *o)
{
    HR_TRY(check_number("warmup-epochs", o->warmup_epochs, 0, (double)o->epochs));
    if (o->warmup_epochs == 0 || o->warmup_epochs >= 2)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--warmup-epochs %g: --model %s keeps its rate for a whole epoch, and cannot "
                   "raise it within so few; expected 0, or 2 and more",
                   o->warmup_epochs, o->model);
}

static enum hr_status check_numbers(const struct hr_train_options *o)
{
    HR_TRY(check_number("workers", (double)o->workers, 1, HR_MAX_RANKS));
    HR_TRY(check_number("epochs", (double)o->epochs, 1, 1 << 20));
    HR_TRY(check_number("cost", o->cost, 1e-9, 1e9));
    HR_TRY(check_number("lr", o->lr, 1e-12, 1e6));
    HR_TRY(check_number("factors", (double)o->factors, 2, 4096));
    HR_TRY(check_number("hot-copies", (double)o->hot_copies, 0, HR_SPARSE_HOT));
    HR_TRY(check_warmup(o));
    HR_TRY(check_number("lr-step-epochs", o->lr_step_epochs, 1e-6, 1e9));
    HR_TRY(check_number("lr-gamma", o->lr_gamma, 1e-9, 1));
    HR_TRY(check_number("max-seconds", o->max_seconds, 0, 1e9));
    HR_TRY(check_number("timeout", o->timeout, 0, 1e6));
    HR_TRY(check_number("target-accuracy", o->target_accuracy, 0, 1));
    if (o->factors % 2)
        return hr_fail(HR_E_USAGE, "--factors %zu: expected an even number", o->factors);
    return HR_OK;
}

static enum hr_status choose_strategy(struct hr_sparse_run *run)
{
    const struct hr_train_options *o = &run->options;
    run->locked = !strcmp(o->strategy, "locked");
    if (run->locked || !strcmp(o->strategy, "hogwild"))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--strategy %s: --model %s is trained by hogwild or locked",
                   o->strategy, o->model);
}

static enum hr_status choose_solver(struct hr_sparse_run *run)
{
    struct hr_train_options *o = &run->options;
    const bool mf = !strcmp(o->model, "mf");
    if (!strcmp(o->solver, "auto"))
        snprintf(o->solver, sizeof o->solver, "%s", mf ? "sgd" : "dual");
    run->dual = !strcmp(o->solver, "dual");
    if (run->dual && mf)
        return hr_fail(HR_E_USAGE, "--solver dual: --model mf has no dual, expected sgd");
    if (!run->dual && strcmp(o->solver, "sgd") != 0)
        return hr_fail(HR_E_USAGE, "--solver %s: expected auto, sgd or dual", o->solver);
    run->steps = mf ? hr_sparse_factorise : run->dual ? hr_sparse_dual : hr_sparse_sgd;
    return HR_OK;
}

static enum hr_status settle(struct hr_sparse_run *run)
{
    struct hr_train_options *o = &run->options;
    if (hr_sparse_model_find(o->model) < 0)
        return hr_fail(HR_E_USAGE, "--model %.40s: expected logistic, svm or mf", o->model);
    if (o->update_rule)
        return hr_fail(HR_E_USAGE, "an update rule: --model %s has its own", o->model);
    if (o->lr < 0) /* HR_BY_OPTIMIZER */
        o->lr = strcmp(o->model, "mf") ? 0.5 : 0.05;
    HR_TRY(check_numbers(o));
    HR_TRY(choose_strategy(run));
    HR_TRY(choose_solver(run));
    HR_TRY(hr_launch_parse(o->launch, &run->launch));
    HR_TRY(hr_lr_kind_parse(o->lr_schedule, &run->rate.kind));
    run->rate.peak = o->lr;
    run->rate.epochs = (double)o->epochs;
    run->rate.warmup_epochs = o->warmup_epochs;
    run->rate.step_epochs = o->lr_step_epochs;
    run->rate.gamma = o->lr_gamma;
    run->timeout_ns = (int64_t)(o->timeout * (double)HR_NS_PER_SECOND);
    run->curve_room = o->epochs + 1;
    run->group_options = (struct hr_group_options){.nranks = o->workers,
                                                   .algorithm = &hr_allreduce_direct,
                                                   .crowded = o->workers > hr_cpus_allowed(),
                                                   .helpers = hr_cpus_allowed() - 1};
    return HR_OK;
}

void hr_sparse_defaults(struct hr_train_options *options)
{
    hr_train_defaults(options);
    snprintf(options->model, sizeof options->model, "logistic");
    snprintf(options->strategy, sizeof options->strategy, "hogwild");
    snprintf(options->lr_schedule, sizeof options->lr_schedule, "step");
    options->lr_gamma = 0.9;
    options->batch_size = 1;
}

/* --- memory --- */

/* Walked twice: without a base to learn the size, with one to learn the addresses. */
struct carver {
    unsigned char *base;
    size_t used;
};

static void *carve(struct carver *carver, size_t count, size_t size)
{
    void *at = carver->base ? carver->base + carver->used : NULL;
    carver->used += hr_round_up(count * size, HR_LINE);
    return at;
}

static enum hr_status lay_out(struct hr_sparse_run *run, unsigned char *base, size_t *bytes)
{
    struct carver carver = {.base = base};
    const struct hr_sparse_problem *p = &run->problem;
    const size_t rows = run->dual ? p->train.count : 0;
    size_t group_bytes;
    HR_TRY(hr_group_bytes(&run->group_options, &group_bytes));
    run->board = carve(&carver, 1, sizeof *run->board);
    run->lock = carve(&carver, 1, sizeof *run->lock);
    run->tally = carve(&carver, run->options.workers, sizeof *run->tally);
    run->group = carve(&carver, 1, group_bytes);
    run->cells = carve(&carver, run->ncells[0] + run->ncells[1], sizeof *run->cells);
    run->curve = carve(&carver, run->curve_room, sizeof *run->curve);
    run->alphas = carve(&carver, rows, sizeof *run->alphas);
    run->norms = carve(&carver, rows, sizeof *run->norms);
    run->weights = carve(&carver, p->params, sizeof *run->weights);
    run->factors = (struct hr_atom64 *)(void *)run->weights;
    *bytes = carver.used;
    return HR_OK;
}

static size_t cells_of(size_t rows)
{
    return (rows + HR_SPARSE_EVAL_BLOCK - 1) / HR_SPARSE_EVAL_BLOCK;
}

static enum hr_status take_memory(struct hr_sparse_run *run)
{
    const size_t workers = run->options.workers;
    size_t bytes;
    run->ncells[0] = cells_of(run->problem.train.count);
    run->ncells[1] = cells_of(run->problem.test.count);
    run->spin_ns = hr_spin_budget_ns(workers);
    run->yield_ns = hr_yield_budget_ns(workers);
    hr_segment_sweep();
    HR_TRY(lay_out(run, NULL, &bytes));
    HR_TRY(hr_segment_create(hr_control_bytes(workers), true, &run->control_segment));
    HR_TRY(hr_segment_create(bytes, false, &run->segment));
    run->control = run->control_segment.base;
    hr_control_init(run->control, workers);
    HR_TRY(lay_out(run, run->segment.base, &bytes));
    HR_TRY(hr_group_init(run->group, &run->group_options));
    if (run->dual)
        hr_sparse_dual_begin(run);
    if (run->problem.model == HR_SPARSE_MF)
        hr_sparse_factors_begin(run);
    return HR_OK;
}

/* --- the launcher's side --- */

static void announce(const struct hr_sparse_run *run)
{
    const struct hr_train_options *o = &run->options;
    const uint64_t epochs = o->epochs, rows = run->problem.train.count;
    char optimizer[160], rate[160], memory[HR_NEEDS_TEXT];
    hr_needs_text(&run->needs, memory);
    if (run->dual) {
        snprintf(optimizer, sizeof optimizer, "coordinate descent on the dual, cost %g", o->cost);
        snprintf(rate, sizeof rate, "each step as long as it needs to be");
    } else {
        snprintf(optimizer, sizeof optimizer, "sgd, cost %g", o->cost);
        snprintf(rate, sizeof rate, "%s rate, %g to begin with", o->lr_schedule, o->lr);
    }
    const struct hr_run_info info = {
        .strategy = o->strategy,
        .launch = hr_launch_name(run->launch),
        .guarantee = run->locked ? "one update at a time; staleness unbounded"
                                 : "no torn values; updates may be lost, counted by sample",
        .model = o->model,
        .kernels = "sparse",
        .optimizer = optimizer,
        .lr_course = rate,
        .memory = memory,
        .workers = o->workers,
        .processors = hr_cpus_allowed(),
        .batch_size = 1,
        .global_batch = 1,
        .threads_per_worker = 1,
        .params = run->problem.params,
        .lr = run->dual ? 0 : o->lr,
        .epochs = o->epochs,
        .steps = epochs * rows,
        .seed = o->seed,
        .conflicts = &run->problem.conflicts,
    };
    if (run->observer->started)
        run->observer->started(run->observer->arg, &info);
}

static void show(struct hr_sparse_run *run)
{
    const struct hr_observer *observer = run->observer;
    const uint64_t written = hr_atom64_load_acquire(&run->board->ncurve); /* partner: conclude */
    const size_t rows = run->problem.train.count;
    struct hr_progress progress = {.seconds = hr_seconds(hr_clock_ns() - run->began_ns),
                                   .total = (uint64_t)rows * run->options.epochs};
    for (size_t w = 0; w < run->options.workers; w++)
        progress.samples += hr_atom64_load_relaxed(&run->tally[w].seen); /* an estimate */
    progress.epoch = (double)progress.samples / (double)rows;
    for (; run->points_shown < written; run->points_shown++)
        if (observer->evaluated)
            observer->evaluated(observer->arg, &run->curve[run->points_shown]);
    if (observer->progress)
        observer->progress(observer->arg, &progress);
}

static enum hr_status tick(void *arg)
{
    struct hr_sparse_run *run = arg;
    const struct hr_observer *observer = run->observer;
    const int asked = observer->should_stop ? observer->should_stop(observer->arg) : 0;
    const double limit = run->options.max_seconds;
    show(run);
    if (asked >= 2)
        return hr_fail(HR_E_INTERRUPTED, "interrupted twice: left at once");
    if (asked == 1)
        hr_atom32_store_release(&run->board->stop, HR_SPARSE_STOP_INTERRUPTED); /* partner: */
    else if (limit > 0 && hr_seconds(hr_clock_ns() - run->began_ns) >= limit)   /* train_epoch */
        hr_atom32_store_release(&run->board->stop, HR_SPARSE_STOP_DONE);
    return HR_OK;
}

static enum hr_status launch(struct hr_sparse_run *run)
{
    const struct hr_launch_options options = {.launch = run->launch,
                                              .nranks = run->options.workers,
                                              .control = run->control,
                                              .main = hr_sparse_worker_main,
                                              .tick = tick,
                                              .tick_ns = HR_NS_PER_SECOND / 10,
                                              .timeout_ns = run->timeout_ns,
                                              .arg = run};
    run->began_ns = hr_clock_ns();
    return hr_launch_run(&options, &run->stuck);
}

/* --- the result --- */

static enum hr_status digest(const struct hr_sparse_run *run, char out[33])
{
    const size_t params = run->problem.params;
    float *live = malloc(2 * params * sizeof *live);
    if (!live)
        return hr_fail(HR_E_NOMEM, "no memory to copy %zu weights", params);
    memcpy(live, run->weights, params * sizeof *live); /* all ranks are gone */
    hr_sparse_unplace(&run->problem, live, live + params);
    hr_digest_floats(live + params, params, out);
    free(live);
    return HR_OK;
}

static void fill_configuration(const struct hr_sparse_run *run, struct hr_run_result *result)
{
    const struct hr_train_options *o = &run->options;
    snprintf(result->strategy, sizeof result->strategy, "%s", o->strategy);
    snprintf(result->order, sizeof result->order, "as updates arrive");
    snprintf(result->launch, sizeof result->launch, "%s", hr_launch_name(run->launch));
    snprintf(result->kernels, sizeof result->kernels, "sparse");
    snprintf(result->model, sizeof result->model, "%s", o->model);
    snprintf(result->optimizer, sizeof result->optimizer, "%s", o->solver);
    result->workers = o->workers;
    result->params = run->problem.params;
    result->batch_size = result->global_batch = result->threads_per_worker = 1;
    result->seed = o->seed;
    result->conflicts = run->problem.conflicts;
    result->asynchrony = (struct hr_asynchrony){NAN, NAN, NAN, NAN}; /* nobody counts staleness */
    result->lr = run->dual ? NAN : (double)hr_lr_at(&run->rate, (double)run->board->epoch - 1, 1);
}

static enum hr_status copy_curve(const struct hr_sparse_run *run, struct hr_run_result *result)
{
    const double target = run->options.target_accuracy;
    result->ncurve = hr_atom64_load_acquire(&run->board->ncurve); /* partner: conclude */
    result->curve = calloc(result->ncurve + 1, sizeof *result->curve);
    result->target_seconds = -1;
    if (!result->curve)
        return hr_fail(HR_E_NOMEM, "no memory for a curve of %zu points", result->ncurve);
    memcpy(result->curve, run->curve, result->ncurve * sizeof *result->curve);
    for (size_t i = result->ncurve; target > 0 && i-- > 0;)
        if (result->curve[i].test_accuracy >= target)
            result->target_seconds = result->curve[i].seconds;
    const struct hr_curve_point *last = &result->curve[result->ncurve - 1];
    result->train_loss = last->train_loss;
    result->test_loss = last->test_loss;
    result->test_accuracy = last->test_accuracy;
    return HR_OK;
}

static enum hr_status fill_result(struct hr_sparse_run *run)
{
    struct hr_run_result *result = run->result;
    fill_configuration(run, result);
    result->nworker_times = run->options.workers;
    result->worker_time = calloc(result->nworker_times, sizeof *result->worker_time);
    if (!result->worker_time)
        return hr_fail(HR_E_NOMEM, "no memory for the times of %zu workers", run->options.workers);
    for (size_t w = 0; w < run->options.workers; w++) {
        const struct hr_sparse_tally *tally = &run->tally[w];
        result->samples += tally->rows;
        result->updates += tally->updates;
        result->worker_time[w] =
            (struct hr_worker_time){.compute_s = hr_seconds(tally->account.spent_ns[HR_COMPUTE]),
                                    .wait_s = hr_seconds(tally->account.spent_ns[HR_WAIT])};
        result->compute_s += result->worker_time[w].compute_s;
        result->wait_s += result->worker_time[w].wait_s;
        result->conflicts.lost += tally->lost;
        result->conflicts.looked_at += tally->looked_at;
    }
    result->steps = result->updates;
    result->interrupted = run->board->interrupted;
    snprintf(result->clock, sizeof result->clock, "real");
    result->wall_s = hr_seconds(hr_clock_ns() - run->began_ns);
    result->seconds = hr_seconds(run->board->train_ns);
    result->samples_per_s = result->seconds > 0 ? (double)result->samples / result->seconds : 0;
    HR_TRY(copy_curve(run, result));
    return digest(run, result->weights_digest);
}

static enum hr_status train(struct hr_sparse_run *run)
{
    HR_TRY(settle(run));
    HR_TRY(hr_sparse_fits(run));
    HR_TRY(hr_sparse_problem_make(&run->options, run->dataset, (float)(1 / run->options.lr),
                                  &run->problem));
    HR_TRY(take_memory(run));
    announce(run);
    HR_TRY(launch(run));
    show(run); /* the last points */
    return fill_result(run);
}

enum hr_status hr_sparse_train(const struct hr_train_options *options,
                               const struct hr_dataset *dataset, const struct hr_observer *observer,
                               struct hr_run_result *result)
{
    static const struct hr_observer nobody;
    struct hr_sparse_run *run = calloc(1, sizeof *run);
    memset(result, 0, sizeof *result);
    if (!run)
        return hr_fail(HR_E_NOMEM, "no memory for a run");
    *run = (struct hr_sparse_run){.options = *options,
                                  .dataset = dataset,
                                  .observer = observer ? observer : &nobody,
                                  .result = result};
    const enum hr_status status = train(run);
    if (status != HR_OK)
        hr_run_result_free(result);
    if (run->stuck) /* a thread that computes without end still uses all of it */
        return status;
    hr_sparse_problem_free(&run->problem);
    hr_segment_destroy(&run->segment);
    hr_segment_destroy(&run->control_segment);
    free(run);
    return status;
}

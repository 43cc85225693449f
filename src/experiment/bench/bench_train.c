/* hogring bench train - samples a second of whole models, what the workers' time goes into, and
 * how much of the compute roof that is. */
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hogring/group.h"
#include "base/median.h"
#include "base/signals.h"
#include "report/benches.h"
#include "report/human.h"
#include "kernels/team.h"
#include "nn/model.h"
#include "nn/model_text.h"
#include "options/choices.h"
#include "options/meaning.h"
#include "options/sweep.h"
#include "products/ready.h"
#include "strategies/strategies.h"
#include "terminal/output.h"
#include "watch/watch.h"

/* --- the compute roof --- */

#define SECONDS 0.02

struct roof {
    enum hr_roof_kind kind;
    size_t threads;
    double flops;
};

static enum hr_status measure_roof(struct hr_group *world, void *arg)
{
    struct roof *roof = arg;
    (void)world;
    HR_TRY(hr_kernels_init_process(1));
    roof->flops = hr_tile_roof(roof->kind, roof->threads, SECONDS);
    return HR_OK;
}

/* Operations a second of the workers' threads together, as many and as freely placed as in a run;
 * takes 30 ms. It is measured in a process of its own: one that has used a team of threads or BLAS
 * must not fork workers. HR_E_NOMEM, and errors of that process. */
static enum hr_status compute_roof(const struct hr_train_options *options, enum hr_roof_kind kind,
                                   double *flops)
{
    const struct hr_world_options world = {.nranks = 1,
                                           .launch = "process",
                                           .arena_bytes = 1,
                                           .timeout = options->timeout > 0 ? options->timeout : -1};
    struct roof *roof =
        mmap(NULL, sizeof *roof, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (roof == MAP_FAILED)
        return hr_fail_errno(HR_E_NOMEM, "no memory to measure the machine in");
    roof->kind = kind;
    roof->threads = options->workers * options->threads_per_worker;
    if (roof->threads > HR_TEAM_MAX) /* the processors are all busy with fewer */
        roof->threads = HR_TEAM_MAX;
    const enum hr_status status = hr_world_run(&world, measure_roof, roof);
    *flops = roof->flops;
    munmap(roof, sizeof *roof);
    return status;
}

enum {
    MOST_MODELS = 32,
    MOST_ROWS = 256,
    MOST_ROUNDS = HR_SHARE_MOST_ROUNDS,
    ROUNDS = 7, /* short ones: what disturbs the machine is to hit roof and work alike */
    VIRTUAL_STEPS = 30
};
#define ROUND_SECONDS 0.25

/* What is measured in each round, of a row. */
struct series {
    double speed[MOST_ROUNDS];
    struct hr_roof_round roof[MOST_ROUNDS];
    struct hr_run_result result[MOST_ROUNDS];
};

struct train_bench {
    const struct hr_cli *cli;
    struct hr_bench_data data;
    size_t nmodels, nrows, rounds;
    const char *models[MOST_MODELS]; /* built-in ones; NULL: what --model says */
    /* (most) owned; nrows are in use */
    size_t most;
    struct hr_train_options *options;
    struct hr_speed_row *rows;
    struct series *series;
};

/* --- which models --- */

/* Those that are built in, but for what does not fit the data. */
static void choose_builtins(struct train_bench *bench)
{
    const struct hr_dataset *set = &bench->data.dataset;
    struct hr_model *model;
    for (const char *const *known = hr_model_builtins(); *known && bench->nmodels < MOST_MODELS;
         known++)
        if (hr_model_text_reads_tokens(*known) != (set->tokens.context > 0)) {
            continue; /* text is another kind of data */
        } else if (hr_model_of_data(*known, set, &model) == HR_OK) {
            hr_model_destroy(model);
            bench->models[bench->nmodels++] = *known;
        } else if (hr_cli_speaks(bench->cli)) {
            printf("# without %s: %s\n", *known, hr_error_message());
        }
}

/* --- the rows: each model, with each combination of values --- */

/* Nothing is to be learned here: a small rate keeps numbers small. */
static void resolve_options(const struct train_bench *bench, struct hr_train_options *options)
{
    const bool virtual = hr_choices_of(options).clock == HR_CLOCK_VIRTUAL;
    const struct hr_strategy *strategy;
    options->epochs = 1 << 20;
    options->lr = 1e-4;
    if (hr_cli_was_given(bench->cli, "max-seconds"))
        return;
    options->max_seconds = virtual ? 0 : ROUND_SECONDS;
    if (virtual && hr_strategy_find(options->strategy, options->staleness, &strategy) == HR_OK)
        options->max_steps = VIRTUAL_STEPS * (strategy->shares_batch ? 1 : options->workers);
}

static enum hr_status add_row(struct train_bench *bench, const char *model, size_t point)
{
    static struct hr_cli own;
    bool wanted;
    char setting[HR_SPEED_SETTING];
    own = *bench->cli;
    memset(own.given, 0, sizeof own.given);
    HR_TRY(
        hr_sweep_point(bench->cli, HR_BENCH_TRAIN, point, &own, &wanted, setting, sizeof setting));
    if (!wanted)
        return HR_OK;
    if (bench->nrows == bench->most)
        return hr_fail(HR_E_USAGE, "bench train: more than %d rows: expected shorter lists",
                       MOST_ROWS);
    struct hr_speed_row *row = &bench->rows[bench->nrows];
    struct hr_train_options *options = &bench->options[bench->nrows++];
    HR_TRY(hr_meaning_check(&own, &own.train));
    *options = own.train;
    snprintf(options->link, sizeof options->link, "%s", bench->cli->link);
    if (hr_cli_was_given(bench->cli, "max-seconds") && !(options->max_seconds > 0))
        return hr_fail(HR_E_USAGE, "--max-seconds 0: expected how long a round takes");
    resolve_options(bench, options);
    if (model)
        snprintf(options->model, sizeof options->model, "%s", model);
    row->model = options->model;
    memcpy(row->setting, setting, sizeof setting);
    return hr_train_check(options, &bench->data.dataset);
}

/* Every option that was given has to mean something in one row. */
static enum hr_status check_given(const struct train_bench *bench)
{
    static struct hr_cli one;
    one = *bench->cli;
    for (size_t option = 0; option < HR_CLI_OPTIONS; option++) {
        enum hr_status status = HR_E_USAGE;
        memset(one.given, 0, sizeof one.given);
        one.given[option] = bench->cli->given[option];
        for (size_t i = 0; i < bench->nrows && status != HR_OK; i++)
            status = hr_meaning_check(&one, &bench->options[i]);
        HR_TRY(status);
    }
    return HR_OK;
}

static enum hr_status count_madds(const struct train_bench *bench,
                                  const struct hr_train_options *options, struct hr_speed_row *row)
{
    const struct hr_dataset *set = &bench->data.dataset;
    struct hr_model *model;
    HR_TRY(hr_model_of_data(row->model, set, &model));
    row->madds = hr_model_multiplied(model);
    if (hr_choices_of(options).precision == HR_CHOICE_BF16)
        row->roof_kind = HR_ROOF_BFLOAT16;
    hr_model_destroy(model);
    return HR_OK;
}

static enum hr_status take_rows(struct train_bench *bench)
{
    const size_t points = hr_sweep_points(bench->cli);
    bench->most = points < MOST_ROWS / bench->nmodels ? points * bench->nmodels : MOST_ROWS;
    bench->options = calloc(bench->most, sizeof *bench->options);
    bench->rows = calloc(bench->most, sizeof *bench->rows);
    bench->series = calloc(bench->most, sizeof *bench->series);
    return bench->options && bench->rows && bench->series
               ? HR_OK
               : hr_fail(HR_E_NOMEM, "no memory for %zu rows", bench->most);
}

static enum hr_status plan_rows(struct train_bench *bench)
{
    HR_TRY(take_rows(bench));
    for (size_t m = 0; m < bench->nmodels; m++)
        for (size_t k = 0; k < hr_sweep_points(bench->cli); k++)
            HR_TRY(add_row(bench, bench->models[m], k));
    for (size_t i = 0; i < bench->nrows; i++)
        HR_TRY(count_madds(bench, &bench->options[i], &bench->rows[i]));
    return check_given(bench);
}

/* --- measuring --- */

static enum hr_status train(const struct train_bench *bench, const struct hr_train_options *options,
                            struct hr_run_result *result)
{
    const struct hr_observer observer = {.should_stop = hr_signals_seen};
    HR_TRY(hr_train(options, &bench->data.dataset, &observer, result));
    hr_run_result_free(result); /* only its lists */
    return hr_signals_check();
}

/* Virtual time is told how long a gradient takes: as long as it does here, of one worker alone. */
static enum hr_status time_gradient(const struct train_bench *bench,
                                    struct hr_train_options *options)
{
    struct hr_train_options alone = *options;
    struct hr_run_result result;
    snprintf(alone.clock, sizeof alone.clock, "real");
    snprintf(alone.strategy, sizeof alone.strategy, "allreduce");
    alone.workers = 1;
    alone.max_steps = 0;
    alone.max_seconds = 0.3;
    alone.link[0] = alone.topology[0] = alone.inject[0] = alone.server_time[0] = '\0';
    HR_TRY(train(bench, &alone, &result));
    snprintf(options->compute_time, sizeof options->compute_time, "%.6gus",
             1e6 * result.compute_s / fmax(1, (double)result.steps));
    return HR_OK;
}

static bool same_gradient(const struct hr_train_options *a, const struct hr_train_options *b)
{
    return !strcmp(a->model, b->model) && a->batch_size == b->batch_size &&
           a->threads_per_worker == b->threads_per_worker && !strcmp(a->kernels, b->kernels) &&
           !strcmp(a->precision, b->precision);
}

static enum hr_status time_gradients(struct train_bench *bench)
{
    if (hr_choices_of(&bench->cli->train).clock == HR_CLOCK_REAL ||
        bench->cli->train.compute_time[0])
        return HR_OK;
    for (size_t i = 0; i < bench->nrows; i++) {
        struct hr_train_options *mine = &bench->options[i];
        size_t k = 0;
        while (!same_gradient(&bench->options[k], mine))
            k++;
        if (k == i)
            HR_TRY(time_gradient(bench, mine));
        memcpy(mine->compute_time, bench->options[k].compute_time, sizeof mine->compute_time);
    }
    return HR_OK;
}

/* The roof, the work, the roof again. */
static enum hr_status measure_row(struct train_bench *bench, size_t i, size_t round)
{
    struct series *series = &bench->series[i];
    struct hr_roof_round *roof = &series->roof[round];
    const struct hr_train_options *options = &bench->options[i];
    const bool real = hr_choices_of(options).clock == HR_CLOCK_REAL;
    if (real)
        HR_TRY(compute_roof(options, bench->rows[i].roof_kind, &roof->before));
    HR_TRY(train(bench, options, &series->result[round]));
    series->speed[round] = series->result[round].samples_per_s;
    roof->rate = 2 * bench->rows[i].madds * series->speed[round];
    return real ? compute_roof(options, bench->rows[i].roof_kind, &roof->after) : HR_OK;
}

/* The round of median speed is shown. */
static void conclude(struct hr_speed_row *row, struct series *series, size_t rounds, bool real)
{
    double sorted[MOST_ROUNDS];
    size_t middle = 0;
    memcpy(sorted, series->speed, sizeof sorted);
    const double median = hr_median(sorted, rounds);
    row->rounds = rounds;
    row->least = INFINITY;
    for (size_t k = 0; k < rounds; k++) {
        row->least = fmin(row->least, series->speed[k]);
        row->most = fmax(row->most, series->speed[k]);
        if (fabs(series->speed[k] - median) < fabs(series->speed[middle] - median))
            middle = k;
    }
    row->result = series->result[middle];
    row->measured = real ? series->roof : NULL;
    row->roof = hr_roof_share(series->roof, real ? rounds : 0);
}

/* Many rows take minutes. */
static void say_where(struct hr_progress_view *view, const struct train_bench *bench, size_t done)
{
    char what[60];
    snprintf(what, sizeof what, "measured %zu of %zu", done, bench->nrows * bench->rounds);
    hr_progress_view_report(view, what, NAN);
}

static enum hr_status measure_all(struct train_bench *bench)
{
    enum hr_status status = HR_OK;
    struct hr_progress_view view;
    hr_progress_view_init(&view, hr_output_terminal(), &(struct hr_progress_subject){.label = ""},
                          hr_watch_verbosity(bench->cli));
    for (size_t round = 0; round < bench->rounds; round++)
        for (size_t i = 0; i < bench->nrows && status == HR_OK; i++) {
            say_where(&view, bench, round * bench->nrows + i);
            status = measure_row(bench, i, round);
        }
    hr_progress_view_end(&view);
    for (size_t i = 0; i < bench->nrows && status == HR_OK; i++)
        conclude(&bench->rows[i], &bench->series[i], bench->rounds,
                 hr_choices_of(&bench->options[i]).clock == HR_CLOCK_REAL);
    return status;
}

/* --- results --- */

static void print_head(const struct train_bench *bench)
{
    const struct hr_train_options *o = &bench->options[0];
    const bool virtual = hr_choices_of(o).clock == HR_CLOCK_VIRTUAL;
    printf("# train on %s:", bench->data.name);
    if (!hr_sweep_has(bench->cli, "strategy"))
        printf(" %s,", o->strategy);
    if (!hr_sweep_has(bench->cli, "workers"))
        printf(" %zu worker%s,", o->workers, o->workers == 1 ? "" : "s");
    if (!hr_sweep_has(bench->cli, "batch-size"))
        printf(" batch %zu a worker,", o->batch_size);
    if (!hr_sweep_has(bench->cli, "precision"))
        printf(" %s,", o->precision);
    printf(" kernels %s\n", o->kernels);
    if (virtual)
        printf("# virtual time: a gradient takes %s%s\n", o->compute_time,
               bench->cli->train.compute_time[0] ? "" : ", as one worker alone does here");
    if (bench->rounds > 1)
        printf("# median of %zu rounds, in turns%s\n", bench->rounds,
               virtual ? "" : ", the roof before and after each");
}

static enum hr_status report(struct train_bench *bench)
{
    const struct hr_cli *cli = bench->cli;
    hr_speeds_set_ideal(bench->rows, bench->nrows);
    if (hr_cli_speaks(cli)) {
        print_head(bench);
        hr_speeds_print(stdout, bench->rows, bench->nrows);
    }
    char title[200];
    snprintf(title, sizeof title, "%s on %s, batch %zu a worker, %s",
             hr_rate_unit(bench->data.dataset.tokens.context), bench->data.name,
             bench->options[0].batch_size,
             hr_choices_of(&bench->options[0]).clock == HR_CLOCK_REAL ? "real time"
                                                                      : "virtual time");
    return hr_publish(cli, title, hr_json_speed(bench->rows, bench->nrows));
}

static enum hr_status run_bench(struct train_bench *bench)
{
    const struct hr_cli *cli = bench->cli;
    if (hr_sparse_is_model(cli->train.model))
        return hr_fail(HR_E_USAGE, "--model %s: bench train expects a network", cli->train.model);
    if (cli->plot[0] && !hr_sweep_has(cli, "workers"))
        return hr_fail(HR_E_USAGE, "--plot: draws samples/s over workers, of which bench train "
                                   "expects several: --workers 1,2,4");
    HR_TRY(plan_rows(bench));
    const bool virtual = hr_choices_of(&cli->train).clock ==
                         HR_CLOCK_VIRTUAL; /* the same again each time */
    bench->rounds = cli->rounds ? cli->rounds : virtual ? 1 : ROUNDS;
    if (bench->rounds > MOST_ROUNDS)
        return hr_fail(HR_E_USAGE, "--rounds %zu: expected at most %d", cli->rounds, MOST_ROUNDS);
    hr_bench_data_fill(&bench->data);
    HR_TRY(time_gradients(bench));
    HR_TRY(measure_all(bench));
    return report(bench);
}

enum hr_status hr_bench_train(struct hr_cli *cli)
{
    static struct train_bench bench;
    bench = (struct train_bench){.cli = cli};
    HR_TRY(hr_bench_data_open(cli, true, &bench.data));
    if (hr_cli_was_given(cli, "model"))
        bench.nmodels = 1;
    else
        choose_builtins(&bench);
    const enum hr_status status = bench.nmodels
                                      ? run_bench(&bench)
                                      : hr_fail(HR_E_USAGE,
                                                "bench train: no built-in model fits %s; expected "
                                                "--model",
                                                bench.data.name);
    free(bench.options);
    free(bench.rows);
    free(bench.series);
    hr_bench_data_close(&bench.data);
    return status;
}

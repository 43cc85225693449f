/* hogring bench train - samples per second of whole models, what the workers' time goes into, and
 * how much of the compute roof that is. */
#include "bench/bench.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hogring/group.h"
#include "base/json.h"
#include "base/median.h"
#include "base/signals.h"
#include "report/human.h"
#include "kernels/team.h"
#include "nn/model.h"
#include "nn/model_text.h"
#include "options/choices.h"
#include "options/meaning.h"
#include "options/sweep.h"
#include "products/ready.h"
#include "strategies/strategies.h"
#include "terminal/grid.h"
#include "terminal/output.h"
#include "watch/watch.h"

/* --- which share of a roof some work reached --- */

static enum hr_share_lack lack(const struct hr_roof_share *share, size_t n)
{
    return n == 0                                                ? HR_SHARE_HAS_NO_ROOF
           : n < HR_SHARE_FEWEST_ROUNDS                          ? HR_SHARE_HAS_FEW_ROUNDS
           : hr_middle_spread(share->roof) > HR_ROOF_MOST_SPREAD ? HR_SHARE_ROOF_WAVERED
           : share->share.median > 1                             ? HR_SHARE_CANNOT_BE
                                                                 : HR_SHARE_IS_KNOWN;
}

struct hr_roof_share hr_roof_share(const struct hr_roof_round *rounds, size_t n)
{
    double roofs[2 * HR_SHARE_MOST_ROUNDS], shares[HR_SHARE_MOST_ROUNDS];
    struct hr_roof_share share = {.share = {NAN, NAN, NAN}};
    HR_ASSERT(n <= HR_SHARE_MOST_ROUNDS);
    for (size_t i = 0; i < n; i++) {
        roofs[2 * i] = rounds[i].before;
        roofs[2 * i + 1] = rounds[i].after;
        shares[i] = 2 * rounds[i].rate / (rounds[i].before + rounds[i].after);
    }
    if (n) {
        share.roof = hr_middle(roofs, 2 * n);
        share.share = hr_middle(shares, n);
    }
    share.lack = lack(&share, n);
    return share;
}

const char *hr_roof_share_lack(const struct hr_roof_share *share, char text[64])
{
    char number[16];
    text[0] = '\0';
    switch (share->lack) {
    case HR_SHARE_IS_KNOWN:
        break;
    case HR_SHARE_HAS_NO_ROOF:
        snprintf(text, 64, "virtual time has no roof");
        break;
    case HR_SHARE_HAS_FEW_ROUNDS:
        snprintf(text, 64, "it takes %d rounds to tell", HR_SHARE_FEWEST_ROUNDS);
        break;
    case HR_SHARE_ROOF_WAVERED:
        snprintf(text, 64, "the roof wavered by %s %%",
                 hr_bench_spread_text(hr_middle_spread(share->roof), number));
        break;
    case HR_SHARE_CANNOT_BE:
        snprintf(text, 64, "%.0f %% of the roof cannot be: it was disturbed",
                 100 * share->share.median);
        break;
    }
    return text;
}

/* --- speeds --- */

double hr_speed_flops(const struct hr_speed_row *row)
{
    return 2 * row->madds * row->result.samples_per_s;
}

double hr_speed_share(const struct hr_speed_row *row)
{
    return row->roof.lack == HR_SHARE_IS_KNOWN ? row->roof.share.median : NAN;
}

static bool begins(const char *text, const char *beginning)
{
    return !strncmp(text, beginning, strlen(beginning));
}

/* The setting with blanks, as "ps-async, workers 2"; where `rest`, without the workers. The model
 * is named before it. */
static void write_setting(const struct hr_speed_row *row, bool rest, char *text, size_t size)
{
    const char *piece = row->setting;
    text[0] = '\0';
    while (*piece) {
        const size_t length = strcspn(++piece, ":"), used = strlen(text);
        const size_t name = strcspn(piece, "="), value = length - name - 1;
        const char *comma = used ? ", " : "";
        if (begins(piece, "strategy="))
            snprintf(text + used, size - used, "%s%.*s", comma, (int)value, piece + name + 1);
        else if (!begins(piece, "model=") && !(rest && begins(piece, "workers=")))
            snprintf(text + used, size - used, "%s%.*s %.*s", comma, (int)name, piece, (int)value,
                     piece + name + 1);
        piece += length;
    }
}

static void write_label(const struct hr_speed_row *row, bool rest, char *text, size_t size)
{
    char setting[HR_SPEED_SETTING + 32];
    write_setting(row, rest, setting, sizeof setting);
    snprintf(text, size, "%s%s%s", row->model, setting[0] ? " " : "", setting);
}

void hr_speed_curve(const struct hr_speed_row *row, char *text, size_t size)
{
    write_label(row, true, text, size);
}

void hr_speeds_set_ideal(struct hr_speed_row *rows, size_t n)
{
    char mine[256], other[256];
    for (size_t i = 0; i < n; i++) {
        const struct hr_speed_row *base = &rows[i];
        hr_speed_curve(&rows[i], mine, sizeof mine);
        for (size_t k = 0; k < n; k++) {
            hr_speed_curve(&rows[k], other, sizeof other);
            if (!strcmp(mine, other) && rows[k].result.workers < base->result.workers)
                base = &rows[k];
        }
        rows[i].ideal = base->result.samples_per_s * (double)rows[i].result.workers /
                        (double)base->result.workers;
    }
}

void hr_speed_parts(const struct hr_run_result *r, double share[HR_SPEED_PARTS])
{
    const double all = r->load_s + r->compute_s + r->communicate_s + r->wait_s;
    const double seconds[HR_SPEED_PARTS] = {
        [HR_SPEED_LOAD] = r->load_s,
        [HR_SPEED_FORWARD] = r->forward_s,
        [HR_SPEED_BACKWARD] = r->backward_s,
        [HR_SPEED_UPDATE] = fmax(0, r->compute_s - r->forward_s - r->backward_s),
        [HR_SPEED_COMMUNICATE] = r->communicate_s,
        [HR_SPEED_WAIT] = r->wait_s,
    };
    for (size_t i = 0; i < HR_SPEED_PARTS; i++)
        share[i] = all > 0 ? seconds[i] / all : 0;
}

/* In virtual time a gradient takes as long as it is said to, and has no parts. */
static void write_time(FILE *cells, const struct hr_run_result *result, bool real)
{
    double share[HR_SPEED_PARTS];
    hr_speed_parts(result, share);
    if (!real)
        share[HR_SPEED_FORWARD] += share[HR_SPEED_BACKWARD] + share[HR_SPEED_UPDATE];
    for (size_t i = 0; i < HR_SPEED_PARTS; i++)
        if (real || (i != HR_SPEED_BACKWARD && i != HR_SPEED_UPDATE))
            fprintf(cells, "%s%.0f", i ? "/" : "\t", 100 * share[i]);
    fputc('\n', cells);
}

static void print_lack(FILE *out, const struct hr_speed_row *row)
{
    char label[256], text[64];
    if (!row->measured || row->roof.lack == HR_SHARE_IS_KNOWN)
        return;
    write_label(row, false, label, sizeof label);
    fprintf(out, "%s: no share: %s\n", label, hr_roof_share_lack(&row->roof, text));
}

static void write_row(FILE *cells, const struct hr_speed_row *row, bool scaled)
{
    char label[256];
    write_label(row, false, label, sizeof label);
    fprintf(cells, "%s\t%.0f\t", label,
            hr_rate_shown(row->result.samples_per_s, row->result.tokens));
    if (scaled)
        fprintf(cells, "%.0f %%", 100 * row->result.samples_per_s / row->ideal);
    fprintf(cells, "\t%.4g\t%.1f\t", 2e-6 * row->madds, hr_speed_flops(row) * 1e-9);
    if (row->measured && row->roof.lack != HR_SHARE_IS_KNOWN)
        fputs("no share", cells);
    else if (row->measured)
        fprintf(cells, "%.0f %% [%.0f, %.0f]", 100 * row->roof.share.median,
                100 * row->roof.share.low, 100 * row->roof.share.high);
    write_time(cells, &row->result, row->measured);
}

void hr_speeds_print(FILE *out, const struct hr_speed_row *rows, size_t n)
{
    struct hr_grid table;
    char heads[96];
    bool scaled = false;
    for (size_t i = 0; i < n; i++)
        scaled = scaled || rows[i].result.workers != rows[0].result.workers;
    snprintf(heads, sizeof heads, "-model\t%s\tof ideal\tMFLOP\tGFLOP/s\tof roof [95 %%]\t-time %%",
             hr_rate_unit(n ? rows[0].result.tokens : 0)); /* all are on the same data */
    hr_grid_begin(&table, heads);
    for (size_t i = 0; i < n; i++)
        write_row(table.cells, &rows[i], scaled);
    hr_grid_end(&table, out, 0);
    fprintf(out, "%s, of the workers' time\n",
            n && rows[0].measured ? "time %: load / forward / backward / update / comm / wait"
                                  : "time %: load / gradient / comm / wait");
    if (n && rows[0].roof.lack != HR_SHARE_HAS_NO_ROOF)
        fputs("roof: the most that these threads can compute, measured beside each row\n", out);
    for (size_t i = 0; i < n; i++)
        print_lack(out, &rows[i]);
    if (scaled)
        fputs("ideal: the speed with the fewest workers, for each worker\n", out);
}

/* --- as JSON --- */

/* What a share was made of, and why there is none. */
static json_t *roof_object(const struct hr_speed_row *row)
{
    const struct hr_roof_share *roof = &row->roof;
    const bool known = roof->lack == HR_SHARE_IS_KNOWN;
    char text[64];
    json_t *rounds = json_array();
    for (size_t i = 0; i < row->rounds; i++)
        hr_json_append(&rounds,
                       hr_json_object("flops_per_s", HR_JSON(row->measured[i].rate), "roof_before",
                                      HR_JSON(row->measured[i].before), "roof_after",
                                      HR_JSON(row->measured[i].after), NULL));
    return hr_json_object(
        "kind", HR_JSON(hr_roof_kind_name(row->roof_kind)), "low_flops_per_s",
        HR_JSON(roof->roof.low), "high_flops_per_s", HR_JSON(roof->roof.high), "spread",
        HR_JSON(hr_middle_spread(roof->roof)), "share_low", HR_JSON(known ? roof->share.low : NAN),
        "share_high", HR_JSON(known ? roof->share.high : NAN), "no_share",
        hr_json_text_or_null(hr_roof_share_lack(roof, text)), "rounds", rounds, NULL);
}

static json_t *speed_object(const void *rows, size_t i)
{
    const struct hr_speed_row *row = (const struct hr_speed_row *)rows + i;
    const struct hr_run_result *r = &row->result;
    double share[HR_SPEED_PARTS];
    char label[256];
    hr_speed_parts(r, share);
    hr_speed_curve(row, label, sizeof label);
    json_t *time = hr_json_object(
        "load", HR_JSON(share[HR_SPEED_LOAD]), "forward", HR_JSON(share[HR_SPEED_FORWARD]),
        "backward", HR_JSON(share[HR_SPEED_BACKWARD]), "update", HR_JSON(share[HR_SPEED_UPDATE]),
        "communicate", HR_JSON(share[HR_SPEED_COMMUNICATE]), "wait", HR_JSON(share[HR_SPEED_WAIT]),
        NULL);
    return hr_json_object(
        HR_OF(row, model), "label", HR_JSON(label), "layers", HR_JSON(r->model), HR_OF(r, params),
        HR_OF(r, strategy), HR_OF(r, launch), HR_OF(r, kernels), HR_OF(r, workers),
        HR_OF(r, servers), HR_OF(r, clock), HR_OF(r, threads_per_worker), HR_OF(r, batch_size),
        HR_OF(r, samples_per_s), "tokens", r->tokens ? hr_json_count(r->tokens) : json_null(),
        HR_OF(row, rounds), "least_samples_per_s", HR_JSON(row->least), "most_samples_per_s",
        HR_JSON(row->most), "ideal_samples_per_s", HR_JSON(row->ideal), "flops_per_sample",
        HR_JSON(2 * row->madds), "flops_per_s", HR_JSON(hr_speed_flops(row)), "roof_flops_per_s",
        HR_JSON(row->measured ? row->roof.roof.median : NAN), "of_compute_roof",
        HR_JSON(hr_speed_share(row)), "roof", row->measured ? roof_object(row) : json_null(),
        "time", time, NULL);
}

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
    resolve_options(bench, options);
    if (model)
        snprintf(options->model, sizeof options->model, "%s", model);
    row->model = options->model;
    memcpy(row->setting, setting, sizeof setting);
    return hr_train_check(options, &bench->data.dataset);
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
    return hr_meaning_check_some(bench->cli, bench->options, bench->nrows, sizeof *bench->options);
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
        printf(" batch %zu per worker,", o->batch_size);
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
    snprintf(title, sizeof title, "%s on %s, batch %zu per worker, %s",
             hr_rate_unit(bench->data.dataset.tokens.context), bench->data.name,
             bench->options[0].batch_size,
             hr_choices_of(&bench->options[0]).clock == HR_CLOCK_REAL ? "real time"
                                                                      : "virtual time");
    return hr_publish(
        cli, title,
        hr_json_object("rows", hr_json_list(bench->nrows, speed_object, bench->rows), NULL));
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

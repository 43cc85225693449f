/* hogring bench pipeline - how long the schedules of a pipeline take for a model, on paper: every
 * combination of stages, micro-batches and schedules is a walk (pipeline/walk.h). With --rounds,
 * beside it, in real time. */
#include "bench/bench.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fold.h"
#include "base/median.h"
#include "base/printable.h"
#include "base/signals.h"
#include "json/value.h"
#include "nn/model.h"
#include "options/command_line.h"
#include "options/nearest.h"
#include "pipeline/picture.h"
#include "pipeline/schedule.h"
#include "pipeline/walk.h"
#include "report/human.h"
#include "stages/cut.h"
#include "stages/spans.h"
#include "terminal/grid.h"
#include "watch/watch.h"

/* --- results: schedules walked on paper --- */

/* In real time, over rounds: medians, and the least and the most. */
struct hr_pipelines_measured {
    size_t rounds; /* 0: it was not measured */
    double bubble, least, most;
    double samples_per_s, speed_up; /* against one worker that accumulates as many micro-batches */
    size_t tokens;                  /* of a sample; 0: it is no text */
};

/* One schedule in one shape. */
struct hr_pipelines_row {
    const struct hr_pipeline_schedule *schedule;
    struct hr_pipeline_shape shape;
    double makespan;   /* 1: what one worker takes for the same micro-batches */
    double bubble;     /* of the walk */
    size_t stored;     /* most activations at once, of the rank that has most */
    double balance;    /* of the ranks' work, mean / most */
    uint64_t messages; /* between ranks */
    struct hr_pipelines_measured measured;
};

enum { HR_PIPELINES_ROWS = 4096 };

struct hr_pipelines_table {
    const char *model; /* NULL: stages are equal */
    const char *data;
    double madds; /* of a sample, forward and backward */
    struct hr_pipelines_row row[HR_PIPELINES_ROWS];
    size_t n;
};

/* One row in full. */
struct hr_pipelines_rank {
    char layers[96]; /* "0 to 2", "0, 3 to 4" */
    double share;    /* of the work */
};

struct hr_pipelines_one {
    const struct hr_pipelines_table *table; /* of this row alone */
    const struct hr_pipelines_row *row;
    const struct hr_pipeline_walk *walk;
    const struct hr_pipelines_rank *rank; /* (K) */
};

enum { HR_BENCH_PIPELINE_ROUNDS = 99 };

/* --- tables --- */

/* "4", "4x2" */
static const char *stages_text(const struct hr_pipeline_shape *shape, char text[48])
{
    if (shape->chunks > 1)
        snprintf(text, 48, "%zux%zu", shape->stages, shape->chunks);
    else
        snprintf(text, 48, "%zu", shape->stages);
    return text;
}

/* What was measured, beside the paper. */
static void pipelines_print_measured(FILE *out, const struct hr_pipelines_table *table)
{
    struct hr_grid cells;
    char stages[48];
    hr_grid_begin(&cells, "-measured\tstages\tmicro\tbubble\tleast to most\tpaper");
    hr_grid_add(&cells, hr_rate_unit(table->row[0].measured.tokens));
    hr_grid_add(&cells, "speed-up");
    for (size_t i = 0; i < table->n; i++) {
        const struct hr_pipelines_row *row = &table->row[i];
        const struct hr_pipelines_measured *m = &row->measured;
        fprintf(cells.cells, "%s\t%s\t%zu\t%.1f %%\t%.1f %6.1f %%\t%.1f %%\t%.0f\t%.2f\n",
                row->schedule->name, stages_text(&row->shape, stages), row->shape.micro_batches,
                100 * m->bubble, 100 * m->least, 100 * m->most, 100 * row->bubble,
                hr_rate_shown(m->samples_per_s, m->tokens), m->speed_up);
    }
    fputc('\n', out);
    hr_grid_end(&cells, out, 0);
}

/* Another row has the same schedule and stages, and more micro-batches. */
static bool is_outdone(const struct hr_pipelines_table *table, const struct hr_pipelines_row *row)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->row[i].schedule == row->schedule &&
            table->row[i].shape.stages == row->shape.stages &&
            table->row[i].shape.micro_batches > row->shape.micro_batches)
            return true;
    return false;
}

static void pipelines_print(FILE *out, const struct hr_pipelines_table *table)
{
    struct hr_grid cells;
    char stages[48];
    if (table->model)
        fprintf(out,
                "# %s on %s\n"
                "# on paper: time is multiply-adds, %.3g M a sample; messages take none\n",
                table->model, table->data, 1e-6 * table->madds);
    else
        fputs("# on paper: equal stages, forward takes 1, backward 2; messages take none\n", out);
    hr_grid_begin(&cells, "-schedule\tstages\tmicro\tmakespan\tspeed-up\tbubble\tformula\tstored\t"
                          "balance");
    for (size_t i = 0; i < table->n; i++) {
        const struct hr_pipelines_row *row = &table->row[i];
        if (is_outdone(table, row))
            fputs(hr_yields(out, HR_NOTICE), cells.cells);
        fprintf(cells.cells, "%s\t%s\t%zu\t%.3f\t%.2f\t%.1f %%\t%.1f %%\t%zu\t%.2f\n",
                row->schedule->name, stages_text(&row->shape, stages), row->shape.micro_batches,
                row->makespan, 1 / row->makespan, 100 * row->bubble,
                100 * row->schedule->bubble(&row->shape), row->stored, row->balance);
    }
    hr_grid_end(&cells, out, 0);
}

/* --- one in full --- */

static void print_legend(FILE *out, const struct hr_pipelines_row *row)
{
    fprintf(out, "F forward, %s, . idle, number: micro-batch%s\n",
            row->schedule->splits_backward ? "D backward data, W backward weights" : "B backward",
            row->shape.chunks > 1 ? ";\nsmall letters: every other chunk" : "");
}

static void write_rank(FILE *cells, const struct hr_pipelines_one *one, size_t r)
{
    const struct hr_pipeline_schedule *schedule = one->row->schedule;
    const struct hr_pipeline_shape *shape = &one->row->shape;
    const struct hr_rank_walk *rank = &one->walk->rank[r];
    fprintf(cells, "%zu\t%s\t%.1f %%\t%.1f %%\t%zu", r, one->rank[r].layers,
            100 * one->rank[r].share, 100 * (double)rank->idle / (double)one->walk->makespan,
            rank->stored);
    if (!schedule->synchronous)
        fprintf(cells, "\t%zu\t%zu\t%zu", schedule->versions(shape, r),
                schedule->staleness(shape, r, HR_FORWARD),
                schedule->staleness(shape, r, HR_BACKWARD));
    fputs("\n", cells);
}

/* Its picture, in lines of at most `width` columns, and what each rank has. */
static enum hr_status pipelines_print_one(FILE *out, const struct hr_pipelines_one *one,
                                          size_t width)
{
    struct hr_grid table;
    char *picture;
    HR_TRY(hr_pipeline_picture(one->walk, width, &picture));
    fprintf(out, "\n%s\n", picture);
    free(picture);
    print_legend(out, one->row);
    fputs("\n", out);
    hr_grid_begin(&table, one->table->model
                              ? "-stage\t-layers\twork\tidle\tstored\tweight\nversions\t"
                                "forward\nstale\tbackward\nstale"
                              : "-stage\t-parts\twork\tidle\tstored\tweight\nversions\t"
                                "forward\nstale\tbackward\nstale");
    for (size_t r = 0; r < one->row->shape.stages; r++)
        write_rank(table.cells, one, r);
    hr_grid_end(&table, out, 0);
    return HR_OK;
}

/* --- what bench pipeline shows, as JSON: fields are only ever added --- */

static json_t *measured_json(const struct hr_pipelines_measured *m)
{
    if (!m->rounds)
        return json_null();
    return hr_json_object(HR_OF(m, rounds), HR_OF(m, bubble), "bubble_least", HR_JSON(m->least),
                          "bubble_most", HR_JSON(m->most), HR_OF(m, samples_per_s), "tokens_per_s",
                          m->tokens ? hr_json_number(hr_rate_shown(m->samples_per_s, m->tokens))
                                    : json_null(),
                          HR_OF(m, speed_up), NULL);
}

static json_t *row_json(const void *rows, size_t i)
{
    const struct hr_pipelines_row *row = (const struct hr_pipelines_row *)rows + i;
    const struct hr_pipeline_shape *shape = &row->shape;
    return hr_json_object(
        "op", HR_JSON("pipeline"), "schedule", HR_JSON(row->schedule->name), HR_OF(shape, stages),
        HR_OF(shape, micro_batches), HR_OF(shape, chunks), HR_OF(row, makespan), "speed_up",
        HR_JSON(1 / row->makespan), HR_OF(row, bubble), "bubble_formula",
        HR_JSON(row->schedule->bubble(shape)), HR_OF(row, stored), HR_OF(row, balance),
        HR_OF(row, messages), "measured", measured_json(&row->measured), NULL);
}

/* Of an asynchronous schedule; null of the others. */
static json_t *staleness_json(const struct hr_pipelines_one *one, size_t r)
{
    const struct hr_pipeline_schedule *schedule = one->row->schedule;
    const struct hr_pipeline_shape *shape = &one->row->shape;
    if (schedule->synchronous)
        return json_null();
    return hr_json_object("versions", HR_JSON(schedule->versions(shape, r)), "forward",
                          HR_JSON(schedule->staleness(shape, r, HR_FORWARD)), "backward",
                          HR_JSON(schedule->staleness(shape, r, HR_BACKWARD)), NULL);
}

static json_t *rank_json(const void *of, size_t r)
{
    const struct hr_pipelines_one *one = of;
    const struct hr_rank_walk *rank = &one->walk->rank[r];
    return hr_json_object("stage", HR_JSON(r), HR_OF(&one->rank[r], layers), "madds_share",
                          HR_JSON(one->rank[r].share), "idle_share",
                          HR_JSON((double)rank->idle / (double)one->walk->makespan),
                          HR_OF(rank, stored), "staleness", staleness_json(one, r), NULL);
}

/* {"model", "madds", "rows": [...], "ranks": [...]}, the last of `one`. */
static json_t *json_pipelines(const struct hr_pipelines_table *table,
                              const struct hr_pipelines_one *one)
{
    return hr_json_object("model", hr_json_text_or_null(table->model), "madds",
                          hr_json_number(table->model ? table->madds : NAN), "rows",
                          hr_json_list(table->n, row_json, table->row), "ranks",
                          hr_json_list(one ? one->row->shape.stages : 0, rank_json, one), NULL);
}

/* --- in real time --- */

enum { BATCH = 64, MOST_ROUNDS = HR_BENCH_PIPELINE_ROUNDS };
static const double run_seconds = 0.5;

/* What a row gave, by rounds. */
struct series {
    double bubble[MOST_ROUNDS], speed[MOST_ROUNDS], alone[MOST_ROUNDS];
    size_t tokens; /* of a sample; 0: it is no text */
};

/* One worker that accumulates; nothing is to be learned: a small rate keeps numbers small. */
static struct hr_train_options accumulating(const struct hr_cli *cli, size_t micro_batches)
{
    struct hr_train_options options = cli->train;
    options.workers = 1;
    options.epochs = 1 << 20;
    options.lr = 1e-4;
    options.max_seconds = run_seconds;
    options.batch_size = (BATCH + micro_batches - 1) / micro_batches;
    options.accumulate = micro_batches;
    return options;
}

static struct hr_train_options staged(const struct hr_cli *cli, const struct hr_pipelines_row *row)
{
    struct hr_train_options options = accumulating(cli, row->shape.micro_batches);
    options.batch_size *= options.accumulate;
    options.accumulate = 1;
    options.pipeline = row->shape.stages;
    options.micro_batches = row->schedule->synchronous ? row->shape.micro_batches : 0;
    options.chunks = row->shape.chunks;
    snprintf(options.pipeline_schedule, sizeof options.pipeline_schedule, "%s",
             row->schedule->name);
    snprintf(options.stages, sizeof options.stages, "%s", cli->stages);
    return options;
}

static enum hr_status train(const struct hr_train_options *options,
                            const struct hr_dataset *dataset, struct hr_run_result *result)
{
    const struct hr_observer observer = {.should_stop = hr_signals_seen};
    hr_run_result_free(result);
    HR_TRY(hr_train(options, dataset, &observer, result));
    return hr_signals_check();
}

static enum hr_status measure(const struct hr_cli *cli, const struct hr_dataset *dataset,
                              const struct hr_pipelines_row *row, size_t round,
                              struct series *series, struct hr_run_result *last)
{
    const struct hr_train_options alone = accumulating(cli, row->shape.micro_batches),
                                  several = staged(cli, row);
    HR_TRY(train(&alone, dataset, last));
    series->alone[round] = last->samples_per_s;
    HR_TRY(train(&several, dataset, last));
    series->speed[round] = last->samples_per_s;
    series->bubble[round] = last->pipeline.bubble;
    series->tokens = last->tokens;
    return HR_OK;
}

static void conclude(struct series *series, size_t rounds, struct hr_pipelines_measured *out)
{
    *out = (struct hr_pipelines_measured){.rounds = rounds, .least = 1};
    for (size_t i = 0; i < rounds; i++) {
        out->least = series->bubble[i] < out->least ? series->bubble[i] : out->least;
        out->most = series->bubble[i] > out->most ? series->bubble[i] : out->most;
    }
    out->bubble = hr_median(series->bubble, rounds);
    out->tokens = series->tokens;
    out->samples_per_s = hr_median(series->speed, rounds);
    out->speed_up = out->samples_per_s / hr_median(series->alone, rounds);
}

/* Train each row of the table, cli->rounds times, which are no more than that, in turns:
 * row.measured out, and of the last run of the last row what its stages did when: free it with
 * hr_run_result_free. */
static enum hr_status measure_rows(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                   struct hr_pipelines_table *table, struct hr_run_result *last)
{
    struct series *series = calloc(table->n, sizeof *series);
    enum hr_status status = HR_OK;
    if (!series)
        return hr_fail(HR_E_NOMEM, "no memory for %zu measurements", table->n);
    for (size_t round = 0; status == HR_OK && round < cli->rounds; round++)
        for (size_t i = 0; status == HR_OK && i < table->n; i++)
            status = measure(cli, dataset, &table->row[i], round, &series[i], last);
    for (size_t i = 0; status == HR_OK && i < table->n; i++)
        conclude(&series[i], cli->rounds, &table->row[i].measured);
    if (status == HR_OK && hr_cli_speaks(cli))
        pipelines_print_measured(stdout, table);
    free(series);
    return status;
}

enum { MOST_VALUES = 16, MOST_USUAL_STAGES = 8 };

struct list {
    size_t value[MOST_VALUES];
    size_t n;
};

struct bench {
    const struct hr_cli *cli;
    struct hr_bench_data data;
    struct hr_model *model;            /* NULL: stages are equal */
    struct list stages, micro_batches; /* micro_batches.n 0: 1, 2 and 4 times the stages */
    const struct hr_pipeline_schedule *schedule[MOST_VALUES];
    size_t nschedules;
    size_t chunks;                /* of interleaved: a stage has so many parts */
    bool only;                    /* one combination was asked for: */
    size_t *cut;                  /* (parts + 1) of the last one; owned */
    struct hr_part_cost *part;    /* (parts) owned */
    struct hr_pipeline_walk walk; /* of the last one; owned */
    char left_out[512];           /* why the last combination was */
    FILE *notes;                  /* on all that were; its memory is owned */
    char *noted;
    size_t noted_bytes;
    struct hr_pipelines_table table;
    struct hr_run_result last; /* in real time; owned */
};

/* --- what was asked for --- */

/* "4", "2,4,8" */
static enum hr_status parse_list(const char *part, const char *text, struct list *out)
{
    char copy[256], *rest = copy;
    snprintf(copy, sizeof copy, "%s", text);
    for (const char *word; (word = strsep(&rest, ",")) != NULL;) {
        uint64_t value;
        if (out->n == MOST_VALUES || !hr_parse_count(word, &value))
            return hr_fail(HR_E_USAGE, "--pipeline %s%s: expected up to %d numbers, as 4 or 2,4,8",
                           part, text, MOST_VALUES);
        out->value[out->n++] = value;
    }
    return HR_OK;
}

static bool has_chunks(const struct hr_pipeline_schedule *schedule)
{
    return schedule == &hr_schedule_interleaved;
}

/* "1f1b", "interleaved:3" */
static enum hr_status add_schedule(struct bench *bench, char *word)
{
    const struct hr_pipeline_schedule *known;
    char *colon = strchr(word, ':');
    uint64_t chunks = bench->chunks;
    if (colon)
        *colon = '\0';
    HR_TRY(hr_pipeline_schedule_find(word, &known));
    if (colon && (!has_chunks(known) || !hr_parse_count(colon + 1, &chunks)))
        return hr_fail(HR_E_USAGE,
                       "--pipeline schedule=%s:%s: expected it without, or interleaved:V", word,
                       hr_printable(colon + 1).text);
    bench->chunks = chunks;
    if (bench->nschedules < MOST_VALUES)
        bench->schedule[bench->nschedules++] = known;
    return HR_OK;
}

static enum hr_status parse_schedules(struct bench *bench)
{
    char copy[sizeof bench->cli->pipeline_schedule], *rest = copy;
    const struct hr_pipeline_schedule *known;
    bench->chunks = 2;
    snprintf(copy, sizeof copy, "%s", bench->cli->pipeline_schedule);
    if (!strcmp(copy, "all")) {
        for (size_t i = 0; (known = hr_pipeline_schedule_at(i)); i++)
            if (known->synchronous)
                bench->schedule[bench->nschedules++] = known;
        return HR_OK;
    }
    for (char *word; (word = strsep(&rest, ",")) != NULL;)
        HR_TRY(add_schedule(bench, word));
    return HR_OK;
}

static enum hr_status check_model(const struct hr_cli *cli)
{
    static const char *const names[] = {"stages", "data", "input", "classes", "rounds"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (hr_cli_was_given(cli, names[i]) && !hr_cli_was_given(cli, "model"))
            return hr_fail(HR_E_USAGE, "--%s%s: needs --model", i ? "" : "pipeline ", names[i]);
    return HR_OK;
}

static enum hr_status read_options(struct bench *bench)
{
    const struct hr_cli *cli = bench->cli;
    HR_TRY(parse_schedules(bench));
    HR_TRY(check_model(cli));
    if (hr_cli_was_given(cli, "pipeline"))
        HR_TRY(parse_list("", cli->pipeline, &bench->stages));
    if (hr_cli_was_given(cli, "micro-batches"))
        HR_TRY(parse_list("micro-batches=", cli->micro_batches, &bench->micro_batches));
    if (hr_cli_was_given(cli, "stages") && bench->stages.n != 1)
        return hr_fail(HR_E_USAGE,
                       "--pipeline stages=%s: expected --pipeline K beside it, one number",
                       cli->stages);
    bench->only = bench->nschedules == 1 && bench->stages.n == 1 && bench->micro_batches.n == 1;
    if (cli->rounds > HR_BENCH_PIPELINE_ROUNDS)
        return hr_fail(HR_E_USAGE, "--rounds %zu: expected 0 to %d", cli->rounds,
                       HR_BENCH_PIPELINE_ROUNDS);
    if (!bench->only && cli->plot[0])
        return hr_fail(HR_E_USAGE, "--plot: draws a single schedule; expected one "
                                   "--pipeline K,micro-batches=M,schedule=NAME");
    return HR_OK;
}

/* --- one combination --- */

static enum hr_status take_parts(struct bench *bench, size_t parts)
{
    free(bench->cut);
    free(bench->part);
    bench->cut = calloc(parts + 1, sizeof *bench->cut);
    bench->part = calloc(parts, sizeof *bench->part);
    return bench->cut && bench->part ? HR_OK
                                     : hr_fail(HR_E_NOMEM, "no memory for %zu parts", parts);
}

static enum hr_status cut(struct bench *bench, const struct hr_pipeline_schedule *schedule,
                          const struct hr_pipeline_shape *shape)
{
    const size_t parts = shape->stages * shape->chunks;
    HR_TRY(take_parts(bench, parts));
    if (!bench->model) {
        for (size_t p = 0; p < parts; p++)
            bench->part[p] = (struct hr_part_cost){1, 1, 1};
        return HR_OK;
    }
    bench->cut[parts] = hr_model_layer_count(bench->model);
    HR_TRY(hr_cut_model(bench->model, bench->cli->stages, schedule, shape, bench->cut + 1));
    hr_cut_count(bench->model, bench->cut, parts, bench->part);
    return HR_OK;
}

static double cost_of(const struct bench *bench, const struct hr_pipeline_shape *shape, size_t rank)
{
    int64_t sum = 0;
    for (size_t p = rank; p < shape->stages * shape->chunks; p += shape->stages)
        sum +=
            bench->part[p].forward + bench->part[p].backward_data + bench->part[p].backward_weights;
    return (double)sum;
}

static void fill_row(const struct bench *bench, struct hr_pipelines_row *row)
{
    const struct hr_pipeline_shape *shape = &row->shape;
    double sum = 0, most = 0;
    row->bubble = bench->walk.bubble;
    row->messages = bench->walk.messages;
    for (size_t r = 0; r < shape->stages; r++) {
        const double cost = cost_of(bench, shape, r);
        const size_t stored = bench->walk.rank[r].stored;
        sum += cost;
        most = cost > most ? cost : most;
        row->stored = stored > row->stored ? stored : row->stored;
    }
    row->balance = sum / ((double)shape->stages * most);
    row->makespan = (double)bench->walk.makespan / ((double)shape->micro_batches * sum);
}

static enum hr_status add(struct bench *bench, const struct hr_pipeline_schedule *schedule,
                          size_t stages, size_t micro_batches)
{
    struct hr_pipelines_row *row = &bench->table.row[bench->table.n];
    *row = (struct hr_pipelines_row){
        .schedule = schedule,
        .shape = {stages, micro_batches, has_chunks(schedule) ? bench->chunks : 1}};
    HR_TRY(hr_signals_check());
    HR_TRY(schedule->check(&row->shape));
    HR_TRY(cut(bench, schedule, &row->shape));
    if (bench->table.madds * (double)micro_batches > 0x1p61)
        return hr_fail(HR_E_USAGE,
                       "--pipeline micro-batches=%zu: more multiply-adds than can be counted",
                       micro_batches);
    const struct hr_pipeline_costs costs = {.part = bench->part};
    hr_pipeline_walk_fini(&bench->walk);
    HR_TRY(hr_pipeline_walk(schedule, &row->shape, &costs, &bench->walk));
    fill_row(bench, row);
    bench->table.n++;
    return HR_OK;
}

/* --- all of them --- */

/* Why, in lines of comment. */
static void note_left_out(FILE *out, const struct hr_pipelines_row *row, const char *why)
{
    const size_t width = hr_text_columns(STDOUT_FILENO);
    size_t column =
        (size_t)fprintf(out, "# without %s, %zu stages, %zu micro-batches:", row->schedule->name,
                        row->shape.stages, row->shape.micro_batches);
    for (size_t n; (n = strcspn(why += strspn(why, " \n"), " \n")) > 0; why += n) {
        if (column + 1 + n > width)
            column = (size_t)fprintf(out, "\n#  ") - 1;
        column += (size_t)fprintf(out, " %.*s", (int)n, why);
    }
    fputs("\n", out);
}

/* What cannot be is left out of a sweep, and noted once. */
static enum hr_status add_or_note(struct bench *bench, const struct hr_pipeline_schedule *schedule,
                                  size_t stages, size_t micro_batches)
{
    const enum hr_status status = add(bench, schedule, stages, micro_batches);
    if (status != HR_E_USAGE || bench->only)
        return status;
    if (strcmp(bench->left_out, hr_error_message()) != 0)
        note_left_out(bench->notes, &bench->table.row[bench->table.n], hr_error_message());
    snprintf(bench->left_out, sizeof bench->left_out, "%s", hr_error_message());
    return HR_OK;
}

static enum hr_status add_stages(struct bench *bench, size_t stages)
{
    const struct list usual = {{stages, 2 * stages, 4 * stages}, 3};
    const struct list *micro = bench->micro_batches.n ? &bench->micro_batches : &usual;
    for (size_t m = 0; m < micro->n; m++)
        for (size_t s = 0; s < bench->nschedules; s++)
            HR_TRY(add_or_note(bench, bench->schedule[s], stages, micro->value[m]));
    return HR_OK;
}

static enum hr_status add_all(struct bench *bench)
{
    for (size_t k = 0; k < bench->stages.n; k++)
        HR_TRY(add_stages(bench, bench->stages.value[k]));
    /* 2, 4, 8 stages, as far as the layers go; without a pipeline at all the reason is an error. */
    for (size_t K = 2; !bench->stages.n && K <= MOST_USUAL_STAGES; K *= 2) {
        const enum hr_status status =
            cut(bench, &hr_schedule_1f1b, &(struct hr_pipeline_shape){K, K, 1});
        if (status == HR_E_USAGE && K > 2)
            break;
        HR_TRY(status);
        HR_TRY(add_stages(bench, K));
    }
    return bench->table.n ? HR_OK : hr_fail(HR_E_USAGE, "%s", bench->left_out);
}

/* --- one in full --- */

/* "0 to 2, 5": the layers of all parts of a rank, or the parts. */
static void write_layers(const struct bench *bench, const struct hr_pipeline_shape *shape,
                         size_t rank, char *out, size_t size)
{
    size_t used = 0;
    for (size_t p = rank; p < shape->stages * shape->chunks && used < size; p += shape->stages) {
        char text[64];
        snprintf(text, sizeof text, "%zu", p);
        if (bench->model)
            hr_cut_text(bench->model, bench->cut[p], bench->cut[p + 1], text, sizeof text);
        used += (size_t)snprintf(out + used, size - used, "%s%s", p > rank ? ", " : "", text);
    }
}

/* A panel of its picture. */
static json_t *step_json(const char *title, const char *unit, size_t stages,
                         const struct hr_stage_span *span, size_t n)
{
    return hr_json_object("title", HR_JSON(title), "unit", hr_json_text_or_null(unit), "stages",
                          HR_JSON(stages), "step", hr_json_spans(span, n), NULL);
}

/* On paper, and behind it, where it was measured, the last step. */
static enum hr_status publish_one(const struct bench *bench, const struct hr_pipelines_one *one)
{
    const struct hr_pipelines_row *row = one->row;
    const struct hr_pipeline_report *last = &bench->last.pipeline;
    struct hr_stage_span *span;
    char title[200], paper[80], real[80];
    size_t n;
    HR_TRY(hr_spans_of_walk(&bench->walk, bench->model ? 1e-6 : 1, &span, &n));
    snprintf(title, sizeof title, "%s, %zu stages, %zu micro-batches%s%.80s", row->schedule->name,
             row->shape.stages, row->shape.micro_batches, bench->model ? ": " : "",
             bench->model ? bench->table.model : "");
    snprintf(paper, sizeof paper, "on paper: bubble %.1f %%", 100 * row->bubble);
    snprintf(real, sizeof real, "the last step that was measured; bubble %.1f %%",
             100 * row->measured.bubble);
    json_t *rest = json_pipelines(&bench->table, one), *steps = json_array();
    json_array_append_new(
        steps, step_json(paper, bench->model ? "millions of multiply-adds of a sample" : "time",
                         row->shape.stages, span, n));
    if (last->nspans)
        json_array_append_new(steps, step_json(real, "", last->stages, last->span, last->nspans));
    free(span);
    if (rest)
        json_object_set_new(rest, "steps", steps);
    return hr_publish(bench->cli, title, rest);
}

static enum hr_status show_one(const struct bench *bench)
{
    const struct hr_pipelines_row *row = &bench->table.row[0];
    const size_t K = row->shape.stages;
    struct hr_pipelines_rank *ranks = calloc(K, sizeof *ranks);
    const struct hr_pipelines_one one = {
        .table = &bench->table, .row = row, .walk = &bench->walk, .rank = ranks};
    enum hr_status status = HR_OK;
    double sum = 0;
    if (!ranks)
        return hr_fail(HR_E_NOMEM, "no memory for %zu stages", K);
    for (size_t r = 0; r < K; r++) {
        ranks[r].share = cost_of(bench, &row->shape, r);
        sum += ranks[r].share;
        write_layers(bench, &row->shape, r, ranks[r].layers, sizeof ranks[r].layers);
    }
    for (size_t r = 0; r < K; r++)
        ranks[r].share /= sum;
    if (hr_cli_speaks(bench->cli))
        status = pipelines_print_one(stdout, &one, hr_text_columns(STDOUT_FILENO));
    if (status == HR_OK)
        status = publish_one(bench, &one);
    free(ranks);
    return status;
}

static enum hr_status show(struct bench *bench)
{
    fflush(bench->notes); /* into bench->noted */
    if (hr_cli_speaks(bench->cli)) {
        hr_output_hold();
        fputs(bench->noted, stdout);
        pipelines_print(stdout, &bench->table);
    }
    if (bench->cli->rounds)
        HR_TRY(measure_rows(bench->cli, &bench->data.dataset, &bench->table, &bench->last));
    if (bench->only)
        return show_one(bench);
    return hr_publish(bench->cli, NULL, json_pipelines(&bench->table, NULL));
}

static enum hr_status build(struct bench *bench)
{
    const struct hr_dataset *set = &bench->data.dataset;
    if (!hr_cli_was_given(bench->cli, "model"))
        return HR_OK;
    HR_TRY(hr_bench_data_open(bench->cli, bench->cli->rounds > 0, &bench->data));
    if (bench->cli->rounds)
        hr_bench_data_fill(&bench->data);
    HR_TRY(hr_model_of_data(bench->cli->train.model, set, &bench->model));
    bench->table.model = bench->cli->train.model;
    bench->table.data = bench->data.name;
    bench->table.madds = hr_model_madds(bench->model);
    return HR_OK;
}

enum hr_status hr_bench_pipeline(struct hr_cli *cli)
{
    static struct bench bench;
    bench = (struct bench){.cli = cli};
    HR_TRY(read_options(&bench));
    bench.notes = open_memstream(&bench.noted, &bench.noted_bytes);
    if (!bench.notes)
        return hr_fail(HR_E_NOMEM, "no memory for notes");
    enum hr_status status = build(&bench);
    if (status == HR_OK)
        status = add_all(&bench);
    if (status == HR_OK)
        status = show(&bench);
    hr_pipeline_walk_fini(&bench.walk);
    fclose(bench.notes);
    free(bench.noted);
    free(bench.cut);
    free(bench.part);
    hr_model_destroy(bench.model);
    hr_bench_data_close(&bench.data);
    hr_run_result_free(&bench.last);
    return status;
}

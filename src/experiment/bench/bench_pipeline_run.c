#include "bench/pipelines.h"

#include <stdlib.h>
#include <string.h>

#include "base/median.h"
#include "base/signals.h"

enum { BATCH = 64, MOST_ROUNDS = HR_BENCH_PIPELINE_ROUNDS };
static const double run_seconds = 0.5;

/* What a row gave, by rounds. */
struct series {
    double bubble[MOST_ROUNDS], speed[MOST_ROUNDS], alone[MOST_ROUNDS];
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
    out->samples_per_s = hr_median(series->speed, rounds);
    out->speed_up = out->samples_per_s / hr_median(series->alone, rounds);
}

enum hr_status hr_bench_pipeline_run(const struct hr_cli *cli, const struct hr_dataset *dataset,
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
        hr_pipelines_print_measured(stdout, table);
    free(series);
    return status;
}

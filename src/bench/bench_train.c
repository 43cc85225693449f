/* hogring bench train - samples a second of whole models, what the workers' time goes into, and
 * how much of the compute roof that is. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/bench_data.h"
#include "bench/bench_layers.h"
#include "options/meaning.h"
#include "base/signals.h"
#include "hogring/group.h"
#include "kernels/gemm.h"
#include "nn/model_text.h"
#include "json/documents.h"
#include "json/value.h"
#include "page/publish.h"
#include "report/layers.h"

enum { MOST_MODELS = 32, ROOF_ROUNDS = 5, NAME_BYTES = 1024 };

struct train_bench {
    const struct hr_cli *cli;
    struct hr_bench_data data;
    size_t n;
    char names[MOST_MODELS][NAME_BYTES];
    struct hr_speed_row rows[MOST_MODELS];
};

/* --- the compute roof: all threads of all workers at once --- */

struct roof {
    size_t threads;
    double flops;
};

static enum hr_status measure_roof(struct hr_group *world, void *arg)
{
    struct roof *roof = arg;
    struct hr_roof_meter *meter;
    (void)world;
    HR_TRY(hr_kernels_init_process(roof->threads));
    HR_TRY(hr_roof_meter_create(roof->threads, ROOF_ROUNDS, false, &meter));
    for (int i = 0; i < ROOF_ROUNDS; i++)
        hr_roof_meter_round(meter);
    const struct hr_roofs roofs = hr_roof_meter_read(meter);
    roof->flops = hr_roofs_flops(&roofs);
    hr_roof_meter_destroy(meter);
    return HR_OK;
}

/* In a process of its own: one that has used a team of threads or BLAS must not fork workers. */
static enum hr_status roof_beside(const struct hr_train_options *options, double *flops)
{
    const struct hr_world_options world = {.nranks = 1,
                                           .launch = "process",
                                           .arena_bytes = 1,
                                           .timeout = options->timeout > 0 ? options->timeout : -1};
    struct roof *roof =
        mmap(NULL, sizeof *roof, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (roof == MAP_FAILED)
        return hr_fail_errno(HR_E_NOMEM, "no memory to measure the machine in");
    roof->threads = options->workers * options->threads_per_worker;
    const enum hr_status status = hr_world_run(&world, measure_roof, roof);
    *flops = roof->flops;
    munmap(roof, sizeof *roof);
    return status;
}

/* --- which models --- */

static bool is_builtin(const char *name)
{
    for (const char *const *known = hr_model_builtins(); *known; known++)
        if (!strcmp(*known, name))
            return true;
    return false;
}

static void add_model(struct train_bench *bench, const char *name)
{
    if (bench->n < MOST_MODELS)
        snprintf(bench->names[bench->n++], NAME_BYTES, "%s", name);
}

/* Those that are built in, but for what does not fit the data. */
static void choose_builtins(struct train_bench *bench)
{
    const struct hr_dataset *set = &bench->data.dataset;
    struct hr_model *model;
    for (const char *const *known = hr_model_builtins(); *known; known++)
        if (hr_model_create(*known, set->shape, set->classes, &model) == HR_OK) {
            hr_model_destroy(model);
            add_model(bench, *known);
        } else if (strcmp(bench->cli->json, "-") != 0) {
            printf("# without %s: %s\n", *known, hr_error_message());
        }
}

/* "mlp,cnn" are two models when all are built in; anything else is a layer list. */
static void choose_models(struct train_bench *bench)
{
    const char *asked = bench->cli->train.model;
    char copy[NAME_BYTES], *rest = copy;
    snprintf(copy, sizeof copy, "%s", asked);
    for (const char *name; (name = strsep(&rest, ",")) != NULL;) {
        name += strspn(name, " ");
        if (!is_builtin(name)) {
            bench->n = 0;
            add_model(bench, asked);
            return;
        }
        add_model(bench, name);
    }
}

/* --- measuring --- */

static enum hr_status count_madds(const struct train_bench *bench, struct hr_speed_row *row)
{
    const struct hr_dataset *set = &bench->data.dataset;
    struct hr_model *model;
    HR_TRY(hr_model_create(row->model, set->shape, set->classes, &model));
    row->madds = hr_model_madds(model);
    hr_model_destroy(model);
    return HR_OK;
}

/* Nothing is to be learned here: a small rate keeps numbers small. */
static struct hr_train_options options_for(const struct hr_cli *cli, const char *model)
{
    struct hr_train_options options = cli->train;
    snprintf(options.model, sizeof options.model, "%s", model);
    options.epochs = 1 << 20;
    options.lr = 1e-4;
    options.max_seconds = hr_cli_was_given(cli, "max-seconds") ? options.max_seconds : 1;
    return options;
}

static enum hr_status measure_model(struct train_bench *bench, size_t i, double roof_before,
                                    double *roof_after)
{
    struct hr_speed_row *row = &bench->rows[i];
    const struct hr_observer observer = {.should_stop = hr_signals_seen};
    const struct hr_train_options options = options_for(bench->cli, bench->names[i]);
    row->model = bench->names[i];
    HR_TRY(count_madds(bench, row));
    HR_TRY(hr_train(&options, &bench->data.dataset, &observer, &row->result));
    hr_run_result_free(&row->result); /* only its curve */
    HR_TRY(roof_beside(&options, roof_after));
    row->roof_flops = (roof_before + *roof_after) / 2;
    if (strcmp(bench->cli->json, "-") != 0)
        hr_speed_print(stdout, row);
    return hr_signals_check();
}

static enum hr_status measure_all(struct train_bench *bench)
{
    const struct hr_cli *cli = bench->cli;
    const struct hr_train_options *o = &cli->train;
    const struct hr_train_options first = options_for(cli, bench->names[0]);
    double roof, next;
    if (hr_sparse_is_model(o->model))
        return hr_fail(HR_E_USAGE, "--model %s: bench train expects a network", o->model);
    HR_TRY(hr_meaning_check(cli, o));
    HR_TRY(hr_train_check(&first, &bench->data.dataset));
    hr_bench_data_fill(&bench->data);
    HR_TRY(roof_beside(o, &roof));
    if (strcmp(cli->json, "-") != 0) {
        printf("# train on %s: %s, %zu worker%s of %zu thread%s (%s), batch %zu a worker, kernels "
               "%s\n# compute roof, %zu threads together: %.1f GFLOP/s\n",
               bench->data.name, o->strategy, o->workers, o->workers == 1 ? "" : "s",
               o->threads_per_worker, o->threads_per_worker == 1 ? "" : "s", o->launch,
               o->batch_size, o->kernels, o->workers * o->threads_per_worker, roof * 1e-9);
        hr_speed_print_head(stdout);
    }
    for (size_t i = 0; i < bench->n; i++, roof = next)
        HR_TRY(measure_model(bench, i, roof, &next));
    return hr_publish(cli->json, cli->report, hr_json_speed(bench->rows, bench->n));
}

enum hr_status hr_bench_train(struct hr_cli *cli)
{
    static struct train_bench bench;
    bench = (struct train_bench){.cli = cli};
    HR_TRY(hr_bench_data_open(cli, true, &bench.data));
    if (hr_cli_was_given(cli, "model"))
        choose_models(&bench);
    else
        choose_builtins(&bench);
    const enum hr_status status =
        bench.n ? measure_all(&bench)
                : hr_fail(HR_E_USAGE, "bench train: no built-in model fits %s; expected --model",
                          bench.data.name);
    hr_bench_data_close(&bench.data);
    return status;
}

/* hogring bench layers - where the time of a step goes, and what binds each part of it. */
#include "bench/bench.h"

#include <string.h>

#include "base/fpenv.h"
#include "base/signals.h"
#include "kernels/bf16.h"
#include "kernels/select.h"
#include "options/choices.h"
#include "products/ready.h"
#include "report/benches.h"
#include "watch/watch.h"

enum { MOST_BATCH = 1 << 20, MOST_THREADS = 256 };

static bool is_bf16(const struct hr_cli *cli)
{
    return hr_choices_of(&cli->train).precision == HR_CHOICE_BF16;
}

static enum hr_status check(const struct hr_cli *cli)
{
    const struct hr_train_options *o = &cli->train;
    if (o->batch_size < 1 || o->batch_size > MOST_BATCH)
        return hr_fail(HR_E_USAGE, "--batch-size %zu: expected 1 to %d", o->batch_size, MOST_BATCH);
    if (o->threads_per_worker < 1 || o->threads_per_worker > MOST_THREADS)
        return hr_fail(HR_E_USAGE, "--threads-per-worker %zu: expected 1 to %d",
                       o->threads_per_worker, MOST_THREADS);
    return hr_kernels_select_named(o->kernels, is_bf16(cli));
}

static const char *kernels_of(const struct hr_cli *cli)
{
    return is_bf16(cli) ? hr_bf16_name() : hr_kernels_name();
}

static enum hr_status show(const struct hr_cli *cli, const struct hr_profile *profile)
{
    char title[200];
    if (hr_cli_speaks(cli)) {
        hr_roofs_print(stdout, &profile->roofs);
        hr_layers_print(stdout, profile);
    }
    snprintf(title, sizeof title, "%.100s: batch %zu, %zu thread%s", cli->train.model,
             profile->batch_size, profile->threads, profile->threads == 1 ? "" : "s");
    return hr_publish(cli, title, hr_json_layers(profile, kernels_of(cli)));
}

static enum hr_status measure(const struct hr_cli *cli, const struct hr_bench_data *data,
                              struct hr_profile *profile)
{
    const struct hr_train_options *o = &cli->train;
    const double seconds = hr_cli_was_given(cli, "max-seconds") ? o->max_seconds : 1;
    struct hr_model *model;
    HR_TRY(hr_kernels_check());
    HR_TRY(hr_kernels_init_process(o->threads_per_worker));
    struct hr_model_options options = {.description = o->model,
                                       .input = data->dataset.shape,
                                       .classes = data->dataset.classes,
                                       .text = &data->dataset.tokens};
    HR_TRY(hr_precision_parse(o->precision, &options.precision));
    HR_TRY(hr_model_build(&options, &model));
    if (hr_cli_speaks(cli))
        printf("# layers of \"%s\" on %s: %zu parameters, batch %zu, %zu thread%s, kernels %s\n",
               hr_model_text(model), data->name, hr_model_param_count(model), o->batch_size,
               o->threads_per_worker, o->threads_per_worker == 1 ? "" : "s", kernels_of(cli));
    fflush(stdout); /* it takes a while */
    const enum hr_status status =
        hr_profile_measure(model, o->batch_size, o->threads_per_worker, seconds, profile);
    hr_model_destroy(model);
    return status;
}

enum hr_status hr_bench_layers(struct hr_cli *cli)
{
    struct hr_bench_data data;
    struct hr_profile profile = {0};
    HR_TRY(check(cli));
    HR_TRY(hr_bench_data_open(cli, false, &data));
    hr_bench_data_fill(&data);
    hr_fp_flush_denormals();
    enum hr_status status = measure(cli, &data, &profile);
    if (status == HR_OK)
        status = hr_signals_check();
    profile.tokens = data.dataset.tokens.context;
    if (status == HR_OK)
        status = show(cli, &profile);
    hr_profile_free(&profile);
    hr_bench_data_close(&data);
    return status;
}

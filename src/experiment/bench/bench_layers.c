/* hogring bench layers - where the time of a step goes, and what binds each part of it. */
#include "bench/bench.h"

#include <math.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/json.h"
#include "base/signals.h"
#include "kernels/bf16.h"
#include "kernels/select.h"
#include "options/choices.h"
#include "nn/profile.h"
#include "products/ready.h"
#include "products/roofs.h"
#include "report/human.h"
#include "terminal/grid.h"
#include "watch/watch.h"

/* --- the machine, and the table --- */

static void print_wavering(FILE *out, const char *name, double spread)
{
    char number[16];
    if (spread > HR_ROOF_MOST_SPREAD)
        fprintf(out, "%s# no share of %s: that roof wavered by %s %%\n", hr_yields(out, HR_NOTICE),
                name, hr_bench_spread_text(spread, number));
}

void hr_roofs_print(FILE *out, const struct hr_roofs *roofs)
{
    fputs(hr_yields(out, HR_NOTICE), out);
    fprintf(out, "# roofs, %zu thread%s: compute %.1f GFLOP/s (%s, %s", roofs->threads,
            roofs->threads == 1 ? "" : "s", hr_roofs_flops(roofs) * 1e-9,
            hr_roof_kind_name(roofs->kind), hr_roofs_flops_source(roofs));
    if (roofs->blas_flops > 0)
        fprintf(out, "; OpenBLAS at 1024^3 %.1f, register tile in L1 %.1f",
                roofs->blas_flops * 1e-9, roofs->tile_flops * 1e-9);
    fputs("); memory, read and written,", out);
    for (enum hr_level level = 0; level < HR_LEVELS; level++)
        if (roofs->level_bytes[level] > 0)
            fprintf(out, " %s %.1f", hr_level_name(level), roofs->bytes_per_s[level] * 1e-9);
    fputs(" GB/s\n", out);
    print_wavering(out, "compute", hr_roofs_flops_spread(roofs));
    for (enum hr_level level = 0; level < HR_LEVELS; level++)
        if (roofs->level_bytes[level] > 0)
            print_wavering(out, hr_level_name(level), roofs->level_spread[level]);
}

/* "82%"; of a roof that wavered, or that is less than what was reached, nothing. */
static void write_part_share(FILE *cells, double of_roof, double spread)
{
    if (hr_roofs_is_share(of_roof, spread))
        fprintf(cells, "\t%.0f%%", 100 * of_roof);
    else
        fprintf(cells, "\t%s", spread > HR_ROOF_MOST_SPREAD ? "-" : "over");
}

static void write_part(FILE *cells, const struct hr_profile_row *row,
                       const struct hr_profile *profile)
{
    fprintf(cells, "%s\t%s\t%.1f\t%.1f%%", row->layer, hr_part_name(row->part), row->seconds * 1e6,
            100 * row->seconds / profile->step_s);
    if (!(row->seconds > 0)) {
        fputs("\t\t\t\t\t\ttoo short to be measured\n", cells);
        return;
    }
    const struct hr_judgement j = hr_roofs_judge(&profile->roofs, row->work, row->seconds);
    if (row->work.madds > 0) {
        fprintf(cells, "\t%.1f", j.flops * 1e-9);
        write_part_share(cells, j.of_compute, hr_roofs_flops_spread(&profile->roofs));
    } else
        fputs("\t-\t-", cells);
    fprintf(cells, "\t%.1f", j.bytes_per_s * 1e-9);
    write_part_share(cells, j.of_memory, profile->roofs.level_spread[j.level]);
    fprintf(cells, "\t%s\t%s\n", hr_level_name(j.level), hr_bound_name(j.bound));
}

static double seconds_of_rows(const struct hr_profile *profile)
{
    double sum = 0;
    for (size_t i = 0; i < profile->n; i++)
        sum += profile->rows[i].seconds;
    return sum;
}

static void write_totals(FILE *cells, const struct hr_profile *profile, const char *yields)
{
    char rate[HR_HUMAN_MAX];
    const double rows = seconds_of_rows(profile);
    const double flops = 2 * profile->madds / profile->step_s;
    fprintf(cells, "%sbetween them\t\t%.1f\t%.1f%%\nwhole step\t%s\t%.1f\t100.0%%\t%.1f", yields,
            (profile->step_s - rows) * 1e6, 100 * (1 - rows / profile->step_s),
            hr_human_rate(rate, (double)profile->batch_size / profile->step_s, profile->tokens),
            profile->step_s * 1e6, flops * 1e-9);
    write_part_share(cells, flops / hr_roofs_flops(&profile->roofs),
                     hr_roofs_flops_spread(&profile->roofs));
    fputs("\t\t\t\t\n", cells);
}

/* The longest row among those with this bound; NULL: none. */
static const struct hr_profile_row *longest(const struct hr_profile *profile, enum hr_bound bound)
{
    const struct hr_profile_row *found = NULL;
    for (size_t i = 0; i < profile->n; i++) {
        const struct hr_profile_row *row = &profile->rows[i];
        if (row->seconds > 0 &&
            hr_roofs_judge(&profile->roofs, row->work, row->seconds).bound == bound &&
            (!found || row->seconds > found->seconds))
            found = row;
    }
    return found;
}

/* " (74 % of the compute roof)" */
static void print_binding_share(FILE *out, const struct hr_roofs *roofs,
                                const struct hr_profile_row *row)
{
    const struct hr_judgement j = hr_roofs_judge(roofs, row->work, row->seconds);
    const bool compute = j.of_compute >= j.of_memory;
    const double of_roof = fmax(j.of_compute, j.of_memory);
    const double spread = compute ? hr_roofs_flops_spread(roofs) : roofs->level_spread[j.level];
    if (hr_roofs_is_share(of_roof, spread))
        fprintf(out, " (%.0f %% of the %s roof)", 100 * of_roof,
                compute ? "compute" : hr_level_name(j.level));
}

static bool a_roof_wavered(const struct hr_roofs *roofs)
{
    bool wavered = hr_roofs_flops_spread(roofs) > HR_ROOF_MOST_SPREAD;
    for (enum hr_level level = 0; level < HR_LEVELS; level++)
        wavered = wavered || (roofs->level_bytes[level] > 0 &&
                              roofs->level_spread[level] > HR_ROOF_MOST_SPREAD);
    return wavered;
}

/* "83 % of the layers' time is bound by compute (most in 1 dense 256, backward weights: 74 % of
 * that roof)" */
static void print_verdict(FILE *out, const struct hr_profile *profile)
{
    double share[HR_BOUNDS];
    const char *lead = "";
    hr_profile_shares(profile, share);
    for (enum hr_bound bound = 0; bound < HR_BOUNDS; bound++) {
        const struct hr_profile_row *row = longest(profile, bound);
        if (!row || share[bound] < 0.005)
            continue;
        fprintf(out, "%s%.0f %% of the layers' time is bound by %s, most of it in \"%s\" %s", lead,
                100 * share[bound], hr_bound_name(bound), row->layer, hr_part_name(row->part));
        print_binding_share(out, &profile->roofs, row);
        lead = ";\n";
    }
    if (*lead)
        fputs(".\n", out);
    if (*lead && a_roof_wavered(&profile->roofs))
        fputs("What binds is a guess, since a roof wavered: measure again on an idle machine.\n",
              out);
}

static bool over_a_roof(const struct hr_profile *profile)
{
    const struct hr_roofs *roofs = &profile->roofs;
    for (size_t i = 0; i < profile->n; i++) {
        const struct hr_profile_row *row = &profile->rows[i];
        if (!(row->seconds > 0))
            continue;
        const struct hr_judgement j = hr_roofs_judge(roofs, row->work, row->seconds);
        if ((j.of_compute > 1 && hr_roofs_flops_spread(roofs) <= HR_ROOF_MOST_SPREAD) ||
            (j.of_memory > 1 && roofs->level_spread[j.level] <= HR_ROOF_MOST_SPREAD))
            return true;
    }
    return false;
}

#define MINOR 0.05 /* of the step: rows with less yield */
enum { NAME = 22 };

void hr_layers_print(FILE *out, const struct hr_profile *profile)
{
    struct hr_grid table;
    hr_grid_begin(
        &table,
        "-layer\t-part\ttime\nus\tshare\tGFLOP\n/s\tof\nroof\tGB/s\tof\nroof\t-in\t-bound by");
    for (size_t i = 0; i < profile->n; i++) {
        if (profile->rows[i].seconds < MINOR * profile->step_s)
            fputs(hr_yields(out, HR_NOTICE), table.cells);
        write_part(table.cells, &profile->rows[i], profile);
    }
    write_totals(table.cells, profile, hr_yields(out, HR_NOTICE));
    table.column[0].most = hr_output_width() ? NAME : 0;
    table.column[8].fit.expendable = 3; /* in */
    table.column[6].fit.expendable = 2; /* GB/s */
    table.column[4].fit.expendable = 1; /* GFLOP/s */
    table.cure = "; --wide shows all";
    hr_grid_end(&table, out, hr_output_width());
    if (over_a_roof(profile))
        fprintf(out,
                "%sover: more than that roof: the machine was disturbed while it was measured, or "
                "the work reads more than it writes, and the roof does as much of both\n",
                hr_yields(out, HR_NOTICE));
    fputc('\n', out);
    print_verdict(out, profile);
}

/* --- as JSON --- */

/* A share of a roof; null where that wavered, and where it cannot be. */
static json_t *share(double of_roof, double spread)
{
    return hr_json_number(hr_roofs_is_share(of_roof, spread) ? of_roof : NAN);
}

static json_t *roofs_object(const struct hr_roofs *roofs)
{
    json_t *memory = json_array();
    for (enum hr_level level = 0; level < HR_LEVELS; level++)
        if (roofs->level_bytes[level] > 0)
            hr_json_append(&memory,
                           hr_json_object("level", HR_JSON(hr_level_name(level)), "holds_bytes",
                                          HR_JSON(roofs->level_bytes[level]), "bytes_per_s",
                                          HR_JSON(roofs->bytes_per_s[level]), "spread",
                                          HR_JSON(roofs->level_spread[level]), NULL));
    return hr_json_object(
        "kind", HR_JSON(hr_roof_kind_name(roofs->kind)), HR_OF(roofs, threads), "flops_per_s",
        HR_JSON(hr_roofs_flops(roofs)), "spread", HR_JSON(hr_roofs_flops_spread(roofs)), "source",
        HR_JSON(hr_roofs_flops_source(roofs)), "blas_flops_per_s", HR_JSON(roofs->blas_flops),
        "tile_flops_per_s", HR_JSON(roofs->tile_flops), "memory", memory, NULL);
}

static json_t *layer_row(const void *of, size_t i)
{
    const struct hr_profile *profile = of;
    const struct hr_profile_row *row = &profile->rows[i];
    const struct hr_judgement j = hr_roofs_judge(&profile->roofs, row->work, row->seconds);
    const int known = row->seconds > 0;
    return hr_json_object(
        HR_OF(row, layer), "part", HR_JSON(hr_part_name(row->part)), HR_OF(row, seconds), "share",
        HR_JSON(row->seconds / profile->step_s), HR_OF(&row->work, madds), HR_OF(&row->work, bytes),
        "flops_per_s", HR_JSON(j.flops), HR_OF(&j, bytes_per_s), "level",
        HR_JSON(hr_level_name(j.level)), "of_compute_roof",
        share(j.of_compute, hr_roofs_flops_spread(&profile->roofs)), "of_memory_roof",
        share(j.of_memory, profile->roofs.level_spread[j.level]), "bound",
        known ? json_string(hr_bound_name(j.bound)) : json_null(), NULL);
}

static json_t *total_object(const struct hr_profile *profile)
{
    const double flops = 2 * profile->madds / profile->step_s;
    return hr_json_object(
        "seconds", HR_JSON(profile->step_s), HR_OF(profile, steps), HR_OF(profile, madds),
        "flops_per_s", HR_JSON(flops), "of_compute_roof",
        share(flops / hr_roofs_flops(&profile->roofs), hr_roofs_flops_spread(&profile->roofs)),
        "samples_per_s", HR_JSON((double)profile->batch_size / profile->step_s), NULL);
}

/* {"kernels", "roofs", "model", ..., "rows", "total", "bound"} */
static json_t *layers_json(const struct hr_profile *profile, const char *kernels)
{
    double share[HR_BOUNDS];
    hr_profile_shares(profile, share);
    json_t *bound = hr_json_object("compute", HR_JSON(share[HR_BOUND_COMPUTE]), "memory",
                                   HR_JSON(share[HR_BOUND_MEMORY]), "overhead",
                                   HR_JSON(share[HR_BOUND_OVERHEAD]), NULL);
    return hr_json_object("kernels", HR_JSON(kernels), "roofs", roofs_object(&profile->roofs),
                          HR_OF(profile, model), HR_OF(profile, params), HR_OF(profile, batch_size),
                          "threads_per_worker", HR_JSON(profile->threads), "rows",
                          hr_json_list(profile->n, layer_row, profile), "total",
                          total_object(profile), "bound", bound, NULL);
}

/* --- the bench --- */

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
    return hr_publish(cli, title, layers_json(profile, kernels_of(cli)));
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
    hr_output_hold();
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

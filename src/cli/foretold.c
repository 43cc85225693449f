/* A forecast of one row. Of memory, what /proc says: the peak is set back before the run begins,
 * and read behind it; processes of their own are not in it. */
#include "cli/foretold.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/signals.h"
#include "json/value.h"
#include "options/choices.h"
#include "report/human.h"
#include "train/needs.h"

static const double timing_s = 1.9;

/* --- memory --- */

/* A line of /proc/self/status, in bytes; 0: there is none. */
static size_t status_bytes(const char *name)
{
    char line[128];
    size_t kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)) && sscanf(line + strlen(name), ": %zu", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib << 10;
}

/* From here on VmHWM is the most that was resident since now. */
static size_t watch_memory(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    malloc_trim(0); /* what the short runs have given back */
    const bool reset = file && fputs("5", file) >= 0;
    if (file && (fclose(file) != 0 || !reset))
        return 0;
    return reset ? status_bytes("VmRSS") : 0;
}

void hr_foretold_end(struct hr_foretold *foretold, const struct hr_train_options *options)
{
    const size_t most = status_bytes("VmHWM");
    const struct hr_choices choice = hr_choices_of(options);
    const bool here = choice.launch != HR_LAUNCH_AS_PROCESSES || choice.clock != HR_CLOCK_REAL;
    if (foretold->made && foretold->before && here && most > foretold->before)
        foretold->peak = most - foretold->before;
}

/* --- before --- */

enum hr_status hr_foretell_check(const struct hr_cli *cli)
{
    return cli->forecast ? hr_forecast_check(&cli->train) : HR_OK;
}

enum hr_status hr_foretell(const struct hr_cli *cli, const struct hr_dataset *dataset,
                           struct hr_foretold *out)
{
    char speed[HR_HUMAN_MAX], low[HR_HUMAN_MAX], high[HR_HUMAN_MAX];
    *out = (struct hr_foretold){0};
    if (!cli->forecast)
        return HR_OK;
    out->row.options = cli->train;
    hr_train_leave_machines(&out->row.options);
    out->forecast = (struct hr_forecast){.rows = &out->row, .n = 1};
    const struct hr_forecast_ask ask = {
        .dataset = dataset, .seconds = timing_s, .stop = hr_signals_seen};
    HR_TRY(hr_train_check(&out->row.options, dataset));
    HR_TRY(hr_forecast_make(&ask, &out->forecast));
    out->made = true;
    if (!cli->quiet)
        hr_log(HR_LOG_INFO, "forecast: %s samples/s (%s to %s%s), %s of memory",
               hr_human_short(speed, out->row.samples_per_s), hr_human_short(low, out->row.low),
               hr_human_short(high, out->row.high), out->row.validated ? "" : ", not validated",
               hr_bytes_text(out->row.memory).text);
    out->before = watch_memory();
    return HR_OK;
}

/* --- behind --- */

/* Forecast over measured, less one. */
static double error_of_speed(const struct hr_foretold *foretold, const struct hr_run_result *result)
{
    return foretold->row.samples_per_s / result->samples_per_s - 1;
}

/* The same of memory, without the data, which was there before; NaN: not known. */
static double error_of_memory(const struct hr_foretold *foretold)
{
    return foretold->peak ? (double)foretold->row.own_memory / (double)foretold->peak - 1
                          : (double)NAN;
}

static void print_error(FILE *out, double error)
{
    fprintf(out, "%.1f %% too %s", 100 * fabs(error), error > 0 ? "many" : "few");
}

void hr_foretold_print(FILE *out, const struct hr_foretold *foretold,
                       const struct hr_run_result *result)
{
    char speed[HR_HUMAN_MAX], real[HR_HUMAN_MAX];
    const struct hr_forecast_row *row = &foretold->row;
    if (!foretold->made)
        return;
    const bool inside = row->low <= result->samples_per_s && result->samples_per_s <= row->high;
    fprintf(out, "forecast        %s samples/s, ", hr_human_short(speed, row->samples_per_s));
    print_error(out, error_of_speed(foretold, result));
    fprintf(out, ": %s were measured, %s the range\n", hr_human_short(real, result->samples_per_s),
            inside ? "within" : "outside of");
    fprintf(out, "                %s of memory", hr_bytes_text(row->own_memory).text);
    if (foretold->peak) {
        fputs(" beside the data, ", out);
        print_error(out, error_of_memory(foretold));
        fprintf(out, ": %s at most were resident", hr_bytes_text(foretold->peak).text);
    }
    fputc('\n', out);
}

json_t *hr_foretold_json(const struct hr_foretold *foretold, const struct hr_run_result *result)
{
    const struct hr_forecast_row *row = &foretold->row;
    if (!foretold->made)
        return json_null();
    return json_pack("{so so so sb so so so so}", "samples_per_s",
                     hr_json_number(row->samples_per_s), "samples_per_s_low",
                     hr_json_number(row->low), "samples_per_s_high", hr_json_number(row->high),
                     "validated", row->validated, "samples_per_s_error",
                     hr_json_number(error_of_speed(foretold, result)), "memory_bytes",
                     hr_json_count(row->own_memory), "resident_bytes",
                     foretold->peak ? hr_json_count(foretold->peak) : json_null(), "memory_error",
                     hr_json_number(error_of_memory(foretold)));
}

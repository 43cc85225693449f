/* A forecast on a terminal, in 80 columns. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "forecast/forecast.h"
#include "report/human.h"
#include "terminal/grid.h"

/* "1.2-1.9", or what there is to say. */
static const char *cost_text(const struct hr_forecast_row *row, char text[32])
{
    snprintf(text, 32, "-");
    if (!isnan(row->cost_low))
        snprintf(text, 32, row->cost_high - row->cost_low < 0.005 ? "%.2f" : "%.2f-%.2f",
                 row->cost_low, row->cost_high);
    return text;
}

static void write_row(FILE *cells, const struct hr_forecast *forecast,
                      const struct hr_forecast_row *row)
{
    char speed[HR_HUMAN_MAX], low[HR_HUMAN_MAX], high[HR_HUMAN_MAX], servers[24] = "-", cost[32];
    if (row->servers)
        snprintf(servers, sizeof servers, "%zu", row->servers);
    fprintf(cells, "%s\t%zu\t%s\t%s\t%s-%s\t%.2f\t%s\t%s\t%s\n", row->options.strategy,
            row->options.workers, servers, hr_human_short(speed, row->samples_per_s),
            hr_human_short(low, row->low), hr_human_short(high, row->high), row->speedup,
            hr_bytes_text(row->memory).text, cost_text(row, cost),
            forecast->simulated ? ""
            : row->timed        ? "t"
            : row->validated    ? ""
                                : "n");
}

static void print_head(FILE *out, const struct hr_forecast *forecast)
{
    enum { MOST = 40 };
    const struct hr_train_options *o = &forecast->rows[0].options;
    const struct hr_anchors *anchors = &forecast->anchors;
    fprintf(out, "# %.*s%s, batch %zu a worker\n", MOST, o->model,
            strlen(o->model) > MOST ? "..." : "", o->batch_size);
    if (forecast->simulated) {
        fprintf(out, "# in virtual time, a gradient takes %.40s\n",
                o->compute_time[0] ? o->compute_time : "lognormal(10ms,0.3)");
        return;
    }
    fprintf(out, "# from %zu short runs, %.1f s, on %zu processor%s", anchors->n, anchors->seconds,
            forecast->processors, forecast->processors == 1 ? "" : "s");
    if (!isnan(forecast->load))
        fprintf(out, ", load average %.1f", forecast->load);
    fputc('\n', out);
    if (anchors->coarse)
        fputs("# gradients are long: fewer runs were timed, ranges are wider\n", out);
}

static void print_legend(FILE *out, const struct hr_forecast *forecast)
{
    bool timed = false, unsure = false;
    for (size_t i = 0; i < forecast->n; i++) {
        timed = timed || forecast->rows[i].timed;
        unsure = unsure || (!forecast->rows[i].timed && !forecast->rows[i].validated);
    }
    fputs("speed: over one worker alone; samples: that its batches take, over those of one\n", out);
    if (timed)
        fputs("t: timed, no forecast\n", out);
    if (unsure)
        fputs("n: not validated: no forecast such as this has been compared with a run\n", out);
}

void hr_forecast_print(FILE *out, const struct hr_forecast *forecast)
{
    struct hr_grid table;
    print_head(out, forecast);
    hr_grid_begin(&table, "-strategy\twrk\tsrv\tsamp/s\t-range\tspeed\tmemory\tsamples\t-");
    for (size_t i = 0; i < forecast->n; i++)
        write_row(table.cells, forecast, &forecast->rows[i]);
    hr_grid_end(&table, out, 0);
    print_legend(out, forecast);
}

/* Forecasts, shown: tables, what they mean in sentences, JSON. */
#include "forecast/forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "json/value.h"
#include "report/human.h"
#include "terminal/grid.h"

/* --- a forecast on a terminal, in 80 columns --- */

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
    char speed[HR_HUMAN_MAX], low[HR_HUMAN_MAX], high[HR_HUMAN_MAX], servers[24] = "", cost[32];
    const char *mark = row->timed ? "*" : row->validated ? "" : "?";
    if (row->servers)
        snprintf(servers, sizeof servers, " + %zu", row->servers);
    fprintf(cells, "%s\t%zu%s\t%s%s\t%s-%s\t%.2f\t%s\t%s\n", row->options.strategy,
            row->options.workers, servers,
            hr_human_short(speed, hr_rate_shown(row->samples_per_s, forecast->tokens)),
            forecast->simulated ? "" : mark,
            hr_human_short(low, hr_rate_shown(row->low, forecast->tokens)),
            hr_human_short(high, hr_rate_shown(row->high, forecast->tokens)), row->speedup,
            hr_bytes_text(row->memory).text, cost_text(row, cost));
}

static void print_head(FILE *out, const struct hr_forecast *forecast)
{
    enum { MOST = 40 };
    const struct hr_train_options *o = &forecast->rows[0].options;
    const struct hr_anchors *anchors = &forecast->anchors;
    fprintf(out, "# %.*s%s, batch %zu per worker\n", MOST, o->model,
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
    fprintf(out, "%sspeed up, samples needed (for the same loss): over one worker%s\n",
            hr_yields(out, HR_LEGEND), timed ? "; *: timed" : "");
    if (unsure)
        fprintf(out, "%s?: not validated: no forecast such as this has been compared with a run\n",
                hr_yields(out, HR_LEGEND));
}

/* Another row of its strategy is faster. */
static bool is_outdone(const struct hr_forecast *forecast, const struct hr_forecast_row *row)
{
    for (size_t i = 0; i < forecast->n; i++)
        if (!strcmp(forecast->rows[i].options.strategy, row->options.strategy) &&
            forecast->rows[i].samples_per_s > row->samples_per_s)
            return true;
    return false;
}

void hr_forecast_print(FILE *out, const struct hr_forecast *forecast)
{
    struct hr_grid table;
    print_head(out, forecast);
    char heads[120];
    snprintf(
        heads, sizeof heads,
        "-\nstrategy\tworkers\n+ servers\t\n%s\t-\nrange\tspeed\nup\t\nmemory\tsamples\nneeded",
        hr_rate_unit(forecast->tokens));
    hr_grid_begin(&table, heads);
    for (size_t i = 0; i < forecast->n; i++) {
        if (is_outdone(forecast, &forecast->rows[i]))
            fputs(hr_yields(out, HR_NOTICE), table.cells);
        write_row(table.cells, forecast, &forecast->rows[i]);
    }
    hr_grid_end(&table, out, 0);
    print_legend(out, forecast);
}

/* --- what they mean ---
 * What a forecast means: whether more workers help, what larger batches cost, how often sparse rows
 * meet. A claim is made where ranges leave no doubt. */

static bool better(const struct hr_forecast_row *a, const struct hr_forecast_row *b)
{
    return !b || a->samples_per_s > b->samples_per_s;
}

/* The fastest of several workers; NULL: there is none. */
static const struct hr_forecast_row *fastest(const struct hr_forecast *forecast)
{
    const struct hr_forecast_row *best = NULL;
    for (size_t i = 0; i < forecast->n; i++)
        if (forecast->rows[i].options.workers > 1 && better(&forecast->rows[i], best))
            best = &forecast->rows[i];
    return best;
}

static void name_row(FILE *out, const struct hr_forecast_row *row)
{
    fprintf(out, "%zu workers under %s", row->options.workers, row->options.strategy);
    if (row->servers)
        fprintf(out, " with %zu server%s", row->servers, row->servers == 1 ? "" : "s");
}

static void say_speed(FILE *out, const struct hr_forecast *forecast)
{
    char one[HR_HUMAN_MAX];
    const struct hr_forecast_row *best = fastest(forecast);
    if (!best)
        return;
    const double low = best->low / forecast->alone, high = best->high / forecast->alone;
    hr_human_rate(one, forecast->alone, forecast->tokens);
    if (low > 1) {
        fputs("More workers help: ", out);
        name_row(out, best);
        fprintf(out, " train %.2f times (%.2f to %.2f) as fast as one alone (%s).\n", best->speedup,
                low, high, one);
    } else if (high < 1) {
        fprintf(out, "More workers do not help: the best, ");
        name_row(out, best);
        fprintf(out, ", will be slower than one alone: %.2f (%.2f to %.2f) times its %s.\n",
                best->speedup, low, high, one);
    } else {
        fputs("No significant gain from more workers: the best, ", out);
        name_row(out, best);
        fprintf(out, ", train %.2f (%.2f to %.2f) times the %s of one alone.\n", best->speedup, low,
                high, one);
    }
}

static bool is_slower(const struct hr_forecast *forecast, const struct hr_forecast_row *row)
{
    return row->options.workers > 1 && row->high < forecast->alone;
}

/* Who is slower than one alone, beyond doubt, where somebody is not. */
static void say_slower(FILE *out, const struct hr_forecast *forecast)
{
    const char *strategy = NULL;
    const struct hr_forecast_row *best = fastest(forecast);
    if (!best || best->high < forecast->alone)
        return;
    for (size_t i = 0; i < forecast->n; i++) {
        const struct hr_forecast_row *row = &forecast->rows[i];
        if (!is_slower(forecast, row))
            continue;
        if (!strategy || strcmp(strategy, row->options.strategy) != 0)
            fprintf(out, "%s%s%s with", strategy ? "" : hr_yields(out, HR_REPEATED),
                    strategy ? "; " : "Slower than one worker: ", row->options.strategy);
        strategy = row->options.strategy;
        fprintf(out, " %zu", row->options.workers);
    }
    if (strategy)
        fputs(".\n", out);
}

/* Of a machine that does other work, runs waver as much as what was timed. */
static void say_load(FILE *out, const struct hr_forecast *forecast)
{
    if (!forecast->simulated && forecast->load > (double)forecast->processors)
        fprintf(
            out,
            "%sOther programs were busy (load average %.1f), and runs were timed beside them.\n",
            hr_yields(out, HR_NOTICE), forecast->load);
}

static void say_crowd(FILE *out, const struct hr_forecast *forecast)
{
    size_t most = 0;
    for (size_t i = 0; i < forecast->n; i++)
        most = forecast->rows[i].options.workers > most ? forecast->rows[i].options.workers : most;
    if (!forecast->simulated && most > forecast->anchors.parts.processors)
        fprintf(out, "%sThere are %zu cores: more workers than that share them.\n",
                hr_yields(out, HR_NOTICE), forecast->anchors.parts.processors);
}

/* --- samples --- */

static void say_scale(FILE *out, const char *when, const struct hr_noise *noise)
{
    fputs(hr_yields(out, HR_NOTICE), out);
    if (isinf(noise->scale))
        fprintf(out, "Gradient noise scale %s: above %.3g samples; no upper limit was found.\n",
                when, noise->low);
    else if (isinf(noise->high))
        fprintf(out, "Gradient noise scale %s: %.3g samples, at least %.3g (95 %%).\n", when,
                noise->scale, noise->low);
    else
        fprintf(out, "Gradient noise scale %s: %.3g samples (%.3g to %.3g, 95 %%).\n", when,
                noise->scale, noise->low, noise->high);
}

static void say_cost(FILE *out, const struct hr_forecast *forecast)
{
    const struct hr_forecast_row *best = NULL;
    for (size_t i = 0; i < forecast->n; i++)
        if (!isnan(forecast->rows[i].cost_low) && forecast->rows[i].options.workers > 1 &&
            better(&forecast->rows[i], best))
            best = &forecast->rows[i];
    if (!best)
        return;
    fprintf(out,
            "A global batch of %zu takes %.2f to %.2f times the samples of one of %zu, at a "
            "learning rate that suits each: to the same loss ",
            best->global_batch, best->cost_low, best->cost_high, best->options.batch_size);
    name_row(out, best);
    fprintf(out, " are %.2f to %.2f times as fast as one.\n",
            best->low / forecast->alone / best->cost_high,
            best->high / forecast->alone / best->cost_low);
}

static void say_noise(FILE *out, const struct hr_forecast *forecast)
{
    const struct hr_noise_report *noise = &forecast->noise;
    char when[64];
    if (noise->missing || !noise->start.batches)
        return;
    say_scale(out, "at the start", &noise->start);
    if (noise->steps) {
        snprintf(when, sizeof when, "after %zu steps", noise->steps);
        say_scale(out, when, &noise->later);
        fputs(hr_yields(out, HR_NOTICE), out);
        fputs(noise->later.scale > noise->start.scale
                  ? "It grows as the loss falls, so that large batches cost less and less.\n"
                  : "It fell in these first steps; as the loss falls further it grows again.\n",
              out);
    }
    say_cost(out, forecast);
}

/* --- sparse rows --- */

static void say_conflicts(FILE *out, const struct hr_forecast *forecast)
{
    const struct hr_conflicts *c = &forecast->conflicts;
    const struct hr_forecast_row *best = fastest(forecast);
    const double lag = best ? (double)(best->options.workers - 1) : 1;
    if (!c->omega)
        return;
    fprintf(out,
            "Rows: Omega %zu features at most, Delta %.3g of the rows have the commonest one, ",
            c->omega, c->delta);
    fprintf(out, "rho %.3g share one with some row (a sample), who have %.2g of it in common.\n",
            c->rho, c->overlap);
    fprintf(
        out,
        "Hogwild's bound on steps, with others %.0f step%s behind: %.3g times those of one%s.\n",
        lag, lag > 1 ? "s" : "", hr_forecast_bound(c, lag),
        hr_forecast_bound(c, lag) > 2 ? "; a bound: where rows share features it guarantees nothing"
                                      : "");
}

/* A sentence a line. */
void hr_forecast_say(FILE *out, const struct hr_forecast *forecast)
{
    say_speed(out, forecast);
    say_slower(out, forecast);
    say_crowd(out, forecast);
    say_load(out, forecast);
    say_noise(out, forecast);
    say_conflicts(out, forecast);
}

/* --- a forecast for programs --- */

static json_t *row_json(const void *rows, size_t i)
{
    const struct hr_forecast_row *row = (const struct hr_forecast_row *)rows + i;
    return hr_json_object(
        HR_OF(&row->options, strategy), HR_OF(&row->options, workers), HR_OF(row, servers),
        HR_OF(&row->options, batch_size), HR_OF(row, global_batch), HR_OF(row, samples_per_s),
        "samples_per_s_low", HR_JSON(row->low), "samples_per_s_high", HR_JSON(row->high),
        HR_OF(row, speedup), HR_OF(row, epoch_s), "memory_bytes", HR_JSON(row->memory),
        "samples_cost_low", HR_JSON(row->cost_low), "samples_cost_high", HR_JSON(row->cost_high),
        HR_OF(row, timed), HR_OF(row, validated), NULL);
}

static json_t *anchor_json(const void *anchors, size_t i)
{
    const struct hr_anchor *anchor = (const struct hr_anchor *)anchors + i;
    return hr_json_object(HR_OF(anchor, strategy), HR_OF(anchor, workers), HR_OF(anchor, servers),
                          "gradient_s", HR_JSON(anchor->gradient), HR_OF(anchor, spread), NULL);
}

static json_t *timing_json(const struct hr_anchors *anchors)
{
    return hr_json_object(HR_OF(anchors, seconds), HR_OF(anchors, evaluation_s),
                          HR_OF(anchors, spread), HR_OF(anchors, coarse), "runs",
                          hr_json_list(anchors->n, anchor_json, anchors->anchor), NULL);
}

static json_t *noise_json(const struct hr_noise *noise, size_t step)
{
    return hr_json_object("step", HR_JSON(step), HR_OF(noise, batches), "batch_size",
                          HR_JSON(noise->batch), "gradient_squared", HR_JSON(noise->gradient2),
                          HR_OF(noise, trace), HR_OF(noise, scale), HR_OF(noise, low),
                          HR_OF(noise, high), NULL);
}

static json_t *noise_list(const struct hr_noise_report *noise)
{
    json_t *list = json_array();
    if (!noise->missing && noise->start.batches)
        hr_json_append(&list, noise_json(&noise->start, 0));
    if (!noise->missing && noise->steps)
        hr_json_append(&list, noise_json(&noise->later, noise->steps));
    return list;
}

static json_t *conflicts_json(const struct hr_conflicts *c)
{
    if (!c->omega)
        return json_null();
    return hr_json_object(HR_OF(c, omega), HR_OF(c, delta), HR_OF(c, rho), HR_OF(c, overlap),
                          "bound", HR_JSON(hr_forecast_bound(c, 1)), NULL);
}

json_t *hr_forecast_json(const struct hr_forecast *forecast)
{
    return hr_json_object(
        HR_OF(forecast, simulated), HR_OF(forecast, processors), HR_OF(forecast, load),
        "alone_samples_per_s", HR_JSON(forecast->alone), "timing", timing_json(&forecast->anchors),
        "noise", noise_list(&forecast->noise), "conflicts", conflicts_json(&forecast->conflicts),
        "rows", hr_json_list(forecast->n, row_json, forecast->rows), NULL);
}

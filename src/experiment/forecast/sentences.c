/* What a forecast means: whether more workers help, what larger batches cost, how often sparse rows
 * meet. A claim is made where ranges leave no doubt. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fold.h"
#include "forecast/forecast.h"
#include "report/human.h"

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
    hr_human_short(one, forecast->alone);
    if (low > 1) {
        fputs("More workers help: ", out);
        name_row(out, best);
        fprintf(out,
                " train %.2f times (%.2f to %.2f) as many samples a second as one alone (%s).\n",
                best->speedup, low, high, one);
    } else if (high < 1) {
        fprintf(out, "More workers do not help: the best, ");
        name_row(out, best);
        fprintf(out, ", will be slower than 1 here: %.2f (%.2f to %.2f) of its %s samples/s.\n",
                best->speedup, low, high, one);
    } else {
        fputs("No significant gain from more workers: the best, ", out);
        name_row(out, best);
        fprintf(out, ", train %.2f (%.2f to %.2f) times the %s samples/s of one alone.\n",
                best->speedup, low, high, one);
    }
}

static bool is_slower(const struct hr_forecast *forecast, const struct hr_forecast_row *row)
{
    return row->options.workers > 1 && row->high < forecast->alone;
}

/* Who is slower than one alone, beyond doubt, where somebody is not: a line for each strategy. */
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
            fprintf(out, "%sSlower than 1 here: %s with", strategy ? ".\n" : "",
                    row->options.strategy);
        strategy = row->options.strategy;
        fprintf(out, " %zu", row->options.workers);
        if (row->servers)
            fprintf(out, "+%zu", row->servers);
    }
    if (strategy)
        fputs(".\n", out);
}

/* Of a machine that does other work, runs waver as much as what was timed. */
static void say_load(FILE *out, const struct hr_forecast *forecast)
{
    if (!forecast->simulated && forecast->load > (double)forecast->processors)
        fprintf(out,
                "Other programs were busy (load average %.1f): a forecast is of the time that they "
                "left just then.\n",
                forecast->load);
}

static void say_crowd(FILE *out, const struct hr_forecast *forecast)
{
    size_t most = 0;
    for (size_t i = 0; i < forecast->n; i++)
        most = forecast->rows[i].options.workers > most ? forecast->rows[i].options.workers : most;
    if (!forecast->simulated && most > forecast->processors)
        fprintf(out, "There are %zu processors: more workers than that take turns.\n",
                forecast->processors);
}

/* --- samples --- */

static void say_scale(FILE *out, const char *when, const struct hr_noise *noise)
{
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
            "A global batch of %zu takes %.2f to %.2f times the samples of one of %zu, with a ",
            best->global_batch, best->cost_low, best->cost_high, best->options.batch_size);
    fputs("rate that suits each: ", out);
    name_row(out, best);
    fprintf(out, " would reach a loss %.2f to %.2f times as soon as one.\n",
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
        hr_forecast_bound(c, lag) > 2 ? "; a bound: where rows share features it promises nothing"
                                      : "");
}

/* A sentence a line, and long ones broken. */
void hr_forecast_say(FILE *out, const struct hr_forecast *forecast)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *lines = open_memstream(&text, &bytes);
    if (!lines)
        return;
    say_speed(lines, forecast);
    say_slower(lines, forecast);
    say_crowd(lines, forecast);
    say_load(lines, forecast);
    say_noise(lines, forecast);
    say_conflicts(lines, forecast);
    if (fclose(lines) == 0)
        hr_fold_print(out, text, 80);
    free(text);
}

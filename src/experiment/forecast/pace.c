/* What pace.h says, a function a kind of strategy. */
#include "forecast/pace.h"

#include <math.h>
#include <string.h>

#include "strategies/strategies.h"

struct hr_pace_parts hr_pace_nothing(size_t processors)
{
    const double none = (double)NAN;
    return (struct hr_pace_parts){.processors = processors,
                                  .alone = none,
                                  .together = none,
                                  .round = none,
                                  .compute = none,
                                  .update = none,
                                  .free = none,
                                  .served_alone = none,
                                  .served = {none, none},
                                  .served_by_two = {none, none},
                                  .in_step = {none, none},
                                  .elastic = none,
                                  .elastic_period = 1,
                                  .locked = none};
}

/* What the table says that it keeps, and who waits for whom. Of a mean of neighbours, and of who is
 * not waited for, there is no model. */
static enum hr_pace_kind kind_of(const struct hr_strategy *strategy)
{
    const struct hr_rows *rows = &strategy->rows;
    if (rows->weights == HR_KEPT_SHARED)
        return HR_PACE_FREE;
    if (rows->weights == HR_KEPT_EQUAL)
        return rows->due ? HR_PACE_AVERAGED : HR_PACE_SUMMED;
    if (rows->weights != HR_KEPT_SERVED)
        return HR_PACE_UNKNOWN;
    if (rows->since)
        return HR_PACE_ELASTIC;
    if (strategy->synchronous)
        return HR_PACE_SERVED_IN_STEP;
    return strategy->shares_batch ? HR_PACE_UNKNOWN : HR_PACE_SERVED;
}

enum hr_pace_kind hr_pace_kind_of(const char *name)
{
    const struct hr_strategy *strategy;
    for (size_t i = 0; (strategy = hr_strategy_at(i)); i++)
        if (!strcmp(name, strategy->name))
            return kind_of(strategy);
    return strcmp(name, "locked") ? HR_PACE_UNKNOWN : HR_PACE_LOCKED;
}

/* --- where everybody has a processor, and where ranks take turns --- */

/* A step of W <= P workers, on the line from one worker's to that of P. */
static double on_line(const struct hr_pace_parts *parts, double alone, double together, size_t W)
{
    const size_t P = parts->processors;
    if (W == 1 || P == 1)
        return alone;
    return alone + (together - alone) * (double)(W - 1) / (double)(P - 1);
}

/* Of the system's scheduler: how long a rank runs until another one may. */
static const double slice = 0.002;

/* How often each processor has a worker's stretch to do, where all wait for the slowest behind it.
 * Stretches shorter than a slice are done one after the other, whole; of longer ones all get their
 * share, and none idles. */
static double rounds_of(const struct hr_pace_parts *parts, size_t W, double stretch)
{
    const size_t P = parts->processors;
    const double whole = (double)((W + P - 1) / P), shared = (double)W / (double)P;
    return shared + (whole - shared) * fmin(1, slice / stretch);
}

/* What ranks that run in turns lose to one another's caches and to changing places. */
static const double turns = 1.08;

static double summed(const struct hr_pace_parts *parts, size_t W)
{
    const double P = (double)parts->processors;
    const double together = parts->processors == 1 ? parts->alone : parts->together;
    if (W <= parts->processors)
        return on_line(parts, parts->alone, parts->together, W) / (double)W;
    /* Of each worker; P of them may wait asleep, and those who take turns do not. */
    const double exchange = fmin(fmax(0, together - parts->compute), parts->round) / P;
    const double gradient = parts->round - P * exchange;
    return rounds_of(parts, W, gradient) * gradient / (double)W + exchange;
}

static double free_running(const struct hr_pace_parts *parts, size_t W)
{
    const size_t P = parts->processors;
    if (W <= P)
        return on_line(parts, parts->alone, parts->free, W) / (double)W;
    return (P == 1 ? parts->alone : parts->free) / (double)P * turns;
}

/* --- local steps --- */

/* A local step of P workers. */
static double local_step(const struct hr_pace_parts *parts)
{
    return parts->processors == 1 ? parts->alone
                                  : fmin(parts->together, parts->compute + parts->update);
}

static double averaged(const struct hr_pace_parts *parts, size_t W, size_t period)
{
    const double local = local_step(parts);
    const double exchange = parts->processors == 1 ? 0 : (parts->together - local) / (double)period;
    if (W <= parts->processors)
        return on_line(parts, parts->alone, local + exchange, W) / (double)W;
    return rounds_of(parts, W, local * (double)period) * (local + exchange) * turns / (double)W;
}

/* --- servers --- */

/* a + b / W through what was timed of P and 3 P workers, and constant from there on. */
static double over_workers(const struct hr_pace_parts *parts, const double timed[2], size_t W)
{
    const double P = (double)parts->processors;
    const double x = 1 / fmin((double)W, 3 * P) - 1 / (3 * P), whole = 1 / P - 1 / (3 * P);
    return timed[1] + (timed[0] - timed[1]) * x / whole;
}

static double served(const struct hr_pace_parts *parts, size_t W, size_t S)
{
    const double *timed = S == 1 ? parts->served : parts->served_by_two;
    if (W == 1)
        return parts->served_alone;
    if (W < parts->processors)
        return fmax(parts->served_alone / (double)W, timed[0]);
    return over_workers(parts, timed, W);
}

/* Two servers in place of one, where ranks share processors: all that has been seen. */
static const double least_for_servers = 0.75, most_for_servers = 2;

static double served_in_step(const struct hr_pace_parts *parts, size_t W, size_t S)
{
    if (W == 1)
        return parts->served_alone;
    const double one = over_workers(parts, parts->in_step, W);
    if (S == 1)
        return one;
    const double more = served(parts, W, S) / served(parts, W, 1);
    return one * fmin(most_for_servers, fmax(least_for_servers, more));
}

static double elastic(const struct hr_pace_parts *parts, size_t W, size_t period)
{
    const double P = (double)parts->processors;
    const double local = local_step(parts) * turns / P;
    const double more = fmax(0, parts->elastic - local) * (double)parts->elastic_period;
    return (W == 1 ? parts->alone : local * fmax(1, P / (double)W)) + more / (double)period;
}

double hr_pace_gradient(const struct hr_pace_parts *parts, const struct hr_pace_ask *ask)
{
    switch (ask->kind) {
    case HR_PACE_SUMMED:
        return summed(parts, ask->workers);
    case HR_PACE_FREE:
        return free_running(parts, ask->workers);
    case HR_PACE_AVERAGED:
        return averaged(parts, ask->workers, ask->period);
    case HR_PACE_SERVED:
        return served(parts, ask->workers, ask->servers);
    case HR_PACE_SERVED_IN_STEP:
        return served_in_step(parts, ask->workers, ask->servers);
    case HR_PACE_ELASTIC:
        return elastic(parts, ask->workers, ask->period);
    case HR_PACE_LOCKED:
        return ask->workers == 1 ? parts->alone : parts->locked;
    case HR_PACE_UNKNOWN:
        break;
    }
    return (double)NAN;
}

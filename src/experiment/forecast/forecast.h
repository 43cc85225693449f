/* forecast.h - how fast runs will be that nobody has timed, what memory they take, and what their
 * larger batches cost in samples.
 *
 *     struct hr_forecast forecast = {.rows = rows, .n = n};        options filled in
 *     HR_TRY(hr_forecast_make(&ask, &forecast));
 *
 * Real time: anchors.h are timed, pace.h says what follows for each row. A row that was itself
 *            timed says so. Each has a range, from the errors that were found when forecasts were
 *            measured (README, and hogring help forecast), and from how much what was timed varied.
 *            Where no such measurement was made, the row is "not validated".
 * Virtual:   each row is simulated with a stand-in (anchors.h), and exact but for rounding.
 * Costs:     of samples, from the noise scale (noise.h), of rows that make an update of all
 *            workers' batches together. Stale updates cost samples, too, which no scale says.
 *
 * Threads: as hr_train. Test: tests/unit/forecast/test_forecast.c, tests/cli/forecast.bats
 */
#ifndef HR_FORECAST_FORECAST_H
#define HR_FORECAST_FORECAST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "forecast/anchors.h"
#include "forecast/noise.h"

/* Quantile of the errors that a range stands for. */
#define HR_FORECAST_LEVEL 0.9

struct hr_forecast_row {
    struct hr_train_options options; /* in: resolved */
    size_t servers;                  /* 0: its strategy has none */
    bool timed;                      /* no forecast: this was one of the runs that were timed */
    bool validated;                  /* the range was measured for rows such as this */
    double samples_per_s, low, high;
    double speedup;      /* over one worker alone */
    double epoch_s;      /* of training, without evaluation */
    size_t memory;       /* bytes that hr_train plans for, */
    size_t own_memory;   /* and of them those that are not there before it: all but the data */
    size_t global_batch; /* samples of an update */
    double cost_low, cost_high; /* samples, over those of one worker alone; NaN: not known */
};

struct hr_forecast {
    struct hr_forecast_row *rows; /* (n) */
    size_t n;
    bool simulated; /* in virtual time */
    struct hr_anchors anchors;
    size_t tokens; /* of a sample, of text; else 0 */
    double alone;  /* samples/s of one worker alone */
    size_t processors;
    double load; /* average of the last minute, before anything was timed; NaN: not known */
    struct hr_noise_report noise;
    struct hr_conflicts conflicts; /* omega 0: the data are not sparse */
};

struct hr_forecast_ask {
    const struct hr_dataset *dataset;
    double seconds;       /* of timing */
    double noise_seconds; /* 0: no noise scale */
    int (*stop)(void *arg);
};

/* Is there a model of it? HR_E_USAGE: an option that no forecast stands for. Needs no data. */
HR_CHECKED enum hr_status hr_forecast_check(const struct hr_train_options *options);

/* Fill in all but the rows' options. HR_E_USAGE, HR_E_NOMEM, and as hr_train. */
HR_CHECKED enum hr_status hr_forecast_make(const struct hr_forecast_ask *ask,
                                           struct hr_forecast *forecast);

/* The bound of the Hogwild! paper on steps, over those of one worker: 1 + 6 rho t + 6 t^2 Omega
 * sqrt(Delta), where others make t steps while one is made. */
double hr_forecast_bound(const struct hr_conflicts *conflicts, double lag);

/* --- report.c: what it means, a sentence a line; the table, what was timed; a new reference,
 * "forecast" of the document, NULL: no memory */
void hr_forecast_say(FILE *out, const struct hr_forecast *forecast);
void hr_forecast_print(FILE *out, const struct hr_forecast *forecast);
json_t *hr_forecast_json(const struct hr_forecast *forecast);

#endif

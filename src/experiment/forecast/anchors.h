/* anchors.h - the short runs that a forecast is made from: which there are, and timing them.
 *
 * Each is a run of train's own, of a few strategies with as many workers as there are cores,
 * one, or more (pace.h says why these). Of a list of strategies only those are timed that they
 * need. They take turns: all once, then all once more, so that a disturbance hits one of two.
 * Learning is none of it: the rate is small, and few test samples are evaluated.
 *
 * Threads: as hr_train, in the caller's thread. Test: tests/unit/forecast/test_anchors.c
 */
#ifndef HR_FORECAST_ANCHORS_H
#define HR_FORECAST_ANCHORS_H

#include "hogring/train.h"
#include "base/error.h"
#include "forecast/pace.h"

enum { HR_ANCHORS = 16 };

struct hr_anchor {
    const char *strategy;
    size_t workers, servers; /* servers 0: it has none */
    double gradient;         /* seconds of the run for each; of both times the shorter */
    double spread;           /* |first - second| / (first + second) */
};

struct hr_anchors {
    struct hr_anchor anchor[HR_ANCHORS];
    size_t n;
    double seconds;      /* that all of it took */
    double evaluation_s; /* of the whole test split, by one worker; NaN: not timed */
    double spread;       /* the median of theirs */
    bool coarse; /* gradients take too long for all that is needed: bounds stand for parts */
    struct hr_pace_parts parts;
};

/* Time what the kinds of `wanted` (a bit each) need.
 *   options   of the runs; strategy, workers and servers do not matter
 *   seconds   that it may take, about; a gradient that takes longer is timed once
 *   stop      asked between two runs, with NULL; nonzero ends it: HR_E_INTERRUPTED
 * Errors: as hr_train. */
HR_CHECKED enum hr_status hr_anchors_time(const struct hr_train_options *options,
                                          const struct hr_dataset *dataset, unsigned wanted,
                                          double seconds, int (*stop)(void *arg),
                                          struct hr_anchors *out);

/* Was a run of this strategy, with as many workers and servers, timed? Then it is no forecast. */
const struct hr_anchor *hr_anchors_find(const struct hr_anchors *anchors, const char *strategy,
                                        size_t workers, size_t servers);

/* --- a run in virtual time, simulated with a small network in place of its own ---
 *
 * In virtual time a gradient takes as long as it is said to, and a message as long as its bytes
 * take: which numbers are in them changes nothing. So the simulator itself (virtual/simulator.h)
 * runs the same workers, servers and batches with a network of few parameters, over links that are
 * slower in proportion; what is rounded differs, chunks to whole numbers.
 *
 * Test: tests/unit/forecast/test_stand_in.c */

/* Seconds of virtual time for each gradient of a run with these options, whose model has so many
 * parameters; samples: of its training split. HR_E_USAGE: options that it cannot stand for (a
 * topology, which names its links' speeds); as hr_train. */
HR_CHECKED enum hr_status hr_stand_in_gradient(const struct hr_train_options *options,
                                               size_t params, size_t samples, double *out);

#endif

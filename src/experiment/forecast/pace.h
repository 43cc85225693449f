/* pace.h - the model of time: from a few short runs that were timed, how long a gradient takes
 * under strategies and with numbers of workers and servers that were not.
 *
 *   Words    P: processors; hyperthreads of a core are one. W workers, S servers. A gradient is one
 *            worker's, with all that goes with it: loading, the update, messages. w(W, S): seconds
 *            of the run for each gradient, so that samples/s = batch / w. A step is W gradients.
 *   Timed    (anchors.h), the fewest that tell these things apart:
 *              alone     w(1) of allreduce: gradient and update, nobody beside it
 *              together  the step of P workers of allreduce, all processors busy: what the second
 *                        one costs the first in bandwidth and frequency, and the exchange
 *              round     half the step of 2 P workers, who take turns
 *              compute   a gradient of P workers by itself, without update and exchange
 *              free      the step of P workers of hogwild, who write to the same weights
 *              served    w of ps-async at (1, 1), and at (P, S) and (3 P, S) for S of 1 and 2
 *              in step   w of ps-sync at (P, 1) and (3 P, 1)
 *              elastic   w of elastic-averaging at (2 P, 1)
 *   Model    allreduce   W <= P: the step lies on a line between alone and together; else it is
 *                        ceil(W / P) gradients in turn, and W times what each adds to the exchange,
 *                        e = (together - compute) / P, but no more than all of
 *                        round. Of gradients longer than the scheduler's
 *                        slices, processors do W / P in the same time, since none idles
 *            hogwild     W <= P: the same line to `free`; else free / P, and what turns cost
 *            local-sgd   a local step is a gradient and an update; the rest of `together` is the
 *            and diloco  exchange, of which there is one every H steps; in turns as allreduce
 *            ps-async    W = 1: that of one server. W < P: that over W, but no less than w(P, S).
 *            and ssp     W >= P: work, and waiting that more workers hide: a + b / W through
 *                        w(P, S) and w(3 P, S), where it ends to change; more servers as two
 *            ps-sync     W = 1: as ps-async. Else a + b / W through its two, and from one server to
 *                        two in the proportion of ps-async
 *            elastic-    a local step, or alone, and what the timed one adds to it, as often as
 *            averaging   there are exchanges
 *            locked      (sparse) W >= 2 as two workers: they take turns
 *   Unknown  parts are NaN, and so is what needs them.
 *
 * Threads: pure. Test: tests/unit/forecast/test_pace.c (beside the virtual simulator)
 */
#ifndef HR_FORECAST_PACE_H
#define HR_FORECAST_PACE_H

#include <stddef.h>

enum hr_pace_kind {
    HR_PACE_SUMMED,
    HR_PACE_FREE,
    HR_PACE_AVERAGED,
    HR_PACE_SERVED,
    HR_PACE_SERVED_IN_STEP,
    HR_PACE_ELASTIC,
    HR_PACE_LOCKED,
    HR_PACE_UNKNOWN /* there is no model of it */
};

/* All in seconds; pairs are of (P, S) and (3 P, S). */
struct hr_pace_parts {
    size_t processors;
    double alone, together, round;
    double compute, update; /* of a gradient of P workers; of one worker's step */
    double free;
    double served_alone, served[2], served_by_two[2];
    double in_step[2];
    double elastic;
    size_t elastic_period; /* with so many steps between exchanges */
    double locked;
};

/* All NaN but for the processors. */
struct hr_pace_parts hr_pace_nothing(size_t processors);

struct hr_pace_ask {
    enum hr_pace_kind kind;
    size_t workers, servers;
    size_t period; /* steps between exchanges, of those who have some */
};

/* The strategy's; "hogwild" of sparse models, too. */
/* By what the table of strategies says of it. */
enum hr_pace_kind hr_pace_kind_of(const char *strategy);

/* w: seconds of the run for each gradient. NaN: parts are missing. */
double hr_pace_gradient(const struct hr_pace_parts *parts, const struct hr_pace_ask *ask);

#endif

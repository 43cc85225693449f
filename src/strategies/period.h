/* period.h - some steps of each worker by itself, then all meet.
 *
 * A period has so many steps, and ends early where an epoch does. A cut may come in the middle of
 * one, where workers only quiesce: rows->due says how far its end is. All workers say the same.
 *
 * Threads: a worker's own.
 */
#ifndef HR_STRATEGIES_PERIOD_H
#define HR_STRATEGIES_PERIOD_H

#include "strategy/rank.h"

struct hr_period {
    uint64_t due;  /* the period in hand, if any, lasts until this index (0: all have met), */
    uint64_t meet; /* but they meet before this one: an epoch may end */
};

/* As hr_next_batch; a period that begins has so many steps. */
static inline bool hr_period_next(struct hr_period *period, struct hr_worker *worker,
                                  uint64_t steps, uint64_t *index)
{
    if (worker->index < period->meet)
        return hr_next_batch(worker, period->meet, index);
    /* At a cut it begins behind it, or what is left of it. */
    const uint64_t due = period->due > worker->index ? period->due : worker->index + steps;
    const uint64_t end = hr_batch_schedule_next_end(&worker->shared->schedule, worker->index);
    const uint64_t meet = due < end ? due : end;
    if (!hr_next_batch(worker, meet, index))
        return false;
    *period = (struct hr_period){due, meet};
    return true;
}

/* Do they meet behind the gradient in hand? */
static inline bool hr_period_is_over(const struct hr_period *period, const struct hr_worker *worker)
{
    return worker->index >= period->meet;
}

#endif

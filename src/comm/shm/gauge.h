/* gauge.h - what has been done so far, for who looks while a run goes on (hogring top).
 *
 * A rank writes its gauge twice a step: some twenty stores of words that nobody waits for. The
 * launcher writes the run's course ten times per second.
 *
 * Threads:  one writer each, any number of readers.
 * Ordering: all relaxed. Words of one gauge may be of different moments; each only grows, or is the
 *           newest of its kind, until the rank begins another life.
 * Test:     tests/unit/shm/test_gauge.c
 */
#ifndef HR_SHM_GAUGE_H
#define HR_SHM_GAUGE_H

#include "base/account.h"
#include "shm/atom.h"

struct hr_gauge {
    alignas(HR_LINE) struct hr_atom64 samples; /* partner of all: hogring top */
    struct hr_atom64 gradients;
    struct hr_atom64 spent_ns[HR_ACTIVITIES];
    struct hr_atom64 doing; /* 1 + enum hr_activity, since then; 0: nothing is booked */
    struct hr_atom64 since_ns;
    struct hr_atom64 updates, stale_sum, stale_max; /* of those whose staleness is counted */
    struct hr_atom64 taken;                         /* of a server: inputs, */
    struct hr_atom64 waiting; /* and those that it found waiting when it took the last */
};

_Static_assert(sizeof(struct hr_gauge) == HR_LINE, "a gauge is one line");

/* A run's course; doubles as their bits. */
struct hr_course {
    alignas(HR_LINE) struct hr_atom64 updated_ns; /* 0: never; partner of all: hogring top */
    struct hr_atom64 samples, total;              /* of this run, so far and in all */
    struct hr_atom64 batches;                     /* index at which it ends */
    struct hr_atom64 epoch, epochs, seconds;      /* doubles; seconds: of the run's clock */
    struct hr_atom64 points; /* evaluations so far, and what the last one said */
    struct hr_atom64 train_loss, loss, accuracy; /* doubles; not a number: there is none */
};

static inline void hr_gauge_time(struct hr_gauge *gauge, const struct hr_account *account)
{
    for (size_t i = 0; i < HR_ACTIVITIES; i++)
        hr_atom64_store_relaxed(&gauge->spent_ns[i], (uint64_t)account->spent_ns[i]);
    hr_atom64_store_relaxed(&gauge->since_ns, (uint64_t)account->since_ns);
    hr_atom64_store_relaxed(&gauge->doing, account->open ? 1 + (uint64_t)account->doing : 0);
}

static inline void hr_gauge_work(struct hr_gauge *gauge, uint64_t samples, uint64_t gradients)
{
    hr_atom64_store_relaxed(&gauge->samples, samples);
    hr_atom64_store_relaxed(&gauge->gradients, gradients);
}

static inline void hr_gauge_staleness(struct hr_gauge *gauge, uint64_t updates, uint64_t sum,
                                      uint64_t max)
{
    hr_atom64_store_relaxed(&gauge->updates, updates);
    hr_atom64_store_relaxed(&gauge->stale_sum, sum);
    hr_atom64_store_relaxed(&gauge->stale_max, max);
}

static inline void hr_gauge_served(struct hr_gauge *gauge, uint64_t taken, uint64_t waiting)
{
    hr_atom64_store_relaxed(&gauge->taken, taken);
    hr_atom64_store_relaxed(&gauge->waiting, waiting);
}

static inline void hr_course_store(struct hr_atom64 *word, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    hr_atom64_store_relaxed(word, bits);
}

static inline double hr_course_load(const struct hr_atom64 *word)
{
    const uint64_t bits = hr_atom64_load_relaxed(word);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif

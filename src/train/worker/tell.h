/* tell.h - a worker tells who looks on (observe/feed.h) of each of its steps.
 *
 *     hr_tell_begin       it begins, or begins again
 *     hr_tell_gradient    a gradient is counted; its norm, where that is cheap
 *     hr_tell_steps       what became of those that were not told yet is known: it has the next
 *                         batch, or is at a cut and its account stands
 *
 * A gradient that its worker does not live to see applied is not told; nor is one that is to be
 * computed again, since all were recalled. Their time is told with the next.
 *
 * Cost: off, a branch each. On, the norm: a read of the gradient.
 * Threads: a worker's own, as worker.h. hr_tell_steps where effects happen, never where gradients
 *          are computed beside that.
 * Test: tests/unit/train/test_observer.c
 */
#ifndef HR_WORKER_TELL_H
#define HR_WORKER_TELL_H

#include "observe/feed.h"

struct hr_train_worker;

/* More than one only where a pipeline that never drains comes to a cut. */
enum { HR_TELLING_MOST = 64 };

struct hr_told_step {
    uint64_t index;
    size_t samples;
    uint64_t counted; /* samples that the worker had counted with it: fewer now, it was dropped */
    double loss_sum;
    float norm;
};

struct hr_telling {
    float norm; /* of the gradient that is in hand; NaN: not known */
    size_t n;
    struct hr_told_step step[HR_TELLING_MOST]; /* (n) to be told */
    uint64_t stale_updates, stale_sum;         /* of the worker's, when it told last */
};

void hr_tell_begin(struct hr_train_worker *self);
/* worker.grads are final, a sum over so many samples. */
void hr_tell_norm(struct hr_train_worker *self, size_t samples);
void hr_tell_gradient(struct hr_train_worker *self, uint64_t index, size_t samples,
                      double loss_sum);
/* trained_ns: training so far, on the run's clock. */
HR_CHECKED enum hr_status hr_tell_steps(struct hr_train_worker *self, int64_t trained_ns);

#endif

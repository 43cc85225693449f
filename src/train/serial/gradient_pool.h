/* gradient_pool.h - threads that compute gradients ahead, for a driver that runs all ranks.
 *
 *     HR_TRY(hr_pool_start(job, threads, &pool));
 *     HR_TRY(hr_pool_submit(pool, fn, arg, rank, due));    fn(arg, rank, a buffers) will be called
 *     HR_TRY(hr_pool_join(pool, rank));                    it has been; what it returned
 *     hr_pool_stop(pool);
 *
 * Story:     `threads` compute; one of them is the caller, while it joins. The job that is due
 *            first is computed next. Jobs are pure functions of their input, so who computes them,
 *            and when, changes no bit.
 * Order:     submit happens before fn, fn before join returns.
 * Waiting:   join waits only for a computation that is under way.
 * Memory:    one hr_compute_buffers a thread, whatever the number of workers.
 * Threads:   submit, has, join and stop are the caller's.
 * Test:      tests/unit/serial/test_gradient_pool.c
 */
#ifndef HR_SERIAL_GRADIENT_POOL_H
#define HR_SERIAL_GRADIENT_POOL_H

#include "worker/compute_buffers.h"

struct hr_pool;

typedef enum hr_status (*hr_pool_fn)(void *arg, size_t rank, struct hr_compute_buffers *buffers);

/* HR_E_NOMEM: no memory, or no thread. */
HR_CHECKED enum hr_status hr_pool_start(const struct hr_train_job *job, size_t threads,
                                        struct hr_pool **out);
/* Waits for jobs under way and drops the others. Harmless on NULL. */
void hr_pool_stop(struct hr_pool *pool);

/* At most one job a rank. */
HR_CHECKED enum hr_status hr_pool_submit(struct hr_pool *pool, hr_pool_fn fn, void *arg,
                                         size_t rank, int64_t due);
/* Was a job of this rank submitted and not joined? */
bool hr_pool_has(const struct hr_pool *pool, size_t rank);
/* Is it done, so that join would return at once? */
bool hr_pool_done(struct hr_pool *pool, size_t rank);
HR_CHECKED enum hr_status hr_pool_join(struct hr_pool *pool, size_t rank);

#endif

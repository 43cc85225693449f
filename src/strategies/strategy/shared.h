/* shared.h - common parts of strategies: updates, messages, gradients in pieces.
 *
 * Threads: a worker's or shard's own, as in strategy.h.
 */
#ifndef HR_STRATEGY_SHARED_H
#define HR_STRATEGY_SHARED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "shm/control.h"
#include "strategy/shared_state.h"
#include "strategy/strategy.h"

struct hr_model;
struct hr_model_final;

/* The update of batch `index` with a gradient that is the sum over `samples` samples, the
 * `number`th (from 1) of its state. */
struct hr_step hr_step_for(const struct hr_shared_state *shared, uint64_t index, size_t samples,
                           uint64_t number);

/* All workers are active, and the first term begins with the schedule. */
void hr_active_fill(const struct hr_shared_state *shared);

/* All have come to a cut of an asynchronous run. Is it no end of an epoch, but there to save, or to
 * end the run? Then whoever goes on is as it came. */
bool hr_cut_only_quiesces(const struct hr_shared_state *shared);
/* The run begins: hand out those first. */
void hr_begin_with(const struct hr_shared_state *shared);

/* The order of addition of asynchronous strategies, in words. */
extern const char hr_order_of_arrival[];

/* For prepare: allocate shared->setup, so many bytes, zeroed. */
HR_CHECKED enum hr_status hr_setup_take(struct hr_shared_state *shared, size_t bytes);

/* How updates depend on staleness: the setup of asynchronous strategies, or its first part. */
struct hr_stale_updates {
    bool inverse;       /* --async-lr same:inverse: at lr / (1 + staleness) */
    float compensation; /* LAMBDA of --async-lr; 0: none */
};
HR_CHECKED enum hr_status hr_stale_prepare(struct hr_shared_state *shared);
void hr_stale_describe(const struct hr_shared_state *shared, char *text, size_t size);

/* The same with the rate that --async-lr gives an update of that staleness. inverse: Zhang et
 * al., "Staleness-Aware Async-SGD", arXiv 1511.05950, with factor 1 for staleness 0. */
struct hr_step hr_step_stale(const struct hr_shared_state *shared, uint64_t index, size_t samples,
                             uint64_t number, uint64_t staleness);

/* The worker does something else from now on: its account and who looks from outside are told, and
 * what it has done so far. */
void hr_turn_to(struct hr_worker *worker, enum hr_phase phase, enum hr_activity activity);

/* Floats of one state, and of what hr_step_measure needs beside it. */
size_t hr_state_floats(const struct hr_shared_state *shared);
size_t hr_ratio_floats(const struct hr_shared_state *shared);

/* Count what the worker has sent to and received from others of its group. Also before it gives up
 * its place in it: with a new one it counts from nothing. */
void hr_count_traffic(struct hr_worker *worker);

/* Where stripe `stripe` of `nstripes` begins in `count` parameters: on a line of its own. */
static inline size_t hr_stripe_begin(size_t count, size_t nstripes, size_t stripe)
{
    return hr_chunk_begin(count, HR_LINE / sizeof(float), nstripes, stripe);
}

/* Where a server's slice of the parameters begins; that of the next is its end. Where updates need
 * norms of tensors (lars, lamb) no tensor is cut: a slice begins where the one does that is nearest
 * to its stripe's begin, and may be empty. */
size_t hr_slice_begin(const struct hr_shared_state *shared, size_t server);

/* The options of the group of the active workers. */
struct hr_group_options hr_group_of_active(const struct hr_shared_state *shared);

/* Make this update of this worker's weights and private state, with what its grads are. */
void hr_step_replica(struct hr_worker *worker, struct hr_step *step);
/* The same with its own gradient of batch `index`. */
void hr_update_replica(struct hr_worker *worker, uint64_t index);

/* For strategies without owners: nothing to send, and always ready. */
bool hr_always_ready(void *worker);

/* --- --overlap on: a gradient leaves its worker in pieces, while backward computes the rest ---
 *
 *     grads   [ first layer ... | ... | ... last layer ]      backward finishes from the right
 *             0                 offset               end
 *
 *   Pieces   end where layers do: as soon as they hold `least` elements. So they follow from the
 *            model alone. What is left when backward has finished the first layer is the last one.
 *   Test     tests/unit/train/test_overlap.c, tests/unit/server/test_server_carried.c */

/* Elements of a piece, at least; SIZE_MAX where a gradient leaves whole. HR_E_USAGE: BYTES of
 * --overlap on:BYTES is no size. */
HR_CHECKED enum hr_status hr_overlap_least(const struct hr_shared_state *shared, size_t *least);

/* What of a push goes ahead, a list, made beforehand (tests/unit/train/test_parts_of_pushes.c). In
 * their order: a part ends where the one before it begins, the first at the model's end, and begins
 * at `offset`; `share` of a gradient's time have gone then. None where no servers are pushed to, or
 * all goes at once. *out is the caller's to free. HR_E_USAGE, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_ahead_list(const struct hr_shared_state *shared,
                                        const struct hr_model *model, struct hr_model_final **out,
                                        size_t *n);

/* grads [offset, end) are final, and those behind have left: do these leave ahead of the rest? */
static inline bool hr_overlap_goes_ahead(size_t least, size_t offset, size_t end)
{
    return offset > 0 && offset < end && end - offset >= least;
}

/* --- the first workers of machines (struct hr_leaders) --- */

/* Of those workers, in the order of their ranks; rank NULL: [0, n). */
void hr_leaders_choose(struct hr_leaders *leaders, const struct hr_hosts *hosts,
                       const uint16_t *rank, size_t n);

/* A leader's view, with its waiter; finish with hr_member_fini. */
HR_CHECKED enum hr_status hr_leaders_join(const struct hr_shared_state *shared,
                                          struct hr_waiter *waiter, struct hr_member *member);

#endif

/* Hogwild: no server; workers read and update the shared weights without locks.
 *
 *   Story    a worker computes a gradient from its private copy of the weights, and applies its
 *            update to the shared weights. It copies what it stores, for its next gradient: a push
 *            and the next pull are one pass, so a line that others wrote is fetched once a step.
 *            Only at the start and after a cut it pulls alone. Reads and writes are relaxed atomic
 *            pairs of floats: no weight is ever torn, and BLAS reads only the copy. Each worker has
 *            an optimiser state of its own; norms (--clip-norm, lars, lamb) are of its own
 *            gradient, state and copy.
 *            The rate (--staleness-lr) and the gradient (--delay-compensation) may follow the
 *            staleness at the push's start; compensation is with each block's weights as loaded,
 *            norms are those of the uncompensated gradient.
 *   Promise  no torn values; an update that meets another's between its load and its store is lost
 *            (lost.h samples how many are).
 *   Losses   a lost worker is missed by nobody: what it had in its hands comes out at the cut
 *            (ledger.h), a push that its death has torn is counted as partial. One that comes back
 *            begins with the weights as they are.
 *   Order    each worker starts a push at its own stripe, so that two rarely meet on one line.
 *   Source   Niu, Recht, Re, Wright, "Hogwild!", NIPS 2011.
 */
#include "strategies/hogwild_live.h"
#include "strategies/pushes.h"
#include "strategies/strategies.h"

/* The index of its next batch, or one that is not below the cut. Those of lost workers come first,
 * even where the run is asked to stop. */
static uint64_t draw(struct hr_worker *worker, uint64_t cut)
{
    const struct hr_shared_state *shared = worker->shared;
    struct hr_dispenser *dispenser = shared->dispenser;
    uint64_t index;
    if (hr_fates_take(shared->fates, &index))
        return index;
    if (hr_shared_rests(shared, hr_atom64_load_acquire(&dispenser->next)))
        return cut;
    return hr_atom64_fetch_add_acq_rel(&dispenser->next, 1);
}

static enum hr_status accept(struct hr_worker *worker, struct hr_task *task)
{
    const struct hr_shared_state *shared = worker->shared;
    const uint64_t cut = hr_atom64_load_acquire(&shared->dispenser->cut); /* partner: the leader */
    worker->index = draw(worker, cut);
    *task = (struct hr_task){worker->index < cut ? HR_TASK_BATCH : HR_TASK_CUT, worker->index};
    if (task->kind == HR_TASK_BATCH) {
        if (shared->outlives)
            hr_ledger_draw(hr_hogwild_ledger(shared), worker->rank, worker->index);
        hr_hogwild_count_batch(worker);
    }
    return HR_OK;
}

/* Nothing to wait for but the cut's barrier: a worker that has arrived has pushed. */
static void export_part(struct hr_worker *worker)
{
    hr_pushes_go_on(worker);
    hr_hogwild_pull(worker); /* all rest: no push is missed */
    hr_export_stripe(worker);
    hr_export_own_state(worker);
}

static void lost(struct hr_shared_state *shared, size_t worker)
{
    hr_ledger_lose(hr_hogwild_ledger(shared), shared, worker);
    hr_pushes_lose(shared, worker);
}

static void missing(struct hr_shared_state *shared)
{
    hr_ledger_missing(hr_hogwild_ledger(shared), shared);
}

/* A push is one act of its worker: none is under way. */
static bool pause(const struct hr_standing *at, struct hr_pause *to)
{
    const struct hr_shared_state *shared = at->shared;
    hr_hogwild_load(shared, to->snapshot.weights);
    for (size_t w = 0; w < shared->workers; w++) {
        hr_pause_copy_state(at, w, to);
        if (at->stands[w] == HR_STANDS_HAS)
            hr_pause_in_hand(at, w, at->worker[w]->index, to);
    }
    hr_ledger_pause(hr_hogwild_ledger(shared), at, to);
    return true;
}

const struct hr_strategy hr_strategy_hogwild = {
    .name = "hogwild",
    .guarantee = "no torn values; updates may be lost; staleness unbounded, measured",
    .options = (const char *const[]){"async-lr", "staleness-lr", "delay-compensation",
                                     "record-block", NULL},
    .order = hr_order_of_arrival,
    .recorded = &hr_strategy_hogwild_recorded,
    .averaged = &hr_strategy_hogwild_averaged,
    .private_state = true,
    .losses_are_inputs = true,
    .sparse = true,
    .prepare = hr_hogwild_prepare,
    .describe = hr_stale_describe,
    .bytes = hr_hogwild_bytes,
    .init = hr_hogwild_init,
    .report = hr_pushes_report,
    .worker_own = sizeof(struct hr_hogwild_own),
    .worker_bytes = hr_state_bytes,
    .start = hr_hogwild_start,
    .stop = hr_state_stop,
    .request = hr_tell_nobody,
    .ready = hr_always_ready,
    .accept = accept,
    .offer = hr_hogwild_offer,
    .arrive = hr_pushes_arrive,
    .arrived = hr_always_ready,
    .export_part = export_part,
    .at_rest = hr_hogwild_at_rest,
    .verify = hr_verify_nothing,
    .lost = lost,
    .missing = missing,
    .pause = pause,
};

/* Recorded Hogwild between two events. */
#include "strategies/hogwild_passage.h"

#include <string.h>

#include "base/size.h"
#include "strategies/hogwild_blocks.h"

/* The blocks that its push has not come to, on the copy of weights and state. */
static void finish(const struct hr_standing *at, size_t worker, struct hr_pause *to)
{
    const struct hr_shared_state *shared = at->shared;
    const struct hr_passage *passage = at->worker[worker]->own;
    const size_t block = hr_hogwild_block(shared);
    struct hr_worker copy = *at->worker[worker];
    copy.state = to->snapshot.state + worker * hr_state_floats(shared);
    for (size_t i = 0; i < hr_blocks_count(shared); i++) {
        const size_t first = i * block, count = hr_min_size(block, shared->params - first);
        if (!passage->done[i])
            hr_push_update(&copy, &passage->push, first, count, copy.weights + first,
                           to->snapshot.weights + first);
    }
    to->worker[worker].updates++;
}

/* Has it a batch, drawn or computed, whose push is not begun? */
static bool is_in_hand(const struct hr_standing *at, size_t worker)
{
    const struct hr_passage *passage = at->worker[worker]->own;
    return at->stands[worker] == HR_STANDS_HAS || passage->stage == HR_PULLING ||
           (passage->stage == HR_DECIDED && passage->task.kind == HR_TASK_BATCH);
}

/* A replay's workers draw what their logs say, each at its own pace. Has nobody drawn a batch that
 * is not among the first `next`, and so all of these were drawn? Of those that wait to be handed
 * out again it knows how many, not which. */
static bool has_no_gap(const struct hr_standing *at)
{
    const struct hr_shared_state *shared = at->shared;
    const uint64_t next = hr_atom64_load_relaxed(&shared->dispenser->next); /* one thread */
    for (size_t w = 0; w < shared->workers; w++)
        if (at->worker[w] && at->worker[w]->index >= next)
            return false;
    return !shared->repeats || !hr_fates_waiting(shared->fates);
}

bool hr_passages_pause(const struct hr_standing *at, struct hr_pause *to)
{
    const struct hr_shared_state *shared = at->shared;
    if (!has_no_gap(at))
        return false;
    memcpy(to->snapshot.weights, hr_blocks_weights(shared), shared->params * sizeof(float));
    for (size_t w = 0; w < shared->workers; w++) {
        hr_pause_copy_state(at, w, to);
        if (!at->worker[w])
            continue;
        if (((const struct hr_passage *)at->worker[w]->own)->stage == HR_PUSHING)
            finish(at, w, to);
        else if (is_in_hand(at, w))
            hr_pause_in_hand(at, w, at->worker[w]->index, to);
    }
    hr_ledger_pause(hr_blocks_ledger(shared), at, to);
    return true;
}

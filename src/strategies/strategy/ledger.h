/* ledger.h - what became of each batch, where workers draw batches themselves (Hogwild) and may be
 * lost: a worker may die anywhere, as between drawing an index and telling anybody.
 *
 *   Story    a word for each index of the span in hand, which goes from the last cut to the next
 *            one: not drawn, drawn by a worker, or pushed. A worker writes it when it has drawn
 *            the index, and when its push has ended. At the cut, when all who live rest, an index
 *            that was given out and not pushed is one that a lost worker had, whether or not it
 *            came to write anything: it is handed out again, or counted as lost.
 *   Pushes   a worker says when it begins a push. One that dies before it has ended may have
 *            changed any part of the weights: the push is counted as partial, and its batch as
 *            trained on, since to push it again would apply a part of it twice.
 *   Whose    an index that nobody has written is put down to a worker that was lost and has none.
 *   Cost     two stores a step to a line that neighbours write too, and one exchange; without
 *            --on-loss there is no ledger.
 *
 * Threads: a batch's word is written by whoever has drawn its index, then by the launcher; so is
 *          the word about pushing. The rest is the launcher's, while all rest.
 * Test:    tests/unit/strategy/test_ledger.c
 */
#ifndef HR_STRATEGY_LEDGER_H
#define HR_STRATEGY_LEDGER_H

#include "strategy/pause.h"

/* Of shared->ledger, in lines; 0 where nobody is outlived, or servers hand out batches: there
 * nothing below does anything. */
size_t hr_ledger_bytes(const struct hr_shared_state *shared);
void hr_ledger_init(const struct hr_shared_state *shared);

/* A worker has drawn a batch; begins its push; has ended it. */
void hr_ledger_draw(const struct hr_shared_state *shared, size_t worker, uint64_t index);
void hr_ledger_begin_push(const struct hr_shared_state *shared, size_t worker, uint64_t index);
void hr_ledger_end_push(const struct hr_shared_state *shared, size_t worker, uint64_t index);

/* Worker `worker` is gone: its counters hold what it pushed, and no more. Called by the launcher
 * at once, while others go on. Updates are its pushes, a partial one too, and so is its histogram
 * of staleness. */
void hr_ledger_lose(const struct hr_shared_state *shared, size_t worker);

/* All who live have come to a cut, and rest: hand out again what lost workers have left undone
 * before it, or count it as lost. Called by the launcher, and again when all come back to the cut,
 * or repeat it. */
void hr_ledger_missing(const struct hr_shared_state *shared);

/* Between two events (strategy/pause.h): batches in the hands of workers that are lost. */
void hr_ledger_pause(const struct hr_standing *at, struct hr_pause *to);

#endif

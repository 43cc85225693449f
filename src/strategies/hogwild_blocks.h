/* hogwild_blocks.h - the memory of recorded Hogwild: weights in blocks, each with its tickets.
 *
 *     [pushes of worker 0 | 1 | ... | word of block 0 | 1 | ... | weights | ledger]
 *
 * Threads: a block's weights are its holder's (tickets.h).
 * Test:    tests/unit/strategies/test_hogwild_blocks.c
 */
#ifndef HR_STRATEGIES_HOGWILD_BLOCKS_H
#define HR_STRATEGIES_HOGWILD_BLOCKS_H

#include "strategies/ledger.h"
#include "strategies/tickets.h"

size_t hr_blocks_bytes(const struct hr_shared_state *shared);
void hr_blocks_init(struct hr_shared_state *shared);
size_t hr_blocks_count(const struct hr_shared_state *shared);

struct hr_ticket_word *hr_blocks_words(const struct hr_shared_state *shared);
float *hr_blocks_weights(const struct hr_shared_state *shared); /* (params) */
struct hr_ledger *hr_blocks_ledger(const struct hr_shared_state *shared);

/* Worker `worker` gives back block `number`, which others may wait for. */
void hr_blocks_give_back(const struct hr_shared_state *shared, size_t worker, size_t number);
/* It is lost: give back what it has. */
void hr_blocks_lose(const struct hr_shared_state *shared, size_t worker);

#endif

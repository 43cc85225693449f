/* hogwild_weights.h - the weights that all workers of a machine read and update: they have no
 * owner, but blocks.
 *
 *   Live       they are one block, which is everybody's at once. Weights are loaded and stored as
 *              relaxed atomic pairs (shm/atom.h): none is torn; an update that meets another's
 *              between its load and its store is lost.
 *   By ticket  in a run that is recorded or replayed a block is one worker's at a time. Its word
 *              (tickets.h) counts how often it was taken: the order in which workers took a block,
 *              which alone decides its bits.
 *
 *     [pushes line of worker 0 | of 1 | ... | pairs of weights | word of block 0 | ...]
 *                                                         first in shared->own; by ticket: words
 *
 * Threads: live, any number; by ticket, a block's weights are its holder's.
 * Test:    tests/unit/strategies/test_hogwild_weights.c
 */
#ifndef HR_STRATEGIES_HOGWILD_WEIGHTS_H
#define HR_STRATEGIES_HOGWILD_WEIGHTS_H

#include "strategies/tickets.h"
#include "strategy/shared.h"

/* What hogwild's prepare makes of the options. */
struct hr_hogwild_setup {
    struct hr_stale_updates stale; /* first: hr_step_stale */
    bool by_ticket;
    size_t block; /* floats of one, whole lines */
};

size_t hr_hogwild_blocks(const struct hr_shared_state *shared); /* how many there are */
size_t hr_hogwild_bytes(const struct hr_shared_state *shared);
/* They are the snapshot's. No rank runs yet. */
void hr_hogwild_init(const struct hr_shared_state *shared);

/* Where they lie. */
struct hr_hogwild_weights {
    struct hr_atom64 *pairs;
    size_t block, blocks;         /* floats of a block; how many blocks */
    struct hr_ticket_word *words; /* (blocks); NULL: live */
    void *end;                    /* the memory behind */
};
struct hr_hogwild_weights hr_hogwild_weights_of(const struct hr_shared_state *shared);

/* Load weights [at, at + count) into floats; store floats there. at is even, and so is count unless
 * it ends with the last of them. */
static inline void hr_hogwild_load(const struct hr_hogwild_weights *weights, size_t at,
                                   size_t count, float *floats)
{
    const struct hr_atom64 *from = weights->pairs + at / 2;
    const size_t pairs = count / 2;
#pragma GCC unroll 8 /* lines come from far: the fewer instructions a line, the more on their way */
    for (size_t i = 0; i < pairs; i++) {
        const struct hr_float_pair pair = hr_hogwild_load_relaxed(&from[i]);
        memcpy(&floats[2 * i], &pair, sizeof pair);
    }
    if (count % 2)
        floats[count - 1] = hr_hogwild_load_relaxed(&from[pairs]).first;
}

static inline void hr_hogwild_store(const struct hr_hogwild_weights *weights, size_t at,
                                    size_t count, const float *floats)
{
    struct hr_atom64 *to = weights->pairs + at / 2;
    const size_t pairs = count / 2;
#pragma GCC unroll 8
    for (size_t i = 0; i < pairs; i++) {
        struct hr_float_pair pair;
        memcpy(&pair, &floats[2 * i], sizeof pair);
        hr_hogwild_store_relaxed(&to[i], pair);
    }
    if (count % 2)
        hr_hogwild_store_relaxed(&to[pairs], (struct hr_float_pair){floats[count - 1], 0});
}

/* By ticket: worker `worker` gives back block `number`, which others may wait for. */
void hr_hogwild_give_back(const struct hr_shared_state *shared, size_t worker, size_t number);
/* It is lost: it gives back what it has taken. */
void hr_hogwild_lose(const struct hr_shared_state *shared, size_t worker);

#endif

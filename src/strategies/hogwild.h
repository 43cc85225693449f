/* hogwild.h - the weights that all workers of a machine read and update: they have no owner, but
 * blocks; and updates of them, of which some are lost. The story is in the .c file, and how workers
 * draw batches.
 *
 *   Live       the weights are one block, which is everybody's at once. They are loaded and stored
 *              as relaxed atomic pairs (shm/atom.h): none is torn; an update that meets another's
 *              between its load and its store is lost.
 *   By ticket  in a run that is recorded or replayed a block is one worker's at a time. Its word
 *              counts how often it was taken: the order in which workers took a block,
 *              which alone decides its bits. A block that another has is left for later; only when
 *              none that is left is free the worker waits. That costs what ticket_ns says.
 *   Log        per step (strategy/strategy.h): BATCH, SKEW, PULL for each block, STALENESS, PUSH
 *              for each block; CUT where it was given no batch. Tickets stand in the order of the
 *              blocks.
 *   Replay     a worker follows its log: a block is free to it when the block's count has reached
 *              the ticket that was recorded. What tickets do not decide it takes from the log.
 *   Lost       a worker that is: what it had in its hands comes out at the cut (lost_batches.h); a
 *              block that it had is given back, with what its push has done to it.
 *
 *     [pushes line of worker 0 | of 1 | ... | pairs of weights | word of block 0 | ... | a node]
 *                                     first in shared->own; by ticket: words; several machines:
 *                                     what those of one share (hogwild_averaged.h)
 *
 * Threads: live, any number; by ticket, a block's weights are its holder's. struct hr_hogwild is
 *          its worker's; the launcher calls strategy->lost.
 * Test:    tests/unit/strategies/test_hogwild_weights.c, test_lost.c
 */
#ifndef HR_STRATEGIES_HOGWILD_H
#define HR_STRATEGIES_HOGWILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/atom.h"
#include "strategy/pause.h"
#include "strategy/rank.h"
#include "strategy/shared.h"
#include "strategy/shared_state.h"

/* --- lost updates, by sampling ---
 *
 *   Story    a push loads a weight, adds to it, and stores it; what another worker stored in
 *            between is lost. Every push watches one random line of 16 weights: there it stores by
 *            atomic exchange, and compares the old value with the one it had loaded. A pair of
 *            weights that differs is one lost pair.
 *   Sample   one line a push costs some 0.1 us, whatever the model. Pairs of a line are mostly lost
 *            together: an interval must count lines, not pairs.
 *   Limits   a lost update that had not changed its pair is not counted; every lost store is
 *            counted once, by the worker that overwrites it. The watched line depends only on
 *            (worker, push). */
enum { HR_LOST_FLOATS = 16 }; /* of a line, 64 bytes */

/* Where the line begins, in `params` weights, that this push (counted from 1) of this worker
 * watches. */
size_t hr_lost_line(size_t params, size_t worker, uint64_t push);

/* Store one line's `count` weights (at most HR_LOST_FLOATS; live is where it begins) and count the
 * pairs that were no longer what `loaded` says.
 *   loaded, next  (count) before and after the update; of an odd count the last pair's second is 0
 */
void hr_lost_store(struct hr_lost *lost, struct hr_atom64 *live, const float *loaded,
                   const float *next, size_t count);

/* --- a block's word ---
 *
 * One worker at a time holds it, and it counts how often it was held.
 *
 *     word = tickets | who has it | a worker wants it | a worker has it
 *            46 bits   16 bits      1 bit               1 bit
 *     take  replaces it (acquire)  <->  give back adds to it (release): what the word stands for
 *     want  replaces it            <->  give back: it is one word, so one of the two sees the other
 *
 * Threads: any number; nothing waits. A caller whose take failed parks on its own bell; the caller
 * whose give_back returns true rings the bells. Who has it is part of the word, so that it can be
 * taken from one who dies between any two instructions.
 */
struct hr_ticket_word {
    alignas(HR_LINE) struct hr_atom64 word; /* zeroed: free, never taken */
};

enum { HR_TICKET_BUSY = 1, HR_TICKET_WANTED = 2, HR_TICKET_OWNER = 4, HR_TICKET_ONE = 1 << 18 };

/* Worker `owner` takes it: *ticket says how often it was taken before. False: another has it, and
 * will see that it is wanted. */
static inline bool hr_ticket_try_take(struct hr_ticket_word *it, size_t owner, uint64_t *ticket)
{
    for (;;) {
        const uint64_t word = hr_atom64_load_acquire(&it->word); /* partner: give_back */
        if (!(word & HR_TICKET_BUSY)) {
            *ticket = word / HR_TICKET_ONE;
            if (hr_atom64_replace_acq_rel(&it->word, word,
                                          *ticket * HR_TICKET_ONE | owner * HR_TICKET_OWNER |
                                              HR_TICKET_BUSY))
                return true;
        } else if ((word & HR_TICKET_WANTED) ||
                   hr_atom64_replace_acq_rel(&it->word, word, word | HR_TICKET_WANTED)) {
            return false;
        }
    }
}

/* Its owner gives it back; did another worker want it? */
static inline bool hr_ticket_give_back(struct hr_ticket_word *it, size_t owner)
{
    return hr_atom64_fetch_add_acq_rel(&it->word,
                                       HR_TICKET_ONE - owner * HR_TICKET_OWNER - HR_TICKET_BUSY) &
           HR_TICKET_WANTED;
}

/* Has worker `owner` taken it, and not given it back? */
static inline bool hr_ticket_is_of(const struct hr_ticket_word *it, size_t owner)
{
    const uint64_t word = hr_atom64_load_acquire(&it->word); /* partner: try_take */
    return (word & HR_TICKET_BUSY) && word % HR_TICKET_ONE / HR_TICKET_OWNER == owner;
}

/* How often it was taken and given back. */
static inline uint64_t hr_ticket_count(const struct hr_ticket_word *it)
{
    return hr_atom64_load_relaxed(&it->word) / HR_TICKET_ONE;
}

/* --- pushes: how many each worker has made, in lines of its own, first in the strategy's memory
 * ---
 *
 * A line's writer is its worker, after its death the launcher; others read counts, which order
 * nothing. The rest is a worker's own. */

/* How many clocks this worker is ahead of the slowest that may still push before the cut. */
uint64_t hr_pushes_skew(const struct hr_worker *worker);

/* A worker's gradient on its way into the weights. */
struct hr_push {
    struct hr_step step;
    float lambda; /* of delay compensation; 0: none */
};

/* It is at a cut: left out of the skew. */
void hr_pushes_arrive(struct hr_worker *worker);

/* --- the weights --- */

struct hr_averaging;

/* Where they lie. */
struct hr_hogwild_weights {
    struct hr_atom64 *pairs;
    size_t block, blocks;         /* floats of a block; how many blocks */
    struct hr_ticket_word *words; /* (blocks); NULL: live */
    void *end;                    /* the memory behind */
};
struct hr_hogwild_weights hr_hogwild_weights_of(const struct hr_shared_state *shared);

/* What a worker does with weights [begin, end) in a pass over all of them. */
typedef void (*hr_hogwild_fn)(struct hr_worker *worker, size_t begin, size_t end);

/* A worker at them; its own. */
struct hr_hogwild {
    struct hr_hogwild_weights weights;
    uint64_t seen;                  /* pushes of others when its copy was read */
    bool pulls;                     /* its copy is not the weights as it left them */
    struct hr_averaging *averaging; /* NULL: there is one machine */
    struct hr_push push;            /* the last, or in hand */
    size_t watched;                 /* of its weights, the line that begins here; SIZE_MAX: none */
    uint64_t *ticket;               /* (blocks) owned: got, or to be waited for; NULL: live */
    /* By ticket: */
    enum { HR_HOGWILD_BETWEEN, HR_HOGWILD_PULLS, HR_HOGWILD_PUSHES } pass; /* in hand */
    hr_hogwild_fn act;                                                     /* of it */
    unsigned char *done; /* (blocks) behind tickets: of the pass in hand */
    size_t left;         /* blocks that are not */
    int64_t since;       /* of the time, what is not yet in ticket_ns */
};

/* Load weights [at, at + count) into floats; store floats there. at is even, and so is count unless
 * it ends with the last of them. */
static inline void hr_hogwild_load(const struct hr_hogwild_weights *weights, size_t at,
                                   size_t count, float *floats)
{
    const struct hr_atom64 *from = weights->pairs + at / 2;
    const size_t pairs = count / 2;
#pragma GCC                                                                                        \
    unroll 8 /* lines come from far: the fewer instructions per line, the more on their way */
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

#endif

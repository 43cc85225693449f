/* hogwild_weights.h - the weights that all workers of a machine read and update: they have no
 * owner, but blocks; and the batches that workers draw.
 *
 *   Live       the weights are one block, which is everybody's at once. They are loaded and stored
 *              as relaxed atomic pairs (shm/atom.h): none is torn; an update that meets another's
 *              between its load and its store is lost.
 *   By ticket  in a run that is recorded or replayed a block is one worker's at a time. Its word
 *              (tickets.h) counts how often it was taken: the order in which workers took a block,
 *              which alone decides its bits. A block that another has is left for later; only when
 *              none that is left is free the worker waits. That costs what ticket_ns says.
 *   Log        per step (strategy/replay_log.h): BATCH, SKEW, PULL for each block, STALENESS, PUSH
 *              for each block; CUT where it was given no batch. Tickets stand in the order of the
 *              blocks.
 *   Replay     a worker follows its log: a block is free to it when the block's count has reached
 *              the ticket that was recorded. What tickets do not decide it takes from the log.
 *   Lost       a worker that is: what it had in its hands comes out at the cut (ledger.h); a block
 *              that it had is given back, with what its push has done to it.
 *
 *     [pushes line of worker 0 | of 1 | ... | pairs of weights | word of block 0 | ... | a node]
 *                                     first in shared->own; by ticket: words; several machines:
 *                                     what those of one share (hogwild_averaged.h)
 *
 * Threads: live, any number; by ticket, a block's weights are its holder's. struct hr_hogwild is
 *          its worker's; the launcher calls hr_hogwild_lose.
 * Test:    tests/unit/strategies/test_hogwild_weights.c
 */
#ifndef HR_STRATEGIES_HOGWILD_WEIGHTS_H
#define HR_STRATEGIES_HOGWILD_WEIGHTS_H

#include "strategies/pushes.h"
#include "strategies/tickets.h"
#include "strategy/pause.h"
#include "strategy/rank.h"

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

/* Functions of the table: the options, in words too; the memory, which becomes the snapshot's; a
 * worker's private memory; the weights while all rest. */
enum hr_status hr_hogwild_prepare(struct hr_shared_state *shared);
void hr_hogwild_describe(const struct hr_shared_state *shared, char *text, size_t size);
size_t hr_hogwild_bytes(const struct hr_shared_state *shared);
void hr_hogwild_init(struct hr_shared_state *shared);
size_t hr_hogwild_worker_bytes(const struct hr_shared_state *shared);
float *hr_hogwild_at_rest(const struct hr_shared_state *shared);
/* A worker begins, with a copy of the weights as they are, and ends; it goes on from a cut. */
enum hr_status hr_hogwild_start(struct hr_worker *worker);
void hr_hogwild_stop(struct hr_worker *worker);
void hr_hogwild_catch_up(struct hr_worker *worker);
/* A worker is lost; the state between two events. */
void hr_hogwild_lose(struct hr_shared_state *shared, size_t worker);
bool hr_hogwild_pause(const struct hr_standing *at, struct hr_pause *to);

/* Ask, and draw the next batch: worker->index is *index; or come to a cut there: *batch false. Then
 * begin a push with that batch, and end it. */
HR_CHECKED enum hr_status hr_hogwild_draw(struct hr_rank *rank, uint64_t *index, bool *batch);
void hr_hogwild_begin_push(struct hr_worker *worker);
void hr_hogwild_end_push(struct hr_worker *worker);

/* Act on all weights, a block at a time, in any order: a pull, which reads them, or a push. May
 * wait by ticket only. */
HR_CHECKED enum hr_status hr_hogwild_pass(struct hr_rank *rank, bool pushes, hr_hogwild_fn act);

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

#endif

/* plan.h - a collective as data: for each rank, rows that say what it does, in order.
 *
 * Words: buffers are cut into *chunks*, chunk c being the same elements on every rank (layout.h
 * says where it lies). A rank has an input, an output (in place: the same memory), and a scratch of
 * the same size. A row acts on `span` chunks from `chunk` on:
 *
 *     send   buffer, peer   let peer have them; does not wait
 *     recv   -, peer        wait for what peer sends, and keep it for the next sum
 *     add    out, peer      wait for it; out = out + it
 *     copy   buffer, peer   wait for it; buffer = it
 *     sum    buffer, own    buffer = T(n) over what was kept and this rank's own part, leaves in
 *                           rank order; `peer` is the buffer where that stands, as a rule the input
 *     take   out, -         out = buffer, as the rank starts (input) or ends (scratch)
 *     drain  -, -           wait until the peers need nothing of mine any more
 *
 * Sends of one rank to another arrive in their order, and there is a row that receives for each.
 * What is sent may be read where it lies until the receiver's row is done: a plan must not change
 * it before (tests/unit/plan/test_plan.c runs all plans in such a world). Rows do not say how bytes
 * travel, so one plan serves shared arenas, payload through rings, threads, processes,
 * seeded schedules and cost models. At a plan's end there is an implied drain.
 *
 * Where the order of addition differs from chunk to chunk, chunks are *dealt*: the whole is cut
 * into runs of `run` elements, and run k belongs to chunk k mod nchunks. So an element's chunk
 * follows from its index alone, and a sum in buckets has the bits of one sum of the whole.
 * Such a plan has no recv and no sum, and its rows act on one chunk, or on all.
 */
#ifndef HR_PLAN_PLAN_H
#define HR_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The all-reduce algorithms there are, in the order in which they are listed and numbered. A new
 * one is a file allreduce_<name>.c, and its name here. */
#define HR_ALLREDUCES(X)                                                                           \
    X(auto)                                                                                        \
    X(direct)                                                                                      \
    X(one_shot)                                                                                    \
    X(ring)                                                                                        \
    X(bidirectional_ring)                                                                          \
    X(tree) X(double_tree) X(halving_doubling) X(master_worker) X(hierarchical)

enum hr_action {
    HR_ROW_SEND,
    HR_ROW_RECV,
    HR_ROW_ADD,
    HR_ROW_COPY,
    HR_ROW_SUM,
    HR_ROW_TAKE,
    HR_ROW_DRAIN
};

/* Long, because at the end of a run processors prefetch lines that other ranks are about to write:
 * runs of 64 KiB cost a ring of 2 ranks 4 % of its time for 1 MiB and 7 to 21 % for 16 MiB, runs of
 * 16 KiB 20 to 40 %. Not longer, because a buffer of one run belongs to one rank: 64 KiB then take
 * 30 % more. */
enum { HR_RUN_ELEMS = 16384 };

enum hr_buffer { HR_IN, HR_OUT, HR_SCRATCH, HR_BUFFERS };

struct hr_row {
    uint16_t step; /* of the algorithm, for cost models and people */
    uint16_t peer;
    uint16_t chunk, span;
    uint8_t action; /* enum hr_action */
    uint8_t buffer; /* enum hr_buffer */
};

struct hr_plan {
    size_t nrows, capacity;
    size_t nchunks;      /* buffers are cut into this many chunks */
    bool uses_scratch;   /* some row's buffer is HR_SCRATCH */
    size_t run;          /* chunks are dealt out in runs of so many elements; 0: they are not */
    struct hr_row *rows; /* owned */
};

struct hr_algorithm;

/* What a plan is made for. */
struct hr_plan_for {
    size_t rank, n;
    size_t root;                      /* where it matters */
    size_t group_size;                /* of hierarchical: ranks a node */
    const struct hr_algorithm *upper; /* of hierarchical: among the leaders, one that adds in T and
                                         deals nothing; NULL: a tree */
    bool in_place;                    /* this rank's output is its input */
};

typedef enum hr_status (*hr_plan_fn)(struct hr_plan *plan, const struct hr_plan_for *of);

struct hr_algorithm {
    const char *name;  /* as on the command line */
    const char *order; /* of addition, in words */
    bool tree_order;   /* adds in T(n) (base/vec.h), where n is a power of two at least */
    hr_plan_fn plan;   /* append the rows of rank of->rank to an empty plan, set nchunks, run */
};

/* All-reduce algorithms. */
#define HR_DECLARE_ALLREDUCE(name) extern const struct hr_algorithm hr_allreduce_##name;
HR_ALLREDUCES(HR_DECLARE_ALLREDUCE)

/* The plans of other collectives, for who needs them by themselves (layout.c has all). */
enum hr_status hr_plan_broadcast(struct hr_plan *plan, const struct hr_plan_for *of);
enum hr_status hr_plan_all_gather(struct hr_plan *plan, const struct hr_plan_for *of);
enum hr_status hr_plan_all_to_all(struct hr_plan *plan, const struct hr_plan_for *of);

/* The all-reduce algorithm of that name; HR_E_USAGE lists the names. */
HR_CHECKED enum hr_status hr_algorithm_find(const char *name, const struct hr_algorithm **out);

/* The i-th all-reduce algorithm, NULL past the end. The first is auto, which has no plan. */
const struct hr_algorithm *hr_algorithm_at(size_t i);
size_t hr_algorithm_number(const struct hr_algorithm *algorithm);

/* Append a row on `span` chunks; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_plan_add(struct hr_plan *plan, struct hr_row row);
void hr_plan_fini(struct hr_plan *plan);

/* Shorthands for rows on one chunk. */
HR_CHECKED enum hr_status hr_plan_send(struct hr_plan *plan, size_t step, enum hr_buffer buffer,
                                       size_t peer, size_t chunk);
HR_CHECKED enum hr_status hr_plan_receive(struct hr_plan *plan, size_t step, enum hr_action action,
                                          size_t peer, size_t chunk);
HR_CHECKED enum hr_status hr_plan_local(struct hr_plan *plan, size_t step, enum hr_action action,
                                        enum hr_buffer buffer, size_t chunk);

/* Take chunks [0, nchunks) of the input, unless it is the output: how plans that add begin. */
HR_CHECKED enum hr_status hr_plan_take_all(struct hr_plan *plan, const struct hr_plan_for *of);

/* Where chunk `chunk` of `nchunks` begins in a buffer of `count` elements of which `line` make a
 * cache line pair: a multiple of `line`, so that no two owners write one line, or `count`. Chunks
 * of small buffers may be empty. */
size_t hr_chunk_begin(size_t count, size_t line, size_t nchunks, size_t chunk);

/* --- one step around a circle, for the algorithms that are made of rings --- */

struct hr_circle {
    size_t first_chunk, stride; /* its n chunks are first_chunk + i * stride */
    bool reversed;              /* from rank r to r - 1 instead of r + 1 */
};

/* Append what rank of->rank does in step `step`, of 2 (n - 1): a send; then an add or a copy. An
 * algorithm of two circles sends on both before it waits on either. */
HR_CHECKED enum hr_status hr_ring_send(struct hr_plan *plan, const struct hr_plan_for *of,
                                       const struct hr_circle *circle, size_t step);
HR_CHECKED enum hr_status hr_ring_receive(struct hr_plan *plan, const struct hr_plan_for *of,
                                          const struct hr_circle *circle, size_t step);

/* --- up and down the binomial tree, for the algorithms that are made of trees --- */

/* A tree over some ranks: member m of n is rank first + m * stride, member 0 the root; reversed
 * counts members from the other end. The tree carries one chunk. */
struct hr_tree {
    size_t first, stride, n;
    bool reversed;
    size_t chunk;
};

/* log2 of n, rounded up: the steps that a tree over n members takes one way. */
size_t hr_tree_depth(size_t n);

/* Append what member `member` does, if anything, in step `level` (0 .. depth - 1) of the reduction,
 * from the leaves to the root. */
HR_CHECKED enum hr_status hr_tree_reduce(struct hr_plan *plan, const struct hr_tree *tree,
                                         size_t member, size_t level, size_t step);

/* The same for the broadcast, from the root to the leaves. */
HR_CHECKED enum hr_status hr_tree_broadcast(struct hr_plan *plan, const struct hr_tree *tree,
                                            size_t member, size_t level, size_t step);

#endif

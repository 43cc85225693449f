/* layout.h - what each operation is, and where its chunks lie in a rank's buffers.
 *
 * Operations on a vector (all_reduce, reduce, broadcast) cut `count` elements into chunks of whole
 * lines. Operations on blocks have one chunk a rank, of `count` elements, in a buffer of n blocks;
 * a rank whose buffer holds its own block only gives the address at which block 0 would lie, so
 * that every chunk has one offset whoever holds it.
 *
 * A chunk lies in one place, or, where the plan deals chunks out (plan.h), in pieces: a run each,
 * the first and the last perhaps cut off where the vector begins and ends.
 */
#ifndef HR_PLAN_LAYOUT_H
#define HR_PLAN_LAYOUT_H

#include "plan/element.h"
#include "plan/plan.h"

enum hr_operation {
    HR_OP_NONE,
    HR_OP_BARRIER,
    HR_OP_BROADCAST,
    HR_OP_ALL_REDUCE,
    HR_OP_REDUCE,
    HR_OP_REDUCE_SCATTER,
    HR_OP_ALL_GATHER,
    HR_OP_GATHER,
    HR_OP_SCATTER,
    HR_OP_ALL_TO_ALL,
    HR_OP_REDUCE_APPLY,
    HR_OP_SEND, /* and receive */
    HR_OPERATIONS
};

/* How much a rank gives or gets. */
enum hr_extent { HR_NOTHING, HR_ONE_BLOCK, HR_ALL_BLOCKS };

struct hr_operation_facts {
    const char *name;
    hr_plan_fn plan;        /* NULL: the algorithm's, or none */
    bool blocks;            /* buffers are made of one block a rank */
    bool rooted;            /* a root matters */
    bool reduces;           /* a type and an operator matter, else only the size of an element */
    enum hr_extent in, out; /* on ranks that give or get; the whole vector is ONE_BLOCK */
};

/* The facts of an operation; static storage. */
const struct hr_operation_facts *hr_operation_facts(enum hr_operation operation);

/* How the buffers of one call are split. */
struct hr_layout {
    size_t count; /* elements: of the vector, or of a block */
    size_t elem_bytes;
    bool blocks;
    size_t nchunks; /* of the plan */
    size_t run;     /* of the plan */
    size_t first;   /* dealt: flat index of element 0, in the whole that the vector is part of */
};

/* In bytes. */
struct hr_region {
    size_t begin, bytes;
};

/* Where chunks [chunk, chunk + span) lie, when they are not dealt. */
struct hr_region hr_layout_region(const struct hr_layout *layout, size_t chunk, size_t span);

/* Bytes that lie in pieces. One after the other:
 *     for (struct hr_pieces p = hr_layout_pieces(...); p.bytes; hr_pieces_next(&p)) */
struct hr_pieces {
    size_t begin, bytes; /* the current piece; 0 bytes: no more */
    size_t left;         /* bytes from here on, over all pieces */
    size_t run, gap;     /* bytes of a whole piece, and between two */
};

/* The pieces of chunks [chunk, chunk + span): of one, or of all. */
struct hr_pieces hr_layout_pieces(const struct hr_layout *layout, size_t chunk, size_t span);

/* The part of them from byte `from` on, `bytes` long. */
struct hr_pieces hr_pieces_part(const struct hr_pieces *of, size_t from, size_t bytes);

static inline struct hr_pieces hr_pieces_together(size_t begin, size_t bytes)
{
    return (struct hr_pieces){begin, bytes, bytes, bytes, 0};
}

static inline void hr_pieces_next(struct hr_pieces *pieces)
{
    pieces->begin += pieces->bytes + pieces->gap;
    pieces->left -= pieces->bytes;
    pieces->bytes = pieces->left < pieces->run ? pieces->left : pieces->run;
}

/* Where block 0 lies, or would lie, of a buffer that has all blocks, or only block `own`. */
unsigned char *hr_layout_origin(const struct hr_layout *layout, const void *buffer,
                                enum hr_extent extent, size_t own);

/* Bytes that a rank of an all-reduce of `count` floats sends; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_algorithm_sends(const struct hr_algorithm *algorithm,
                                             const struct hr_plan_for *of, size_t count,
                                             uint64_t *bytes);

/* Bytes from block or chunk 0 to the end. */
size_t hr_layout_bytes(const struct hr_layout *layout);

/* --- what a rank calls: the fingerprint that is compared between ranks, always --- */

/* Every call is announced, recorded, and compared with that of all others. Off only to measure what
 * that costs (make safety-cost). */
#ifdef HR_NO_SAFETY
enum { HR_SAFETY = 0 };
#else
enum { HR_SAFETY = 1 };
#endif

struct hr_call {
    uint64_t sequence; /* of this rank's collectives in the group */
    uint64_t count;    /* elements */
    uint32_t kind;     /* operation, algorithm, type, operator, memory: hr_call_kind */
    uint32_t root;
};

_Static_assert(sizeof(struct hr_call) == 24, "no padding: it travels as it is");

/* own_memory: the method is for buffers that the others do not reach. */
uint32_t hr_call_kind(enum hr_operation operation, const struct hr_algorithm *algorithm,
                      struct hr_kind kind, bool own_memory);

static inline bool hr_call_equal(const struct hr_call *a, const struct hr_call *b)
{
    return ((a->sequence ^ b->sequence) | (a->count ^ b->count) | (a->kind ^ b->kind) |
            (a->root ^ b->root)) == 0;
}

/* "all_reduce direct number 7 of 100 float32 sum" into text; `size` of 160 will do. */
void hr_call_describe(char *text, size_t size, const struct hr_call *call);

#endif

/* call.h - what a rank calls: the fingerprint that is compared between ranks, always. */
#ifndef HR_PLAN_CALL_H
#define HR_PLAN_CALL_H

#include "plan/layout.h"

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

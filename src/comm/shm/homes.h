/* homes.h - on which machine each rank of a run lives.
 *
 * Without machines (a zeroed struct) all ranks live here. A rank that lives elsewhere has its place
 * in the segment here, too, which is carried to and fro (machines/carrier.h).
 */
#ifndef HR_SHM_HOMES_H
#define HR_SHM_HOMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HR_HOMES_RANKS = 64 }; /* HR_MAX_RANKS */

struct hr_homes {
    uint8_t machines;                /* 0 or 1: there is one */
    uint8_t self;                    /* the machine that we are on */
    uint8_t machine[HR_HOMES_RANKS]; /* of each rank */
};

/* Is there more than one machine? */
static inline bool hr_homes_apart(const struct hr_homes *homes)
{
    return homes->machines > 1;
}

/* Does that rank live here? */
static inline bool hr_homes_here(const struct hr_homes *homes, size_t rank)
{
    return !hr_homes_apart(homes) || homes->machine[rank] == homes->self;
}

/* Do these two live on one machine? */
static inline bool hr_homes_together(const struct hr_homes *homes, size_t a, size_t b)
{
    return !hr_homes_apart(homes) || homes->machine[a] == homes->machine[b];
}

/* The first `nranks` ranks are dealt out in equal contiguous runs; nranks is a multiple. */
static inline void hr_homes_deal(struct hr_homes *homes, size_t nranks, size_t machines,
                                 size_t self)
{
    homes->machines = (uint8_t)machines;
    homes->self = (uint8_t)self;
    for (size_t rank = 0; rank < nranks; rank++)
        homes->machine[rank] = (uint8_t)(rank / (nranks / machines));
}

/* Then ranks [first, first + n), behind those: one after the other, beginning with machine 0; or
 * all on that. */
static inline void hr_homes_deal_behind(struct hr_homes *homes, size_t first, size_t n,
                                        bool on_first)
{
    for (size_t i = 0; i < n; i++)
        homes->machine[first + i] = (uint8_t)(on_first ? 0 : i % homes->machines);
}

/* Bytes of the segment that are alike on all machines of a run, behind a meeting of their ranks
 * (machines/meet.h). */
struct hr_area {
    size_t offset, bytes;
    size_t unit;     /* 1 .. 4096, a power of two; bytes need be no multiple */
    bool for_first;  /* machine 0 alone wants to know */
    uint32_t stages; /* bit s: it is compared at meetings of stage s; 0: at all */
};

#endif

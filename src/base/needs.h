/* needs.h - what a run will take, item by item, worked out before anything is taken.
 *
 *     struct hr_needs needs = {0};
 *     hr_needs_add(&needs, "weights and gradients", 2 * workers, params * sizeof(float));
 *     hr_needs_add_taken(&needs, "data", hr_dataset_bytes(dataset));
 *     HR_TRY(hr_needs_check(&needs, "this run needs", "--workers 4 would fit"));
 *
 * Sums never wrap: what cannot be counted is SIZE_MAX. Threads: none.
 * Test: tests/unit/base/test_memory.c
 */
#ifndef HR_BASE_NEEDS_H
#define HR_BASE_NEEDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"

enum { HR_NEEDS_MAX = 16, HR_NEEDS_TEXT = 300 };

struct hr_need {
    const char *name; /* static storage */
    size_t bytes;
    bool taken; /* it is there already */
};

struct hr_needs {
    struct hr_need item[HR_NEEDS_MAX];
    size_t n;
    size_t bytes;    /* of all items */
    size_t taken;    /* of them, those that are */
    size_t apart;    /* of them, those that no single process maps: other processes' own */
    size_t reserved; /* mapped beside them and hardly used: stacks */
};

/* `count` times `bytes` more under that name. */
void hr_needs_add(struct hr_needs *needs, const char *name, size_t count, size_t bytes);
/* The same for memory that is taken already. */
void hr_needs_add_taken(struct hr_needs *needs, const char *name, size_t bytes);
/* All of another list, for runs at the same time; what is taken already counts once. */
void hr_needs_join(struct hr_needs *needs, const struct hr_needs *other);

/* Is there as much? */
bool hr_needs_fit(const struct hr_needs *needs, const struct hr_memory *there);

/* HR_E_NOMEM when there is not: "<who> 23 GiB: data 2.0 MiB, ...; there is 2.0 GiB (why);
 * <advice>".
 *   advice  what would fit; "": not known */
HR_CHECKED enum hr_status hr_needs_check(const struct hr_needs *needs, const char *who,
                                         const char *advice);

/* "21 MiB: data 2.0 MiB, weights and gradients 4.1 MiB, ...", the largest first; what is less than
 * a hundredth of the whole is summed up as "others". */
void hr_needs_text(const struct hr_needs *needs, char text[HR_NEEDS_TEXT]);

#endif

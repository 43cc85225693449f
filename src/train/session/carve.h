/* carve.h - one segment for all that ranks share: laid out once without memory, which tells its
 * size, and once more with it.
 *
 *     struct hr_carver count = {0};
 *     lay_out(run, &count);                                   count.used bytes
 *     lay_out(run, &(struct hr_carver){.base = segment});     the same calls, now with addresses
 *
 * Threads: none.
 */
#ifndef HR_SESSION_CARVE_H
#define HR_SESSION_CARVE_H

#include <stddef.h>

#include "base/memory.h"

struct hr_carver {
    unsigned char *base; /* NULL: there is no memory yet */
    size_t used;
    struct hr_needs *needs; /* told what the bytes are for; or NULL */
};

/* The next `bytes`, on cache lines of their own; NULL while there is no memory. */
void *hr_carve(struct hr_carver *carver, const char *name, size_t bytes);
/* Floats in whole pages. Arenas start an odd number of cache lines apart, so that the same element
 * of several ranks falls into different cache sets. */
float *hr_carve_arena(struct hr_carver *carver, const char *name, size_t floats);

#endif

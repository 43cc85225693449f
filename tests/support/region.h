/* region.h - memory that knows what it has to hold, to the last byte: data among guards.
 *
 *     region_open(&region, memory, bytes, salt)     all of it is a pattern
 *     region_put(&region, at, element, size)        as it is now, and may not change
 *     region_expect(&region, at, element, size)     as it has to be
 *     region_flip(&region, at, bytes)               the owner changes what it may change again
 *     region_check(&region, "output")               HR_E_FAILED names the first byte that is wrong
 *     region_close(&region)
 */
#ifndef HR_TESTS_SUPPORT_REGION_H
#define HR_TESTS_SUPPORT_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct region {
    unsigned char *memory, *wanted; /* (bytes) */
    size_t bytes;
    bool lent;         /* memory is the caller's */
    size_t begin, end; /* of what was put and expected so far */
};

/* memory NULL: some of its own. */
void region_open(struct region *region, void *memory, size_t bytes, uint64_t salt);
void region_put(struct region *region, size_t at, const void *element, size_t size);
void region_expect(struct region *region, size_t at, const void *element, size_t size);
void region_flip(struct region *region, size_t at, size_t bytes);
HR_CHECKED enum hr_status region_check(const struct region *region, const char *name);
void region_close(struct region *region);

#endif

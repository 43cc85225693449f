/* memory_calls.h - malloc and its like in a test's own words: made to fail (faults.h), and what is
 * not given back is counted. A program that includes it, in one file, calls these, in all of its
 * libraries too: jansson, zlib and libc.
 */
#ifndef HR_TESTS_SUPPORT_MEMORY_CALLS_H
#define HR_TESTS_SUPPORT_MEMORY_CALLS_H

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/faults.h"

#if CHECK_SANITIZED /* it has an allocator of its own, and finds leaks itself */
#define REAL(name) __interceptor_##name
#else
#define REAL(name) __libc_##name
#endif
void *REAL(malloc)(size_t bytes);
void *REAL(calloc)(size_t n, size_t size);
void *REAL(realloc)(void *memory, size_t bytes);
void *REAL(memalign)(size_t alignment, size_t bytes);
void REAL(free)(void *memory);

/* Blocks that were taken and not given back. */
static atomic_long memory_blocks;

UNWATCHED static void *counted(void *memory)
{
    if (memory)
        atomic_fetch_add(&memory_blocks, 1);
    return memory;
}

UNWATCHED void *malloc(size_t bytes)
{
    return fault_strikes("malloc") ? NULL : counted(REAL(malloc)(bytes));
}

UNWATCHED void *calloc(size_t n, size_t size)
{
    return fault_strikes("calloc") ? NULL : counted(REAL(calloc)(n, size));
}

UNWATCHED void *realloc(void *memory, size_t bytes)
{
    if (fault_strikes("realloc"))
        return NULL;
    return memory ? REAL(realloc)(memory, bytes) : counted(REAL(realloc)(memory, bytes));
}

UNWATCHED void *reallocarray(void *memory, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(memory, bytes);
}

UNWATCHED void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fault_strikes("aligned_alloc") ? NULL : counted(REAL(memalign)(alignment, bytes));
}

UNWATCHED void *memalign(size_t alignment, size_t bytes)
{
    return aligned_alloc(alignment, bytes);
}

UNWATCHED int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *memory = aligned_alloc(alignment, bytes);
    if (!memory)
        return ENOMEM;
    *out = memory;
    return 0;
}

UNWATCHED void free(void *memory)
{
    if (memory)
        atomic_fetch_sub(&memory_blocks, 1);
    REAL(free)(memory);
}

#endif

/* rewind_heap.h - include this in the one file of a test program that goes back (rewind.h): memory
 * that the call takes comes from its own heap. Not under sanitizers: they have one of theirs. */
#ifndef HR_TESTS_SUPPORT_REWIND_HEAP_H
#define HR_TESTS_SUPPORT_REWIND_HEAP_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/rewind.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAN_REWIND 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAN_REWIND 0
#endif
#endif
#ifndef CAN_REWIND
#define CAN_REWIND 1

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *memory);

void *malloc(size_t bytes)
{
    void *memory = rewind_take(0, bytes);
    return memory ? memory : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    size_t all;
    void *memory = __builtin_mul_overflow(n, bytes, &all) ? NULL : rewind_take(0, all);
    return memory ? memory : __libc_calloc(n, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    void *memory = rewind_take(align, bytes);
    return memory ? memory : __libc_memalign(align, bytes);
}

void free(void *memory)
{
    if (!rewind_owns(memory))
        __libc_free(memory);
}

void *realloc(void *memory, size_t bytes)
{
    void *more = memory && !rewind_owns(memory) ? NULL : rewind_take(0, bytes);
    if (!more)
        return __libc_realloc(memory, bytes);
    if (memory)
        memcpy(more, memory, rewind_bytes(memory) < bytes ? rewind_bytes(memory) : bytes);
    return more;
}

/* What goes back stays where it is. */
int munmap(void *memory, size_t bytes)
{
    return rewind_keeps(memory, bytes) ? 0 : (int)syscall(SYS_munmap, memory, bytes);
}
#endif

#endif

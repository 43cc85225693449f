#include "base/pages.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/size.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* younger than the C library of Debian 12 */
#endif

/* Of the large pages that are wholly in there. */
static void advise(const void *memory, size_t bytes, int advice)
{
    const uintptr_t large = (uintptr_t)2 << 20;
    const uintptr_t begin = hr_round_up((uintptr_t)memory, large);
    const uintptr_t end = ((uintptr_t)memory + bytes) / large * large;
    const int before = errno;
    if (begin < end)
        (void)madvise((void *)begin, end - begin, advice);
    errno = before;
}

void hr_pages_ask_large(const void *memory, size_t bytes)
{
    advise(memory, bytes, MADV_HUGEPAGE);
}

void hr_pages_enlarge(const void *memory, size_t bytes)
{
    advise(memory, bytes, MADV_COLLAPSE);
}

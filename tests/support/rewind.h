/* rewind.h - a call that goes back to where it has been, and goes on from there another way, as
 * often as there are ways: all memory is as it was.
 *
 *     rewind_call(body, arg)      body runs on a stack of its own; memory that it takes comes from
 *                                 a heap of its own, if the program says so (rewind_heap.h)
 *     rewind_shares(base, bytes)  within: pages beside these, that go back too: memory that ranks
 *                                 share, stacks of fibres
 *     rewind_watch()              within, once: from here on what changes is kept
 *     rewind_mark()               within: keeps it; returns once more after each
 *     rewind_back()               within: go back to the last mark; there is none: out of the call
 *     rewind_forget()             within: the last mark
 *
 * What the test is to know on all ways (which of them it has tried) lies in static memory, or was
 * taken beside the heap: rewind_aside(true) ... rewind_aside(false).
 *
 * Cost:      pages that are watched are write-protected. The first write to one is a signal: from
 *            then on it is one of those that are copied at a mark, and back. So a mark costs what
 *            the call changes, not what it has.
 * Threads:   one, and no other while it goes back.
 */
#ifndef HR_TESTS_SUPPORT_REWIND_H
#define HR_TESTS_SUPPORT_REWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <xxhash.h>

void rewind_call(void (*body)(void *arg), void *arg);
void rewind_shares(void *base, size_t bytes);
void rewind_watch(void);
void rewind_mark(void);
_Noreturn void rewind_back(void);
void rewind_forget(void);
size_t rewind_marks(void); /* that are left */
/* Is some of it shared, and may be gone back to? Then it may not be unmapped. */
bool rewind_keeps(const void *base, size_t bytes);

/* Of what lies on these pages: equal where that is equal. */
XXH128_hash_t rewind_digest(const void *base, size_t bytes);
XXH128_hash_t rewind_heap_digest(void);

/* From now on memory is not taken from the heap; returns what was so before. */
bool rewind_aside(bool aside);
/* From the heap, zeroed; NULL where it is not to be used now. Nothing is given back but by going
 * back. */
void *rewind_take(size_t align, size_t bytes);
bool rewind_owns(const void *memory);
size_t rewind_bytes(const void *memory); /* of what was taken there */

#endif

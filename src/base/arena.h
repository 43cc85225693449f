/* arena.h - one allocation per lifetime, then views.
 *
 *     struct hr_arena a;
 *     HR_TRY(hr_arena_init(&a, bytes));
 *     float *x = hr_arena_take(&a, B * I * sizeof *x);    64-byte aligned, zeroed
 *     ...
 *     hr_arena_fini(&a);
 *
 * Threads: none; an arena belongs to one thread.
 */
#ifndef HR_BASE_ARENA_H
#define HR_BASE_ARENA_H

#include <stddef.h>

#include "base/error.h"

#define HR_ARENA_ALIGN 64

struct hr_arena {
    unsigned char *base; /* owned; NULL when fini'd */
    size_t bytes, used;
};

/* Take `bytes` of zeroed memory, on large pages where the kernel gives them (memory.h). HR_E_NOMEM
 * when there is none. */
HR_CHECKED enum hr_status hr_arena_init(struct hr_arena *arena, size_t bytes);

/* The next `bytes` of the arena, aligned to HR_ARENA_ALIGN. Asking for more than is left is the
 * caller's mistake (asserted): sizes are added up with hr_arena_need before. */
void *hr_arena_take(struct hr_arena *arena, size_t bytes);

/* What one hr_arena_take(bytes) uses up. */
size_t hr_arena_need(size_t bytes);

/* Give all of it back. Harmless on a zeroed struct. */
void hr_arena_fini(struct hr_arena *arena);

#endif

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"

enum hr_status hr_arena_init(struct hr_arena *arena, size_t bytes)
{
    *arena = (struct hr_arena){0};
    if (bytes > (size_t)-1 - HR_ARENA_ALIGN)
        return hr_fail(HR_E_NOMEM, "an arena of %zu bytes is too large", bytes);
    const size_t rounded = hr_round_up(bytes ? bytes : 1, HR_ARENA_ALIGN);
    arena->base = aligned_alloc(HR_ARENA_ALIGN, rounded);
    if (!arena->base)
        return hr_fail(HR_E_NOMEM, "no memory for an arena of %zu bytes", rounded);
    hr_pages_ask_large(arena->base, rounded);
    memset(arena->base, 0, rounded);
    arena->bytes = rounded;
    return HR_OK;
}

size_t hr_arena_need(size_t bytes)
{
    return hr_round_up(bytes, HR_ARENA_ALIGN);
}

void *hr_arena_take(struct hr_arena *arena, size_t bytes)
{
    const size_t need = hr_arena_need(bytes);
    HR_ASSERT(need <= arena->bytes - arena->used);
    void *view = arena->base + arena->used;
    arena->used += need;
    return view;
}

void hr_arena_fini(struct hr_arena *arena)
{
    free(arena->base);
    *arena = (struct hr_arena){0};
}

#include "base/json.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

static json_malloc_t inner_malloc;
static json_free_t inner_free;
static _Thread_local bool failed;

/* A text that is being read: what has been taken for it, and the way out. */
static _Thread_local struct reading {
    jmp_buf out;
    void **block; /* (n) */
    size_t n, capacity;
} * reading;

static bool remember(struct reading *r, void *memory)
{
    if (r->n == r->capacity) {
        const size_t capacity = r->capacity ? 2 * r->capacity : 64;
        void **more = realloc(r->block, capacity * sizeof *more);
        if (!more)
            return false;
        r->block = more;
        r->capacity = capacity;
    }
    r->block[r->n++] = memory;
    return true;
}

static void *watched_malloc(size_t bytes)
{
    struct reading *r = reading;
    void *memory = inner_malloc(bytes);
    if (memory && (!r || remember(r, memory)))
        return memory;
    failed = true;
    if (memory)
        inner_free(memory);
    if (r)
        longjmp(r->out, 1);
    return NULL;
}

static void watched_free(void *memory)
{
    struct reading *r = reading;
    for (size_t i = r ? r->n : 0; i-- > 0;)
        if (r->block[i] == memory) {
            memmove(&r->block[i], &r->block[i + 1], (--r->n - i) * sizeof *r->block);
            break;
        }
    inner_free(memory);
}

static void watch(void)
{
    json_get_alloc_funcs(&inner_malloc, &inner_free);
    json_set_alloc_funcs(watched_malloc, watched_free);
}

bool hr_json_no_memory(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
    const bool was = failed;
    failed = false;
    return was;
}

/* Measured, then written into memory that is there. */
char *hr_json_dump(const json_t *json, size_t flags)
{
    const size_t bytes = json ? json_dumpb(json, NULL, 0, flags) : 0;
    char *text = bytes ? malloc(bytes + 1) : NULL;
    if (!text)
        return NULL;
    if (json_dumpb(json, text, bytes, flags) != bytes) {
        free(text);
        return NULL;
    }
    text[bytes] = 0;
    return text;
}

json_t *hr_json_load(const char *text, size_t bytes, json_error_t *error)
{
    struct reading r = {.block = NULL};
    json_t *volatile json = NULL;
    hr_json_no_memory();
    reading = &r;
    if (setjmp(r.out) == 0)
        json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, error);
    reading = NULL;
    for (size_t i = 0; failed && i < r.n; i++)
        inner_free(r.block[i]);
    free(r.block);
    return json;
}

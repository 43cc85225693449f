#include "base/json.h"

#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

static json_malloc_t inner_malloc;
static json_free_t inner_free;
static _Thread_local bool failed;

/* A text that is being read: what has been taken for it, and the way out. */
static _Thread_local struct reading {
    jmp_buf out;
    void *blocks; /* a tree by address (tsearch): a hostile text has millions */
} * reading;

static int by_address(const void *one, const void *other)
{
    return ((uintptr_t)one > (uintptr_t)other) - ((uintptr_t)one < (uintptr_t)other);
}

static void *watched_malloc(size_t bytes)
{
    struct reading *r = reading;
    void *memory = inner_malloc(bytes);
    if (memory && (!r || tsearch(memory, &r->blocks, by_address)))
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
    if (reading && memory)
        tdelete(memory, &reading->blocks, by_address);
    inner_free(memory);
}

static void keep(void *memory)
{
    (void)memory;
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
    struct reading r = {.blocks = NULL};
    json_t *volatile json = NULL;
    hr_json_no_memory();
    reading = &r;
    if (setjmp(r.out) == 0)
        json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, error);
    reading = NULL;
    tdestroy(r.blocks, failed ? inner_free : keep);
    return json;
}

#include <xxhash.h>

#include "fuzz/fuzz.h"
#include "trace/trace.h"

static void walk_trace(const struct hr_trace *trace)
{
    for (size_t owner = 0; owner < trace->nowners; owner++) {
        struct hr_trace_cursor cursor;
        uint64_t entries = 0;
        if (hr_trace_cursor_open(&cursor, trace, owner) != HR_OK)
            continue;
        for (; hr_trace_peek(&cursor); hr_trace_next(&cursor))
            entries++;
        if (entries != trace->owner[owner].entries)
            abort();
        hr_trace_cursor_close(&cursor);
    }
}

/* The digest is made right, so that what stands behind that check is reached. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hr_trace trace;
    uint8_t *file = malloc(size + 1);
    memcpy(file, data, size);
    if (size >= sizeof(XXH128_canonical_t)) {
        XXH128_canonical_t digest;
        XXH128_canonicalFromHash(&digest, XXH3_128bits(file, size - sizeof digest));
        memcpy(file + size - sizeof digest, &digest, sizeof digest);
    }
    uint8_t *exact = realloc(file, size ? size : 1);
    if (hr_trace_parse("trace", exact, size, &trace) == HR_OK)
        walk_trace(&trace);
    hr_trace_fini(&trace);
    free(exact);
    return 0;
}

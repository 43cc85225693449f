/* trace_layout.h - the fixed parts of a trace file and of its parts, as trace.h says. */
#ifndef HR_TRACE_TRACE_LAYOUT_H
#define HR_TRACE_TRACE_LAYOUT_H

#include <stdint.h>

#include "base/error.h"
#include "base/file.h"
#include "trace/trace_log.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "trace files are little-endian"
#endif

#define HR_TRACE_MAGIC "HOGTRACE"
#define HR_TRACE_PART_MAGIC "HOGTPART"
#define HR_TRACE_DONE_MAGIC "HOGTDONE"
enum { HR_TRACE_MAGIC_BYTES = 8, HR_TRACE_DIGEST_BYTES = 16 };

struct hr_trace_file_head {
    char magic[HR_TRACE_MAGIC_BYTES];
    uint32_t version, nowners;
    uint64_t header_bytes, trailer_bytes;
};
_Static_assert(sizeof(struct hr_trace_file_head) == 32, "as trace.h says");

struct hr_trace_log_head {
    uint32_t owner, nranks;
    uint64_t entries, bytes;
};
_Static_assert(sizeof(struct hr_trace_log_head) == 24, "as trace.h says");

/* The end of a part. */
struct hr_trace_part_end {
    struct hr_trace_log_head log;
    char magic[HR_TRACE_MAGIC_BYTES];
};
_Static_assert(sizeof(struct hr_trace_part_end) == 32, "as trace.h says");

/* The differences of a new log, in which no rank has a step yet, in so many bytes of the caller's
 * or in their own (HR_E_NOMEM). */
static inline size_t hr_trace_last_bytes(size_t nranks)
{
    return (HR_TRACE_SLOTS + nranks) * sizeof(uint64_t);
}
HR_CHECKED enum hr_status hr_trace_last_init(struct hr_trace_last *last, size_t nranks);
void hr_trace_last_free(struct hr_trace_last *last);
void hr_trace_last_reset(struct hr_trace_last *last);

/* out = the path of an owner's part of FILE. */
HR_CHECKED enum hr_status hr_trace_part_path(char out[HR_PATH_MAX], const char *path, size_t owner);

#endif

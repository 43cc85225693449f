/* gzip_stream.h - bytes of a file or of memory, read in order, inflated when they are gzip.
 *
 * Gzip is told by its first two bytes (1f 8b), not by a name. Concatenated members are one
 * content, as RFC 1952 has it; anything else behind a member is an error. CRC and length of a
 * member are checked when its end is read, so a reader asks for one byte more than it wants.
 *
 * Memory: the buffer is in the struct; zlib takes about 40 KiB for gzip. Whatever the input says,
 * nothing is written beyond what the caller asked for.
 * Threads: none; a stream belongs to one thread.
 */
#ifndef HR_DATA_GZIP_STREAM_H
#define HR_DATA_GZIP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zlib.h>

#include "base/error.h"

enum { HR_STREAM_BUFFER_BYTES = 32 << 10 };

struct hr_gzip_stream {
    const char *name; /* for messages; the caller's, kept until close */
    int fd;           /* -1 when the bytes are in memory */
    const uint8_t *next;
    size_t available; /* bytes at next, not yet consumed */
    uint64_t bytes;   /* of the whole input, packed or not */
    bool gzip, in_member;
    z_stream z;
    uint8_t buffer[HR_STREAM_BUFFER_BYTES];
};

/* Open a regular file. HR_E_IO when it cannot be opened or is something else than a file. */
HR_CHECKED enum hr_status hr_gzip_stream_open_file(const char *path, struct hr_gzip_stream *stream);

/* Open `bytes` bytes of the caller's memory, kept until close; `name` is for messages. */
HR_CHECKED enum hr_status hr_gzip_stream_open_memory(const char *name, const void *memory,
                                                     size_t bytes, struct hr_gzip_stream *stream);

/* Read up to n bytes of content; *got < n only at the end of it.
 * HR_E_FORMAT: damaged or cut gzip. HR_E_IO: read(2) failed. */
HR_CHECKED enum hr_status hr_gzip_stream_read(struct hr_gzip_stream *stream, void *out, size_t n,
                                              size_t *got);

/* A lower bound of the content's size without reading it: a plain file's size; of a packed file
 * what its last member says (modulo 2^32), if plausible. */
size_t hr_gzip_stream_least(const struct hr_gzip_stream *stream);

/* Only after a successful open. */
void hr_gzip_stream_close(struct hr_gzip_stream *stream);

#endif

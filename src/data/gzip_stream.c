#include "data/gzip_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/inputs.h"
#include "base/size.h"

/* zlib's window of 32 KiB, and 16 for "gzip header and trailer, nothing else". */
enum { GZIP_ONLY = 15 + 16 };

/* zlib counts in unsigned int. */
static const size_t zlib_max = 1u << 30;

/* Fill the buffer, unless the input is at its end. */
static enum hr_status refill(struct hr_gzip_stream *s)
{
    if (s->available || s->fd < 0)
        return HR_OK;
    while (s->available < sizeof s->buffer) {
        const ssize_t n = read(s->fd, s->buffer + s->available, sizeof s->buffer - s->available);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return hr_fail_errno(HR_E_IO, "%s: cannot be read", s->name);
        if (n == 0)
            break;
        s->available += (size_t)n;
    }
    s->next = s->buffer;
    return HR_OK;
}

static enum hr_status recognise(struct hr_gzip_stream *s)
{
    HR_TRY(refill(s));
    s->gzip = s->available >= 2 && s->next[0] == 0x1f && s->next[1] == 0x8b;
    if (s->gzip && inflateInit2(&s->z, GZIP_ONLY) != Z_OK)
        return hr_fail(HR_E_NOMEM, "%s: no memory for inflating", s->name);
    return HR_OK;
}

static void begin(struct hr_gzip_stream *s, const char *name, int fd)
{
    s->name = name;
    s->fd = fd;
    s->next = s->buffer;
    s->available = 0;
    s->bytes = 0;
    s->gzip = s->in_member = false;
    s->z = (z_stream){0};
}

static enum hr_status check_regular(struct hr_gzip_stream *s)
{
    struct stat info;
    if (fstat(s->fd, &info))
        return hr_fail_errno(HR_E_IO, "%s: cannot be examined", s->name);
    if (!S_ISREG(info.st_mode))
        return hr_fail(HR_E_IO, "%s: is not a regular file", s->name);
    s->bytes = (uint64_t)info.st_size;
    return hr_input_add(s->name, &info);
}

enum hr_status hr_gzip_stream_open_file(const char *path, struct hr_gzip_stream *stream)
{
    /* O_NONBLOCK: a FIFO of that name is refused below instead of being waited for. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return hr_fail_errno(HR_E_IO, "%s: cannot be opened", path);
    begin(stream, path, fd);
    enum hr_status st;
    HR_TRY_GOTO(check_regular(stream), st, out);
    HR_TRY_GOTO(recognise(stream), st, out);
    return HR_OK;
out:
    close(fd);
    return st;
}

enum hr_status hr_gzip_stream_open_memory(const char *name, const void *memory, size_t bytes,
                                          struct hr_gzip_stream *stream)
{
    begin(stream, name, -1);
    stream->next = memory;
    stream->available = bytes;
    stream->bytes = bytes;
    return recognise(stream);
}

/* The first byte decides whether another member follows; inflate checks the rest of its header. */
static enum hr_status begin_member(struct hr_gzip_stream *s)
{
    if (s->next[0] != 0x1f)
        return hr_fail(HR_E_FORMAT,
                       "%s: byte %02x follows the gzip data, expected the end or another member",
                       s->name, s->next[0]);
    inflateReset(&s->z);
    s->in_member = true;
    return HR_OK;
}

static enum hr_status judge(struct hr_gzip_stream *s, int code, bool stuck)
{
    if (code == Z_MEM_ERROR)
        return hr_fail(HR_E_NOMEM, "%s: no memory for inflating", s->name);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        return hr_fail(HR_E_FORMAT, "%s: the gzip data is damaged (%s)", s->name,
                       s->z.msg ? s->z.msg : zError(code));
    if (stuck)
        return hr_fail(HR_E_FORMAT, "%s: the gzip data is cut off after %llu bytes", s->name,
                       (unsigned long long)s->bytes);
    if (code == Z_STREAM_END)
        s->in_member = false;
    return HR_OK;
}

/* Up to n bytes of content, 0 only at its end. */
static enum hr_status inflate_some(struct hr_gzip_stream *s, uint8_t *out, size_t n, size_t *piece)
{
    for (*piece = 0; *piece == 0;) {
        HR_TRY(refill(s));
        if (!s->in_member && !s->available)
            return HR_OK;
        if (!s->in_member)
            HR_TRY(begin_member(s));
        const size_t given = hr_min_size(s->available, zlib_max);
        const size_t wanted = hr_min_size(n, zlib_max);
        s->z.next_in = (z_const Bytef *)s->next;
        s->z.avail_in = (uInt)given;
        s->z.next_out = out;
        s->z.avail_out = (uInt)wanted;
        const int code = inflate(&s->z, Z_NO_FLUSH);
        const size_t used = given - s->z.avail_in;
        s->next += used;
        s->available -= used;
        *piece = wanted - s->z.avail_out;
        HR_TRY(judge(s, code, code == Z_BUF_ERROR && !used && !*piece));
    }
    return HR_OK;
}

static enum hr_status copy_some(struct hr_gzip_stream *s, uint8_t *out, size_t n, size_t *piece)
{
    HR_TRY(refill(s));
    *piece = hr_min_size(n, s->available);
    memcpy(out, s->next, *piece);
    s->next += *piece;
    s->available -= *piece;
    return HR_OK;
}

enum hr_status hr_gzip_stream_read(struct hr_gzip_stream *stream, void *out, size_t n, size_t *got)
{
    *got = 0;
    while (*got < n) {
        uint8_t *at = (uint8_t *)out + *got;
        size_t piece;
        HR_TRY(stream->gzip ? inflate_some(stream, at, n - *got, &piece)
                            : copy_some(stream, at, n - *got, &piece));
        if (!piece)
            break;
        *got += piece;
    }
    return HR_OK;
}

size_t hr_gzip_stream_least(const struct hr_gzip_stream *s)
{
    enum { TRAILER = 4, MOST_PER_BYTE = 1032 }; /* deflate packs no tighter */
    uint8_t end[TRAILER];
    if (!s->gzip)
        return s->bytes;
    if (s->fd < 0 || s->bytes < TRAILER ||
        pread(s->fd, end, TRAILER, (off_t)s->bytes - TRAILER) != TRAILER)
        return 0;
    const size_t said = end[0] | (size_t)end[1] << 8 | (size_t)end[2] << 16 | (size_t)end[3] << 24;
    return said / MOST_PER_BYTE <= s->bytes ? said : 0;
}

void hr_gzip_stream_close(struct hr_gzip_stream *stream)
{
    if (stream->gzip)
        inflateEnd(&stream->z);
    if (stream->fd >= 0)
        close(stream->fd);
}

#include "base/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/inputs.h"
#include "base/signals.h"

static int patience_ms = 30000;

void hr_pipe_patience(int ms)
{
    patience_ms = ms;
}

static int64_t deadline_ns(void)
{
    return hr_clock_ns() + (int64_t)patience_ms * 1000000;
}

bool hr_pipe_wait(int fd, short events, int64_t end_ns)
{
    struct pollfd file = {.fd = fd, .events = events};
    int ready;
    do {
        const int64_t left_ms = (end_ns - hr_clock_ns()) / 1000000;
        ready = poll(&file, 1, left_ms > 0 ? (int)left_ms : 0);
    } while ((ready < 0 && errno == EINTR) || (ready == 0 && hr_clock_ns() < end_ns));
    return ready > 0;
}

/* In steps: a signal may come just before poll begins, which it would interrupt. */
bool hr_pipe_wait_unless_signalled(int fd, short events, int64_t end_ns)
{
    static const int64_t step_ns = 50000000;
    bool ready = false;
    for (int64_t now = 0; !ready && now < end_ns && !hr_signals_end_waits();) {
        now = hr_clock_ns();
        ready = hr_pipe_wait(fd, events, now + step_ns < end_ns ? now + step_ns : end_ns);
    }
    return ready;
}

static enum hr_status fail_wait(const char *path, const char *what)
{
    if (hr_signals_end_waits())
        return hr_fail(HR_E_INTERRUPTED, "%s: interrupted", path);
    return hr_fail(HR_E_IO, "%s: %s in %g s (--timeout)", path, what, patience_ms / 1000.0);
}

/* --- reading --- */

/* What is there, 0 at the end. */
static enum hr_status read_some(int fd, const char *path, int64_t end, char *to, size_t room,
                                size_t *got)
{
    for (;;) {
        if (!hr_pipe_wait_unless_signalled(fd, POLLIN, end))
            return fail_wait(path, "its end did not come");
        const ssize_t n = read(fd, to, room);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0)
            return hr_fail_errno(HR_E_IO, "%s: cannot be read", path);
        *got = (size_t)n;
        return HR_OK;
    }
}

enum hr_status hr_pipe_read_all(const char *path, size_t cap, char **text, size_t *bytes)
{
    const int64_t end = deadline_ns();
    enum hr_status status = HR_OK;
    struct stat info;
    size_t used = 0, got = 1;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return hr_fail_errno(HR_E_IO, "%s: cannot be opened", path);
    char *content = malloc(cap + 2);
    if (fstat(fd, &info) == 0)
        status = hr_input_add(path, &info);
    if (!content)
        status = hr_fail(HR_E_NOMEM, "%s: no memory to read it", path);
    for (; status == HR_OK && got > 0 && used <= cap; used += got)
        status = read_some(fd, path, end, content + used, cap + 1 - used, &got);
    close(fd);
    if (status == HR_OK && used > cap)
        status = hr_fail(HR_E_FORMAT, "%s: has more than %zu bytes, or no end", path, cap);
    if (status != HR_OK) {
        free(content);
        return status;
    }
    content[used] = '\0';
    *text = content;
    *bytes = used;
    return HR_OK;
}

/* --- writing --- */

static enum hr_status fail_unread(const char *path)
{
    return fail_wait(path, "nobody read from it");
}

/* A FIFO opens for writing when somebody has it open for reading (ENXIO before). */
enum hr_status hr_pipe_open_write(const char *path, int *fd)
{
    static const struct timespec pause = {.tv_nsec = 10000000};
    const int64_t end = deadline_ns();
    for (;;) {
        *fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (*fd >= 0)
            return HR_OK;
        if (errno != ENXIO)
            return hr_fail_errno(HR_E_IO, "%s: cannot be written", path);
        if (hr_clock_ns() >= end || hr_signals_end_waits())
            return fail_unread(path);
        nanosleep(&pause, NULL);
    }
}

enum hr_status hr_pipe_wait_write(int fd, const char *path)
{
    return hr_pipe_wait_unless_signalled(fd, POLLOUT, deadline_ns()) ? HR_OK : fail_unread(path);
}

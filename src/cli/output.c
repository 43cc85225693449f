#include "cli/output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/size.h"
#include "base/signals.h"

struct filter {
    int fd, error; /* error: errno of the first write that failed */
    struct hr_printable_state state;
};

static struct filter out = {.fd = STDOUT_FILENO}, err = {.fd = STDERR_FILENO};
static FILE *terminal;

static bool write_all(struct filter *filter, const char *text, size_t n)
{
    while (n > 0) {
        const ssize_t written = write(filter->fd, text, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            filter->error = filter->error ? filter->error : errno;
            return false;
        }
        text += written;
        n -= (size_t)written;
    }
    return true;
}

static ssize_t write_printable(void *cookie, const char *text, size_t n)
{
    struct filter *filter = cookie;
    char piece[4096];
    for (size_t done = 0; done < n;) {
        const size_t bytes = hr_min_size(n - done, sizeof piece);
        memcpy(piece, text + done, bytes);
        hr_make_printable(&filter->state, piece, bytes, "\n\t");
        if (!write_all(filter, piece, bytes))
            return 0;
        done += bytes;
    }
    return (ssize_t)n;
}

/* `stream` itself when there is no memory for another. */
static FILE *filtered(struct filter *filter, FILE *stream, int buffering)
{
    FILE *file = fopencookie(filter, "w", (cookie_io_functions_t){.write = write_printable});
    if (file)
        setvbuf(file, NULL, buffering, BUFSIZ);
    return file ? file : stream;
}

void hr_output_begin(void)
{
    terminal = stderr;
    stdout = filtered(&out, stdout, isatty(out.fd) ? _IOLBF : _IOFBF);
    stderr = filtered(&err, stderr, _IONBF);
}

FILE *hr_output_terminal(void)
{
    return terminal;
}

int hr_output_end(int code)
{
    errno = 0;
    const bool lost = fflush(stdout) != 0 || ferror(stdout);
    const int cause = out.error ? out.error : errno;
    if (!lost || cause == EPIPE)
        return code;
    fprintf(stderr, "hogring: stdout cannot be written: %s\n", strerror(cause));
    return code ? code : hr_status_exit_code(HR_E_IO);
}

int hr_cli_failed(enum hr_status status)
{
    fprintf(stderr, "hogring: %s\n", hr_error_message());
    if (status == HR_E_INTERRUPTED && hr_signals_exit_code())
        return hr_signals_exit_code();
    return hr_status_exit_code(status);
}

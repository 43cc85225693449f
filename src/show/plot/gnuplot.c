/* Which picture a document has; the process that draws it, and its errors. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "base/pipe.h"
#include "base/signals.h"
#include "plot/plot.h"
#include "shm/process.h"

/* --- which picture --- */

bool hr_plot_script(FILE *out, enum hr_plot_format format, const json_t *document,
                    const char **why_not)
{
    const json_t *rows = json_object_get(document, "rows"), *first = json_array_get(rows, 0);
    *why_not = "nothing was measured";
    if (json_object_get(document, "steps")) {
        *why_not = "these are too many actions, or none (expected fewer stages or micro-batches)";
        return hr_plot_steps(out, format, document);
    }
    if (json_object_get(document, "roofs")) {
        *why_not = "no layer multiplies";
        return hr_plot_roofline(out, format, document);
    }
    if (first)
        return hr_plot_lines(out, format, document);
    *why_not = "no run was evaluated";
    return hr_plot_runs(out, format, document);
}

/* --- the process --- */

extern char **environ;

/* gnuplot's input, messages and picture, as files in memory: unlike pipes they never fill up, so
 * neither side waits for the other, and a dying gnuplot raises no SIGPIPE. */
struct streams {
    int script, errors, picture;
};

enum { PATIENCE_S = 60 };

static void close_streams(struct streams *streams)
{
    if (streams->script >= 0)
        close(streams->script);
    if (streams->errors >= 0)
        close(streams->errors);
    if (streams->picture >= 0)
        close(streams->picture);
}

static enum hr_status open_streams(struct streams *streams)
{
    streams->script = memfd_create("hogring-plot-script", MFD_CLOEXEC);
    streams->errors = memfd_create("hogring-plot-errors", MFD_CLOEXEC);
    streams->picture = memfd_create("hogring-plot-picture", MFD_CLOEXEC);
    if (streams->script >= 0 && streams->errors >= 0 && streams->picture >= 0)
        return HR_OK;
    const enum hr_status status = hr_fail_errno(HR_E_NOMEM, "no memory for a plot");
    close_streams(streams);
    return status;
}

static enum hr_status fill_script(int fd, const char *path, const json_t *document)
{
    const enum hr_plot_format format = hr_path_ends_in(path, ".svg") ? HR_PLOT_SVG : HR_PLOT_PNG;
    const char *why_not;
    const int own = dup(fd);
    FILE *out = own < 0 ? NULL : fdopen(own, "w");
    if (!out) {
        if (own >= 0)
            close(own);
        return hr_fail(HR_E_NOMEM, "no memory for a plot");
    }
    const bool drawn = hr_plot_script(out, format, document, &why_not), failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed || lseek(fd, 0, SEEK_SET) != 0)
        return hr_fail_errno(HR_E_NOMEM, "no memory for a plot");
    return drawn ? HR_OK
                 : hr_fail(HR_E_USAGE, "%s: %s, so there is nothing to draw", path, why_not);
}

/* HR_E_IO with gnuplot's first line that is not empty. */
static enum hr_status explain(const char *path, int wait_status, int errors)
{
    char text[400];
    const ssize_t got = pread(errors, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    char *line = text + strspn(text, " \t\r\n^");
    line[strcspn(line, "\r\n")] = '\0';
    if (line[0])
        return hr_fail(HR_E_IO, "%s: gnuplot: %s", path, line);
    if (WIFSIGNALED(wait_status))
        return hr_fail(HR_E_IO, "%s: gnuplot ended by signal %d", path, WTERMSIG(wait_status));
    return hr_fail(HR_E_IO, "%s: gnuplot drew nothing (exit code %d)", path,
                   WEXITSTATUS(wait_status));
}

static enum hr_status start_gnuplot(const struct streams *streams, int picture, const char *path,
                                    pid_t *child)
{
    char name[] = "gnuplot", defaults[] = "-d", from_stdin[] = "-";
    char *const argv[] = {name, defaults, from_stdin, NULL}; /* -d: without the user's ~/.gnuplot */
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return hr_fail(HR_E_NOMEM, "no memory for a plot");
    int cause = posix_spawn_file_actions_adddup2(&actions, streams->script, STDIN_FILENO);
    cause = cause ? cause : posix_spawn_file_actions_adddup2(&actions, picture, STDOUT_FILENO);
    cause =
        cause ? cause : posix_spawn_file_actions_adddup2(&actions, streams->errors, STDERR_FILENO);
    cause = cause ? cause : posix_spawnp(child, name, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (cause == ENOENT)
        return hr_fail(HR_E_IO,
                       "%s: gnuplot, which draws it, is not installed: "
                       "apt install gnuplot-nox",
                       path);
    errno = cause;
    return cause ? hr_fail_errno(HR_E_IO, "%s: gnuplot cannot be started", path) : HR_OK;
}

/* Kill gnuplot when it takes too long, or at a signal. Without pidfd_open, waitpid waits without a
 * limit. */
static bool await(pid_t child)
{
    const int process = hr_process_open(child);
    const bool ended =
        process < 0 || hr_pipe_wait_unless_signalled(process, POLLIN,
                                                     hr_clock_ns() + PATIENCE_S * HR_NS_PER_SECOND);
    if (process >= 0)
        close(process);
    if (!ended)
        kill(child, SIGKILL);
    return ended;
}

static enum hr_status run_gnuplot(const struct streams *streams, int picture, const char *path)
{
    pid_t child;
    int wait_status;
    struct stat drawn;
    HR_TRY(start_gnuplot(streams, picture, path, &child));
    const bool in_time = await(child);
    while (waitpid(child, &wait_status, 0) < 0)
        if (errno != EINTR)
            return hr_fail_errno(HR_E_IO, "%s: gnuplot cannot be waited for", path);
    if (!in_time && hr_signals_end_waits())
        return hr_fail(HR_E_INTERRUPTED, "%s: not drawn: interrupted", path);
    if (!in_time)
        return hr_fail(HR_E_IO, "%s: gnuplot did not end in %d s", path, PATIENCE_S);
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0 ||
        (fstat(picture, &drawn) == 0 && S_ISREG(drawn.st_mode) && drawn.st_size == 0))
        return explain(path, wait_status, streams->errors);
    return HR_OK;
}

static enum hr_status copy(int picture, const char *path)
{
    const off_t bytes = lseek(picture, 0, SEEK_END);
    const void *data =
        bytes > 0 ? mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, picture, 0) : MAP_FAILED;
    if (data == MAP_FAILED)
        return hr_fail_errno(HR_E_NOMEM, "%s: no memory for the plot", path);
    const enum hr_status status = hr_file_replace_durably(path, data, (size_t)bytes);
    munmap((void *)(uintptr_t)data, (size_t)bytes);
    return status;
}

static enum hr_status draw(const struct streams *streams, const char *path)
{
    HR_TRY(run_gnuplot(streams, streams->picture, path));
    return copy(streams->picture, path);
}

enum hr_status hr_plot(const char *path, const json_t *document)
{
    struct streams streams;
    if (!hr_path_ends_in(path, ".svg") && !hr_path_ends_in(path, ".png"))
        return hr_fail(HR_E_USAGE, "%s: expected a name that ends in .svg or .png", path);
    HR_TRY(open_streams(&streams));
    enum hr_status status = fill_script(streams.script, path, document);
    if (status == HR_OK)
        status = draw(&streams, path);
    close_streams(&streams);
    return status;
}

/* Running gnuplot: without a shell, its script through a pipe, its complaints kept. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/plot_script.h"
#include "report/report.h"

enum { NO_GNUPLOT = 127 };

static _Noreturn void run_gnuplot(int script, int complaints)
{
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(script, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(complaints, STDERR_FILENO);
    close(script);
    close(complaints);
    signal(SIGPIPE, SIG_DFL);
    execlp("gnuplot", "gnuplot", "-", (char *)NULL);
    _exit(NO_GNUPLOT);
}

/* The first line of what gnuplot said, without what leads up to it. */
static void read_complaint(int fd, char *line, size_t size)
{
    size_t used = 0;
    for (ssize_t got; used + 1 < size && (got = read(fd, line + used, size - 1 - used)) > 0;)
        used += (size_t)got;
    line[used] = '\0';
    char *text = line + strspn(line, " \n\t");
    text[strcspn(text, "\n")] = '\0';
    memmove(line, text, strlen(text) + 1);
}

struct picture {
    const char *terminal, *path, *title;
    const struct hr_run_result *runs;
    size_t n;
};

/* The script goes through a temporary file rather than a pipe: neither side can wait for
 * the other. */
static enum hr_status write_script(const struct picture *picture, FILE **out)
{
    *out = tmpfile();
    if (!*out)
        return hr_fail_errno(HR_E_IO, "--plot: no temporary file for the script");
    hr_plot_script(*out, picture->terminal, picture->path, picture->title, picture->runs,
                   picture->n);
    if (fflush(*out) == 0 && fseek(*out, 0, SEEK_SET) == 0)
        return HR_OK;
    fclose(*out);
    return hr_fail_errno(HR_E_IO, "--plot: the script cannot be written");
}

static enum hr_status draw(const struct picture *picture)
{
    FILE *script;
    int ends[2], wait_status = 0;
    char complaint[256] = "";
    HR_TRY(write_script(picture, &script));
    if (pipe(ends) != 0) {
        fclose(script);
        return hr_fail_errno(HR_E_IO, "--plot: no pipe to gnuplot");
    }
    const pid_t pid = fork();
    if (pid == 0)
        run_gnuplot(fileno(script), ends[1]);
    close(ends[1]);
    fclose(script);
    if (pid > 0)
        read_complaint(ends[0], complaint, sizeof complaint);
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    if (pid < 0)
        return hr_fail_errno(HR_E_IO, "--plot: cannot start gnuplot");
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == NO_GNUPLOT)
        return hr_fail(HR_E_IO,
                       "--plot %s: gnuplot is not installed (Debian: apt install gnuplot-nox)",
                       picture->path);
    if (wait_status != 0)
        return hr_fail(HR_E_IO, "--plot %s: gnuplot failed: %s", picture->path, complaint);
    return HR_OK;
}

/* gnuplot builds differ in which PNG terminal they have; the one that draws text well
 * comes first. */
static enum hr_status draw_png(struct picture *picture)
{
    picture->terminal = "pngcairo";
    if (draw(picture) == HR_OK)
        return HR_OK;
    picture->terminal = "png";
    return draw(picture);
}

enum hr_status hr_plot_curves(const char *path, const char *title, const struct hr_run_result *runs,
                              size_t n)
{
    char temporary[1200];
    const char *ending = strrchr(path, '.');
    const bool svg = ending && !strcmp(ending, ".svg");
    if (!svg && (!ending || strcmp(ending, ".png") != 0))
        return hr_fail(HR_E_USAGE, "--plot %s: expected a name that ends in .svg or .png", path);
    snprintf(temporary, sizeof temporary, "%s.tmp-%ld", path, (long)getpid());
    struct picture picture = {"svg", temporary, title, runs, n};
    enum hr_status status = svg ? draw(&picture) : draw_png(&picture);
    if (status == HR_OK && rename(temporary, path) != 0)
        status = hr_fail_errno(HR_E_IO, "--plot %s: cannot be written", path);
    if (status != HR_OK)
        unlink(temporary);
    return status;
}

#include "gate/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/inputs.h"
#include "base/printable.h"
#include "base/signals.h"
#include "options/command_line.h"
#include "options/train_options.h"

enum { NOT_FOUND = 127, PATIENCE_NS = 20000000 };

/* --- files in between --- */

enum hr_status hr_gate_folder_make(char folder[HR_PATH_MAX])
{
    const char *parent = getenv("TMPDIR");
    HR_TRY(hr_path(folder, "%s/hogring-gate-XXXXXX", parent && parent[0] ? parent : "/tmp"));
    return mkdtemp(folder) ? HR_OK
                           : hr_fail_errno(HR_E_IO, "%s: no folder for files in between", folder);
}

void hr_gate_folder_remove(const char *folder)
{
    if (folder[0])
        (void)!hr_folder_remove(folder);
}

/* --- the child --- */

static bool is_program(const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        errno = S_ISDIR(info.st_mode) ? EISDIR : EACCES;
    else if (access(path, X_OK) == 0)
        return true;
    return false;
}

enum hr_status hr_gate_child_check(const char *option, const char *binary)
{
    const char *path = getenv("PATH");
    if (strchr(binary, '/'))
        return is_program(binary) ? HR_OK
                                  : hr_fail(HR_E_USAGE, "%s %s: %s; expected a program", option,
                                            binary, strerror(errno));
    for (path = path ? path : "/bin:/usr/bin"; *path; path += *path == ':') {
        char full[HR_PATH_MAX];
        const size_t length = strcspn(path, ":");
        snprintf(full, sizeof full, "%.*s/%s", (int)length, path, binary);
        if (is_program(full))
            return HR_OK;
        path += length;
    }
    return hr_fail(HR_E_USAGE, "%s %s: no such program in PATH (of this folder it is ./%s)", option,
                   binary, binary);
}

static _Noreturn void be_child(const struct hr_gate_child *child, char *const *argv, int out,
                               int err)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGTERM, SIG_DFL); /* it may be ignored, and we end it by that */
    setpgid(0, 0);
    dup2(out, STDOUT_FILENO);
    if (child->quiet)
        dup2(err, STDERR_FILENO);
    execvp(child->binary, argv);
    _exit(NOT_FOUND);
}

/* Until it has ended, of itself, at a signal that came to us alone, or because it is late. Who does
 * not heed SIGTERM is killed a second later. */
static int wait_for(pid_t pid, int64_t end_ns, bool *late)
{
    int state = 0, told = 0;
    int64_t kill_ns = INT64_MAX;
    while (waitpid(pid, &state, WNOHANG) == 0) {
        const struct timespec patience = {.tv_nsec = PATIENCE_NS};
        const int64_t now = hr_clock_ns();
        *late = now >= end_ns;
        if (told < hr_signals_seen(NULL) + *late) {
            kill_ns = told ? kill_ns : now + HR_NS_PER_SECOND;
            told = hr_signals_seen(NULL) + *late;
            kill(-pid, SIGTERM);
        }
        if (now >= kill_ns)
            kill(-pid, SIGKILL);
        nanosleep(&patience, NULL);
    }
    if (told)
        kill(-pid, SIGKILL); /* what it had started, and left */
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

static enum hr_status start(const struct hr_gate_child *child, char *const *argv,
                            const char *errors, int *code, bool *late)
{
    const int64_t end_ns =
        child->most_s > 0 ? hr_clock_ns() + (int64_t)(child->most_s * 1e9) : INT64_MAX;
    const int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const int err = open(errors, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    enum hr_status status = HR_OK;
    fflush(NULL);
    hr_signals_run_begins();
    const pid_t pid = out < 0 || err < 0 ? -1 : fork();
    if (pid == 0)
        be_child(child, argv, out, err);
    if (pid < 0) {
        status = hr_fail_errno(HR_E_IO, "%s: cannot be started", child->binary);
    } else {
        setpgid(pid, pid); /* whoever of the two is first */
        *code = wait_for(pid, end_ns, late);
    }
    hr_signals_run_ended();
    if (out >= 0)
        close(out);
    if (err >= 0)
        close(err);
    return status;
}

/* The last line that it wrote, without "hogring: ". */
static void last_line(const char *path, char *text, size_t size)
{
    static const char name[] = "hogring: ";
    char *all, *line;
    size_t bytes;
    snprintf(text, size, "it said nothing");
    if (hr_file_read_all(path, (size_t)1 << 24, &all, &bytes) != HR_OK)
        return;
    while (bytes > 0 && all[bytes - 1] == '\n')
        all[--bytes] = '\0';
    line = strrchr(all, '\n');
    line = line ? line + 1 : all;
    if (!strncmp(line, name, sizeof name - 1))
        line += sizeof name - 1;
    if (line[0])
        snprintf(text, size, "%s", hr_printable(line).text);
    free(all);
}

/* How it ended, where it left nothing to be judged. */
static enum hr_status complain(const struct hr_gate_child *child, const char *command, int code,
                               const char *errors)
{
    char said[200];
    if (hr_signals_seen(NULL))
        return hr_fail(HR_E_INTERRUPTED, "interrupted");
    if (code == NOT_FOUND)
        return hr_fail(HR_E_IO, "%s: no such program", child->binary);
    if (child->quiet)
        last_line(errors, said, sizeof said);
    else
        snprintf(said, sizeof said, "see above");
    return hr_fail(code == 2 ? HR_E_USAGE : HR_E_IO, "%s %s ended with %d: %s", child->binary,
                   command, code, said);
}

/* Parameters (options/option.h) go into a file of options, where every version reads them by their
 * names. */
static enum hr_status split_words(const struct hr_gate_words *words, const char *path, char **argv,
                                  size_t *n)
{
    FILE *file = fopen(path, "we");
    for (size_t i = 0; file && i < words->n; i++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(words->word[i] + 2, "="),
                 words->word[i] + 2);
        const struct hr_option *row =
            i > 0 ? hr_cli_option_at(hr_cli_option_find(name, HR_TRAIN | HR_COMPARE)).row : NULL;
        const char *value = strchr(words->word[i], '=');
        if (row && row->parameter)
            fprintf(file, "%s = %s\n", name, value ? value + 1 : "on");
        else
            argv[(*n)++] = words->word[i];
    }
    return file && fclose(file) == 0 ? HR_OK
                                     : hr_fail_errno(HR_E_IO, "%s: cannot be written", path);
}

enum hr_status hr_gate_child_run(const struct hr_gate_child *child,
                                 const struct hr_gate_words *words, const char *name,
                                 struct hr_gate_document *out)
{
    char json[HR_PATH_MAX], option[HR_PATH_MAX + 16], errors[HR_PATH_MAX];
    char parameters[HR_PATH_MAX], quiet[] = "--quiet";
    char *argv[HR_GATE_WORDS_MAX + 5] = {(char *)child->binary};
    size_t n = 1;
    int code = 0;
    bool late = false;
    *out = (struct hr_gate_document){.name = "the new runs"};
    HR_TRY(hr_path(json, "%s/%s", child->folder, name));
    HR_TRY(hr_path(errors, "%s/stderr", child->folder));
    HR_TRY(hr_file_forget(json));
    HR_TRY(hr_path(parameters, "--config=%s/parameters", child->folder));
    HR_TRY(split_words(words, strchr(parameters, '=') + 1, argv, &n));
    argv[n++] = parameters;
    snprintf(option, sizeof option, "--json=%s", json);
    argv[n++] = option;
    if (child->quiet)
        argv[n++] = quiet;
    HR_TRY(start(child, argv, errors, &code, &late));
    if (late && !hr_signals_seen(NULL))
        return hr_fail(HR_E_IO, "%s %s: had not ended after %.3g s, and was ended", child->binary,
                       words->word[0], child->most_s);
    if (hr_signals_seen(NULL) || (code != 0 && code != 1 && code != 4) || access(json, R_OK) != 0)
        return complain(child, words->word[0], code, errors);
    HR_TRY(hr_gate_read(json, true, out));
    hr_input_release(json);
    out->name = "the new runs";
    return HR_OK;
}

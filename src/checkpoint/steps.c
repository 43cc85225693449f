#include "checkpoint/steps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define TEMPORARY ".tmp-"

struct hr_step_name hr_step_name(uint64_t step)
{
    struct hr_step_name name;
    snprintf(name.text, sizeof name.text, "step-%08" PRIu64, step);
    return name;
}

/* Only names that hogring gives: pruning must never remove a folder of the user's. */
static bool parse_name(const char *name, struct hr_step *out)
{
    struct hr_step step = {0};
    if (strncmp(name, "step-", 5) != 0 || strlen(name) >= sizeof step.name.text)
        return false;
    step.step = strtoull(name + 5, NULL, 10);
    step.name = hr_step_name(step.step);
    if (strcmp(step.name.text, name) != 0) {
        strcat(step.name.text, ".old");
        step.old = true;
    }
    if (strcmp(step.name.text, name) != 0)
        return false;
    *out = step;
    return true;
}

static int highest_first(const void *left, const void *right)
{
    const struct hr_step *a = left, *b = right;
    if (a->step != b->step)
        return a->step > b->step ? -1 : 1;
    return (int)a->old - (int)b->old;
}

static enum hr_status list_all(DIR *folder, const char *dir, struct hr_step **steps, size_t *count)
{
    const struct dirent *entry;
    struct hr_step step;
    size_t capacity = 0;
    while (errno = 0, (entry = readdir(folder))) {
        if (!parse_name(entry->d_name, &step))
            continue;
        if (*count == capacity) {
            capacity = capacity ? capacity * 2 : 16;
            struct hr_step *more = realloc(*steps, capacity * sizeof *more);
            if (!more)
                return hr_fail(HR_E_NOMEM, "%s: no memory to list it", dir);
            *steps = more;
        }
        (*steps)[(*count)++] = step;
    }
    if (errno != 0) /* half a list could hide the newest checkpoint */
        return hr_fail_errno(HR_E_IO, "%s: this folder cannot be listed", dir);
    return HR_OK;
}

enum hr_status hr_steps_list(const char *dir, struct hr_step **steps, size_t *count)
{
    struct hr_step *found = NULL;
    size_t n = 0;
    DIR *folder = opendir(dir);
    if (!folder)
        return hr_fail_errno(HR_E_IO, "%s: this folder cannot be listed", dir);
    const enum hr_status status = list_all(folder, dir, &found, &n);
    closedir(folder);
    if (status != HR_OK) {
        free(found);
        return status;
    }
    if (n)
        qsort(found, n, sizeof *found, highest_first);
    *steps = found;
    *count = n;
    return HR_OK;
}

enum hr_status hr_steps_temporary(const char *dir, const char *what, char out[HR_PATH_MAX])
{
    uint32_t random;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
        random = (uint32_t)hr_clock_ns(); /* early boot; if the name is taken, creating it fails */
    return hr_path(out, "%s/" TEMPORARY "%s.%ld.%08" PRIx32, dir, what, (long)getpid(), random);
}

enum hr_status hr_steps_fail_rename(const char *from, const char *to)
{
    return hr_fail_errno(HR_E_IO, "%s: cannot become %s", from, to);
}

/* Renamed before it is removed: a crash leaves a temporary folder, not half a checkpoint. */
enum hr_status hr_steps_discard(const char *dir, const char *name)
{
    char path[HR_PATH_MAX], temporary[HR_PATH_MAX];
    HR_TRY(hr_path(path, "%s/%s", dir, name));
    HR_TRY(hr_steps_temporary(dir, name, temporary));
    if (rename(path, temporary) != 0)
        return hr_steps_fail_rename(path, temporary);
    return hr_folder_remove(temporary);
}

/* ".tmp-<what>.<pid>.<random>" -> pid; 0 for other names. */
static pid_t owner_of(const char *name)
{
    const char *last = strrchr(name, '.');
    if (strncmp(name, TEMPORARY, strlen(TEMPORARY)) != 0 || !last)
        return 0;
    const char *pid = memrchr(name, '.', (size_t)(last - name));
    const long value = pid ? strtol(pid + 1, NULL, 10) : 0;
    return value > 0 && value == (pid_t)value ? (pid_t)value : 0;
}

/* Has the process ended? Our own pid counts as ended: this thread is not saving now, so the name is
 * from an earlier process with the same pid, as in a container, where pids start again. */
static bool is_gone(pid_t pid)
{
    return pid == getpid() || (kill(pid, 0) != 0 && errno == ESRCH);
}

enum hr_status hr_steps_remove_leftovers(const char *dir)
{
    const struct dirent *entry;
    struct stat info;
    char path[HR_PATH_MAX];
    DIR *folder = opendir(dir);
    if (!folder)
        return hr_fail_errno(HR_E_IO, "%s: this folder cannot be listed", dir);
    while ((entry = readdir(folder))) {
        const pid_t owner = owner_of(entry->d_name);
        if (!owner || !is_gone(owner) || hr_path(path, "%s/%s", dir, entry->d_name) != HR_OK)
            continue;
        if (lstat(path, &info) != 0 || info.st_uid != geteuid())
            continue;
        if (hr_folder_remove(path) != HR_OK)
            hr_log(HR_LOG_WARNING, "%s", hr_error_message());
    }
    closedir(folder);
    return HR_OK;
}

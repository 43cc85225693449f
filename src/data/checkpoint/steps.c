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
#include "checkpoint/manifest.h"

#define TEMPORARY ".tmp-"

struct hr_step_name hr_step_name(uint64_t step)
{
    struct hr_step_name name;
    snprintf(name.text, sizeof name.text, "step-%08" PRIu64, step);
    return name;
}

/* Only names that hogring gives: pruning must never remove a folder of the user's. */
static bool parse_name(const char *name, struct hr_saved_step *out)
{
    struct hr_saved_step step = {0};
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
    const struct hr_saved_step *a = left, *b = right;
    if (a->step != b->step)
        return a->step > b->step ? -1 : 1;
    return (int)a->old - (int)b->old;
}

static enum hr_status list_all(DIR *folder, const char *dir, struct hr_saved_step **steps,
                               size_t *count)
{
    const struct dirent *entry;
    struct hr_saved_step step;
    size_t capacity = 0;
    while (errno = 0, (entry = readdir(folder))) {
        if (!parse_name(entry->d_name, &step))
            continue;
        if (*count == capacity) {
            capacity = capacity ? capacity * 2 : 16;
            struct hr_saved_step *more = realloc(*steps, capacity * sizeof *more);
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

enum hr_status hr_steps_list(const char *dir, struct hr_saved_step **steps, size_t *count)
{
    struct hr_saved_step *found = NULL;
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

/* --- what is ours --- */

static const char *const ours[] = {HR_MANIFEST_NAME, HR_MODEL_NAME, HR_TRAINER_NAME};
enum { OURS = sizeof ours / sizeof *ours };

bool hr_steps_is_name(const char *name)
{
    struct hr_saved_step step;
    return parse_name(name, &step);
}

static bool is_file_of_ours(DIR *folder, const char *name)
{
    struct stat info;
    size_t i = 0;
    while (i < OURS && strcmp(name, ours[i]) != 0)
        i++;
    return i < OURS && fstatat(dirfd(folder), name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(info.st_mode);
}

/* other: the first name in it that no checkpoint has, or "". */
static enum hr_status find_other(const char *path, char other[64])
{
    struct stat info;
    const struct dirent *entry;
    if (lstat(path, &info) == 0 && !S_ISDIR(info.st_mode))
        return hr_fail(HR_E_USAGE,
                       "%s: is no folder, so no checkpoint; expected it to be moved "
                       "away first",
                       path);
    DIR *folder = opendir(path);
    if (!folder)
        return hr_fail_errno(HR_E_IO, "%s: cannot be opened", path);
    while (errno = 0, !other[0] && (entry = readdir(folder)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !is_file_of_ours(folder, entry->d_name))
            snprintf(other, 64, "%.60s", entry->d_name);
    const int cause = other[0] ? 0 : errno;
    closedir(folder);
    errno = cause;
    return cause ? hr_fail_errno(HR_E_IO, "%s: this folder cannot be listed", path) : HR_OK;
}

enum hr_status hr_steps_check_ours(const char *folder, uint64_t step)
{
    struct hr_manifest manifest;
    char path[HR_PATH_MAX], other[64] = "";
    HR_TRY(find_other(folder, other));
    if (other[0])
        return hr_fail(HR_E_USAGE,
                       "%s: holds %s, which is none of a checkpoint's files; expected it to be "
                       "moved away first",
                       folder, hr_printable(other).text);
    HR_TRY(hr_path(path, "%s/" HR_MANIFEST_NAME, folder));
    const enum hr_status status = hr_manifest_read(path, &manifest);
    if (status == HR_E_NOMEM || (status == HR_E_IO && hr_file_was_unreadable()))
        return status;
    if (status != HR_OK)
        return hr_fail(HR_E_USAGE, "%s: is no checkpoint; expected it to be moved away first: %s",
                       folder, hr_error_message());
    const uint64_t found = manifest.step;
    hr_manifest_free(&manifest);
    if (found == step)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "%s: is a checkpoint of step %" PRIu64 "; expected it to be moved away first",
                   folder, found);
}

enum hr_status hr_steps_remove(const char *folder)
{
    char path[HR_PATH_MAX];
    for (size_t i = 0; i < OURS; i++) {
        HR_TRY(hr_path(path, "%s/%s", folder, ours[i]));
        if (unlink(path) != 0 && errno != ENOENT)
            return hr_fail_errno(HR_E_IO, "%s: cannot be removed", path);
    }
    if (rmdir(folder) != 0 && errno != ENOENT)
        return hr_fail_errno(HR_E_IO, "%s: this folder cannot be removed", folder);
    return HR_OK;
}

/* Renamed before it is removed: a crash leaves a temporary folder, not half a checkpoint. */
enum hr_status hr_steps_discard(const char *dir, const struct hr_saved_step *step)
{
    char path[HR_PATH_MAX], temporary[HR_PATH_MAX];
    HR_TRY(hr_path(path, "%s/%s", dir, step->name.text));
    HR_TRY(hr_steps_check_ours(path, step->step));
    HR_TRY(hr_steps_temporary(dir, step->name.text, temporary));
    if (rename(path, temporary) != 0)
        return hr_steps_fail_rename(path, temporary);
    HR_TRY(hr_folder_sync(dir)); /* else a power cut may leave the name, and take the files */
    return hr_steps_remove(temporary);
}

/* --- one comes --- */

/* What stood where a checkpoint comes goes if it is one, and else gets another name. `replaced`:
 * where it is now, NAME.old or the temporary folder. */
static enum hr_status clear(const struct hr_publish *publish, const char *name,
                            const char *replaced)
{
    enum { MOST = 100 };
    struct stat there;
    struct hr_saved_step old = {.step = publish->step, .old = true};
    char aside[HR_PATH_MAX];
    if (lstat(replaced, &there) != 0)
        return errno == ENOENT ? HR_OK : hr_fail_errno(HR_E_IO, "%s", replaced);
    const enum hr_status status = hr_steps_check_ours(replaced, publish->step);
    if (status != HR_OK && status != HR_E_USAGE)
        return status;
    if (status == HR_OK) {
        snprintf(old.name.text, sizeof old.name.text, "%s", strrchr(replaced, '/') + 1);
        return replaced == publish->temporary ? hr_steps_remove(replaced)
                                              : hr_steps_discard(publish->dir, &old);
    }
    for (int i = 0; i < MOST; i++) {
        HR_TRY(hr_path(aside, i ? "%s.aside.%d" : "%s.aside", name, i));
        if (lstat(aside, &there) == 0)
            continue;
        if (rename(replaced, aside) != 0)
            return hr_steps_fail_rename(replaced, aside);
        hr_log(HR_LOG_WARNING, "%s: was none of hogring's checkpoints, and is %s now", name, aside);
        return HR_OK;
    }
    return hr_fail(HR_E_IO, "%s: no name is left for what was there", name);
}

/* Without an exchange only NAME.old exists for a moment; the loader knows that name. */
static enum hr_status move_aside(const struct hr_publish *publish, const char *name,
                                 const char *old)
{
    const char *temporary = publish->temporary;
    HR_TRY(clear(publish, name, old));
    if (rename(name, old) != 0)
        return hr_steps_fail_rename(name, old);
    if (rename(temporary, name) == 0)
        return HR_OK;
    const int cause = errno;
    if (rename(old, name) != 0)
        hr_log(HR_LOG_WARNING, "%s: stays there, its name cannot be given back", old);
    errno = cause;
    return hr_steps_fail_rename(temporary, name);
}

/* temporary -> name. A folder that had the name moves to *replaced (temporary or old). */
static enum hr_status give_name(const struct hr_publish *publish, const char *name, const char *old,
                                const char **replaced)
{
    *replaced = NULL;
    if (rename(publish->temporary, name) == 0)
        return HR_OK;
    if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
        return hr_steps_fail_rename(publish->temporary, name);
    *replaced = publish->temporary;
    if (publish->exchange &&
        renameat2(AT_FDCWD, publish->temporary, AT_FDCWD, name, RENAME_EXCHANGE) == 0)
        return HR_OK;
    *replaced = old;
    return move_aside(publish, name, old);
}

enum hr_status hr_steps_publish(const struct hr_publish *publish, bool *published)
{
    char name[HR_PATH_MAX], old[HR_PATH_MAX];
    const char *replaced;
    *published = false;
    HR_TRY(hr_path(name, "%s/%s", publish->dir, hr_step_name(publish->step).text));
    HR_TRY(hr_path(old, "%s.old", name));
    HR_TRY(give_name(publish, name, old, &replaced));
    *published = true;
    HR_TRY(hr_folder_sync(publish->dir));
    if (replaced && clear(publish, name, replaced) != HR_OK)
        hr_log(HR_LOG_WARNING, "%s", hr_error_message());
    return HR_OK;
}

/* --- what dead processes left --- */

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

/* A folder goes as a checkpoint does; a link or a file, when it is one that is made here: a small
 * one, before it gets its name. */
static enum hr_status remove_leftover(const char *path, const char *name, const struct stat *info)
{
    static const char *const made[] = {"latest.", "best.", "probe.", "run."};
    enum { SMALL = 64 };
    size_t i = 0;
    if (S_ISDIR(info->st_mode))
        return hr_steps_remove(path);
    name += strlen(TEMPORARY);
    while (i < sizeof made / sizeof *made && strncmp(name, made[i], strlen(made[i])) != 0)
        i++;
    if (i < sizeof made / sizeof *made && info->st_size <= SMALL &&
        (unlink(path) == 0 || errno == ENOENT))
        return HR_OK;
    return hr_fail(HR_E_IO, "%s: is none of hogring's, and stays", path);
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
        if (remove_leftover(path, entry->d_name, &info) != HR_OK)
            hr_log(HR_LOG_WARNING, "%s", hr_error_message());
    }
    closedir(folder);
    return HR_OK;
}

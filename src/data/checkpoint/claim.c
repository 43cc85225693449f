#include "checkpoint/claim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/inputs.h"
#include "base/log.h"
#include "checkpoint/manifest.h"
#include "checkpoint/links.h"
#include "checkpoint/steps.h"

enum { DIGITS = 16 };

/* --- names of runs --- */

static void draw_name(char run[DIGITS + 1])
{
    uint64_t random;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
        random = (uint64_t)hr_clock_ns() ^ (uint64_t)getpid() << 48; /* early boot */
    snprintf(run, DIGITS + 1, "%016" PRIx64, random);
}

static void copy_name(char run[DIGITS + 1], const char *name)
{
    const bool whole = name && strlen(name) >= DIGITS && strspn(name, "0123456789abcdef") == DIGITS;
    snprintf(run, DIGITS + 1, "%.*s", whole ? DIGITS : 0, name ? name : "");
}

/* "" for checkpoints of versions in which runs had no names. */
static void name_of(const struct hr_checkpoint *checkpoint, char run[DIGITS + 1])
{
    copy_name(run, hr_metadata_get(&checkpoint->trainer, HR_RUN_KEY));
}

/* What DIR/.run holds, also where it is cut off. */
static bool read_name(int fd, char text[DIGITS + 2])
{
    for (ssize_t n = 0; n <= DIGITS;) {
        const ssize_t got = pread(fd, text + n, (size_t)(DIGITS + 1 - n), n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        n += got;
    }
    return true;
}

/* Does the folder hold steps of that run? By DIR/.run, else by the newest step: the steps may have
 * been copied without .run, or be older than names, from a run killed before its next save. */
static enum hr_status is_of_run(const char *dir, int fd, const char *run, bool *out)
{
    char text[DIGITS + 2] = "", found[DIGITS + 1];
    struct hr_checkpoint newest;
    if (fd >= 0 && !read_name(fd, text))
        return hr_fail_errno(HR_E_IO, "%s/" HR_RUN_FILE ": cannot be read", dir);
    copy_name(found, text);
    *out = run[0] && !strcmp(found, run);
    if (*out || hr_checkpoint_load(dir, &newest) != HR_OK)
        return HR_OK;
    name_of(&newest, found);
    *out = !strcmp(found, run);
    hr_checkpoint_free(&newest);
    return HR_OK;
}

static bool write_text(int fd, const char *text, ssize_t length)
{
    for (ssize_t n = 0; n < length;) {
        const ssize_t written = pwrite(fd, text + n, (size_t)(length - n), n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        n += written;
    }
    return true;
}

/* HR_E_USAGE: it holds what hogring never wrote, and would be written over. */
static enum hr_status check_text(const char *dir, int fd)
{
    struct stat info;
    char text[DIGITS + 2] = "";
    if (fstat(fd, &info) != 0 || !read_name(fd, text))
        return hr_fail_errno(HR_E_IO, "%s/" HR_RUN_FILE ": cannot be read", dir);
    const size_t digits = strspn(text, "0123456789abcdef");
    if (info.st_size <= DIGITS + 1 && (!text[digits] || (digits == DIGITS && text[digits] == '\n')))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "%s/" HR_RUN_FILE ": is none of hogring's files; expected it to be moved away",
                   dir);
}

/* --- the lock --- */

static enum hr_status refuse_busy(const char *dir, pid_t pid)
{
    char who[48] = "another process";
    if (pid > 0) /* 0: a process that we cannot see, as in another container */
        snprintf(who, sizeof who, "process %ld", (long)pid);
    return hr_fail(HR_E_IO,
                   "%s: %s trains into this folder now; expected another --checkpoint-dir, or to "
                   "wait for its end",
                   dir, who);
}

/* Runs have locks for writing. One for reading is of somebody who may read the file, as a backup,
 * and keeps no run out. */
static enum hr_status check_free(const char *dir, int fd, bool *read_locked)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    *read_locked = false;
    if (fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
        return HR_OK;
    *read_locked = lock.l_type == F_RDLCK;
    return *read_locked ? HR_OK : refuse_busy(dir, lock.l_pid);
}

static bool is_in_place(const char *dir, int fd)
{
    char path[HR_PATH_MAX];
    struct stat named, opened;
    return hr_path(path, "%s/" HR_RUN_FILE, dir) == HR_OK && stat(path, &named) == 0 &&
           fstat(fd, &opened) == 0 && named.st_ino == opened.st_ino &&
           named.st_dev == opened.st_dev;
}

/* *locked: it is; false: somebody's lock for reading is in the way. */
static enum hr_status lock_it(const char *dir, int fd, bool *locked)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool read_locked;
    *locked = true;
    if (fcntl(fd, F_SETLK, &lock) == 0)
        return HR_OK;
    if (errno == EACCES || errno == EAGAIN) {
        HR_TRY(check_free(dir, fd, &read_locked));
        *locked = false;
        return read_locked ? HR_OK : refuse_busy(dir, 0); /* it ended between the two calls */
    }
    hr_log(HR_LOG_WARNING, "%s: this file system has no locks (%s): nothing keeps a second run out",
           dir, strerror(errno));
    return HR_OK;
}

/* A file with the same text that nobody else may read takes its place; a lock stays on the old. */
static enum hr_status take_place(const char *dir, int fd)
{
    char text[DIGITS + 2] = "", path[HR_PATH_MAX], temporary[HR_PATH_MAX];
    HR_TRY(hr_path(path, "%s/" HR_RUN_FILE, dir));
    HR_TRY(hr_steps_temporary(dir, "run", temporary));
    const int own = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    const bool done = own >= 0 && read_name(fd, text) &&
                      write_text(own, text, (ssize_t)strlen(text)) && fsync(own) == 0 &&
                      rename(temporary, path) == 0;
    const enum hr_status status =
        done ? HR_OK : hr_fail_errno(HR_E_IO, "%s: its lock for reading is in the way", path);
    if (own >= 0)
        close(own);
    if (own >= 0 && !done)
        unlink(temporary);
    return status;
}

/* *fd: DIR/.run, locked. */
static enum hr_status open_and_lock(const char *dir, int *fd)
{
    enum { TRIES = 5 };
    char path[HR_PATH_MAX];
    bool locked;
    HR_TRY(hr_path(path, "%s/" HR_RUN_FILE, dir));
    for (int i = 0; i < TRIES; i++) {
        const int opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
        if (opened < 0)
            return hr_fail_errno(HR_E_IO, "%s: cannot be opened", path);
        enum hr_status status = check_text(dir, opened);
        if (status == HR_OK)
            status = lock_it(dir, opened, &locked);
        if (status == HR_OK && locked && is_in_place(dir, opened)) {
            *fd = opened;
            return HR_OK;
        }
        if (status == HR_OK && !locked)
            status = take_place(dir, opened);
        close(opened);
        HR_TRY(status);
    }
    return refuse_busy(dir, 0);
}

/* --- what is there --- */

static enum hr_status refuse_other(const struct hr_claimant *claimant,
                                   const struct hr_saved_step *newest)
{
    return hr_fail(HR_E_USAGE,
                   "--checkpoint-dir %s: holds another run, up to %s; expected --resume to go on "
                   "with it, another folder, or --overwrite to remove it",
                   claimant->dir, newest->name.text);
}

/* Does this newer step verify? Loading has warned of those that do not. HR_E_IO: it cannot be read
 * now, so nobody knows, and it must not be replaced. */
static enum hr_status is_good(const char *dir, const struct hr_saved_step *step, bool *good)
{
    struct hr_checkpoint checkpoint;
    char path[HR_PATH_MAX];
    HR_TRY(hr_path(path, "%s/%s", dir, step->name.text));
    const enum hr_status status = hr_checkpoint_load(path, &checkpoint);
    *good = status == HR_OK;
    if (*good)
        hr_checkpoint_free(&checkpoint);
    return status == HR_E_IO && hr_file_was_unreadable() ? status : HR_OK;
}

static enum hr_status check_newer(const struct hr_claimant *claimant,
                                  const struct hr_saved_step *steps, size_t count)
{
    for (size_t i = 0; i < count && steps[i].step > claimant->from->step; i++) {
        bool good;
        HR_TRY(is_good(claimant->dir, &steps[i], &good));
        if (good)
            return hr_fail(
                HR_E_USAGE,
                "--resume %s: %s holds %s, which is newer; expected --resume %s to go on "
                "with that, another --checkpoint-dir, or --overwrite to remove it",
                claimant->from->path, claimant->dir, steps[i].name.text, claimant->dir);
    }
    return HR_OK;
}

/* Only what is ours goes, and of that nothing which the new run begins with. */
static enum hr_status check_doomed(const struct hr_claimant *claimant,
                                   const struct hr_saved_step *step)
{
    char path[HR_PATH_MAX];
    HR_TRY(hr_path(path, "%s/%s", claimant->dir, step->name.text));
    enum hr_status status = hr_steps_check_ours(path, step->step);
    if (status == HR_OK && !claimant->from) {
        HR_TRY(hr_path(path, "%s/%s/" HR_MODEL_NAME, claimant->dir, step->name.text));
        status = hr_input_spare(path);
    }
    return status == HR_OK ? HR_OK : hr_fail_within(status, "--overwrite");
}

/* Steps [0, *doomed) must be removed: all of another run, or those that are newer. */
static enum hr_status judge(const struct hr_claimant *claimant, int fd,
                            const struct hr_saved_step *steps, size_t count, size_t *doomed)
{
    char run[DIGITS + 1];
    bool ours = false;
    *doomed = 0;
    if (count == 0)
        return HR_OK;
    if (claimant->from) {
        name_of(claimant->from, run);
        HR_TRY(is_of_run(claimant->dir, fd, run, &ours));
    }
    if (!ours && !claimant->overwrite)
        return refuse_other(claimant, steps);
    if (ours && !claimant->overwrite)
        return check_newer(claimant, steps, count);
    while (*doomed < count && (!ours || steps[*doomed].step > claimant->from->step))
        HR_TRY(check_doomed(claimant, &steps[(*doomed)++]));
    return HR_OK;
}

enum hr_status hr_claim_check_free(const char *dir)
{
    char path[HR_PATH_MAX];
    HR_TRY(hr_path(path, "%s/" HR_RUN_FILE, dir));
    bool read_locked;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return HR_OK;
    enum hr_status status = check_free(dir, fd, &read_locked);
    if (status == HR_OK)
        status = check_text(dir, fd);
    close(fd);
    return status;
}

enum hr_status hr_claim_check(const struct hr_claimant *claimant)
{
    char path[HR_PATH_MAX];
    struct hr_saved_step *steps;
    size_t count, doomed;
    if (access(claimant->dir, F_OK) != 0)
        return HR_OK;
    HR_TRY(hr_claim_check_free(claimant->dir));
    HR_TRY(hr_path(path, "%s/" HR_RUN_FILE, claimant->dir));
    HR_TRY(hr_steps_list(claimant->dir, &steps, &count));
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    const enum hr_status status = judge(claimant, fd, steps, count, &doomed);
    if (fd >= 0)
        close(fd);
    free(steps);
    return status;
}

/* --- taking it --- */

static enum hr_status write_name(const char *dir, int fd, const char *run)
{
    char text[DIGITS + 2];
    snprintf(text, sizeof text, "%s\n", run);
    if (ftruncate(fd, 0) != 0 || !write_text(fd, text, DIGITS + 1) || fsync(fd) != 0)
        return hr_fail_errno(HR_E_IO, "%s/" HR_RUN_FILE ": cannot be written", dir);
    return HR_OK;
}

/* A kill between the rename of the step and that of the link leaves `latest` behind. */
static void repair_latest(const struct hr_claimant *claimant, const struct hr_saved_step *steps,
                          size_t doomed, size_t count)
{
    for (size_t i = doomed; claimant->from && i < count; i++)
        if (steps[i].step == claimant->from->step)
            hr_link_point(claimant->dir, HR_LATEST, steps[i].step);
}

/* A kill between the two renames of a file system that cannot exchange names leaves NAME.old alone:
 * it is NAME again, and what `best` points at is there. */
static void repair_old(const char *dir, const struct hr_saved_step *steps, size_t doomed,
                       size_t count)
{
    char old[HR_PATH_MAX], name[HR_PATH_MAX];
    for (size_t i = doomed; i < count; i++) {
        const bool twin = i > doomed && steps[i - 1].step == steps[i].step;
        if (!steps[i].old || twin || hr_path(old, "%s/%s", dir, steps[i].name.text) != HR_OK ||
            hr_path(name, "%s/%s", dir, hr_step_name(steps[i].step).text) != HR_OK)
            continue;
        if (rename(old, name) != 0 || hr_folder_sync(dir) != HR_OK)
            hr_log(HR_LOG_WARNING, "%s: its name cannot be given back", old);
    }
}

static enum hr_status take_over(const struct hr_claimant *claimant, struct hr_claim *claim,
                                const struct hr_saved_step *steps, size_t count)
{
    size_t doomed;
    HR_TRY(judge(claimant, claim->fd, steps, count, &doomed));
    for (size_t i = 0; i < doomed; i++) {
        if (hr_link_points(claimant->dir, HR_BEST, steps[i].step))
            hr_link_remove(claimant->dir, HR_BEST);
        HR_TRY(hr_steps_discard(claimant->dir, &steps[i]));
    }
    if (claimant->from)
        name_of(claimant->from, claim->run);
    if (!claim->run[0])
        draw_name(claim->run);
    HR_TRY(write_name(claimant->dir, claim->fd, claim->run));
    if (count > 0 && doomed == count)
        hr_link_remove(claimant->dir, HR_LATEST);
    repair_old(claimant->dir, steps, doomed, count);
    repair_latest(claimant, steps, doomed, count);
    return HR_OK;
}

enum hr_status hr_claim_take(const struct hr_claimant *claimant, struct hr_claim *claim)
{
    struct hr_saved_step *steps = NULL;
    size_t count;
    enum hr_status status;
    *claim = (struct hr_claim){0};
    HR_TRY(hr_folder_make(claimant->dir));
    HR_TRY(open_and_lock(claimant->dir, &claim->fd));
    HR_TRY_GOTO(hr_steps_list(claimant->dir, &steps, &count), status, out);
    status = take_over(claimant, claim, steps, count);
    free(steps);
out:
    if (status != HR_OK)
        hr_claim_drop(claim);
    return status;
}

/* Its own, or nobody's. */
static enum hr_status check_claimable(const char *dir, int fd, const char *run)
{
    struct hr_saved_step *steps;
    size_t count;
    bool ours = true;
    HR_TRY(hr_steps_list(dir, &steps, &count));
    free(steps);
    if (count > 0)
        HR_TRY(is_of_run(dir, fd, run, &ours));
    return ours ? HR_OK : hr_fail(HR_E_IO, "%s: another run is there now; nothing is saved", dir);
}

enum hr_status hr_claim_keep(struct hr_claim *claim, const char *dir)
{
    int fd;
    if (claim->fd <= 0 || is_in_place(dir, claim->fd))
        return HR_OK;
    HR_TRY(hr_folder_make(dir));
    HR_TRY(open_and_lock(dir, &fd));
    enum hr_status status = check_claimable(dir, fd, claim->run);
    if (status == HR_OK)
        status = write_name(dir, fd, claim->run);
    if (status != HR_OK) {
        close(fd);
        return status;
    }
    close(claim->fd);
    claim->fd = fd;
    hr_log(HR_LOG_WARNING,
           "%s: was removed, renamed or lost its " HR_RUN_FILE " meanwhile; it is made again, and "
           "locked",
           dir);
    return HR_OK;
}

void hr_claim_drop(struct hr_claim *claim)
{
    if (claim->fd > 0)
        close(claim->fd);
    claim->fd = 0;
}

#include "report/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum hr_status open_directly(struct hr_replace *replace)
{
    replace->fd = open(replace->path, O_WRONLY | O_CLOEXEC);
    if (replace->fd < 0)
        return hr_fail_errno(HR_E_IO, "%s: cannot be written", replace->path);
    return HR_OK;
}

/* A name nobody else uses: O_EXCL tells, and the number goes on until it is free. */
static enum hr_status open_temporary(struct hr_replace *replace)
{
    enum { MAX_TRIES = 100 };
    for (int i = 0; i < MAX_TRIES; i++) {
        const int length = snprintf(replace->temporary, sizeof replace->temporary, "%s.%ld.%d.tmp",
                                    replace->final, (long)getpid(), i);
        if (length >= (int)sizeof replace->temporary)
            break;
        replace->fd = open(replace->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (replace->fd >= 0)
            return HR_OK;
        if (errno != EEXIST)
            return hr_fail_errno(HR_E_IO, "%s: cannot be written", replace->path);
    }
    return hr_fail(HR_E_IO, "%s: no name is left for a temporary file beside it", replace->path);
}

enum hr_status hr_replace_begin(struct hr_replace *replace, const char *path)
{
    struct stat there;
    *replace = (struct hr_replace){.path = path, .fd = -1};
    const bool exists = stat(path, &there) == 0;
    if (exists && S_ISDIR(there.st_mode))
        return hr_fail(HR_E_IO, "%s: is a folder", path);
    if (exists && !S_ISREG(there.st_mode))
        return open_directly(replace);
    if ((!exists || !realpath(path, replace->final)) &&
        snprintf(replace->final, sizeof replace->final, "%s", path) >= (int)sizeof replace->final)
        return hr_fail(HR_E_IO, "%.200s...: too long for a path", path);
    return open_temporary(replace);
}

/* Devices and FIFOs cannot be synced, and say EINVAL. */
static enum hr_status close_synced(struct hr_replace *replace)
{
    enum hr_status status = HR_OK;
    if (fsync(replace->fd) != 0 && errno != EINVAL && errno != EROFS)
        status = hr_fail_errno(HR_E_IO, "%s: cannot be written", replace->path);
    if (close(replace->fd) != 0 && status == HR_OK)
        status = hr_fail_errno(HR_E_IO, "%s: cannot be written", replace->path);
    replace->fd = -1;
    return status;
}

enum hr_status hr_replace_commit(struct hr_replace *replace)
{
    enum hr_status status = close_synced(replace);
    if (status == HR_OK && replace->temporary[0] && rename(replace->temporary, replace->final) != 0)
        status = hr_fail_errno(HR_E_IO, "%s: cannot be replaced", replace->path);
    if (status != HR_OK)
        hr_replace_abandon(replace);
    return status;
}

void hr_replace_abandon(struct hr_replace *replace)
{
    if (replace->fd >= 0)
        close(replace->fd);
    replace->fd = -1;
    if (replace->temporary[0])
        unlink(replace->temporary);
}

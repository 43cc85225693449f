#include "checkpoint/links.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "checkpoint/steps.h"

enum { TARGET = sizeof(struct hr_step_name) + 1 };

/* What it points at; "": it is no link to a step. */
static void read_target(const char *link, char target[TARGET])
{
    const ssize_t length = readlink(link, target, TARGET);
    target[length > 0 && length < TARGET ? length : 0] = '\0';
    if (!hr_steps_is_name(target))
        target[0] = '\0';
}

/* HR_E_USAGE: what has the name is no link of ours, and stays. */
static enum hr_status check_ours(const char *link)
{
    struct stat there;
    char target[TARGET];
    read_target(link, target);
    if (target[0] || (lstat(link, &there) != 0 && errno == ENOENT))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "%s: is no link to a checkpoint, and stays as it is", link);
}

static enum hr_status point(const char *dir, const char *name, uint64_t step)
{
    char link[HR_PATH_MAX], temporary[HR_PATH_MAX];
    HR_TRY(hr_path(link, "%s/%s", dir, name));
    HR_TRY(check_ours(link));
    HR_TRY(hr_steps_temporary(dir, name, temporary));
    if (symlink(hr_step_name(step).text, temporary) != 0)
        return hr_fail_errno(HR_E_IO, "%s: this symlink cannot be made", temporary);
    if (rename(temporary, link) == 0)
        return hr_folder_sync(dir);
    const enum hr_status status = hr_steps_fail_rename(temporary, link);
    unlink(temporary);
    return status;
}

bool hr_link_points(const char *dir, const char *name, uint64_t step)
{
    char link[HR_PATH_MAX], target[TARGET];
    if (hr_path(link, "%s/%s", dir, name) != HR_OK)
        return false;
    read_target(link, target);
    return !strcmp(target, hr_step_name(step).text);
}

void hr_link_point(const char *dir, const char *name, uint64_t step)
{
    if (hr_link_points(dir, name, step))
        return;
    if (point(dir, name, step) != HR_OK)
        hr_log(HR_LOG_WARNING, "%s", hr_error_message());
}

void hr_link_remove(const char *dir, const char *name)
{
    char link[HR_PATH_MAX];
    if (hr_path(link, "%s/%s", dir, name) == HR_OK && check_ours(link) == HR_OK &&
        unlink(link) != 0 && errno != ENOENT)
        hr_log(HR_LOG_WARNING, "%s: cannot be removed: %s", link, strerror(errno));
}

#include "checkpoint/links.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "checkpoint/steps.h"

static enum hr_status point(const char *dir, const char *name, uint64_t step)
{
    char link[HR_PATH_MAX], temporary[HR_PATH_MAX];
    HR_TRY(hr_path(link, "%s/%s", dir, name));
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
    char link[HR_PATH_MAX], found[sizeof(struct hr_step_name) + 1];
    const struct hr_step_name there = hr_step_name(step);
    if (hr_path(link, "%s/%s", dir, name) != HR_OK)
        return false;
    const ssize_t length = readlink(link, found, sizeof found);
    return length == (ssize_t)strlen(there.text) && !memcmp(found, there.text, (size_t)length);
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
    if (hr_path(link, "%s/%s", dir, name) == HR_OK && unlink(link) != 0 && errno != ENOENT)
        hr_log(HR_LOG_WARNING, "%s: cannot be removed: %s", link, strerror(errno));
}

#include "checkpoint/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/file.h"
#include "base/log.h"
#include "checkpoint/steps.h"

/* Without an exchange only NAME.old exists for a moment; the loader knows that name. */
static enum hr_status move_aside(const char *temporary, const char *name, const char *old)
{
    HR_TRY(hr_folder_remove(old));
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
    return move_aside(publish->temporary, name, old);
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
    if (replaced && hr_folder_remove(replaced) != HR_OK)
        hr_log(HR_LOG_WARNING, "%s", hr_error_message());
    return HR_OK;
}

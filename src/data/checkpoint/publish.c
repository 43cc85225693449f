#include "checkpoint/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "checkpoint/steps.h"

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

/* replace.h - a file replaced as a whole: readers see the old one or the new one, never a part.
 *
 *     struct hr_replace r;
 *     HR_TRY(hr_replace_begin(&r, path));
 *     ... write to r.fd ...
 *     return hr_replace_commit(&r);        or hr_replace_abandon(&r)
 *
 * The temporary stands in the folder of the file that is meant, symbolic links followed. What is
 * there and no regular file (/dev/null, a FIFO) is written to directly, never replaced.
 *
 * Threads: none. Test: tests/report/test_json.c
 */
#ifndef HR_REPORT_REPLACE_H
#define HR_REPORT_REPLACE_H

#include <limits.h>

#include "base/error.h"

struct hr_replace {
    const char *path; /* as the user wrote it, for messages; borrowed */
    int fd;
    char temporary[PATH_MAX]; /* "": written to directly */
    char final[PATH_MAX];
};

/* HR_E_IO when the temporary cannot be made. */
HR_CHECKED enum hr_status hr_replace_begin(struct hr_replace *replace, const char *path);
/* Sync, close, rename. On HR_E_IO the old file is untouched and the temporary gone. */
HR_CHECKED enum hr_status hr_replace_commit(struct hr_replace *replace);
void hr_replace_abandon(struct hr_replace *replace);

#endif

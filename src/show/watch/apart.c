#include "watch/apart.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/inputs.h"
#include "base/path.h"

/* Where a file is, or would be: that of its folder and its last name. */
struct place {
    const char *flag, *path;
    dev_t device;
    ino_t inode;
    const char *name; /* "": the file is there, and inode is its own */
};

/* false: there is nothing that another could be: /dev/null takes anything, a folder many files. */
static bool find_place(const char *flag, const char *path, struct place *place)
{
    struct stat info;
    char folder[HR_PATH_MAX];
    const char *slash = strrchr(path, '/');
    *place = (struct place){.flag = flag, .path = path, .name = ""};
    if (stat(path, &info) == 0) {
        if (!S_ISREG(info.st_mode))
            return false;
    } else {
        place->name = slash ? slash + 1 : path;
        if (hr_path_parent(folder, path) != HR_OK || stat(folder, &info) != 0)
            return false;
    }
    place->device = info.st_dev;
    place->inode = info.st_ino;
    return true;
}

static bool is_same(const struct place *a, const struct place *b)
{
    return a->device == b->device && a->inode == b->inode && !strcmp(a->name, b->name);
}

enum { MOST = 16 };

enum hr_status hr_apart_check(const struct hr_cli *cli)
{
    struct place places[MOST];
    const struct hr_option *row;
    size_t n = 0;
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++) {
        const char *path = (const char *)cli + hr_cli_option_at(i).base + row->offset;
        if (!row->written || !path[0] || !strcmp(path, "-"))
            continue;
        if (hr_input_spare(path) != HR_OK)
            return hr_fail(HR_E_USAGE, "--%s %s", row->name, hr_error_message());
        if (n == MOST || !find_place(row->name, path, &places[n]))
            continue;
        for (size_t k = 0; k < n; k++)
            if (places[k].path != path && is_same(&places[k], &places[n]))
                return hr_fail(HR_E_USAGE, "--%s and --%s are one file, %s; expected two",
                               places[k].flag, row->name, path);
        n++;
    }
    return HR_OK;
}

/* The folders of file.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/inputs.h"

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static enum hr_status make_one(const char *path)
{
    char parent[HR_PATH_MAX];
    if (is_folder(path))
        return HR_OK;
    HR_TRY(hr_input_spare(path));
    if (mkdir(path, 0755) != 0) {
        const int cause = errno;
        if (cause == EEXIST && is_folder(path)) /* another process was quicker */
            return HR_OK;
        errno = cause;
        return hr_fail_errno(HR_E_IO, "%s: this folder cannot be made", path);
    }
    HR_TRY(hr_path_parent(parent, path));
    return hr_folder_sync(parent);
}

enum hr_status hr_folder_make(const char *path)
{
    char prefix[HR_PATH_MAX];
    HR_TRY(hr_input_spare(path));
    HR_TRY(hr_path(prefix, "%s", path));
    for (char *at = prefix; *at; at++) {
        if (*at != '/' || at == prefix)
            continue;
        *at = 0;
        HR_TRY(make_one(prefix));
        *at = '/';
    }
    return make_one(prefix);
}

enum hr_status hr_folder_sync(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return hr_fail_errno(HR_E_IO, "%s: this folder cannot be opened", path);
    const int result = fsync(fd), cause = errno;
    close(fd);
    /* Some file systems cannot sync a folder and say EINVAL: nothing more can be done there. */
    if (result != 0 && cause != EINVAL) {
        errno = cause;
        return hr_fail_errno(HR_E_IO, "%s: this folder cannot be synced", path);
    }
    return HR_OK;
}

static enum hr_status remove_files(DIR *folder, const char *path)
{
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (unlinkat(dirfd(folder), entry->d_name, 0) != 0 && errno != ENOENT)
            return hr_fail_errno(HR_E_IO, "%s/%s: cannot be removed", path, entry->d_name);
    }
    return HR_OK;
}

enum hr_status hr_folder_remove(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP) && unlink(path) == 0)
        return HR_OK;
    if (fd < 0)
        return errno == ENOENT ? HR_OK : hr_fail_errno(HR_E_IO, "%s: cannot be removed", path);
    DIR *folder = fdopendir(fd);
    if (!folder) {
        close(fd);
        return hr_fail(HR_E_NOMEM, "%s: no memory to list this folder", path);
    }
    const enum hr_status status = remove_files(folder, path);
    closedir(folder);
    HR_TRY(status);
    if (rmdir(path) != 0 && errno != ENOENT)
        return hr_fail_errno(HR_E_IO, "%s: this folder cannot be removed", path);
    return HR_OK;
}

enum hr_status hr_folder_free_bytes(const char *path, uint64_t *bytes)
{
    struct statvfs fs;
    if (statvfs(path, &fs) != 0)
        return hr_fail_errno(HR_E_IO, "%s: free space cannot be asked for", path);
    *bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    return HR_OK;
}

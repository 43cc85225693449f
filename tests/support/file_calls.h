/* file_calls.h - the system's calls on files in a test's own words: recorded (disk.h), or made to
 * fail (faults.h). A program that includes it, in one file, calls these, in all of its libraries
 * too; they go straight to the kernel. Nothing is really synced: no power is cut here.
 */
#ifndef HR_TESTS_SUPPORT_FILE_CALLS_H
#define HR_TESTS_SUPPORT_FILE_CALLS_H

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/disk.h"
#include "support/faults.h"

#define FAIL_IF_ASKED(what)                                                                        \
    do {                                                                                           \
        if (fault_strikes(what))                                                                   \
            return -1;                                                                             \
    } while (0)

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    FAIL_IF_ASKED("open");
    const bool creates = flags & O_CREAT && faccessat(AT_FDCWD, path, F_OK, 0) != 0;
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (fd >= 0 && creates)
        disk_made(path);
    return fd;
}

int access(const char *path, int mode)
{
    FAIL_IF_ASKED("access");
    return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

int stat(const char *path, struct stat *info)
{
    FAIL_IF_ASKED("stat");
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, info, 0);
}

int lstat(const char *path, struct stat *info)
{
    FAIL_IF_ASKED("lstat");
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *info)
{
    FAIL_IF_ASKED("fstat");
    return (int)syscall(SYS_newfstatat, fd, "", info, AT_EMPTY_PATH);
}

ssize_t readlink(const char *path, char *text, size_t bytes)
{
    FAIL_IF_ASKED("readlink");
    return syscall(SYS_readlinkat, AT_FDCWD, path, text, bytes);
}

ssize_t getrandom(void *data, size_t bytes, unsigned flags)
{
    FAIL_IF_ASKED("getrandom");
    return syscall(SYS_getrandom, data, bytes, flags);
}

int fcntl(int fd, int command, ...)
{
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    FAIL_IF_ASKED("fcntl");
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

/* Those of the C library, which do more than one call. */
static struct {
    int (*statvfs)(const char *path, struct statvfs *info);
    DIR *(*opendir)(const char *path);
    struct dirent *(*readdir)(DIR *folder);
} library;

__attribute__((constructor)) static void find_library(void)
{
    *(void **)&library.statvfs = dlsym(RTLD_NEXT, "statvfs");
    *(void **)&library.opendir = dlsym(RTLD_NEXT, "opendir");
    *(void **)&library.readdir = dlsym(RTLD_NEXT, "readdir");
}

int statvfs(const char *path, struct statvfs *info)
{
    FAIL_IF_ASKED("statvfs");
    return library.statvfs(path, info);
}

DIR *opendir(const char *path)
{
    return fault_strikes("opendir") ? NULL : library.opendir(path);
}

struct dirent *readdir(DIR *folder)
{
    return fault_strikes("readdir") ? NULL : library.readdir(folder);
}

int close(int fd)
{
    const long result = syscall(SYS_close, fd);
    FAIL_IF_ASKED("close"); /* it is closed all the same, as on Linux */
    return (int)result;
}

ssize_t read(int fd, void *data, size_t bytes)
{
    FAIL_IF_ASKED("read");
    return syscall(SYS_read, fd, data, fault_shortens(bytes));
}

ssize_t pread(int fd, void *data, size_t bytes, off_t offset)
{
    FAIL_IF_ASKED("pread");
    return syscall(SYS_pread64, fd, data, fault_shortens(bytes), offset);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    FAIL_IF_ASKED("write");
    const off_t at = lseek(fd, 0, SEEK_CUR);
    const ssize_t written = syscall(SYS_write, fd, data, fault_shortens(bytes));
    if (written > 0 && at >= 0)
        disk_writes(fd, (size_t)at, data, (size_t)written);
    return written;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    FAIL_IF_ASKED("pwrite");
    const ssize_t written = syscall(SYS_pwrite64, fd, data, fault_shortens(bytes), offset);
    if (written > 0)
        disk_writes(fd, (size_t)offset, data, (size_t)written);
    return written;
}

int ftruncate(int fd, off_t bytes)
{
    FAIL_IF_ASKED("ftruncate");
    disk_resized(fd, (size_t)bytes, false);
    return (int)syscall(SYS_ftruncate, fd, bytes);
}

int posix_fallocate(int fd, off_t offset, off_t bytes)
{
    if (fault_strikes("posix_fallocate"))
        return errno;
    disk_resized(fd, (size_t)(offset + bytes), true);
    return syscall(SYS_fallocate, fd, 0, offset, bytes) == 0 ? 0 : errno;
}

int fsync(int fd)
{
    FAIL_IF_ASKED("fsync");
    disk_synced(fd);
    return 0;
}

int fdatasync(int fd)
{
    return fsync(fd);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    FAIL_IF_ASKED("rename");
    if (flags && !disk_exchanges) {
        errno = EINVAL; /* as file systems do that cannot */
        return -1;
    }
    const long result = syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    if (result == 0)
        disk_renamed(from, to, flags != 0);
    return (int)result;
}

int rename(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

UNWATCHED int mkdir(const char *path, mode_t mode)
{
    FAIL_IF_ASKED("mkdir");
    const long result = syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (result == 0)
        disk_made(path);
    return (int)result;
}

int symlink(const char *text, const char *path)
{
    FAIL_IF_ASKED("symlink");
    const long result = syscall(SYS_symlinkat, text, AT_FDCWD, path);
    if (result == 0)
        disk_made(path);
    return (int)result;
}

int unlinkat(int folder, const char *name, int flags)
{
    FAIL_IF_ASKED("unlink");
    disk_removes(folder, name);
    return (int)syscall(SYS_unlinkat, folder, name, flags);
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char *path)
{
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

#endif

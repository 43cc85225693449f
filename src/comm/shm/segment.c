#include "shm/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signals.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/size.h"
#include "shm/process.h"

enum { NAME_TRIES = 16, PIECE = 16 << 20 };

struct path {
    char text[96];
};

static struct path path_of(const char *name)
{
    struct path path;
    snprintf(path.text, sizeof path.text, "/dev/shm%s", name);
    return path;
}

static void unlink_name(const char *name)
{
    shm_unlink(name);
    hr_leftover_forget(path_of(name).text);
}

static int open_new_name(char *name, size_t size)
{
    for (uint64_t attempt = 0; attempt < NAME_TRIES; attempt++) {
        const struct hr_philox random =
            hr_random_block((uint64_t)hr_clock_ns(), HR_STREAM_NAME, attempt, (uint32_t)getpid());
        snprintf(name, size, "/hogring.%ld.%llu.%08x.%llx", (long)getpid(),
                 hr_process_start_time(getpid()), random.v[0], hr_process_namespace());
        const int fd = shm_open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
        if (fd >= 0) {
            fchmod(fd, 0600); /* despite the umask */
            hr_leftover_add(path_of(name).text);
        }
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* A tmpfs mounted without a limit says that it has no blocks at all. */
static unsigned long long free_bytes_of_dev_shm(void)
{
    struct statvfs info;
    if (statvfs("/dev/shm", &info) != 0)
        return 0;
    return info.f_blocks ? (unsigned long long)info.f_bavail * info.f_frsize : -1ull;
}

/* Allocate every page; 0 or an errno. Many kernels give an allocation up when a signal comes, so we
 * ask for pieces that are done between two signals. */
static int allocate(int fd, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PIECE) {
        int failure;
        do
            failure = posix_fallocate(fd, (off_t)at, (off_t)hr_min_size(PIECE, bytes - at));
        while (failure == EINTR);
        if (failure != 0)
            return failure;
    }
    return 0;
}

/* A descriptor of `bytes` allocated bytes in /dev/shm, or -1 with errno. */
static int take_named(size_t bytes, char *name, size_t size)
{
    const int fd = open_new_name(name, size);
    if (fd < 0)
        return -1;
    /* Checked first, so that a segment that cannot fit does not fill the memory for a while. */
    const int failure = bytes > free_bytes_of_dev_shm() ? ENOSPC : allocate(fd, bytes);
    if (failure == 0)
        return fd;
    unlink_name(name);
    close(fd);
    errno = failure;
    return -1;
}

static unsigned long long bytes_of_machine(void)
{
    struct sysinfo info;
    return sysinfo(&info) == 0 ? (info.totalram + info.totalswap) * info.mem_unit : -1ull;
}

static enum hr_status take_unlimited(size_t bytes, int cause, int *fd)
{
    /* A memfd has no limit of its own: when memory runs out the kernel kills us, or somebody else.
     * */
    if (bytes > bytes_of_machine())
        return hr_fail(HR_E_SHM, "%zu KiB of shared memory needed, and %llu KiB is all there is",
                       bytes / 1024, bytes_of_machine() / 1024);
    hr_log(HR_LOG_WARNING,
           "/dev/shm: %s (%zu KiB needed, %llu KiB free); using a memfd instead, which no other "
           "process can attach to (containers: --shm-size)",
           strerror(cause), (bytes + 1023) / 1024, free_bytes_of_dev_shm() / 1024);
    *fd = memfd_create("hogring", MFD_CLOEXEC);
    if (*fd < 0)
        return hr_fail_errno(HR_E_SHM, "no shared memory: /dev/shm and memfd_create both failed");
    const int failure = allocate(*fd, bytes);
    if (failure == 0)
        return HR_OK;
    close(*fd);
    errno = failure;
    return hr_fail_errno(HR_E_SHM, "%zu bytes of shared memory needed, not to be had", bytes);
}

enum hr_status hr_segment_create(size_t bytes, bool named, struct hr_segment *out)
{
    struct hr_segment segment = {.bytes = bytes ? bytes : 1};
    HR_TRY(hr_memory_ask("shared memory", bytes));
    int fd = take_named(segment.bytes, segment.name, sizeof segment.name);
    if (fd < 0) {
        segment.name[0] = '\0';
        HR_TRY(take_unlimited(segment.bytes, errno, &fd));
    }
    struct stat info = {0};
    fstat(fd, &info);
    segment.inode = info.st_ino;
    segment.base = mmap(NULL, segment.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int cause = errno;
    close(fd);
    if (segment.name[0] && (!named || segment.base == MAP_FAILED)) {
        unlink_name(segment.name);
        segment.name[0] = '\0';
    }
    errno = cause;
    if (segment.base == MAP_FAILED)
        return hr_fail_errno(HR_E_SHM, "cannot map %zu bytes of shared memory", segment.bytes);
    *out = segment;
    return HR_OK;
}

void hr_segment_destroy(struct hr_segment *segment)
{
    if (segment->base)
        munmap(segment->base, segment->bytes);
    hr_segment_unlink(segment);
    *segment = (struct hr_segment){0};
}

void hr_segment_unlink(struct hr_segment *segment)
{
    if (segment->name[0])
        unlink_name(segment->name);
    segment->name[0] = '\0';
}

/* --- segments that others find by name --- */

enum hr_status hr_segment_publish(struct hr_segment *segment, const char *name, bool *exists)
{
    HR_ASSERT(segment->name[0]);
    *exists = false;
    if (link(path_of(segment->name).text, path_of(name).text) == 0) {
        hr_segment_unlink(segment);
        return HR_OK;
    }
    *exists = errno == EEXIST;
    return hr_fail_errno(HR_E_SHM, "%s", path_of(name).text);
}

static enum hr_status map_whole(int fd, const char *name, struct hr_segment *out)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return hr_fail_errno(HR_E_SHM, "%s", path_of(name).text);
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() || info.st_size <= 0)
        return hr_fail(HR_E_SHM, "%s is no segment of this user", path_of(name).text);
    struct hr_segment segment = {.bytes = (size_t)info.st_size, .inode = info.st_ino};
    segment.base = mmap(NULL, segment.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (segment.base == MAP_FAILED)
        return hr_fail_errno(HR_E_SHM, "cannot map %s, %zu bytes", path_of(name).text,
                             segment.bytes);
    *out = segment;
    return HR_OK;
}

enum hr_status hr_segment_attach(const char *name, struct hr_segment *out, bool *exists)
{
    const int fd = open(path_of(name).text, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *exists = fd >= 0 || errno != ENOENT;
    if (fd < 0)
        return hr_fail_errno(HR_E_SHM, "%s", path_of(name).text);
    const enum hr_status status = map_whole(fd, name, out);
    close(fd);
    return status;
}

bool hr_segment_remove(const char *name, uint64_t inode)
{
    struct stat opened, named;
    const struct path path = path_of(name);
    const int fd = open(path.text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    /* Under the file's lock, so that nobody else unlinks or reuses the name meanwhile. */
    const bool removed = fstat(fd, &opened) == 0 && opened.st_ino == inode &&
                         flock(fd, LOCK_EX | LOCK_NB) == 0 && stat(path.text, &named) == 0 &&
                         named.st_ino == inode && unlink(path.text) == 0;
    close(fd);
    return removed;
}

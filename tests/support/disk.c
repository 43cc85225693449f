/* Recording: disk.h. */
#include "support/disk.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/disk_calls.h"

struct disk_call disk_calls[DISK_MOST_CALLS];
size_t disk_ncalls;
int disk_nnodes;
bool disk_exchanges = true;

static bool recording;
static int syncs, forgotten = -1;
static size_t forgotten_at;

/* The file system's numbers of our nodes. A number is given again after a removal: the last counts.
 */
static struct known {
    dev_t device;
    ino_t number;
} known[DISK_MOST_NODES];

static int find(const struct stat *info)
{
    for (int node = disk_nnodes - 1; node >= 0; node--)
        if (known[node].number == info->st_ino && known[node].device == info->st_dev)
            return node;
    return -1;
}

static int find_fd(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 ? find(&info) : -1;
}

static int find_name(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 ? find(&info) : -1;
}

/* The folder of a path, and the name in it. */
static int find_place(const char *path, char name[80])
{
    char copy[PATH_MAX], again[PATH_MAX];
    assert_true(strlen(path) < sizeof copy);
    strcpy(copy, path);
    strcpy(again, path);
    const char *last = basename(copy);
    assert_true(strlen(last) < 80);
    strcpy(name, last);
    return find_name(dirname(again));
}

static struct disk_call *add(enum disk_act act, int node)
{
    assert_true(disk_ncalls < DISK_MOST_CALLS);
    struct disk_call *call = &disk_calls[disk_ncalls++];
    *call = (struct disk_call){.act = act, .node = node};
    return call;
}

static int add_node(const struct stat *info)
{
    assert_true(disk_nnodes < DISK_MOST_NODES);
    known[disk_nnodes] = (struct known){info->st_dev, info->st_ino};
    return disk_nnodes++;
}

static void keep(struct disk_call *call, const void *data, size_t bytes)
{
    call->data = malloc(bytes + 1);
    assert_non_null(call->data);
    memcpy(call->data, data, bytes);
    call->data[bytes] = 0;
    call->bytes = bytes;
}

void disk_record(const char *path)
{
    struct stat info;
    disk_free();
    assert_int_equal(stat(path, &info), 0);
    add_node(&info);
    forgotten = -1;
    recording = true;
}

void disk_stop(void)
{
    recording = false;
}

void disk_free(void)
{
    for (size_t i = 0; i < disk_ncalls; i++)
        free(disk_calls[i].data);
    disk_ncalls = 0;
    disk_nnodes = syncs = 0;
}

void disk_mark(int mark)
{
    add(DISK_MARK, mark);
}

void disk_forget_sync(int which)
{
    forgotten = which;
}

int disk_syncs(void)
{
    return syncs;
}

size_t disk_forgotten(void)
{
    return forgotten_at;
}

void disk_made(const char *path)
{
    struct stat info;
    char name[80], text[PATH_MAX];
    const int folder = recording ? find_place(path, name) : -1;
    if (folder < 0)
        return;
    assert_int_equal(lstat(path, &info), 0);
    struct disk_call *call = add(DISK_CREATE, add_node(&info));
    call->kind = S_ISDIR(info.st_mode)   ? DISK_FOLDER
                 : S_ISLNK(info.st_mode) ? DISK_LINK
                                         : DISK_FILE;
    call->folder = folder;
    strcpy(call->name, name);
    if (call->kind == DISK_LINK) {
        const ssize_t length = readlink(path, text, sizeof text);
        assert_true(length > 0);
        keep(call, text, (size_t)length);
    }
}

void disk_renamed(const char *from, const char *to, bool exchanged)
{
    char name[80], to_name[80];
    const int folder = recording ? find_place(from, name) : -1;
    if (folder < 0)
        return;
    struct disk_call *call = add(exchanged ? DISK_EXCHANGE : DISK_RENAME, find_name(to));
    call->folder = folder;
    call->to_folder = find_place(to, to_name);
    assert_true(call->to_folder >= 0 && call->node >= 0);
    strcpy(call->name, name);
    strcpy(call->to_name, to_name);
    if (exchanged)
        call->other = find_name(from);
}

void disk_removes(int folder, const char *name)
{
    struct stat info;
    char last[80];
    if (!recording || fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || find(&info) < 0)
        return;
    struct disk_call *call = add(DISK_REMOVE, find(&info));
    call->folder = folder == AT_FDCWD ? find_place(name, last) : find_fd(folder);
    assert_true(call->folder >= 0);
    strcpy(call->name, folder == AT_FDCWD ? last : name);
}

void disk_writes(int fd, size_t offset, const void *data, size_t bytes)
{
    const int node = recording ? find_fd(fd) : -1;
    if (node < 0)
        return;
    struct disk_call *call = add(DISK_WRITE, node);
    call->offset = offset;
    keep(call, data, bytes);
}

void disk_resized(int fd, size_t bytes, bool grow_only)
{
    struct stat info;
    const int node = recording && fstat(fd, &info) == 0 ? find(&info) : -1;
    if (node >= 0 && (!grow_only || (size_t)info.st_size < bytes))
        add(DISK_RESIZE, node)->bytes = bytes;
}

void disk_synced(int fd)
{
    const int node = recording ? find_fd(fd) : -1;
    if (node < 0)
        return;
    if (syncs++ == forgotten)
        forgotten_at = disk_ncalls;
    else
        add(DISK_SYNC, node);
}

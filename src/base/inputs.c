/* A table of device and inode, open addressing. An inode may be given to a new file when the one
 * that was read is gone, so an entry counts as long as its path leads to it. */
#include "base/inputs.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

struct input {
    dev_t device;
    ino_t inode;
    char *path; /* owned; NULL: this place is free */
    bool folder;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct input *table;
static size_t room, used;
static bool remembered, any_folder;

/* --- the table; under the lock --- */

static struct input *find(const struct stat *info)
{
    size_t i = (size_t)((info->st_ino ^ (uint64_t)info->st_dev << 32) * 0x9e3779b97f4a7c15u >> 20);
    for (i &= room - 1; table[i].path; i = (i + 1) & (room - 1))
        if (table[i].inode == info->st_ino && table[i].device == info->st_dev)
            break;
    return &table[i];
}

static bool grow(void)
{
    struct input *old = table, *more;
    const size_t places = room, wanted = room ? 2 * room : 64;
    if (2 * (used + 1) <= room)
        return true;
    if (!(more = calloc(wanted, sizeof *more)))
        return false;
    table = more;
    room = wanted;
    for (size_t i = 0; i < places; i++)
        if (old[i].path)
            *find(&(struct stat){.st_dev = old[i].device, .st_ino = old[i].inode}) = old[i];
    free(old);
    return true;
}

static bool is_there(const struct input *input)
{
    struct stat info;
    return input->path[0] && stat(input->path, &info) == 0 && info.st_ino == input->inode &&
           info.st_dev == input->device;
}

/* The entry of what is read still; NULL: there is none. */
static const struct input *look_up(const struct stat *info)
{
    const struct input *input = room ? find(info) : NULL;
    return input && input->path && is_there(input) ? input : NULL;
}

static const struct input *look_up_parent(const char *path, struct stat *info)
{
    char folder[HR_PATH_MAX];
    const struct input *input = NULL;
    if (any_folder && hr_path_parent(folder, path) == HR_OK && stat(folder, info) == 0)
        input = look_up(info);
    return input && input->folder ? input : NULL;
}

/* Nothing but its folder leads to it, and that is here. */
static bool goes_without_saying(const char *path, const struct stat *info)
{
    struct stat name, folder;
    return S_ISREG(info->st_mode) && info->st_nlink == 1 && lstat(path, &name) == 0 &&
           S_ISREG(name.st_mode) && look_up_parent(path, &folder);
}

static bool add(const char *path, const struct stat *info)
{
    if (goes_without_saying(path, info))
        return true;
    char *copy = strdup(path);
    if (!copy || !grow()) {
        free(copy);
        return false;
    }
    struct input *input = find(info);
    const bool folder = S_ISDIR(info->st_mode);
    used += !input->path;
    any_folder = any_folder || folder;
    free(input->path);
    *input = (struct input){info->st_dev, info->st_ino, copy, folder};
    return true;
}

/* --- what is read --- */

void hr_inputs_remember(void)
{
    remembered = true;
}

enum hr_status hr_input_add(const char *path, const struct stat *info)
{
    if (!remembered || (!S_ISREG(info->st_mode) && !S_ISDIR(info->st_mode)))
        return HR_OK;
    pthread_mutex_lock(&lock);
    const bool added = add(path, info);
    pthread_mutex_unlock(&lock);
    return added ? HR_OK : hr_fail(HR_E_NOMEM, "%s: no memory to remember that it is read", path);
}

enum hr_status hr_input_add_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode) ? hr_input_add(path, &info) : HR_OK;
}

enum hr_status hr_input_named(const char *value, bool folder)
{
    struct stat info;
    char piece[HR_PATH_MAX];
    if (stat(value, &info) == 0 && (S_ISREG(info.st_mode) || folder))
        return hr_input_add(value, &info);
    while (*value) {
        const size_t length = strcspn(value, ",:;=\"()+ ");
        if (length > 0 && length < sizeof piece) {
            memcpy(piece, value, length);
            piece[length] = '\0';
            if (stat(piece, &info) == 0 && S_ISREG(info.st_mode))
                HR_TRY(hr_input_add(piece, &info));
        }
        value += length + (value[length] != '\0');
    }
    return HR_OK;
}

void hr_input_release(const char *path)
{
    struct stat info;
    pthread_mutex_lock(&lock);
    struct input *input = room && stat(path, &info) == 0 ? find(&info) : NULL;
    if (input && input->path)
        input->path[0] = '\0'; /* others may lie behind it */
    pthread_mutex_unlock(&lock);
}

/* --- what is written --- */

static enum hr_status refuse(const char *path, const char *input)
{
    if (!strcmp(path, input))
        return hr_fail(HR_E_USAGE,
                       "%s: is read here, and would be written over; expected another file", path);
    return hr_fail(HR_E_USAGE,
                   "%s: is %s, which is read here, and would be written over; expected another "
                   "file",
                   path, input);
}

static enum hr_status spare(const char *path)
{
    struct stat there, parent;
    char place[HR_PATH_MAX];
    const bool exists = stat(path, &there) == 0, folder = exists && S_ISDIR(there.st_mode);
    if (exists && !folder && !S_ISREG(there.st_mode))
        return HR_OK; /* a device, a FIFO */
    const struct input *input = exists ? look_up(&there) : NULL;
    if (input && !input->folder)
        return refuse(path, input->path);
    if (!input && !folder) {
        HR_TRY(hr_path_place(path, place));
        input = look_up_parent(place, &parent);
    }
    if (!input)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "%s: would be written into %s, which is read as data; expected another folder",
                   path, input->path);
}

enum hr_status hr_input_spare(const char *path)
{
    pthread_mutex_lock(&lock);
    const enum hr_status status = room ? spare(path) : HR_OK;
    pthread_mutex_unlock(&lock);
    return status;
}

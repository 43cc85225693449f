#include "formats/image_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/inputs.h"
#include "base/path.h"
#include "data/bytes.h"
#include "data/hold_out.h"

/* The folders from a class down to one. */
struct branch {
    const struct branch *above;
    dev_t device;
    ino_t inode;
};

enum kind { HIDDEN, FOLDER, PICTURE, OTHER };

static bool has_picture_name(const char *name)
{
    static const char *const ends[] = {".png", ".jpg", ".jpeg"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t end = strlen(ends[i]);
        if (length > end && !strcasecmp(name + length - end, ends[i]))
            return true;
    }
    return false;
}

static bool is_folder(const char *path, const struct dirent *entry)
{
    struct stat info;
    if (entry->d_type == DT_DIR || entry->d_type == DT_REG)
        return entry->d_type == DT_DIR;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

static enum kind kind_of(const char *path, const struct dirent *entry)
{
    if (entry->d_name[0] == '.')
        return HIDDEN;
    if (is_folder(path, entry))
        return FOLDER;
    return has_picture_name(entry->d_name) ? PICTURE : OTHER;
}

static bool is_self(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

/* --- lists that grow --- */

static enum hr_status make_room(void **array, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return HR_OK;
    const size_t more = *room ? 2 * *room : 64;
    void *moved = realloc(*array, more * size);
    if (!moved)
        return hr_fail(HR_E_NOMEM, "no memory for a list of %zu pictures", more);
    *array = moved;
    *room = more;
    return HR_OK;
}

static enum hr_status copy_of(const char *text, char **out)
{
    *out = strdup(text);
    return *out ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for the names of pictures");
}

static enum hr_status add_file(struct hr_image_list *list, const char *path, uint32_t label)
{
    struct hr_image_file file = {.folder = (size_t)(strrchr(path, '/') - path), .label = label};
    void *files = list->files;
    const enum hr_status status = make_room(&files, &list->room, list->count, sizeof file);
    list->files = files;
    if (status != HR_OK)
        return status;
    HR_TRY(copy_of(path, &file.path));
    list->files[list->count++] = file;
    return HR_OK;
}

static enum hr_status add_class(struct hr_image_list *list, const char *name)
{
    void *classes = list->classes;
    const enum hr_status status =
        make_room(&classes, &list->class_room, list->nclasses, sizeof *list->classes);
    list->classes = classes;
    if (status != HR_OK)
        return status;
    HR_TRY(copy_of(name, &list->classes[list->nclasses]));
    list->nclasses++;
    return HR_OK;
}

static void pass_over(struct hr_image_list *list, const char *path, enum kind kind)
{
    if (kind == HIDDEN) {
        list->hidden++;
        return;
    }
    const size_t length = strlen(path), most = sizeof list->other - 1;
    if (!list->others++)
        snprintf(list->other, sizeof list->other, "%s", path + (length > most ? length - most : 0));
}

/* --- folders --- */

static enum hr_status open_folder(const char *folder, DIR **out)
{
    HR_TRY(hr_input_add_folder(folder));
    *out = opendir(folder);
    return *out ? HR_OK : hr_fail_errno(HR_E_IO, "%s: the folder cannot be read", folder);
}

/* The next entry but "." and ".."; NULL at the end, and on an error. */
static const struct dirent *next_entry(const char *folder, DIR *dir, enum hr_status *status)
{
    const struct dirent *entry;
    do {
        errno = 0;
        entry = readdir(dir);
    } while (entry && is_self(entry->d_name));
    if (!entry && errno)
        *status = hr_fail_errno(HR_E_IO, "%s: the folder cannot be read", folder);
    return entry;
}

static bool is_above(const struct branch *branch, const struct stat *info)
{
    for (; branch; branch = branch->above)
        if (branch->device == info->st_dev && branch->inode == info->st_ino)
            return true;
    return false;
}

static enum hr_status read_branch(const char *folder, const struct branch *above, uint32_t label,
                                  struct hr_image_list *list);

static enum hr_status read_entry(const char *folder, const struct dirent *entry,
                                 const struct branch *branch, uint32_t label,
                                 struct hr_image_list *list)
{
    char path[HR_PATH_MAX];
    HR_TRY(hr_path(path, "%s/%s", folder, entry->d_name));
    const enum kind kind = kind_of(path, entry);
    if (kind == FOLDER)
        return read_branch(path, branch, label, list);
    if (kind == PICTURE)
        return add_file(list, path, label);
    pass_over(list, path, kind);
    return HR_OK;
}

/* All pictures of a class below `folder`, in no order yet. */
static enum hr_status read_branch(const char *folder, const struct branch *above, uint32_t label,
                                  struct hr_image_list *list)
{
    struct stat info;
    DIR *dir;
    enum hr_status status = HR_OK;
    if (stat(folder, &info))
        return hr_fail_errno(HR_E_IO, "%s: cannot be reached", folder);
    if (is_above(above, &info)) {
        list->loops++;
        return HR_OK;
    }
    const struct branch branch = {above, info.st_dev, info.st_ino};
    HR_TRY(open_folder(folder, &dir));
    for (const struct dirent *entry; status == HR_OK && (entry = next_entry(folder, dir, &status));)
        status = read_entry(folder, entry, &branch, label, list);
    closedir(dir);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* By class, then the folder's path as a whole, then the name. */
static int by_place(const void *a, const void *b)
{
    const struct hr_image_file *x = a, *y = b;
    const size_t least = x->folder < y->folder ? x->folder : y->folder;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    const int folders = memcmp(x->path, y->path, least);
    if (folders)
        return folders;
    if (x->folder != y->folder)
        return x->folder < y->folder ? -1 : 1;
    return strcmp(x->path + x->folder, y->path + y->folder);
}

static enum hr_status list_classes(const char *folder, struct hr_image_list *list)
{
    DIR *dir;
    enum hr_status status = HR_OK;
    HR_TRY(open_folder(folder, &dir));
    for (const struct dirent *entry;
         status == HR_OK && (entry = next_entry(folder, dir, &status));) {
        char path[HR_PATH_MAX];
        status = hr_path(path, "%s/%s", folder, entry->d_name);
        const enum kind kind = kind_of(path, entry);
        if (status == HR_OK && kind == FOLDER)
            status = add_class(list, entry->d_name);
        else if (status == HR_OK)
            pass_over(list, path, kind);
    }
    closedir(dir);
    if (list->nclasses)
        qsort(list->classes, list->nclasses, sizeof *list->classes, by_name);
    return status;
}

static enum hr_status read_all(const char *folder, struct hr_image_list *list)
{
    char path[HR_PATH_MAX];
    struct stat info;
    if (stat(folder, &info))
        return hr_fail_errno(HR_E_IO, "%s: cannot be reached", folder);
    const struct branch top = {NULL, info.st_dev, info.st_ino};
    HR_TRY(list_classes(folder, list));
    for (size_t c = 0; c < list->nclasses; c++) {
        HR_TRY(hr_path(path, "%s/%s", folder, list->classes[c]));
        HR_TRY(read_branch(path, &top, (uint32_t)c, list));
    }
    if (list->count)
        qsort(list->files, list->count, sizeof *list->files, by_place);
    return HR_OK;
}

enum hr_status hr_image_list_read(const char *folder, struct hr_image_list *out)
{
    *out = (struct hr_image_list){0};
    const enum hr_status status = read_all(folder, out);
    if (status != HR_OK)
        hr_image_list_free(out);
    return status;
}

/* A path without a slash gets one: what stands before it is the picture's folder. */
static enum hr_status read_one(const char *path, struct hr_image_list *list)
{
    char full[HR_PATH_MAX];
    HR_TRY(hr_path(full, "%s%s", strchr(path, '/') ? "" : "./", path));
    return add_file(list, full, 0);
}

enum hr_status hr_image_list_read_all(const char *path, struct hr_image_list *out)
{
    struct stat info;
    *out = (struct hr_image_list){0};
    const bool folder = !stat(path, &info) && S_ISDIR(info.st_mode);
    const enum hr_status status = folder ? read_branch(path, NULL, 0, out) : read_one(path, out);
    if (out->count)
        qsort(out->files, out->count, sizeof *out->files, by_place);
    if (status != HR_OK)
        hr_image_list_free(out);
    return status;
}

void hr_image_list_free(struct hr_image_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->files[i].path);
    for (size_t c = 0; c < list->nclasses; c++)
        free(list->classes[c]);
    free(list->files);
    free(list->classes);
    *list = (struct hr_image_list){0};
}

/* --- looked for --- */

/* Is there such an entry in it, or so many folders deep? */
static bool any_within(const char *folder, enum kind wanted, size_t depth)
{
    bool found = false;
    DIR *dir = opendir(folder);
    if (!dir)
        return false;
    for (const struct dirent *entry; !found && (entry = readdir(dir));) {
        char path[HR_PATH_MAX];
        if (hr_path(path, "%s/%s", folder, entry->d_name) != HR_OK)
            continue;
        const enum kind kind = kind_of(path, entry);
        found = kind == wanted || (kind == FOLDER && depth && any_within(path, wanted, depth - 1));
    }
    closedir(dir);
    return found;
}

bool hr_image_list_any(const char *folder)
{
    enum { SPLIT_AND_CLASS = 2 };
    return any_within(folder, PICTURE, SPLIT_AND_CLASS);
}

bool hr_image_list_flat(const char *folder)
{
    return any_within(folder, PICTURE, 0);
}

bool hr_image_list_has_folders(const char *folder)
{
    return any_within(folder, FOLDER, 0);
}

/* Files that are held out go behind the others; both keep their order. */
static size_t move_behind(struct hr_image_list *list, const uint8_t *marks,
                          struct hr_image_file *held)
{
    size_t at = 0, taken = 0;
    for (size_t i = 0; i < list->count; i++)
        if (marks[i])
            held[taken++] = list->files[i];
        else
            list->files[at++] = list->files[i];
    memcpy(list->files + at, held, taken * sizeof *held);
    return taken;
}

enum hr_status hr_image_list_hold_out(struct hr_image_list *list, const char *name,
                                      const char *split, double fraction, size_t *held)
{
    void *marks = NULL, *files = NULL, *labels = NULL;
    enum hr_status st;
    *held = 0;
    if (list->count < 2)
        return HR_OK;
    HR_TRY_GOTO(hr_take(name, list->count, &marks), st, out);
    HR_TRY_GOTO(hr_take(name, list->count * sizeof(struct hr_image_file), &files), st, out);
    HR_TRY_GOTO(hr_take(name, list->count * sizeof(uint32_t), &labels), st, out);
    for (size_t i = 0; i < list->count; i++)
        ((uint32_t *)labels)[i] = list->files[i].label;
    const struct hr_hold_out how = {.split = split, .labels = labels};
    HR_TRY_GOTO(hr_hold_out_tests(name, &how, list->count, fraction, marks), st, out);
    *held = move_behind(list, marks, files);
out:
    free(marks);
    free(files);
    free(labels);
    return st;
}

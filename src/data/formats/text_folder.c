#include "formats/text_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/inputs.h"
#include "base/path.h"
#include "hogring/data.h"

static int is_text(const struct dirent *entry)
{
    const char *name = entry->d_name;
    return name[0] != '.' && (hr_path_ends_in(name, ".txt") || hr_path_ends_in(name, ".txt.gz"));
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void free_entries(struct dirent **entries, int n)
{
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
}

static int is_idx(const struct dirent *entry)
{
    return !strncmp(entry->d_name, "train-images", 12) || !strncmp(entry->d_name, "t10k-", 5);
}

static bool has(const char *folder, int (*which)(const struct dirent *))
{
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, which, by_name);
    free_entries(entries, n);
    return n > 0;
}

bool hr_text_folder_is(const char *folder)
{
    return has(folder, is_text) && !has(folder, is_idx);
}

static enum hr_status add_text(const char *folder, const char *name, struct hr_array *out)
{
    char path[HR_PATH_MAX];
    struct hr_array text;
    HR_TRY(hr_path(path, "%s/%s", folder, name));
    HR_TRY(hr_bytes_read_file(path, &text));
    enum hr_status status = hr_array_add(out, path, text.data, text.bytes);
    if (status == HR_OK && text.bytes && ((char *)text.data)[text.bytes - 1] != '\n')
        status = hr_array_add(out, path, "\n", 1);
    free(text.data);
    return status;
}

enum hr_status hr_text_folder_read(const char *folder, struct hr_array *out, char *note)
{
    struct dirent **entries = NULL;
    enum hr_status status = HR_OK;
    HR_TRY(hr_input_add_folder(folder));
    const int n = scandir(folder, &entries, is_text, by_name);
    if (n < 0)
        return hr_fail_errno(HR_E_IO, "%s: the folder cannot be read", folder);
    for (int i = 0; i < n && status == HR_OK; i++)
        status = add_text(folder, entries[i]->d_name, out);
    if (status == HR_OK && n > 0)
        snprintf(note, HR_DATA_NOTE, "%.100s: %d texts, one after the other, %.100s to %.100s",
                 folder, n, entries[0]->d_name, entries[n - 1]->d_name);
    free_entries(entries, n);
    return status;
}

#include "session/name_entries.h"

#include <stdio.h>
#include <string.h>

static void write_key(const char *key, size_t i, char *out, size_t size)
{
    if (i)
        snprintf(out, size, "%s.%zu", key, i);
    else
        snprintf(out, size, "%s", key);
}

/* Join the names from `first` on that fit into one entry; returns the first that does not. */
static size_t fill_entry(struct hr_names names, size_t first, char *value, size_t size)
{
    size_t used = 0, i = first;
    for (; i < names.count; i++) {
        char name[HR_CLASS_NAME_TEXT];
        hr_class_name_write(names.list[i], name);
        if (used + strlen(name) + 2 > size)
            break;
        used += (size_t)snprintf(value + used, size - used, "%s%s", used ? "," : "", name);
    }
    return i;
}

size_t hr_name_entries(struct hr_names names, size_t most)
{
    struct hr_metadata entry;
    size_t n = 0;
    for (size_t i = 0; names.list && i < names.count; n++)
        i = fill_entry(names, i, entry.value, sizeof entry.value);
    return n > most ? 0 : n;
}

void hr_name_entries_put(const char *key, struct hr_names names, size_t entries,
                         struct hr_tensor_file *file)
{
    for (size_t i = 0, name = 0; i < entries; i++) {
        struct hr_metadata *entry = &file->metadata[file->nmetadata++];
        write_key(key, i, entry->key, sizeof entry->key);
        name = fill_entry(names, name, entry->value, sizeof entry->value);
    }
}

enum hr_status hr_name_entries_get(const struct hr_checkpoint *checkpoint, const char *key,
                                   struct hr_class_list *list)
{
    char numbered[sizeof((struct hr_metadata *)0)->key];
    const char *value;
    for (size_t i = 0; write_key(key, i, numbered, sizeof numbered),
                (value = hr_metadata_get(&checkpoint->model, numbered)) != NULL;
         i++)
        HR_TRY(hr_class_list_add(checkpoint->path, value, list));
    return HR_OK;
}

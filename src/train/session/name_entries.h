/* name_entries.h - a list of names in a file's metadata.
 *
 *     KEY      "cat,dog,eel" (data/class_list.h says how names are written)
 *     KEY.1    where 1 KiB is not enough, names go on here, and in KEY.2, ...
 *
 * Threads: before the ranks start, or the launcher's. Test: tests/unit/session/test_class_names.c
 */
#ifndef HR_SESSION_NAME_ENTRIES_H
#define HR_SESSION_NAME_ENTRIES_H

#include "base/error.h"
#include "data/class_list.h"
#include "hogring/checkpoint.h"

struct hr_names {
    size_t count;
    const char *const *list; /* (count); NULL: there are none */
};

/* How many entries they take; 0 where there are none, and where they would be more than `most`. */
size_t hr_name_entries(struct hr_names names, size_t most);
/* Append them to the metadata; their number is that of hr_name_entries. */
void hr_name_entries_put(const char *key, struct hr_names names, size_t entries,
                         struct hr_tensor_file *file);
/* Add the names under a key to a list. HR_E_USAGE, HR_E_NOMEM, as hr_class_list_add. */
HR_CHECKED enum hr_status hr_name_entries_get(const struct hr_checkpoint *checkpoint,
                                              const char *key, struct hr_class_list *list);

#endif

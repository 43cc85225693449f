/* image_list.h - the pictures of a folder of classes: FOLDER/<class>/..., folders inside of a class
 * too.
 *
 * Order, as torchvision's ImageFolder has it: classes by name; within a class by folder, then by
 * name; all byte by byte. What begins with a dot is hidden, and passed over; so are files that do
 * not end in .png, .jpg or .jpeg (in any case of letters), and symlinks that lead back to a folder
 * above them. All of these are counted. Other symlinks are followed.
 *
 * Threads: none. Test: tests/cli/images.bats
 */
#ifndef HR_FORMATS_IMAGE_LIST_H
#define HR_FORMATS_IMAGE_LIST_H

#include "base/error.h"
#include "images/image.h"

struct hr_image_file {
    char *path;    /* owned */
    size_t folder; /* bytes of the path before the last slash */
    uint32_t label;
    struct hr_image_head head; /* image_load.h */
};

struct hr_image_list {
    char **classes; /* (nclasses) names, owned, ascending */
    size_t nclasses, class_room;
    struct hr_image_file *files; /* (count), label: the class's number in this list */
    size_t count, room;
    size_t hidden, others, loops; /* passed over */
    char other[120];              /* the first of the others, its end */
    size_t bad;                   /* left out, damaged (image_load.h) */
    char first_bad[160];          /* the first of these, and what is wrong with it */
};

/* HR_E_IO: a folder cannot be read. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_image_list_read(const char *folder, struct hr_image_list *out);
/* All pictures below a folder, or the one at that path, without classes: labels are 0. */
HR_CHECKED enum hr_status hr_image_list_read_all(const char *path, struct hr_image_list *out);
void hr_image_list_free(struct hr_image_list *list);

/* Test samples (hr_hold_out_tests) go behind the others, *held of them: both keep their order, and
 * the list is in that of its classes no more. Fewer than 2: none. HR_E_USAGE, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_image_list_hold_out(struct hr_image_list *list, const char *name,
                                                 const char *split, double fraction, size_t *held);

/* Is there a picture in the folder, its folders, or theirs, as far as anybody can tell? */
bool hr_image_list_any(const char *folder);
/* In the folder itself? */
bool hr_image_list_flat(const char *folder);
/* Has it a folder that is not hidden, as of a class, with pictures or without? */
bool hr_image_list_has_folders(const char *folder);

#endif

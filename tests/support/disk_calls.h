/* disk_calls.h - what a recording holds: calls in their order, files and folders by number.
 *
 * Numbers are given once, in the order of creation; 0 is the folder that is recorded.
 */
#ifndef HR_TESTS_SUPPORT_DISK_CALLS_H
#define HR_TESTS_SUPPORT_DISK_CALLS_H

#include <stddef.h>

enum disk_act {
    DISK_CREATE, /* node, kind; of a symlink: data is its text */
    DISK_RENAME,
    DISK_EXCHANGE, /* node goes to the other name, `other` comes back */
    DISK_REMOVE,
    DISK_WRITE,
    DISK_RESIZE, /* to `bytes` */
    DISK_SYNC,
    DISK_MARK, /* node is the mark */
};

enum disk_kind { DISK_FILE, DISK_FOLDER, DISK_LINK };

struct disk_call {
    enum disk_act act;
    enum disk_kind kind;
    int node, other, folder, to_folder;
    char name[80], to_name[80];
    size_t offset, bytes;
    unsigned char *data; /* owned */
};

enum { DISK_MOST_CALLS = 1024, DISK_MOST_NODES = 128 };

extern struct disk_call disk_calls[DISK_MOST_CALLS];
extern size_t disk_ncalls;
extern int disk_nnodes;

#endif

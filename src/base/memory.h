/* memory.h - how much memory there is to be had, so that nothing is begun that cannot end well.
 *
 *     struct hr_memory there = hr_memory_there_is();
 *     HR_TRY(hr_memory_ask(path, bytes));                 one piece; for several: hr_needs
 *
 * Memory is the least of: what the kernel thinks it can give (MemAvailable), and what is left of
 * the limits of our control groups (versions 1 and 2; a group's file pages that can be dropped are
 * no use). Both are guesses; hr_memory_limit_set (--max-memory) takes their place. Address space is
 * what is left of ulimit -v and -d, which are no guesses.
 *
 * Threads: the limit is set before there are any; the others may be called by any.
 * Test: tests/unit/base/test_memory.c
 */
#ifndef HR_BASE_MEMORY_H
#define HR_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct hr_memory {
    size_t bytes;    /* that this process and its children may still take */
    const char *why; /* where the figure comes from, for messages; static storage */
    size_t address;  /* that this process may still map */
    const char *address_why;
};

struct hr_memory hr_memory_there_is(void);

/* The same of a machine whose /proc and /sys stand in `root`, for tests; "": this one. */
struct hr_memory hr_memory_under(const char *root);

/* A limit for this process and its children, with what they have already, instead of the kernel's
 * estimate; 0: the estimate. */
void hr_memory_limit_set(size_t bytes);

/* HR_E_NOMEM when `bytes` more are not available: "name: needs 8.0 GiB, and ...". Pieces of less
 * than a MiB are always granted. */
HR_CHECKED enum hr_status hr_memory_ask(const char *name, size_t bytes);

/* "796 B", "21 KiB", "2.4 GiB" */
struct hr_bytes_text {
    char text[24];
};
struct hr_bytes_text hr_bytes_text(size_t bytes);

/* --- what a run will take, item by item, worked out before anything is taken ---
 *
 * struct hr_needs needs = {0};
 *     hr_needs_add(&needs, "weights and gradients", 2 * workers, params * sizeof(float));
 *     hr_needs_add_taken(&needs, "data", hr_dataset_bytes(dataset));
 *     HR_TRY(hr_needs_check(&needs, "this run needs", "--workers 4 would fit"));
 *
 * Sums never wrap: what cannot be counted is SIZE_MAX. Threads: none.
 * Test: tests/unit/base/test_memory.c */

enum { HR_NEEDS_MAX = 16, HR_NEEDS_TEXT = 300 };

struct hr_need {
    const char *name; /* static storage */
    size_t bytes;
    bool taken; /* it is there already */
};

struct hr_needs {
    struct hr_need item[HR_NEEDS_MAX];
    size_t n;
    size_t bytes;    /* of all items */
    size_t taken;    /* of them, those that are */
    size_t apart;    /* of them, those that no single process maps: other processes' own */
    size_t reserved; /* mapped beside them and hardly used: stacks */
};

/* `count` times `bytes` more under that name. */
void hr_needs_add(struct hr_needs *needs, const char *name, size_t count, size_t bytes);
/* The same for memory that is taken already. */
void hr_needs_add_taken(struct hr_needs *needs, const char *name, size_t bytes);
/* All of another list, for runs at the same time; what is taken already counts once. */
void hr_needs_join(struct hr_needs *needs, const struct hr_needs *other);

/* Is there as much? */
bool hr_needs_fit(const struct hr_needs *needs, const struct hr_memory *there);

/* HR_E_NOMEM when there is not: "<who> 23 GiB: data 2.0 MiB, ...; there is 2.0 GiB (why);
 * <advice>".
 *   advice  what would fit; "": not known */
HR_CHECKED enum hr_status hr_needs_check(const struct hr_needs *needs, const char *who,
                                         const char *advice);

/* "21 MiB: data 2.0 MiB, weights and gradients 4.1 MiB, ...", the largest first; what is less than
 * a hundredth of the whole is summed up as "others". */
void hr_needs_text(const struct hr_needs *needs, char text[HR_NEEDS_TEXT]);

/* --- larger pages for memory that is read here and there, or all of it in turn ---
 *
 * Every touch of another 4 KiB page asks for an address; of 2 MiB pages the processor keeps so many
 * at hand that a data set of 47 MB needs none looked up. */

/* Have the kernel give large pages to this memory, new and not yet touched, as it is filled. A
 * request: where the kernel forbids it or has none free, pages are small. Costs nothing. Private
 * memory only, not a file's. */
void hr_pages_ask_large(const void *memory, size_t bytes);

/* The same for memory that is already filled, which is copied. Where the kernel is older than Linux
 * 6.1, nothing happens. Contents stay; nobody may write meanwhile. */
void hr_pages_enlarge(const void *memory, size_t bytes);

#endif

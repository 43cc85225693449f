/* memory.h - how much memory there is to be had, so that nothing is begun that cannot end well.
 *
 *     struct hr_memory there = hr_memory_there_is();
 *     HR_TRY(hr_memory_ask(path, bytes));                 one piece; for several: base/needs.h
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

#endif

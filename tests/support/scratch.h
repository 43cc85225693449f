/* scratch.h - a folder of a test's own, below TMPDIR or /tmp, and files in it. */
#ifndef HR_TESTS_SUPPORT_SCRATCH_H
#define HR_TESTS_SUPPORT_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

/* cmocka setup and teardown: make an empty folder before a test, remove it and all in it after. */
int scratch_setup(void **state);
int scratch_teardown(void **state);

/* Before setup: where files are memory, if that is here, which is 30 times as fast as a disk. */
void scratch_in_memory(void);

/* The folder, or "<folder>/<name>"; valid until eight more calls. */
const char *scratch(const char *name);

bool scratch_exists(const char *name);
/* How many names the folder `name` holds, "." and ".." aside. */
size_t scratch_entries(const char *name);
void scratch_write(const char *name, const void *data, size_t bytes);
/* The whole file; free() it. */
unsigned char *scratch_read(const char *name, size_t *bytes);
/* Flip one bit in place; a second time restores it. */
void scratch_flip(const char *name, size_t byte, unsigned bit);

/* What goes to stderr between the two calls; the text is valid until the next begin. */
void scratch_stderr_begin(void);
const char *scratch_stderr_end(void);

#endif

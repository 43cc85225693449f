/* fold.h - long lines broken at blanks, for a terminal of so many columns.
 *
 *     struct hr_fold fold = {.width = 80};
 *     hr_fold(&fold, text, n, put, arg);      piece by piece; put is called with what to print
 *
 * Lines that go on are indented two more than they began, or, of "name  what it is", to where the
 * second begins. Runs of blanks stay where a line is not broken at them, so that a table that fits
 * is as it was. A word longer than a line stays whole.
 * Characters are counted as UTF-8 has them, each one column wide; a tab counts as one.
 *
 * Threads: a fold belongs to one. Test: tests/unit/base/test_fold.c
 */
#ifndef HR_BASE_FOLD_H
#define HR_BASE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* {.width = W} before the first piece; 0: as it is. */
struct hr_fold {
    size_t width;
    size_t column; /* of the line */
    size_t hang;   /* where it would go on */
    size_t blanks; /* that stand before the next word */
    bool began;    /* it has a word, */
    bool named;    /* and a name before what it is */
};

/* Columns and lines of the terminal behind a descriptor; 0: it is none, or does not say. */
size_t hr_terminal_columns(int fd);
size_t hr_terminal_lines(int fd);
/* Of those, for text: 40 to 100; 80 where there is no terminal. */
size_t hr_text_columns(int fd);

/* Returns false when put does, and stops. */
typedef bool (*hr_put_fn)(void *arg, const char *text, size_t n);
bool hr_fold(struct hr_fold *fold, const char *text, size_t n, hr_put_fn put, void *arg);
/* A whole text, to a stream. */
void hr_fold_print(FILE *out, const char *text, size_t width);

#endif

/* manual.h - the manual: texts in this folder, inside the program, for a terminal and for man.
 *
 * A page is plain text. Its first line is "name - summary"; then
 *
 *     # Heading        and ## one below it
 *     A paragraph begins at the left margin and is filled to the width of the terminal.
 *
 *         a line that begins with a blank is literal: printed as it is
 *
 *     term :: what it means, filled beside the term, up to an empty line or the next term
 *
 * A line "@rows run" stands for what the rows of results mean (json/documents.h). Empty lines are
 * kept. Nothing else is markup. To add a page: write NAME.txt and name it in
 * pages.S.
 *
 * Threads:   one.
 * Test:      tests/unit/manual/test_manual.c
 */
#ifndef HR_MANUAL_MANUAL_H
#define HR_MANUAL_MANUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The i-th page, NULL past the end; the one of that name, NULL: there is none. */
const char *hr_manual_page(size_t i);
const char *hr_manual_find(const char *name);

/* What a page's first line says. The body is what comes behind it. */
struct hr_manual_title {
    char name[32], summary[96];
    const char *body;
};
struct hr_manual_title hr_manual_title(const char *page);

/* Print a page's body (or any such text) in lines of at most `width` columns. Literal lines are as
 * long as they are. */
void hr_manual_print(FILE *out, const char *body, size_t width);

/* The same as the body of a man(7) page. */
void hr_manual_roff(FILE *out, const char *body);

/* --- for printers: a text in blocks --- */

enum hr_block_kind { HR_BLOCK_HEADING, HR_BLOCK_PARAGRAPH, HR_BLOCK_LITERAL, HR_BLOCK_ITEM };

struct hr_text_span {
    const char *text; /* not ended by a NUL */
    size_t length;
};

struct hr_page_block {
    enum hr_block_kind kind;
    bool apart;               /* an empty line stands before it */
    size_t level;             /* of a heading: 1 or 2 */
    struct hr_text_span term; /* of an item */
    struct hr_text_span text; /* lines, without the last newline; of a literal a single one */
};

/* The next block of *body, which moves behind it; false at the end. */
bool hr_block_next(const char **body, struct hr_page_block *out);

/* The next word of a span, which loses it; false when there is none. */
bool hr_span_word(struct hr_text_span *span, struct hr_text_span *word);

#endif

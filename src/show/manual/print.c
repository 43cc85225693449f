/* A page on a terminal: headings at the margin, all else two columns to the right. */
#include <string.h>

#include "manual/manual.h"

enum { INDENT = 2, TERM_MOST = 24 };

/* Words in lines that begin at column `indent` and end before `width`; the first at column `at`. */
static void fill(FILE *out, struct hr_span text, size_t at, size_t indent, size_t width)
{
    struct hr_span word;
    bool first = true;
    while (hr_span_word(&text, &word)) {
        if (!first && at + 1 + word.length > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first)
            at += (size_t)fprintf(out, " ");
        at += fwrite(word.text, 1, word.length, out);
        first = false;
    }
    fputc('\n', out);
}

static void print_item(FILE *out, const struct hr_block *block, size_t column, size_t width)
{
    size_t at = INDENT + block->term.length;
    fprintf(out, "%*s%.*s", INDENT, "", (int)block->term.length, block->term.text);
    if (at + 2 > column) {
        fputc('\n', out);
        at = 0;
    }
    fprintf(out, "%*s", (int)(column - at), "");
    fill(out, block->text, column, column, width);
}

static void print_block(FILE *out, const struct hr_block *block, size_t column, size_t width)
{
    switch (block->kind) {
    case HR_BLOCK_HEADING:
        fprintf(out, "%.*s\n", (int)block->text.length, block->text.text);
        break;
    case HR_BLOCK_PARAGRAPH:
        fprintf(out, "%*s", INDENT, "");
        fill(out, block->text, INDENT, INDENT, width);
        break;
    case HR_BLOCK_LITERAL:
        fprintf(out, "%.*s\n", (int)block->text.length, block->text.text);
        break;
    case HR_BLOCK_ITEM:
        print_item(out, block, column, width);
        break;
    }
}

/* Where the texts of the items from here to the next other block begin: behind the longest term
 * that is not too long. */
static size_t column_of(const char *body, struct hr_block block)
{
    size_t longest = 0;
    do {
        if (block.term.length <= TERM_MOST && block.term.length > longest)
            longest = block.term.length;
    } while (hr_block_next(&body, &block) && block.kind == HR_BLOCK_ITEM);
    return INDENT + (longest ? longest : TERM_MOST) + 2;
}

void hr_manual_print(FILE *out, const char *body, size_t width)
{
    struct hr_block block;
    enum hr_block_kind last = HR_BLOCK_HEADING;
    size_t column = 0;
    for (bool first = true; hr_block_next(&body, &block); first = false) {
        if (block.apart && !first)
            fputc('\n', out);
        if (block.kind == HR_BLOCK_ITEM && last != HR_BLOCK_ITEM)
            column = column_of(body, block);
        print_block(out, &block, column, width);
        last = block.kind;
    }
}

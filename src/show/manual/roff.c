/* A page as man(7) source. */
#include <string.h>

#include "manual/manual.h"

/* A backslash means something to roff, a dot and a quote at the beginning of a line do, and a plain
 * minus sign becomes a hyphen. */
static void letters(FILE *out, struct hr_span text)
{
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.text[i];
        if (i == 0 && (c == '.' || c == '\''))
            fputs("\\&", out);
        if (c == '\\')
            fputs("\\e", out);
        else if (c == '-')
            fputs("\\-", out);
        else
            fputc(c, out);
    }
}

/* Lines of source need not be those of the text: roff fills them. */
static void words(FILE *out, struct hr_span text)
{
    enum { ENOUGH = 72 };
    struct hr_span word;
    size_t at = 0;
    while (hr_span_word(&text, &word)) {
        if (at)
            fputc(at + word.length > ENOUGH ? '\n' : ' ', out);
        at = at + word.length > ENOUGH ? word.length : at + 1 + word.length;
        letters(out, word);
    }
    fputc('\n', out);
}

static void heading(FILE *out, const struct hr_block *block)
{
    fputs(block->level == 1 ? ".SH \"" : ".SS \"", out);
    letters(out, block->text);
    fputs("\"\n", out);
}

/* man indents what the page indents already: of that, `margin` columns go. */
static void literal(FILE *out, struct hr_span text, size_t margin)
{
    while (margin-- > 0 && text.length && text.text[0] == ' ')
        text = (struct hr_span){text.text + 1, text.length - 1};
    fputs("\\&", out);
    letters(out, text);
    fputc('\n', out);
}

static void print_block(FILE *out, const struct hr_block *block, size_t margin)
{
    switch (block->kind) {
    case HR_BLOCK_HEADING:
        heading(out, block);
        break;
    case HR_BLOCK_PARAGRAPH:
        words(out, block->text);
        break;
    case HR_BLOCK_LITERAL:
        literal(out, block->text, margin);
        break;
    case HR_BLOCK_ITEM:
        fputs(".TP\n", out);
        words(out, block->term);
        words(out, block->text);
        break;
    }
}

/* Between literal lines an empty one is a line too; before a paragraph it begins one. */
static void space(FILE *out, const struct hr_block *block, enum hr_block_kind last)
{
    const bool literal = block->kind == HR_BLOCK_LITERAL, was = last == HR_BLOCK_LITERAL;
    if (was && !literal)
        fputs(".EE\n", out);
    if (was && literal && block->apart)
        fputs("\\&\n", out);
    if (!was && literal)
        fputs(last == HR_BLOCK_HEADING ? ".EX\n" : ".PP\n.EX\n", out);
    if (block->kind == HR_BLOCK_PARAGRAPH && last != HR_BLOCK_HEADING)
        fputs(".PP\n", out);
}

void hr_manual_roff(FILE *out, const char *body)
{
    struct hr_block block;
    enum hr_block_kind last = HR_BLOCK_HEADING;
    size_t margin = 0; /* of the first of several literal lines */
    while (hr_block_next(&body, &block)) {
        space(out, &block, last);
        if (last != HR_BLOCK_LITERAL && block.kind == HR_BLOCK_LITERAL)
            margin = strspn(block.text.text, " ");
        print_block(out, &block, margin);
        last = block.kind;
    }
    if (last == HR_BLOCK_LITERAL)
        fputs(".EE\n", out);
}

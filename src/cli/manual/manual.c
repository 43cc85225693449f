/* Pages, read block by block: for a terminal, and as source for man. */
#include "manual/manual.h"

#include <stdlib.h>
#include <string.h>

#include "base/fold.h"
#include "base/size.h"
#include "json/documents.h"

extern const char hr_manual_pages[]; /* pages.S */

static const char rows_of[] = "\n@rows ";

/* A page with what its lines "@rows TABLE" stand for; NULL: no memory. */
static char *with_rows(const char *page)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    const char *at = page;
    for (const char *mark; out && (mark = strstr(at, rows_of)) != NULL;) {
        char table[16];
        const char *name = mark + strlen(rows_of);
        const size_t length = strcspn(name, "\n");
        snprintf(table, sizeof table, "%.*s", (int)length, name);
        fwrite(at, 1, (size_t)(mark + 1 - at), out);
        hr_results_describe(out, table);
        at = name + length + 1;
    }
    if (out)
        fputs(at, out);
    return out && fclose(out) == 0 ? text : NULL;
}

const char *hr_manual_page(size_t i)
{
    static struct {
        const char *page;
        char *text;
    } made[4]; /* of the pages that have rows, until the process ends */
    const char *page = hr_manual_pages;
    size_t m = 0;
    for (; *page && i > 0; i--)
        page += strlen(page) + 1;
    if (!strstr(page, rows_of))
        return *page ? page : NULL;
    while (m + 1 < sizeof made / sizeof *made && made[m].page && made[m].page != page)
        m++;
    if (made[m].page != page) {
        free(made[m].text);
        made[m].text = with_rows(page);
        made[m].page = made[m].text ? page : NULL;
    }
    return made[m].text ? made[m].text : page;
}

static void copy(char *out, size_t size, const char *from, size_t length)
{
    snprintf(out, size, "%.*s", (int)length, from);
}

struct hr_manual_title hr_manual_title(const char *page)
{
    struct hr_manual_title title;
    const size_t line = strcspn(page, "\n"), name = strcspn(page, " ");
    copy(title.name, sizeof title.name, page, name);
    copy(title.summary, sizeof title.summary, page + name + 3, line - name - 3);
    title.body = page + line + strspn(page + line, "\n");
    return title;
}

const char *hr_manual_find(const char *name)
{
    const char *page;
    for (size_t i = 0; (page = hr_manual_page(i)) != NULL; i++)
        if (!strcmp(hr_manual_title(page).name, name))
            return page;
    return NULL;
}

/* --- blocks --- */

static const char term_end[] = " :: ";

static struct hr_text_span line_at(const char *text)
{
    return (struct hr_text_span){text, strcspn(text, "\n")};
}

static const char *behind(struct hr_text_span line)
{
    const char *end = line.text + line.length;
    return end + (*end == '\n');
}

/* Where the term of an item ends; NULL: the line begins none. */
static const char *term_of(struct hr_text_span line)
{
    return memmem(line.text, line.length, term_end, strlen(term_end));
}

static enum hr_block_kind kind_of(struct hr_text_span line)
{
    if (line.text[0] == ' ')
        return HR_BLOCK_LITERAL;
    if (line.text[0] == '#')
        return HR_BLOCK_HEADING;
    return term_of(line) ? HR_BLOCK_ITEM : HR_BLOCK_PARAGRAPH;
}

/* Lines belong to a paragraph or an item until something else begins. */
static void add_lines(const char **body, struct hr_text_span *text)
{
    for (struct hr_text_span line = line_at(*body);
         line.length && kind_of(line) == HR_BLOCK_PARAGRAPH; line = line_at(*body)) {
        text->length = (size_t)(line.text + line.length - text->text);
        *body = behind(line);
    }
}

static void drop(struct hr_text_span *span, size_t letters)
{
    span->text += letters;
    span->length -= letters;
}

bool hr_block_next(const char **body, struct hr_page_block *out)
{
    const size_t empty = strspn(*body, "\n");
    const struct hr_text_span line = line_at(*body += empty);
    if (!line.length)
        return false;
    *out = (struct hr_page_block){.kind = kind_of(line), .apart = empty > 0, .text = line};
    *body = behind(line);
    if (out->kind == HR_BLOCK_HEADING) {
        out->level = strspn(line.text, "#");
        drop(&out->text, strspn(line.text, "# "));
    }
    if (out->kind == HR_BLOCK_ITEM) {
        out->term = (struct hr_text_span){line.text, (size_t)(term_of(line) - line.text)};
        drop(&out->text, out->term.length + strlen(term_end));
    }
    if (out->kind == HR_BLOCK_ITEM || out->kind == HR_BLOCK_PARAGRAPH)
        add_lines(body, &out->text);
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n';
}

bool hr_span_word(struct hr_text_span *span, struct hr_text_span *word)
{
    while (span->length && is_blank(span->text[0]))
        drop(span, 1);
    *word = (struct hr_text_span){span->text, 0};
    while (span->length && !is_blank(span->text[0])) {
        drop(span, 1);
        word->length++;
    }
    return word->length > 0;
}

/* A page on a terminal: headings at the margin, all else two columns to the right. */

enum { INDENT = 2, TERM_MOST = 24 };

/* Words in lines that begin at column `indent` and end before `width`; the first at column `at`. */
static void fill(FILE *out, struct hr_text_span text, size_t at, size_t indent, size_t width)
{
    struct hr_text_span word;
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

static void print_item(FILE *out, const struct hr_page_block *block, size_t column, size_t width)
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

static void print_block(FILE *out, const struct hr_page_block *block, size_t column, size_t width)
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
static size_t column_of(const char *body, struct hr_page_block block)
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
    struct hr_page_block block;
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

/* A page as man(7) source. */

/* A backslash means something to roff, a dot and a quote at the beginning of a line do, and a plain
 * minus sign becomes a hyphen. */
static void letters(FILE *out, struct hr_text_span text)
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
static void words(FILE *out, struct hr_text_span text)
{
    enum { ENOUGH = 72 };
    struct hr_text_span word;
    size_t at = 0;
    while (hr_span_word(&text, &word)) {
        if (at)
            fputc(at + word.length > ENOUGH ? '\n' : ' ', out);
        at = at + word.length > ENOUGH ? word.length : at + 1 + word.length;
        letters(out, word);
    }
    fputc('\n', out);
}

static void heading(FILE *out, const struct hr_page_block *block)
{
    fputs(block->level == 1 ? ".SH \"" : ".SS \"", out);
    letters(out, block->text);
    fputs("\"\n", out);
}

/* man indents what the page indents already: of that, `margin` columns go. */
static void literal(FILE *out, struct hr_text_span text, size_t margin)
{
    while (margin-- > 0 && text.length && text.text[0] == ' ')
        text = (struct hr_text_span){text.text + 1, text.length - 1};
    fputs("\\&", out);
    letters(out, text);
    fputc('\n', out);
}

static void print_roff(FILE *out, const struct hr_page_block *block, size_t margin)
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
static void space(FILE *out, const struct hr_page_block *block, enum hr_block_kind last)
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
    struct hr_page_block block;
    enum hr_block_kind last = HR_BLOCK_HEADING;
    size_t margin = 0; /* of the first of several literal lines */
    while (hr_block_next(&body, &block)) {
        space(out, &block, last);
        if (last != HR_BLOCK_LITERAL && block.kind == HR_BLOCK_LITERAL)
            margin = strspn(block.text.text, " ");
        print_roff(out, &block, margin);
        last = block.kind;
    }
    if (last == HR_BLOCK_LITERAL)
        fputs(".EE\n", out);
}

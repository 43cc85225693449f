#include "manual/manual.h"

#include <stdlib.h>
#include <string.h>

#include "base/fold.h"
#include "base/size.h"
#include "json/results.h"

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
        hr_results_tell(out, table);
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

size_t hr_manual_width(int fd)
{
    enum { LEAST = 40, MOST = 100, USUAL = 80 };
    const size_t columns = hr_terminal_columns(fd);
    return columns ? hr_max_size(LEAST, hr_min_size(MOST, columns)) : USUAL;
}

/* --- blocks --- */

static const char term_end[] = " :: ";

static struct hr_span line_at(const char *text)
{
    return (struct hr_span){text, strcspn(text, "\n")};
}

static const char *behind(struct hr_span line)
{
    const char *end = line.text + line.length;
    return end + (*end == '\n');
}

/* Where the term of an item ends; NULL: the line begins none. */
static const char *term_of(struct hr_span line)
{
    return memmem(line.text, line.length, term_end, strlen(term_end));
}

static enum hr_block_kind kind_of(struct hr_span line)
{
    if (line.text[0] == ' ')
        return HR_BLOCK_LITERAL;
    if (line.text[0] == '#')
        return HR_BLOCK_HEADING;
    return term_of(line) ? HR_BLOCK_ITEM : HR_BLOCK_PARAGRAPH;
}

/* Lines belong to a paragraph or an item until something else begins. */
static void add_lines(const char **body, struct hr_span *text)
{
    for (struct hr_span line = line_at(*body); line.length && kind_of(line) == HR_BLOCK_PARAGRAPH;
         line = line_at(*body)) {
        text->length = (size_t)(line.text + line.length - text->text);
        *body = behind(line);
    }
}

static void drop(struct hr_span *span, size_t letters)
{
    span->text += letters;
    span->length -= letters;
}

bool hr_block_next(const char **body, struct hr_block *out)
{
    const size_t empty = strspn(*body, "\n");
    const struct hr_span line = line_at(*body += empty);
    if (!line.length)
        return false;
    *out = (struct hr_block){.kind = kind_of(line), .apart = empty > 0, .text = line};
    *body = behind(line);
    if (out->kind == HR_BLOCK_HEADING) {
        out->level = strspn(line.text, "#");
        drop(&out->text, strspn(line.text, "# "));
    }
    if (out->kind == HR_BLOCK_ITEM) {
        out->term = (struct hr_span){line.text, (size_t)(term_of(line) - line.text)};
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

bool hr_span_word(struct hr_span *span, struct hr_span *word)
{
    while (span->length && is_blank(span->text[0]))
        drop(span, 1);
    *word = (struct hr_span){span->text, 0};
    while (span->length && !is_blank(span->text[0])) {
        drop(span, 1);
        word->length++;
    }
    return word->length > 0;
}

#include "terminal/grid.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

static struct hr_grid_column *add(struct hr_grid *table, const char *head, size_t length)
{
    struct hr_grid_column *column = &table->column[table->n++];
    const bool left = head[0] == '-';
    HR_ASSERT(table->n <= HR_GRID_COLUMNS && length < sizeof column->head);
    *column = (struct hr_grid_column){.left = left};
    memcpy(column->head, head + left, length - left);
    return column;
}

struct hr_grid_column *hr_grid_add(struct hr_grid *table, const char *head)
{
    return add(table, head, strlen(head));
}

/* Without memory it shows nothing. */
void hr_grid_begin(struct hr_grid *table, const char *heads)
{
    *table = (struct hr_grid){.cells = open_memstream(&table->text, &table->bytes)};
    if (!table->cells)
        table->cells = fopen("/dev/null", "we");
    HR_ASSERT(table->cells);
    for (size_t length; *heads; heads += length + (heads[length] == '\t')) {
        length = strcspn(heads, "\t");
        add(table, heads, length);
        if (heads[length] && !heads[length + 1])
            add(table, "", 0);
    }
}

/* The next piece of *rest, cut off in place at any of `ends`; *end is what stood there. */
static char *next_piece(char **rest, const char *ends, char *end)
{
    char *piece = *rest;
    const size_t length = strcspn(piece, ends);
    *end = piece[length];
    *rest = piece + length + (*end != '\0');
    piece[length] = '\0';
    return piece;
}

/* Of a cell as it is shown. */
static size_t width_of(const struct hr_grid_column *column, const char *text)
{
    const size_t width = hr_style_columns(text);
    return column->most ? hr_min_size(width, column->most) : width;
}

static void widen(struct hr_grid_column *column, const char *text)
{
    column->fit.width = hr_max_size(column->fit.width, width_of(column, text));
}

/* --- lines: blanks stand before what follows them, none at an end --- */

struct line {
    const struct hr_grid *table;
    FILE *out;
    size_t blanks;
    bool any;
};

static void put(struct line *line, size_t c, const char *text)
{
    const struct hr_grid_column *column = &line->table->column[c];
    if (!column->fit.shown)
        return;
    const size_t width = width_of(column, text), rest = column->fit.width - width;
    line->blanks += (line->any ? 2 : 0) + (column->left ? 0 : rest);
    line->any = true;
    if (width > 0) {
        fprintf(line->out, "%*s%.*s", (int)line->blanks, "",
                (int)(column->most ? hr_style_cut(text, column->most) : strlen(text)), text);
        line->blanks = 0;
    }
    line->blanks += column->left ? rest : 0;
}

/* Line 0 of a head, or 1, behind which blanks may stand; of one that has a single line, line 1. */
static const char *line_of_head(const struct hr_grid_column *column, int number, char text[128])
{
    const char *second = strchr(column->head, '\n');
    const char *from = second && number ? second + 1 : column->head;
    const int length = second && !number ? (int)(second - from) : second || number ? 127 : 0;
    snprintf(text, 128, "%.*s", length, from);
    return text;
}

static void print_heads(struct hr_grid *table, FILE *out)
{
    char text[128];
    bool two = false, any = false;
    for (size_t c = 0; c < table->n; c++) {
        two |= table->column[c].fit.shown && strchr(table->column[c].head, '\n');
        any |= table->column[c].head[0] != '\0';
    }
    for (int number = !two; number < 2 && any; number++) {
        struct line line = {.table = table, .out = out};
        for (size_t c = 0; c < table->n; c++) {
            line_of_head(&table->column[c], number, text);
            size_t end = strlen(text);
            while (end && text[end - 1] == ' ')
                text[--end] = '\0';
            put(&line, c, text);
        }
        fputc('\n', out);
    }
    table->begun = true;
}

/* Every cell of every row that is not shown yet, to `out` or (NULL) to be measured. */
static void walk(struct hr_grid *table, FILE *out)
{
    char end, *at = table->text + table->shown;
    while (table->text && *at) {
        const bool row = at[strcspn(at, "\t\n")] == '\t';
        struct line line = {.table = table, .out = out};
        size_t c = 0;
        if (row && hr_is_yield(*at) && out)
            fputc(*at, out);
        at += row && hr_is_yield(*at);
        do {
            char *cell = next_piece(&at, "\t\n", &end);
            if (row && c < table->n && out)
                put(&line, c, cell);
            else if (row && c < table->n) {
                table->column[c].said |= cell[0] != '\0';
                widen(&table->column[c], cell);
            } else if (out)
                fputs(cell, out);
            cell[strlen(cell)] = end;
            c++;
        } while (end == '\t');
        if (out)
            fputc('\n', out);
    }
}

/* Where nothing came all columns are there; where rows come one by one, too. */
static void measure(struct hr_grid *table, bool all)
{
    char text[128];
    fflush(table->cells);
    walk(table, NULL);
    for (size_t c = 0; c < table->n && !table->begun; c++) {
        struct hr_grid_column *column = &table->column[c];
        column->fit.shown = all || column->said || !table->bytes;
        for (int number = 0; number < 2; number++)
            column->fit.width = hr_max_size(column->fit.width,
                                            hr_style_columns(line_of_head(column, number, text)));
    }
}

static void show(struct hr_grid *table, FILE *out)
{
    if (!table->begun)
        print_heads(table, out);
    walk(table, out);
    table->shown = table->bytes;
}

void hr_grid_flush(struct hr_grid *table, FILE *out)
{
    measure(table, true);
    show(table, out);
}

size_t hr_grid_width(struct hr_grid *table)
{
    size_t width = 0;
    measure(table, false);
    for (size_t c = 0; c < table->n; c++)
        if (table->column[c].fit.shown)
            width += table->column[c].fit.width + (width ? 2 : 0);
    return width;
}

void hr_grid_squeeze(struct hr_grid *table, size_t c, size_t width)
{
    enum { LEAST = 8 };
    struct hr_grid_column *column = &table->column[c];
    const size_t all = hr_grid_width(table);
    if (!width || all <= width)
        return;
    column->most =
        hr_max_size(column->fit.width - hr_min_size(all - width, column->fit.width), LEAST);
    column->fit.width = 0; /* it is measured again */
}

/* "no room for: lr, wait %; --wide shows all" */
static void name_hidden(const struct hr_grid *table, FILE *out)
{
    const char *before = "no room for: ";
    for (size_t c = 0; c < table->n; c++) {
        const struct hr_grid_column *column = &table->column[c];
        const int over = (int)strcspn(column->head, "\n");
        if (column->fit.shown || !(column->said || !table->bytes))
            continue;
        fprintf(out, "%s%.*s%s%s", before, over, column->head,
                over && column->head[over] ? " " : "",
                column->head + over + (column->head[over] != '\0'));
        before = ", ";
    }
    if (table->also)
        fprintf(out, "%s%s", before, table->also);
    if (before[0] == ',' || table->also)
        fprintf(out, "%s\n", table->cure ? table->cure : "");
}

void hr_grid_end(struct hr_grid *table, FILE *out, size_t width)
{
    struct hr_fitted fit[HR_GRID_COLUMNS];
    measure(table, false);
    for (size_t c = 0; c < table->n; c++)
        fit[c] = table->column[c].fit;
    hr_fit(fit, table->n, width);
    for (size_t c = 0; c < table->n; c++)
        table->column[c].fit.shown = fit[c].shown;
    if (out)
        show(table, out);
    if (out && width)
        name_hidden(table, out);
    fclose(table->cells);
    free(table->text);
}

/* Measurements: a row each, of whatever kind. Fields that all rows share are said once; those that
 * differ are columns; and what was measured is a bar, beside others of the same size. */
#include "page/sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/bench_lines.h"
#include "page/html.h"

enum { FIELDS = 64, ROWS_SHOWN = 2000 };

/* A column: a field, or a part of one: "time_us", "p50". */
struct field {
    const char *key, *part; /* part NULL: the field itself */
    bool number, varies;
};

struct table {
    const json_t *rows;
    const json_t **sorted; /* (nsorted) owned: by operation, then by size */
    size_t nsorted;
    struct field field[FIELDS];
    size_t n, measured; /* n: none */
};

static const json_t *value_of(const json_t *row, const struct field *field)
{
    const json_t *value = json_object_get(row, field->key);
    return field->part ? json_object_get(value, field->part) : value;
}

static bool is_shown(const json_t *value)
{
    return json_is_number(value) || json_is_string(value) || json_is_boolean(value);
}

/* --- fields --- */

static void note(struct table *table, const char *key, const char *part, const json_t *value)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct field *field = &table->field[i];
        if (!strcmp(field->key, key) && !part == !field->part &&
            (!part || !strcmp(field->part, part)))
            return;
    }
    if (table->n < FIELDS && is_shown(value))
        table->field[table->n++] = (struct field){.key = key, .part = part};
}

static void note_row(struct table *table, const json_t *row)
{
    const char *key, *part;
    const json_t *value, *inner;
    json_object_foreach((json_t *)row, key, value)
    {
        note(table, key, NULL, value);
        json_object_foreach((json_t *)value, part, inner)
        {
            note(table, key, part, inner);
        }
    }
}

/* By what rows are compared. */
static size_t find_measured(const struct table *table)
{
    static const char *const names[][2] = {
        {"time_us", "p50"}, {"samples_per_s", NULL}, {"measured", "samples_per_s"},
        {"seconds", NULL},  {"busbw_gbs", NULL},     {"bubble", NULL}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (size_t i = 0; i < table->n; i++) {
            const struct field *field = &table->field[i];
            if (!strcmp(field->key, names[k][0]) && !names[k][1] == !field->part &&
                (!field->part || !strcmp(field->part, names[k][1])))
                return i;
        }
    return table->n;
}

/* So that what is compared stands together; rows of one size stay in their order. */
struct place {
    const json_t *row;
    size_t op, at; /* the first row of its operation; its own place */
};

static int by_size(const void *a, const void *b)
{
    const struct place *p = a, *q = b;
    const double x = hr_field_number(p->row, "bytes"), y = hr_field_number(q->row, "bytes");
    if (p->op != q->op)
        return p->op < q->op ? -1 : 1;
    if (x < y || x > y)
        return x < y ? -1 : 1;
    return (p->at > q->at) - (p->at < q->at);
}

static size_t first_of_op(const json_t *rows, const json_t *of)
{
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        if (!strcmp(hr_field_text(row, "op"), hr_field_text(of, "op")))
            return i;
    }
    return 0;
}

static bool sort_rows(struct table *table)
{
    const size_t n = json_array_size(table->rows);
    struct place *place = calloc(n + 1, sizeof *place);
    table->sorted = calloc(n + 1, sizeof *table->sorted);
    if (!place || !table->sorted) {
        free(place);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(table->rows, i);
        place[i] = (struct place){row, first_of_op(table->rows, row), i};
    }
    qsort(place, n, sizeof *place, by_size);
    for (size_t i = 0; i < n; i++)
        table->sorted[table->nsorted++] = place[i].row;
    free(place);
    return true;
}

static enum hr_status read_rows(struct table *table, const json_t *rows)
{
    size_t i;
    const json_t *row;
    *table = (struct table){.rows = rows};
    if (!sort_rows(table))
        return hr_fail(HR_E_NOMEM, "no memory for %zu measurements", json_array_size(rows));
    json_array_foreach(rows, i, row)
    {
        note_row(table, row);
    }
    for (size_t f = 0; f < table->n; f++) {
        struct field *field = &table->field[f];
        const json_t *first = value_of(json_array_get(rows, 0), field);
        json_array_foreach(rows, i, row)
        {
            const json_t *value = value_of(row, field);
            field->number = field->number || json_is_number(value);
            if (value != first && !json_equal(value, first))
                field->varies = true;
        }
    }
    table->measured = find_measured(table);
    return HR_OK;
}

/* --- bars --- */

/* The largest of the measure among rows of the same operation and size. */
static double block_most(const struct table *table, const json_t *of)
{
    double most = 0;
    size_t i;
    const json_t *row;
    json_array_foreach(table->rows, i, row)
    {
        if (!strcmp(hr_field_text(row, "op"), hr_field_text(of, "op")) &&
            json_equal(json_object_get(row, "bytes"), json_object_get(of, "bytes")))
            most = fmax(most, hr_value_number(value_of(row, &table->field[table->measured])));
    }
    return most;
}

static void write_bar(FILE *out, const struct table *table, const json_t *row)
{
    const double value = hr_value_number(value_of(row, &table->field[table->measured]));
    const double most = block_most(table, row);
    fputs("<td class=\"wide\"><div class=\"bar plain\" aria-hidden=\"true\">", out);
    if (most > 0 && value >= 0 && isfinite(value / most))
        fprintf(out, "<i class=\"p1\" style=\"width:%.2f%%\"></i>", 100 * value / most);
    fputs("</div></td>", out);
}

/* --- the table --- */

/* "time_us" "p50" -> "time, µs, p50" */
static void say_field(FILE *out, const struct field *field)
{
    static const char *const units[][2] = {
        {"_us", ", µs"}, {"_gbs", ", GB/s"}, {"_per_s", "/s"}, {"_seconds", ", s"}};
    const size_t length = strlen(field->key);
    size_t kept = length;
    const char *unit = "";
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        const size_t tail = strlen(units[u][0]);
        if (length > tail && !strcmp(field->key + length - tail, units[u][0])) {
            kept = length - tail;
            unit = units[u][1];
        }
    }
    for (size_t i = 0; i < kept; i++)
        if (field->key[i] == '_')
            fputc(' ', out);
        else if ((unsigned char)field->key[i] >= 0x80)
            fputc(field->key[i], out); /* part of a letter */
        else
            hr_html_say(out, "%c", field->key[i]);
    hr_html_say(out, "%s%s%s", unit, field->part ? ", " : "", field->part ? field->part : "");
}

static void write_value(FILE *out, const json_t *value, bool number)
{
    if (number)
        hr_html_cell_number(out, hr_value_number(value), 5);
    else if (json_is_boolean(value))
        hr_html_cell(out, json_is_true(value) ? "yes" : "no");
    else
        hr_html_cell(out, json_is_string(value) ? json_string_value(value) : "");
}

static void write_table(FILE *out, const struct table *table)
{
    hr_html_table(out, "Measurements", "values bars bench-values");
    fputs("<thead>\n<tr>", out);
    for (size_t f = 0; f < table->n; f++) {
        if (f == table->measured)
            fputs("<td class=\"wide\"></td>", out);
        if (!table->field[f].varies && f != table->measured)
            continue;
        fprintf(out, "<th scope=\"col\"%s>", table->field[f].number ? " class=\"n\"" : "");
        say_field(out, &table->field[f]);
        fputs("</th>", out);
    }
    fputs("</tr>\n</thead>\n<tbody>\n", out);
    for (size_t i = 0; i < table->nsorted && i < ROWS_SHOWN; i++) {
        const json_t *row = table->sorted[i];
        fputs("<tr>", out);
        for (size_t f = 0; f < table->n; f++) {
            if (f == table->measured)
                write_bar(out, table, row);
            if (table->field[f].varies || f == table->measured)
                write_value(out, value_of(row, &table->field[f]), table->field[f].number);
        }
        fputs("</tr>\n", out);
    }
    hr_html_table_end(out);
    if (json_array_size(table->rows) > ROWS_SHOWN)
        fprintf(out, "<p class=\"note\">The first %d measurements of %zu.</p>\n", ROWS_SHOWN,
                json_array_size(table->rows));
}

static void write_shared(FILE *out, const struct table *table)
{
    const json_t *row = json_array_get(table->rows, 0);
    size_t n = 0;
    for (size_t f = 0; f < table->n; f++) {
        const json_t *value = value_of(row, &table->field[f]);
        char number[HR_NUMBER_MAX];
        if (table->field[f].varies || f == table->measured || json_is_boolean(value))
            continue;
        fputs(n++ ? ", " : "<p class=\"note\">In all of them: ", out);
        say_field(out, &table->field[f]);
        hr_html_say(out, " %s",
                    json_is_string(value) ? json_string_value(value)
                                          : hr_number_text(number, hr_value_number(value), 5));
    }
    if (n)
        fputs(".</p>\n", out);
}

bool hr_bench_there(const struct hr_view *view)
{
    for (size_t s = 0; s < view->nsources; s++)
        if (json_is_object(json_array_get(json_object_get(view->source[s].document, "rows"), 0)))
            return true;
    return false;
}

enum hr_status hr_bench_write(FILE *out, const struct hr_view *view)
{
    hr_html_section(out, "measurements", "Measurements");
    for (size_t s = 0; s < view->nsources; s++) {
        const json_t *rows = hr_field_list(view->source[s].document, "rows");
        if (!json_is_object(json_array_get(rows, 0)))
            continue;
        struct table table;
        if (view->nsources > 1) {
            fputs("<h3>", out);
            hr_html_text(out, view->source[s].name);
            fputs("</h3>\n", out);
        }
        HR_TRY(read_rows(&table, rows));
        hr_bench_lines_write(out, rows, s);
        write_shared(out, &table);
        write_table(out, &table);
        free(table.sorted);
    }
    hr_html_section_end(out);
    return HR_OK;
}

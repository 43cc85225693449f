#include "formats/csv_fields.h"

#include <string.h>

#include "base/size.h"
#include "data/bytes.h"

enum hr_status hr_csv_fail_at(const struct hr_csv_reader *r, const struct hr_csv_field *f,
                              const char *what)
{
    return hr_fail(HR_E_FORMAT, "%s: line %zu, column %zu: %s", r->name, r->line, f->column, what);
}

static bool at_break(const struct hr_csv_reader *r)
{
    return r->at < r->end &&
           (*r->at == '\n' || (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n'));
}

/* What follows a field: a separator, a line break, or the end. */
static void pass_end(struct hr_csv_reader *r, struct hr_csv_field *f)
{
    f->last = r->at == r->end || *r->at != r->separator;
    if (r->at == r->end)
        return;
    if (f->last) {
        r->at += *r->at == '\r' ? 2 : 1;
        r->below++;
    } else {
        r->at++;
    }
}

static void pass_blanks(struct hr_csv_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t') && *r->at != r->separator)
        r->at++;
}

static enum hr_status read_quoted(struct hr_csv_reader *r, struct hr_csv_field *f)
{
    f->quoted = true;
    f->text = r->scratch;
    for (r->at++; r->at < r->end; r->at++) {
        if (*r->at == '"' && (r->at + 1 == r->end || r->at[1] != '"'))
            break;
        r->at += *r->at == '"';
        r->below += *r->at == '\n';
        if (f->bytes < HR_CSV_MAX_FIELD)
            r->scratch[f->bytes++] = *r->at;
    }
    if (r->at == r->end)
        return hr_csv_fail_at(r, f, "a quote is not closed, expected another \"");
    r->at++;
    pass_blanks(r);
    if (r->at < r->end && *r->at != r->separator && !at_break(r))
        return hr_csv_fail_at(r, f, "text follows the closing quote, expected a separator");
    return HR_OK;
}

static enum hr_status read_plain(struct hr_csv_reader *r, struct hr_csv_field *f)
{
    f->text = r->at;
    for (; r->at < r->end && *r->at != r->separator && !at_break(r); r->at++)
        if (*r->at == '"' || *r->at == '\0' || *r->at == '\r')
            return hr_csv_fail_at(
                r, f,
                *r->at == '"'    ? "a quote inside a field without quotes, expected \"...\""
                : *r->at == '\r' ? "a carriage return and no line feed behind it, which ends no "
                                   "line; expected both, or a line feed alone"
                                 : "a byte 0, expected text");
    f->bytes = hr_min_size((size_t)(r->at - f->text), HR_CSV_MAX_FIELD);
    while (f->bytes && (f->text[f->bytes - 1] == ' ' || f->text[f->bytes - 1] == '\t'))
        f->bytes--;
    return HR_OK;
}

enum hr_status hr_csv_next_field(struct hr_csv_reader *r, struct hr_csv_field *f)
{
    *f = (struct hr_csv_field){.column = f->column + 1};
    pass_blanks(r);
    if (r->at < r->end && *r->at == '"')
        HR_TRY(read_quoted(r, f));
    else
        HR_TRY(read_plain(r, f));
    pass_end(r, f);
    return HR_OK;
}

/* 1,5;2;-3,25: are the commas of a line without quotes those of numbers between semicolons? */
static bool has_decimal_commas(const char *at, const char *end)
{
    for (bool last = false; !last;) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        last = !stop;
        stop = stop ? stop : end;
        const char *comma = memchr(at, ',', (size_t)(stop - at));
        for (const char *c = at; comma && c < stop; c++)
            if ((*c == ',' && c != comma) || !*c || !strchr("0123456789+-eE, \r", *c))
                return false;
        at = stop + 1;
    }
    return true;
}

static void find_separator(struct hr_csv_reader *r)
{
    static const char candidates[] = HR_CSV_SEPARATORS;
    enum { N = sizeof candidates - 1 };
    size_t found[N] = {0}, best = 0;
    bool quoted = false;
    const char *at = r->at;
    for (; at < r->end && (quoted || *at != '\n'); at++) {
        quoted ^= *at == '"';
        for (size_t i = 0; i < N && !quoted; i++)
            found[i] += *at == candidates[i];
    }
    for (size_t i = 1; i < N; i++)
        best = found[i] > found[best] ? i : best;
    r->separator = candidates[best];
    if (r->separator == ',' && found[2] && has_decimal_commas(r->at, at))
        r->separator = candidates[2];
}

bool hr_csv_next_record(struct hr_csv_reader *r)
{
    r->line += r->below;
    r->below = 0;
    for (; at_break(r); r->line++)
        r->at += *r->at == '\r' ? 2 : 1;
    return r->at < r->end;
}

/* Separators of the line that it stands at. */
static size_t count_separators(const struct hr_csv_reader *r, char separator)
{
    size_t n = 0;
    for (const char *at = r->at; at < r->end && *at != '\n'; at++)
        n += *at == separator;
    return n;
}

/* A header may begin with #, too: then it has as many columns as the line below it. */
static bool pass_comment(struct hr_csv_reader *r)
{
    struct hr_csv_reader below = *r;
    const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    if (*r->at != '#' || !end)
        return false;
    below.at = end;
    if (!hr_csv_next_record(&below))
        return false;
    find_separator(&below);
    if (*below.at != '#' &&
        count_separators(r, below.separator) == count_separators(&below, below.separator))
        return false;
    below.comments++;
    *r = below;
    return true;
}

bool hr_csv_begin(struct hr_csv_reader *r)
{
    r->at += hr_bytes_mark(r->at, (size_t)(r->end - r->at));
    if (!hr_csv_next_record(r))
        return false;
    while (pass_comment(r)) {
    }
    find_separator(r);
    return true;
}

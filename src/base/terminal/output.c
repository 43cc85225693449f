#include "terminal/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/fold.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/printable.h"
#include "base/signals.h"
#include "base/size.h"

/* --- fit --- */

static size_t line_of(const struct hr_fitted *column, size_t n, size_t *shown)
{
    size_t width = 0;
    *shown = 0;
    for (size_t c = 0; c < n; c++)
        if (column[c].shown)
            width += column[c].width + ((*shown)++ ? 2 : 0);
    return width;
}

void hr_fit(struct hr_fitted *column, size_t n, size_t room)
{
    size_t most = 0, shown;
    while (room && most < n && line_of(column, n, &shown) > room && shown > 1) {
        most = n;
        for (size_t c = 0; c < n; c++)
            if (column[c].shown && column[c].expendable > 0 &&
                (most == n || column[c].expendable >= column[most].expendable))
                most = c;
        if (most < n)
            column[most].shown = false;
    }
}

/* --- style --- */

static const char marks[HR_STYLES][2] = {"\x01", "\x02", "\x03", "\x04", "\x05", "\x06"};
static const char *const sequences[HR_STYLES] = {"\x1b[0m",  "\x1b[1m",  "\x1b[2m",
                                                 "\x1b[32m", "\x1b[33m", "\x1b[31m"};
const char hr_style_marks[] = "\x01\x02\x03\x04\x05\x06";

static const FILE *allowed[2];

bool hr_terminal_redraws(int fd)
{
    const char *term = getenv("TERM");
    return fd >= 0 && isatty(fd) && term && term[0] && strcmp(term, "dumb") != 0;
}

bool hr_style_wanted(const char *choice, int fd)
{
    const char *no = getenv("NO_COLOR");
    if (strcmp(choice, "auto") != 0)
        return !strcmp(choice, "always");
    return !(no && no[0]) && hr_terminal_redraws(fd);
}

void hr_style_allow(const FILE *stream)
{
    allowed[allowed[0] != NULL] = stream;
}

const char *hr_style(const FILE *stream, enum hr_style style)
{
    return stream && (stream == allowed[0] || stream == allowed[1]) ? marks[style] : "";
}

static bool is_mark(char c)
{
    return c >= marks[0][0] && c < marks[0][0] + HR_STYLES;
}

bool hr_style_put(const char *text, size_t n, hr_style_put_fn put, void *arg)
{
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && !is_mark(text[end]))
            end++;
        if (end > i && !put(arg, text + i, end - i))
            return false;
        if (end < n) {
            const char *sequence = sequences[text[end++] - marks[0][0]];
            if (!put(arg, sequence, strlen(sequence)))
                return false;
        }
        i = end;
    }
    return true;
}

/* Bytes of UTF-8 that do not continue a character. */
static bool takes_a_column(char c)
{
    return !is_mark(c) && ((unsigned char)c & 0xc0) != 0x80;
}

size_t hr_style_columns(const char *text)
{
    size_t columns = 0;
    for (; *text; text++)
        columns += takes_a_column(*text);
    return columns;
}

size_t hr_style_cut(const char *text, size_t columns)
{
    size_t bytes = 0;
    for (size_t used = 0; text[bytes]; bytes++) {
        used += takes_a_column(text[bytes]);
        if (used > columns)
            break;
    }
    return bytes;
}

/* --- output --- */

enum { LEAST = 20, MOST = 1000 }; /* columns that are believed */

struct filter {
    int fd, error; /* error: errno of the first write that failed */
    bool colour;
    struct hr_printable_state state;
    struct hr_fold fold;
    char page[8192]; /* what comes in one call leaves in one, where it can: others print, too */
    size_t used;
    FILE *held; /* NULL: nothing waits */
    char *text; /* of it */
    size_t bytes;
};

static struct filter out = {.fd = STDOUT_FILENO}, err = {.fd = STDERR_FILENO};
static FILE *terminal;
static char kept_marks[16]; /* where there is colour */

static bool flush_page(struct filter *filter)
{
    const size_t n = filter->used;
    filter->used = 0;
    if (hr_write_all(filter->fd, filter->page, n))
        return true;
    filter->error = filter->error ? filter->error : errno;
    return false;
}

static bool write_bytes(void *cookie, const char *text, size_t n)
{
    struct filter *filter = cookie;
    while (n > 0) {
        const size_t more = hr_min_size(n, sizeof filter->page - filter->used);
        memcpy(filter->page + filter->used, text, more);
        filter->used += more;
        text += more;
        n -= more;
        if (filter->used == sizeof filter->page && !flush_page(filter))
            return false;
    }
    return true;
}

/* Colour last: what comes before counts characters. */
static bool write_all(void *cookie, const char *text, size_t n)
{
    struct filter *filter = cookie;
    return filter->colour ? hr_style_put(text, n, write_bytes, filter)
                          : write_bytes(filter, text, n);
}

static ssize_t write_printable(void *cookie, const char *text, size_t n)
{
    struct filter *filter = cookie;
    char piece[4096];
    if (filter->held)
        return fwrite(text, 1, n, filter->held) == n ? (ssize_t)n : 0;
    for (size_t done = 0; done < n;) {
        const size_t bytes = hr_min_size(n - done, sizeof piece);
        memcpy(piece, text + done, bytes);
        hr_make_printable(&filter->state, piece, bytes, filter->colour ? kept_marks : "\n\t");
        if (!hr_fold(&filter->fold, piece, bytes, write_all, filter))
            return 0;
        done += bytes;
    }
    return flush_page(filter) ? (ssize_t)n : 0;
}

/* `stream` itself when there is no memory for another. */
static FILE *filtered(struct filter *filter, FILE *stream, int buffering)
{
    FILE *file = fopencookie(filter, "w", (cookie_io_functions_t){.write = write_printable});
    if (file)
        setvbuf(file, NULL, buffering, BUFSIZ);
    return file ? file : stream;
}

/* Columns of a terminal; 0: it is none, or does not say. COLUMNS is obeyed in any case. */
static size_t width_of(int fd)
{
    const char *said = getenv("COLUMNS");
    uint64_t columns;
    if (said && hr_parse_count(said, &columns) && columns >= LEAST && columns <= MOST)
        return columns;
    columns = hr_terminal_columns(fd);
    return columns >= LEAST ? columns : 0;
}

size_t hr_output_width(void)
{
    return out.fold.width;
}

static bool whole, all_stands;

static size_t columns_of_log(void)
{
    return whole || !isatty(err.fd) ? 0 : width_of(err.fd);
}

void hr_output_fold(bool wide, bool all)
{
    whole = wide;
    all_stands = all;
    out.fold.width = wide ? 0 : width_of(out.fd);
    err.fold.width = wide || !isatty(err.fd) ? 0 : width_of(err.fd); /* a line an error */
}

void hr_output_colour(const char *choice)
{
    snprintf(kept_marks, sizeof kept_marks, "\n\t%s", hr_style_marks);
    out.colour = hr_style_wanted(choice, out.fd);
    err.colour = hr_style_wanted(choice, err.fd);
    if (out.colour)
        hr_style_allow(stdout);
    if (err.colour)
        hr_style_allow(stderr);
    hr_log_look(columns_of_log, err.colour);
}

/* --- a command's end, on one screen --- */

static const char yield_marks[HR_YIELDS][2] = {"\x0e", "\x0f", "\x10", "\x11"};

enum { SCREEN = 24, BESIDE = 4, CUT = 2 }; /* lines; beside: the prompt, and what was asked */

const char *hr_yields(const FILE *stream, enum hr_yield yield)
{
    return stream == stdout && out.held ? yield_marks[yield] : "";
}

bool hr_is_yield(char c)
{
    return c >= yield_marks[0][0] && c < yield_marks[0][0] + HR_YIELDS;
}

void hr_output_hold(void)
{
    fflush(stdout);
    if (!out.held && !all_stands && out.fold.width && isatty(out.fd))
        out.held = open_memstream(&out.text, &out.bytes);
}

static bool count_lines(void *arg, const char *text, size_t n)
{
    size_t *lines = arg;
    for (size_t i = 0; i < n; i++)
        *lines += text[i] == '\n';
    return true;
}

static const char dots[] = " ...\n";

/* Of a terminal's lines, of a line and what ends it. */
static size_t lines_of(const char *line, size_t n, const char *end)
{
    struct hr_fold fold = {.width = out.fold.width};
    size_t lines = 0;
    hr_fold(&fold, line, n, count_lines, &lines);
    hr_fold(&fold, end, strlen(end), count_lines, &lines);
    return lines;
}

/* Where it is to end, to take so many with dots behind it. */
static size_t cut_of(const char *line, size_t n, size_t lines)
{
    while (n > 0 && lines_of(line, n, dots) > lines)
        do
            n--;
        while (n > 0 && line[n] != ' ');
    return n;
}

struct lines {
    const char *text;
    size_t n, room, used;
    size_t left_out;
    struct line {
        size_t at, bytes, lines; /* lines 0: it is left out */
        bool dots;               /* in its place, and that of those that are left out behind it */
    } * line;                    /* (n) owned */
};

static bool split(struct lines *all, const char *text, size_t bytes)
{
    size_t n = 0;
    count_lines(&n, text, bytes);
    all->line = calloc(n + 1, sizeof *all->line);
    for (size_t at = 0; all->line && at < bytes; all->n++) {
        const char *end = memchr(text + at, '\n', bytes - at);
        const size_t length = end ? (size_t)(end - text) + 1 - at : bytes - at;
        all->line[all->n] =
            (struct line){at, length, lines_of(text + at, length, end ? "" : "\n"), false};
        all->used += all->line[all->n].lines;
        at += length;
    }
    return all->line;
}

static void leave_out(struct lines *all, enum hr_yield yield)
{
    for (size_t i = all->n; i-- > 0 && all->used > all->room;)
        if (all->text[all->line[i].at] == yield_marks[yield][0]) {
            all->used -= all->line[i].lines;
            all->line[i].lines = 0;
            all->left_out++;
        }
}

/* The dots take a line, and move up from row to row. */
static void leave_out_rows(struct lines *all)
{
    for (size_t i = all->n; i-- > 0 && all->used > all->room;) {
        struct line *line = &all->line[i], *next = i + 1 < all->n ? line + 1 : NULL;
        if (all->text[line->at] != yield_marks[HR_ROW][0])
            continue;
        all->used -= line->lines - !(next && next->dots);
        all->left_out++;
        *line = (struct line){line->at, 0, 1, true};
        if (next && next->dots)
            *next = (struct line){0};
    }
}

static void make_room(struct lines *all)
{
    leave_out(all, HR_REPEATED);
    leave_out(all, HR_NOTICE);
    leave_out_rows(all);
    for (size_t i = all->n; i-- > 0 && all->used > all->room;)
        if (all->line[i].lines > CUT) {
            all->used -= all->line[i].lines - CUT;
            all->line[i].lines = CUT;
            all->left_out++;
        }
    leave_out(all, HR_LEGEND);
}

static void print_line(const struct lines *all, const struct line *line)
{
    const char *text = all->text + line->at;
    const size_t mark = hr_is_yield(text[0]);
    const bool cut = lines_of(text, line->bytes, "") > line->lines;
    const size_t bytes = cut ? cut_of(text, line->bytes, line->lines) : line->bytes;
    if (line->dots)
        fputs(dots, stdout);
    else
        fprintf(stdout, "%.*s%s", (int)(bytes - mark), text + mark, cut ? dots : "");
}

/* hint: where lines are left out, how many, and what has them. */
static size_t release(size_t after, bool hint)
{
    const size_t screen = hr_max_size(SCREEN, hr_terminal_lines(out.fd)) - BESIDE;
    fflush(stdout);
    if (!out.held)
        return 0;
    const bool kept = fclose(out.held) == 0;
    struct lines all = {.text = out.text, .room = screen > after ? screen - after : 0};
    out.held = NULL;
    if (kept && split(&all, out.text, out.bytes)) {
        all.room -= hint && all.used > all.room;
        make_room(&all);
    } else
        fputs(out.text ? out.text : "", stdout);
    for (size_t i = 0; i < all.n; i++)
        if (all.line[i].lines)
            print_line(&all, &all.line[i]);
    if (hint && all.left_out)
        fprintf(stdout, "%-15s --details (+%zu line%s)\n", "more", all.left_out,
                all.left_out == 1 ? "" : "s");
    free(all.line);
    free(out.text);
    out.text = NULL;
    fflush(stdout);
    return all.left_out;
}

size_t hr_output_release(size_t after)
{
    return release(after, false);
}

void hr_output_begin(void)
{
    terminal = stderr;
    stdout = filtered(&out, stdout, isatty(out.fd) ? _IOLBF : _IOFBF);
    stderr = filtered(&err, stderr, _IONBF);
}

FILE *hr_output_terminal(void)
{
    return terminal;
}

int hr_output_end(int code)
{
    release(0, true);
    errno = 0;
    const bool lost = fflush(stdout) != 0 || ferror(stdout);
    const int cause = out.error ? out.error : errno;
    if (!lost || cause == EPIPE)
        return code;
    fprintf(stderr, "hogring: stdout cannot be written: %s\n", strerror(cause));
    return code ? code : hr_status_exit_code(HR_E_IO);
}

int hr_cli_exit_code(enum hr_status status)
{
    if (status == HR_E_INTERRUPTED && hr_signals_exit_code())
        return hr_signals_exit_code();
    return hr_status_exit_code(status);
}

int hr_cli_failed(enum hr_status status)
{
    release(0, true);
    fprintf(stderr, "%shogring:%s %s\n", hr_style(stderr, HR_BAD), hr_style(stderr, HR_PLAIN),
            hr_error_message());
    return hr_cli_exit_code(status);
}

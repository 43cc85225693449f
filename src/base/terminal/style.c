#include "terminal/style.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

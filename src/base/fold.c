#include "base/fold.h"

#include <string.h>

#include <sys/ioctl.h>

#include "base/size.h"

/* Control characters up to it take no column: they stand for colour (terminal/output.h). */
enum { MARKS = 6 };

size_t hr_terminal_columns(int fd)
{
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

size_t hr_terminal_lines(int fd)
{
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

size_t hr_text_columns(int fd)
{
    enum { LEAST = 40, MOST = 100, USUAL = 80 };
    const size_t columns = hr_terminal_columns(fd);
    return columns ? hr_max_size(LEAST, hr_min_size(MOST, columns)) : USUAL;
}

static bool put_blanks(size_t n, hr_put_fn put, void *arg)
{
    static const char blanks[] = "                                ";
    for (size_t piece; n > 0; n -= piece) {
        piece = hr_min_size(n, sizeof blanks - 1);
        if (!put(arg, blanks, piece))
            return false;
    }
    return true;
}

static bool end_line(struct hr_fold *fold, hr_put_fn put, void *arg)
{
    *fold = (struct hr_fold){.width = fold->width};
    return put(arg, "\n", 1);
}

/* Columns of a word. */
static size_t columns_of(const char *word, size_t n)
{
    size_t columns = 0;
    for (size_t i = 0; i < n; i++)
        columns += ((unsigned char)word[i] & 0xc0) != 0x80 && (unsigned char)word[i] > MARKS;
    return columns;
}

/* Where the line would go on, once the blanks before a word are known. */
static void note_hang(struct hr_fold *fold)
{
    const size_t at = fold->column + fold->blanks;
    if (!fold->began)
        fold->hang = hr_min_size(at + 2, fold->width / 2);
    else if (!fold->named && fold->blanks > 1 && at <= fold->width / 3)
        fold->hang = at;
    fold->named = fold->named || (fold->began && fold->blanks > 1);
}

/* The blanks before a word, or a line's end instead of them. */
static bool put_gap(struct hr_fold *fold, size_t columns, hr_put_fn put, void *arg)
{
    const size_t blanks = fold->blanks;
    note_hang(fold);
    fold->blanks = 0;
    if (!fold->began || !blanks || fold->column + blanks + columns <= fold->width) {
        fold->column += blanks;
        return put_blanks(blanks, put, arg);
    }
    fold->column = fold->hang;
    return put(arg, "\n", 1) && put_blanks(fold->column, put, arg);
}

static bool put_word(struct hr_fold *fold, const char *word, size_t n, hr_put_fn put, void *arg)
{
    const size_t columns = columns_of(word, n);
    if (!put_gap(fold, columns, put, arg))
        return false;
    fold->began = true;
    fold->column += columns;
    return put(arg, word, n);
}

bool hr_fold(struct hr_fold *fold, const char *text, size_t n, hr_put_fn put, void *arg)
{
    bool good = true;
    if (fold->width == 0)
        return put(arg, text, n);
    for (size_t i = 0; good && i < n;) {
        size_t end = i;
        while (end < n && text[end] != ' ' && text[end] != '\n')
            end++;
        if (end > i)
            good = put_word(fold, text + i, end - i, put, arg);
        else if (text[end++] == '\n')
            good = end_line(fold, put, arg);
        else
            fold->blanks++;
        i = end;
    }
    return good;
}

static bool put_file(void *out, const char *text, size_t n)
{
    return fwrite(text, 1, n, out) == n;
}

void hr_fold_print(FILE *out, const char *text, size_t width)
{
    hr_fold(&(struct hr_fold){.width = width}, text, strlen(text), put_file, out);
}

#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fold.h"
#include "base/printable.h"
#include "base/size.h"
#include "base/text.h"

/* A terminal may show progress in the line that we come to: it is drawn again below ours. */
static const char *wipe(void)
{
    const char *term = getenv("TERM");
    const bool redraws = isatty(STDERR_FILENO) && term && term[0] && strcmp(term, "dumb") != 0;
    return redraws ? "\r\x1b[K" : "";
}

static size_t (*columns_now)(void);
static bool coloured, errors_only;

void hr_log_errors_only(bool only)
{
    errors_only = only;
}

void hr_log_look(size_t (*columns)(void), bool colour)
{
    columns_now = columns;
    coloured = colour;
}

enum { LINE = 1024 };

static bool repeats_none;
static pthread_mutex_t last_lock = PTHREAD_MUTEX_INITIALIZER;
static char last_warning[LINE];

void hr_log_repeat_no_warning(void)
{
    repeats_none = true;
}

/* One that comes just then from another thread is no repetition. */
static bool is_repeated(const char *line)
{
    if (!repeats_none || pthread_mutex_trylock(&last_lock) != 0)
        return false;
    const bool same = !strcmp(last_warning, line);
    strcpy(last_warning, line);
    pthread_mutex_unlock(&last_lock);
    return same;
}

struct page {
    char text[2048];
    size_t used;
};

static bool put(void *arg, const char *text, size_t n)
{
    struct page *page = arg;
    n = hr_min_size(n, sizeof page->text - page->used);
    memcpy(page->text + page->used, text, n);
    page->used += n;
    return true;
}

static bool put_text(struct page *page, const char *text)
{
    return put(page, text, strlen(text));
}

static const char *const prefix[] = {"hogring: error: ", "hogring: warning: ", "hogring: "};
static const char *const colour[] = {"\x1b[31m", "\x1b[33m", ""};

/* `line` begins with its prefix, which may have colour: folded before it has. */
static void lay_out(struct page *page, enum hr_log_level level, const char *line)
{
    struct hr_fold fold = {.width = columns_now ? columns_now() : 0};
    struct page folded = {.used = 0};
    const size_t head = coloured && colour[level][0] ? strlen(prefix[level]) - 1 : 0;
    hr_fold(&fold, line, strlen(line), put, &folded);
    put_text(page, wipe());
    if (head) {
        put_text(page, colour[level]);
        put(page, folded.text, head);
        put_text(page, "\x1b[0m");
    }
    put(page, folded.text + head, folded.used - head);
}

void hr_log(enum hr_log_level level, const char *format, ...)
{
    char line[LINE];
    struct page page = {.used = 0};
    size_t used = (size_t)snprintf(line, sizeof line, "%s", prefix[level]);
    va_list args;
    if (errors_only && level != HR_LOG_ERROR)
        return;
    va_start(args, format);
    hr_format(line + used, sizeof line - used - 1, format, args);
    va_end(args);
    if (level == HR_LOG_WARNING && is_repeated(line))
        return;
    used = strlen(line);
    hr_make_printable(&(struct hr_printable_state){0}, line, used, "");
    lay_out(&page, level, strcat(line, "\n"));
    /* Nowhere to report a failed diagnostic to. */
    ssize_t ignored = write(STDERR_FILENO, page.text, page.used);
    (void)ignored;
}

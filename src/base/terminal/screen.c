#include "terminal/screen.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "terminal/output.h"

static bool put(void *arg, const char *text, size_t n)
{
    const int *fd = arg;
    return hr_write_all(*fd, text, n);
}

static void say(const struct hr_screen *screen, const char *text)
{
    hr_write_all(screen->out, text, strlen(text));
}

bool hr_screen_can(int out)
{
    return hr_terminal_redraws(out);
}

void hr_screen_open(struct hr_screen *screen, int in, int out)
{
    *screen = (struct hr_screen){.in = in, .out = out, .open = true};
    screen->keys = tcgetattr(in, &screen->before) == 0;
    if (screen->keys) {
        struct termios raw = screen->before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        raw.c_cc[VSUSP] = _POSIX_VDISABLE;
        tcsetattr(in, TCSANOW, &raw);
    }
    say(screen, "\x1b[?1049h\x1b[?25l\x1b[2J"); /* second screen, no cursor, empty */
}

void hr_screen_close(struct hr_screen *screen)
{
    if (!screen->open)
        return;
    say(screen, "\x1b[0m\x1b[?25h\x1b[?1049l");
    if (screen->keys)
        tcsetattr(screen->in, TCSAFLUSH, &screen->before);
    screen->open = false;
}

struct hr_screen_size hr_screen_size(const struct hr_screen *screen)
{
    struct winsize size = {0};
    ioctl(screen->out, TIOCGWINSZ, &size);
    return (struct hr_screen_size){size.ws_col ? size.ws_col : 80, size.ws_row ? size.ws_row : 24};
}

/* Into one write, so that no half of it is seen. */
static bool put_file(void *arg, const char *text, size_t n)
{
    return fwrite(text, 1, n, arg) == n;
}

void hr_screen_draw(const struct hr_screen *screen, const char *text)
{
    const struct hr_screen_size size = hr_screen_size(screen);
    char *frame = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&frame, &bytes);
    if (!memory)
        return;
    fputs("\x1b[H", memory);
    for (size_t line = 0; *text && line < size.lines; line++) {
        const size_t length = strcspn(text, "\n"), fits = hr_style_cut(text, size.columns);
        if (line)
            fputs("\r\n", memory);
        hr_style_put(text, length < fits ? length : fits, put_file, memory);
        /* Behind a full line the cursor stands on its last character. */
        fputs(fits <= length ? "\x1b[0m" : "\x1b[0m\x1b[K", memory);
        text += length + (text[length] == '\n');
    }
    fputs("\x1b[J", memory);
    fclose(memory);
    int fd = screen->out;
    put(&fd, frame, bytes);
    free(frame);
}

char hr_screen_key(const struct hr_screen *screen, int milliseconds)
{
    struct pollfd typed = {.fd = screen->keys ? screen->in : -1, .events = POLLIN};
    char key = 0;
    if (poll(&typed, 1, milliseconds) <= 0 || read(screen->in, &key, 1) != 1)
        return 0;
    return key;
}

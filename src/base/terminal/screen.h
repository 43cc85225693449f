/* screen.h - a screen that is drawn again in place.
 *
 * Threads: none. Test: tests/unit/terminal/, tests/cli/top.bats */
#ifndef HR_TERMINAL_SCREEN_H
#define HR_TERMINAL_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

/* A terminal's second screen, drawn again in place, and what is typed meanwhile.
 *
 *     hr_screen_open(&screen, STDIN_FILENO, STDOUT_FILENO)
 *     hr_screen_draw(&screen, text)       lines, with marks (output.h); what does not fit is cut
 *     hr_screen_key(&screen, 500)         a key, or the time is over
 *     hr_screen_close(&screen)            as it was before
 *
 * Keys come one by one and are not shown; Ctrl-C is a signal as ever, Ctrl-Z is none. What was on
 * the terminal comes back when it closes. */

struct hr_screen {
    int in, out;
    bool open, keys;
    struct termios before;
};

/* Can one be opened on this descriptor? */
bool hr_screen_can(int out);
void hr_screen_open(struct hr_screen *screen, int in, int out);
/* Harmless on a zeroed one. */
void hr_screen_close(struct hr_screen *screen);

struct hr_screen_size {
    size_t columns, lines;
};
/* As it is now; 80 x 24 where it does not say. */
struct hr_screen_size hr_screen_size(const struct hr_screen *screen);

void hr_screen_draw(const struct hr_screen *screen, const char *text);
/* What was typed within that time; 0: nothing was, or a signal came. */
char hr_screen_key(const struct hr_screen *screen, int milliseconds);

#endif
